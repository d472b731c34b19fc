/**
 * Turns wanted files into pieces of the conversation (C4, C6, C7, C9): their links behind them, the total cap over all,
 * each claimed in the ledger. Refuses: deciding which files are wanted, the words around the pieces.
 */
import { dirname } from "node:path";
import type { ContextOptions } from "./contract.ts";
import { DROPPED } from "./drops.ts";
import type { Piece } from "./format.ts";
import { entryFor } from "./identity.ts";
import { type Entry, infoOf, type Ledger, type Linked, release, retire } from "./ledger.ts";
import { linkDepth, unlinked } from "./link-graph.ts";
import { LinkTargets, MAX_LINK_DEPTH, saying } from "./link-targets.ts";
import { findLinks } from "./links.ts";
import { loadFile } from "./load.ts";
import type { Places } from "./nested.ts";
import type { OnDisk, Preparer } from "./prepare.ts";
import { mayLead } from "./secret-files.ts";
import { type Item, isLasting, leftOut, shareTexts, twinNote } from "./shared-texts.ts";
import { partsPrint } from "./transclude.ts";

export type Wanted = {
  readonly entry: Entry;
  readonly file: OnDisk;
  /** Characters (C6). */
  readonly cap: number;
  readonly reason: string;
  readonly status?: Piece["status"];
  /** Word for word, links and templates included: a pinned file. */
  readonly plain?: true;
  /** Instead of the text, where it is not to be kept from the model: the path, and this. The text is still due. */
  readonly named?: string;
};

/** A file whose links are followed: how its own text is delivered. */
type Linking = Pick<Wanted, "entry" | "cap" | "status">;

/** One delivery: where it happens, the paths it has met, and whether what the conversation holds was compared before it. */
type Round = { readonly cwd: string; readonly seen: Set<string>; readonly compared?: true };

/** What a template named in `transclude()`, as the ledger keeps it. */
export function partsOf(file: OnDisk): string {
  return file.kind === "text" ? partsPrint(file.path, file.text) : "";
}

export function describe(entry: Entry, file: OnDisk): void {
  entry.stamp = file.stamp;
  entry.contentHash = file.contentHash;
  entry.parts = partsOf(file);
  entry.byteCount = file.byteCount;
}

function roundOf(wanted: readonly Wanted[], cwd: string): Round {
  return { cwd, seen: new Set(wanted.map((item) => item.entry.path)) };
}

function withdrawal({ entry, reason }: Wanted, note: string): Item {
  return { entry, reason, status: "withdrawn", truncated: false, note, gone: true };
}

export class Deliverer {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #preparer: Preparer;
  readonly #places: Places;
  readonly #targets: LinkTargets;
  /** Characters of instruction text in this context (C6). */
  #used = 0;

  constructor(options: ContextOptions, ledger: Ledger, preparer: Preparer, places: Places) {
    this.#options = options;
    this.#ledger = ledger;
    this.#preparer = preparer;
    this.#places = places;
    this.#targets = new LinkTargets(ledger, preparer);
  }

  /** C11: a new context holds no text. */
  reset(): void {
    this.#used = 0;
  }

