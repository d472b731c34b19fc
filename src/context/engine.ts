/**
 * The instruction engine (context.md C1–C15): chain, mentions, pins, tool touches, changes, compaction, one ledger.
 * Owns the order of things; each thing is done in its own file. No path leads from here to config/, tools/ or provider/
 * (house rule 7).
 */
import { realOf } from "../base/below.ts";
import type { SourceInfo } from "../types/event.ts";
import { BackgroundIndex } from "./background.ts";
import { ChangeFinder } from "./changes.ts";
import { claimRead, claimReads } from "./claims.ts";
import type {
  ContextEngine,
  ContextOptions,
  Decisions,
  Delivery,
  DropAnswer,
  PinAnswer,
  PinnedPath,
  RecordedFile,
  Touched,
} from "./contract.ts";
import { Deliverer, describe, type Wanted } from "./deliver.ts";
import { Dropper } from "./dropper.ts";
import type { Drop } from "./drops.ts";
import { formatContext, formatPinned, formatTouched, formatUpdate, type Piece } from "./format.ts";
import { type Entry, infoOf, Ledger, retire } from "./ledger.ts";
import { Places } from "./nested.ts";
import { NestedNews, NO_NEWS } from "./news.ts";
import { PinnedFiles } from "./pinned.ts";
import { PinBoard } from "./pins.ts";
import { skippedBelow } from "./places.ts";
import { Preparer } from "./prepare.ts";
import { recentNested, redeliveryText } from "./redelivery.ts";
import { chainReason, type Resolved, Resolver } from "./resolve.ts";
import { ResumedFiles } from "./resumed.ts";

export type {
  ContextEngine,
  ContextOptions,
  Decisions,
  Delivery,
  DropAnswer,
  PinAnswer,
  TemplateFacts,
  Touched,
} from "./contract.ts";
export type { Drop } from "./drops.ts";

const OFF = { ok: false, message: "Project context is off (--no-context)." } as const;
const NOTHING: Delivery = { text: "", sources: [] };