  /** The text of one file has left the conversation, and with it that of its twins. All of them may be delivered again. */
  lost(entry: Entry): readonly Entry[] {
    this.#used = Math.max(0, this.#used - (entry.lastText?.length ?? 0));
    entry.lastText = undefined;
    const all = [entry, ...this.#ledger.claimed().filter(({ twinOf }) => twinOf === entry.path)];
    for (const left of all) {
      release(left, "left the conversation with an old tool result");
      this.#places.forget(left.place);
    }
    return all;
  }

  /** `wanted` is in order, broad to close. Blocked files yield nothing, or a withdrawal where their text had been sent. */
  async deliver(wanted: readonly Wanted[], cwd: string): Promise<Piece[]> {
    if (wanted.length === 0) return [];
    const round = roundOf(wanted, cwd);
    return this.#finish(await this.#expandAll(wanted, round));
  }

  /**
   * C10: the same at a turn boundary, and linked files that the conversation lacks: they may have come, been repaired or been
   * allowed since. `capOf` answers the cap of a file's links.
   */
  async refresh(wanted: readonly Wanted[], cwd: string, capOf: (entry: Entry) => number): Promise<Piece[]> {
    const round: Round = { ...roundOf(wanted, cwd), compared: true };
    const linking = this.#ledger.claimed().filter(({ path, links }) => links.length > 0 && !round.seen.has(path));
    const items = await this.#expandAll(wanted, round);
    for (const entry of linking) {
      if (entry.claim === undefined || round.seen.has(entry.path)) continue;
      const from: Linking = { entry, cap: capOf(entry), status: "changed" };
      items.push(...(await this.#links(from, entry.links, round, linkDepth(this.#ledger, entry))));
    }
    for (const entry of this.#ledger.orphanedTwins((path) => round.seen.has(path)))
      if (!round.seen.has(entry.path)) items.push(...(await this.#standAlone(entry, capOf(entry), round)));
    return this.#finish(items);
  }

  /** Its text stood under another's name, and that one is no longer in force. */
  async #standAlone(entry: Entry, cap: number, round: Round): Promise<Item[]> {
    const file = await loadFile(entry.path, (real) => mayLead(entry.confine, real));
    if (file.kind !== "text" && file.kind !== "large") return [];
    round.seen.add(entry.path);
    return await this.#expand({ entry, file, cap, reason: entry.reason }, round, 0);
  }

  async #expandAll(wanted: readonly Wanted[], round: Round): Promise<Item[]> {
    const items: Item[] = [];
    for (const item of wanted) items.push(...(await this.#expand(item, round, 0)));
    return items;
  }

  #finish(items: readonly Item[]): Piece[] {
    const pieces = this.#claim(this.#withinTotal(shareTexts(items)));
    const left = unlinked(this.#ledger);
    const leaving = new Set(left.map((entry) => entry.path));
    // What is out of force again before it was sent is not sent.
    for (const { info, body } of pieces) if (leaving.has(info.path)) this.#used -= body?.length ?? 0;
    return [...pieces.filter(({ info }) => !leaving.has(info.path)), ...this.#claim(left.map((entry) => this.#noLonger(entry)))];
  }

  #noLonger(entry: Entry): Item {
    retire(entry, "removed", `no longer linked from ${entry.linkedFrom ?? "any file"}`);
    // It may be the instruction file of its own directory, which tools have been in.
    this.#places.forget(dirname(entry.path));
    const note = "No longer linked; its text no longer applies.";
    return { entry, reason: entry.reason, status: "removed", truncated: false, note, gone: true };
  }

  async #expand(wanted: Wanted, round: Round, depth: number): Promise<Item[]> {
    const { entry, file } = wanted;
    const held = entry.claim !== undefined;
    describe(entry, file);
    if (this.#ledger.drops.holds(entry.path, file.contentHash)) {
      this.#withhold(entry, "dropped", DROPPED);
      return held ? [withdrawal(wanted, "The user dropped this file: its text no longer applies.")] : [];
    }
    const prepared = await this.#preparer.prepare(file, wanted.cap, round.cwd, wanted.plain);
    if (prepared.kind === "blocked") {
      this.#withhold(entry, "blocked", prepared.reason);
      if (!held) return [];
      return [withdrawal(wanted, "Its current text is withheld by the security scan; its earlier text no longer applies.")];
    }
    if (prepared.kind === "path") {
      entry.links = [];
      return [{ ...wanted, truncated: true, note: prepared.note }];
    }
    if (wanted.named !== undefined) {
      Object.assign(entry, { state: "path_only", reason: wanted.reason, links: [] });
      return [{ ...wanted, truncated: false, note: wanted.named, gone: true }];
    }
    const twin = this.#twin(entry, round);
    // The same words lead elsewhere from another directory: a twin's links are its own.
    const own: Item = twin
      ? { ...wanted, truncated: twin.truncated, note: twinNote(twin.path), twinOf: twin.path }
      : { ...wanted, body: prepared.body, truncated: prepared.truncated };
    return wanted.plain ? [own] : [own, ...(await this.#links(wanted, findLinks(prepared.full), round, depth))];
  }

  /** It stays known, and is looked at again while it is called for. */
  #withhold(entry: Entry, state: "blocked" | "dropped", reason: string): void {
    retire(entry, state, reason);
    if (entry.origin === "nested") this.#places.expect(entry.place);
  }

  /**
   * An instruction file with the same text that is already there, and stays (A04: a worktree inside the workspace). Not one that
   * is itself only named: what it refers to could go.
   */
  #twin(entry: Entry, round: Round): Entry | undefined {
    if (entry.origin !== "nested") return undefined;
    const { contentHash, parts } = entry;
    const stays = (other: Entry): boolean =>
      other.state === "visible" && other.twinOf === undefined && isLasting(other) && !round.seen.has(other.path);
    // A template takes in the files of its own directory.
    const isSame = (other: Entry): boolean => other.claim?.hash === contentHash && other.parts === parts;
    return this.#ledger.claimed().find((other) => other !== entry && stays(other) && isSame(other));
  }

  async #links(from: Linking, links: readonly Linked[], round: Round, depth: number): Promise<Item[]> {
    const { entry } = from;
    entry.links = await this.#targets.look(entry, links, round.seen);
    const items: Item[] = [];
    for (const link of entry.links) {
      if (link.path === undefined || round.seen.has(link.path)) continue;
      if (round.compared && this.#ledger.get(link.path)?.claim) continue;
      if (depth >= MAX_LINK_DEPTH) this.#targets.tellDepth(entry, link);
      else items.push(...(await this.#follow(from, link.path, saying(entry, link), round, depth)));
    }
    return items;
  }

  async #follow(from: Linking, path: string, said: string, round: Round, depth: number): Promise<Item[]> {
    const file = await loadFile(path, (real) => mayLead(from.entry.confine, real));
    if (file.kind === "refused") {
      const message = `${said}: not followed: ${file.message}`;
      this.#preparer.tell({ severity: "warning", code: "context_link_refused", path, message }, path);
    }
    if (file.kind !== "text" && file.kind !== "large") return [];
    const { place, scope, confine } = from.entry;
    const fresh = { path, place, scope, origin: "link", confine, linkedFrom: from.entry.path } as const;
    const entry = await entryFor(this.#ledger, file.identity, fresh);
    if (round.seen.has(entry.path) || entry.claim?.hash === file.contentHash) return [];
    round.seen.add(entry.path);
    const status = entry.claim ? "changed" : from.status === "changed" ? "added" : from.status;
    const reason = `linked from ${from.entry.path}`;
    return await this.#expand({ entry, file, cap: from.cap, reason, ...(status && { status }) }, round, depth + 1);
  }

  /** C6: what does not fit into the total is named, and told where it is not one of many. */
  #withinTotal(items: readonly Item[]): readonly Item[] {
    const out = leftOut(items, this.#options.settings.maxTotalChars - this.#used);
    if (out.size === 0) return items;
    return items.map((item, at) => {
      if (!out.has(at)) return item;
      const { body: _left, twinOf: _twin, ...rest } = item;
      const { path, origin } = item.entry;
      if (origin !== "nested" && origin !== "pin") {
        const message = `${path}: only its path is sent: the instruction text has reached its limit (context.max_total_chars)`;
        this.#preparer.tell({ severity: "warning", code: "context_limit", path, message }, item.entry.contentHash);
      }
      const how = this.#preparer.readable(path)
        ? "Read it with read_file_range when you work under its scope."
        : "It lies outside the workspace.";
      const note = `Not included: the instruction text of this conversation has reached its limit. ${how}`;
      return { ...rest, truncated: true, note };
    });
  }

  #claim(items: readonly Item[]): Piece[] {
    return items.map((item) => {
      const { entry } = item;
      if (!item.gone) {
        const text = item.body !== undefined || item.twinOf !== undefined;
        entry.claim = { hash: entry.contentHash, kind: text ? "text" : "path" };
        entry.state = text ? "visible" : "path_only";
        entry.truncated = item.truncated;
        entry.reason = text || item.body !== undefined ? item.reason : (item.note ?? item.reason);
        entry.lastText = item.body;
        entry.twinOf = item.twinOf;
        entry.heldBytes = item.body === undefined ? 0 : Buffer.byteLength(item.body);
        this.#used += item.body?.length ?? 0;
        this.#ledger.use(entry);
      }
      return {
        info: infoOf(entry),
        ...(item.body !== undefined && { body: item.body }),
        ...(item.note !== undefined && { note: item.note }),
        ...(item.status && { status: item.status }),
      };
    });
  }
}