class Engine implements ContextEngine {
  readonly #options: ContextOptions;
  readonly #ledger = new Ledger();
  readonly #preparer: Preparer;
  readonly #resolver: Resolver;
  readonly #deliverer: Deliverer;
  readonly #changes: ChangeFinder;
  readonly #resumed: ResumedFiles;
  readonly #index: BackgroundIndex;
  readonly #news: NestedNews;
  readonly #places: Places;
  readonly #pins: PinBoard;
  readonly #pinned: PinnedFiles;
  readonly #dropper: Dropper;
  #cwd: string;
  #home: string | undefined;
  #started = false;
  #turns = 0;
  #recorded: readonly RecordedFile[] = [];
  /** Calls run one after the other: parallel tool calls claim a file once (C9.4). */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: ContextOptions) {
    this.#options = options;
    this.#cwd = options.cwd;
    this.#preparer = new Preparer(options);
    this.#resolver = new Resolver(options, this.#ledger, this.#preparer);
    this.#places = new Places(options.root);
    this.#deliverer = new Deliverer(options, this.#ledger, this.#preparer, this.#places);
    this.#changes = new ChangeFinder(options, this.#ledger, this.#resolver, this.#places);
    this.#resumed = new ResumedFiles(options, this.#ledger, this.#resolver, this.#places, this.#changes);
    this.#index = new BackgroundIndex(options, this.#ledger, this.#resolver, this.#preparer);
    this.#news = new NestedNews(this.#index, this.#changes);
    this.#pins = new PinBoard(options.root, options.home);
    this.#pinned = new PinnedFiles(options, this.#ledger, this.#preparer, this.#changes);
    this.#dropper = new Dropper(options, this.#ledger, this.#resolver, this.#places);
  }

  start(): Promise<Delivery> {
    return this.#alone(async () => {
      const pieces = await this.#startChain();
      return delivery(formatContext(pieces), pieces);
    });
  }

  turn(prompt: string): Promise<Delivery> {
    return this.#alone(async () => {
      const first = !this.#started;
      const opening = first ? await this.#startChain() : [];
      const update = await this.#update(first);
      const named = await this.#named(prompt);
      const pinned = await this.#pinnedTexts();
      this.#turns++;
      const texts = [formatContext(opening), update.text, formatContext(named), formatPinned(pinned)];
      return delivery(texts.filter((text) => text !== "").join("\n\n"), [...opening, ...update.pieces, ...named, ...pinned]);
    });
  }

  touched(paths: readonly Touched[], batch: readonly Touched[] = []): Promise<Delivery> {
    return this.#alone(async () => {
      if (this.#nestedOff()) return NOTHING;
      const complete = new Map<string, string>();
      for (const touch of [...paths, ...batch]) if (touch.completeHash) complete.set(touch.path, touch.completeHash);
      const read = claimReads(this.#ledger, complete);
      const wanted: Wanted[] = [];
      for (const { directory, path } of await this.#places.touched(paths.map((touch) => touch.path))) {
        const found = await this.#nestedAt(directory, `touched by a tool: ${path}`);
        if (!found || wanted.some((other) => other.entry === found.entry)) continue;
        if (complete.get(found.entry.path) === found.file.contentHash) {
          // Nobody has looked at it before: the index does not go everywhere, nor has it always come by.
          describe(found.entry, found.file);
          const blocked = await this.#preparer.wouldBlock(found.file);
          if (blocked === undefined) read.push(claimRead(this.#ledger, found.entry));
          else this.#block(found.entry, blocked);
        } else wanted.push(found);
      }
      this.#bumpUse(paths);
      const pieces = await this.#deliverer.deliver(broadToClose(wanted), this.#cwd);
      return delivery(formatTouched(pieces), pieces, read);
    });
  }

  pin(path: string, what: "text" | "scope" = "text"): Promise<PinAnswer> {
    return this.#alone(async () => await this.#pins.pin(path, this.#cwd, what === "text"), OFF);
  }

  unpin(path: string): PinAnswer {
    const answer = this.#pins.unpin(path, this.#cwd);
    if (answer.ok) this.#pinned.forget(answer.path);
    return answer;
  }

  pins(): readonly PinnedPath[] {
    return this.#pins.list();
  }

  drop(path: string): Promise<DropAnswer> {
    return this.#alone(async () => await this.#dropper.drop(path, this.#cwd), OFF);
  }

  resetDrops(path?: string): Promise<readonly string[]> {
    return this.#alone(async () => this.#dropper.reset(path, this.#cwd), []);
  }

  drops(): readonly Drop[] {
    return this.#ledger.drops.list();
  }

  async restore({ pins, drops }: Decisions): Promise<void> {
    if (!this.#options.settings.enabled) return;
    for (const path of await this.#pins.restore(pins)) {
      const message = `${path}: pinned in the earlier run; it may hold secrets, so it is sent only if you pin it again`;
      this.#options.diagnose({ severity: "warning", code: "context_pin", path, message });
    }
    for (const drop of drops) this.#ledger.drops.add(drop);
  }

  lost(sources: readonly Drop[], unseen: readonly Drop[] = []): Promise<Delivery> {
    const fresh = new Set(unseen.map(({ path }) => path));
    const due: Entry[] = [];
    for (const { path, contentHash } of sources) {
      const entry = this.#ledger.get(path);
      if (entry?.claim?.kind !== "text" || entry.claim.hash !== contentHash) continue;
      const left = this.#deliverer.lost(entry);
      if (fresh.has(path)) due.push(...left.filter(({ origin }) => origin === "nested"));
    }
    if (due.length === 0) return Promise.resolve(NOTHING);
    return this.#alone(async () => {
      const wanted: Wanted[] = [];
      for (const { place, reason } of due) {
        const found = await this.#nestedAt(place, reason);
        if (found) wanted.push(found);
      }
      const pieces = await this.#deliverer.deliver(broadToClose(unique(wanted)), this.#cwd);
      return delivery(formatTouched(pieces), pieces);
    });
  }

  changeDirectory(cwd: string): void {
    this.#cwd = cwd;
  }

  resumed(sources: readonly RecordedFile[]): void {
    this.#recorded = sources;
  }

  compacted(retained: readonly { readonly path: string; readonly contentHash: string }[]): Promise<Delivery> {
    return this.#alone(async () => {
      const used = this.#ledger.claimed();
      this.#ledger.clearClaims();
      this.#deliverer.reset();
      this.#places.forget();
      const chain = await this.#resolver.chain(this.#cwd);
      this.#started = true;
      this.#changes.remember(chain);
      const wanted = [...this.#chainWanted(chain), ...(await this.#changes.unreadable(used))];
      const kept = new Set(retained.map(({ path, contentHash }) => `${path}\0${contentHash}`));
      const read: Entry[] = [];
      for (const entry of recentNested(used, chain)) {
        const found = await this.#resolver.directory(entry.place);
        if (found?.entry !== entry || this.#ledger.drops.holds(entry.path, found.file.contentHash)) continue;
        describe(entry, found.file);
        if (kept.has(`${entry.path}\0${found.file.contentHash}`))
          read.push(claimRead(this.#ledger, entry, "complete in the kept part of the conversation"));
        else wanted.push({ ...found, cap: this.#options.settings.maxDiscoveredChars, reason: "in recent use before compaction" });
      }
      const pieces = await this.#deliverer.deliver(wanted, this.#cwd);
      pieces.push(...(await this.#named("")));
      const pinned = await this.#pinnedTexts(kept);
      const others = redeliveryText(this.#ledger);
      const texts = [formatContext(pieces, others), formatPinned(pinned)].filter((text) => text !== "");
      return delivery(texts.join("\n\n"), [...pieces, ...pinned], read);
    });
  }

  async indexed(): Promise<void> {
    await this.#index.settled();
  }

  sources(): readonly SourceInfo[] {
    return this.#options.settings.enabled ? this.#ledger.list() : [];
  }

  close(): void {
    this.#index.close();
  }

  #alone(work: () => Promise<Delivery>): Promise<Delivery>;
  #alone<T>(work: () => Promise<T>, off: T): Promise<T>;
  #alone<T>(work: () => Promise<T>, off: T | Delivery = NOTHING): Promise<T | Delivery> {
    if (!this.#options.settings.enabled) return Promise.resolve(off);
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /** C4: in the home directory, nested discovery is off. */
  #nestedOff(): boolean {
    return this.#home !== undefined && this.#cwd === this.#home;
  }

  async #startChain(): Promise<Piece[]> {
    this.#started = true;
    const { home } = this.#options;
    this.#home = home === undefined ? undefined : realOf(home);
    const chain = await this.#resolver.chain(this.#cwd);
    this.#changes.remember(chain);
    const pieces = await this.#deliverer.deliver(this.#chainWanted(chain), this.#cwd);
    if (!this.#nestedOff()) this.#index.begin(this.#cwd);
    return pieces;
  }

  #chainWanted(chain: readonly Resolved[]): Wanted[] {
    return chain.map((found) => ({ ...found, cap: this.#changes.capOf(found.entry), reason: chainReason(found.entry) }));
  }

  /**
   * C3, C10: what changed since it was sent, as `<project_context_update>`. `first`: the chain was read for this very turn, so
   * nothing of it can have changed.
   */
  async #update(first: boolean): Promise<{ readonly text: string; readonly pieces: readonly Piece[] }> {
    const recorded = this.#recorded;
    this.#recorded = [];
    // Nothing was sent before, nothing has been looked at, the index has just begun.
    if (first && recorded.length === 0) return { text: "", pieces: [] };
    const found = first ? [] : [await this.#changes.chain(this.#cwd), await this.#changes.claimed()];
    for (const source of recorded) this.#pinned.remember(source.path, source.contentHash);
    if (recorded.length > 0) found.push(await this.#resumed.compare(recorded, new Set(this.#pins.files()), this.#cwd));
    const wanted = unique([...found.flatMap((part) => part.wanted), ...(await this.#changes.appeared(this.#cwd))]);
    const sent = await this.#deliverer.refresh(wanted, this.#cwd, (entry) => this.#changes.capOf(entry));
    for (const { info, status } of sent) if (status === "added" && info.origin === "link") this.#changes.tell("added", info);
    const notes = found.flatMap((part) => part.notes);
    const news = this.#nestedOff() ? NO_NEWS : await this.#news.look(this.#cwd, this.#turns === 0);
    const pieces = [...sent, ...notes, ...news.pieces];
    // Unchanged members are listed to show the chain's order; alone they say nothing.
    if (pieces.every((piece) => piece.status === "unchanged" && piece.note === undefined) && news.notes.length === 0) {
      return { text: "", pieces: [] };
    }
    return { text: formatUpdate(pieces, news.notes), pieces: sent };
  }

  /** C4: files that the prompt names or a pin governs, and that the conversation does not hold yet. */
  async #named(prompt: string): Promise<Piece[]> {
    if (this.#nestedOff()) return [];
    const wanted: Wanted[] = [];
    const chain = this.#resolver.chainDirectories(this.#cwd);
    const named = await this.#places.mentioned(prompt, this.#cwd, this.#options.home);
    for (const { directory, why, asked } of [...named, ...(await this.#pins.places())]) {
      for (const place of this.#places.governing(directory)) {
        if (chain.has(place)) continue;
        const found = await this.#nestedAt(place, why);
        const skipped = asked ? skippedBelow(this.#options.root, place) : undefined;
        if (found && skipped === undefined) wanted.push(found);
        else if (found) onlyPinned(found, skipped);
      }
    }
    return await this.#deliverer.deliver(broadToClose(unique(wanted)), this.#cwd);
  }

  /** Pinned files whose current text the conversation lacks. `kept`: path and hash of what its tail holds whole. */
  async #pinnedTexts(kept: ReadonlySet<string> = new Set()): Promise<Piece[]> {
    const files = this.#pins.files();
    if (files.length === 0) return [];
    const { wanted, notes } = await this.#pinned.look(files);
    const due = wanted.filter(({ entry, file }) => {
      if (!kept.has(`${entry.path}\0${file.contentHash}`)) return true;
      describe(entry, file);
      claimRead(this.#ledger, entry, "complete in the kept part of the conversation");
      return false;
    });
    return [...(await this.#deliverer.deliver(due, this.#cwd)), ...notes];
  }

  /** The file of one nested directory, if the conversation does not hold it; if it does, it has been used once more. */
  async #nestedAt(directory: string, reason: string): Promise<Wanted | undefined> {
    const found = await this.#resolver.directory(directory);
    if (!found && this.#resolver.passedOver(directory)) this.#places.expect(directory);
    if (!found || this.#ledger.drops.holds(found.entry.path, found.file.contentHash)) return undefined;
    if (found.entry.claim?.kind === "text" || found.entry.claim?.hash === found.file.contentHash) {
      this.#ledger.use(found.entry);
      return undefined;
    }
    return { ...found, cap: this.#options.settings.maxDiscoveredChars, reason };
  }

  /** C12: what the model has read by itself is no instruction either. */
  #block(entry: Entry, reason: string): void {
    retire(entry, "blocked", reason);
    this.#places.expect(entry.place);
  }

  /** A file is in use while tools work under its directory, also where the walk has been before (C11). */
  #bumpUse(paths: readonly Touched[]): void {
    const claimed = this.#ledger.claimed().filter((entry) => entry.origin === "nested");
    for (const entry of claimed) if (paths.some(({ path }) => path.startsWith(`${entry.place}/`))) this.#ledger.use(entry);
  }
}

/** `read`: what the conversation holds besides `text`, because the model has read it whole (C9.4). */
function delivery(text: string, pieces: readonly Piece[], read: readonly Entry[] = []): Delivery {
  const delivered = pieces.map((piece) => piece.info).filter((info) => info.state === "visible" || info.state === "path_only");
  return { text, sources: [...delivered, ...read.map(infoOf)] };
}

/** C4: neither a mention nor a tool brings it. */
function onlyPinned({ entry, file }: Wanted, skipped = ""): void {
  describe(entry, file);
  entry.reason = `sent only when pinned: ${skipped} is passed over otherwise`;
}

function unique(wanted: readonly Wanted[]): Wanted[] {
  const seen = new Set<Entry>();
  return wanted.filter((item) => !seen.has(item.entry) && seen.add(item.entry));
}

/** C4: closest wins, and comes last. */
function broadToClose(wanted: readonly Wanted[]): Wanted[] {
  const depth = (item: Wanted): number => item.entry.place.split("/").length;
  return [...wanted].sort((a, b) => depth(a) - depth(b) || (a.entry.path < b.entry.path ? -1 : 1));
}

/** Opens the engine of one conversation. Nothing is read before `start()` or `turn()`. */
export function openContext(options: ContextOptions): ContextEngine {
  return new Engine(options);
}
