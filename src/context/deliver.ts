/**
 * Turns wanted files into pieces of the conversation (C4, C6, C7, C9): their links behind them, the total cap over all,
 * each claimed in the ledger. Refuses: deciding which files are wanted, the words around the pieces.
 */
import type { ContextOptions } from "./contract.ts";
import { DROPPED } from "./drops.ts";
import type { Piece } from "./format.ts";
import { entryFor } from "./identity.ts";
import { type Entry, infoOf, type Ledger, release } from "./ledger.ts";
import { findLinks, resolveLink } from "./links.ts";
import { loadFile } from "./load.ts";
import type { OnDisk, Preparer } from "./prepare.ts";
import { mayLead } from "./secret-files.ts";

const MAX_LINK_DEPTH = 5;

export type Wanted = {
  readonly entry: Entry;
  readonly file: OnDisk;
  /** Characters (C6). */
  readonly cap: number;
  readonly reason: string;
  readonly status?: Piece["status"];
  /** Word for word, links and templates included: a pinned file. */
  readonly plain?: true;
};

type Item = Wanted & { readonly body?: string; readonly truncated: boolean; readonly note?: string; readonly gone?: boolean };

export function describe(entry: Entry, file: OnDisk): void {
  entry.stamp = file.stamp;
  entry.contentHash = file.contentHash;
  entry.byteCount = file.byteCount;
}

export class Deliverer {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #preparer: Preparer;
  /** Characters of instruction text in this context (C6). */
  #used = 0;

  constructor(options: ContextOptions, ledger: Ledger, preparer: Preparer) {
    this.#options = options;
    this.#ledger = ledger;
    this.#preparer = preparer;
  }

  /** C11: a new context holds no text. */
  reset(): void {
    this.#used = 0;
  }

  /** The text of one file has left the conversation. */
  lost(entry: Entry): void {
    this.#used = Math.max(0, this.#used - (entry.lastText?.length ?? 0));
    entry.lastText = undefined;
  }

  /** `wanted` is in order, broad to close. Blocked files yield nothing, or a withdrawal where their text had been sent. */
  async deliver(wanted: readonly Wanted[], cwd: string): Promise<Piece[]> {
    if (wanted.length === 0) return [];
    const seen = new Set(wanted.map((item) => item.entry.path));
    const items: Item[] = [];
    for (const item of wanted) items.push(...(await this.#expand(item, cwd, seen, 0)));
    return this.#claim(this.#withinTotal(items));
  }

  async #expand(wanted: Wanted, cwd: string, seen: Set<string>, depth: number): Promise<Item[]> {
    const { entry, file } = wanted;
    const hadText = entry.claim !== undefined;
    describe(entry, file);
    if (this.#ledger.drops.holds(entry.path, file.contentHash)) return this.#dropped(wanted);
    const prepared = await this.#preparer.prepare(file, wanted.cap, cwd, wanted.plain);
    if (prepared.kind === "blocked") {
      entry.state = "blocked";
      entry.reason = prepared.reason;
      entry.claim = undefined;
      entry.lastText = undefined;
      entry.heldBytes = 0;
      if (!hadText) return [];
      const note = "Its current text is withheld by the security scan; its earlier text no longer applies.";
      return [{ ...wanted, status: "withdrawn", truncated: false, note, gone: true }];
    }
    if (prepared.kind === "path") return [{ ...wanted, truncated: true, note: prepared.note }];
    const twin = this.#twin(entry);
    if (twin) return [{ ...wanted, truncated: twin.truncated, note: `The same text as ${twin.path}, which stands above.` }];
    const own: Item = { ...wanted, body: prepared.body, truncated: prepared.truncated };
    return wanted.plain ? [own] : [own, ...(await this.#links(wanted, prepared.full, cwd, seen, depth))];
  }

  /** A dropped file yields nothing; what the conversation holds of it, and of the files it alone brought, is withdrawn. */
  #dropped(wanted: Wanted): Item[] {
    const { entry } = wanted;
    const held = entry.claim !== undefined;
    release(entry, DROPPED);
    entry.state = "dropped";
    entry.reason = DROPPED;
    entry.lastText = undefined;
    if (!held) return [];
    const note = "The user dropped this file: its text no longer applies.";
    const own: Item = { ...wanted, status: "withdrawn", truncated: false, note, gone: true };
    return [own, ...this.#unlinked(wanted, new Set(), new Set())];
  }

  /** A copy of a nested file whose text is already there (A04: a worktree inside the workspace). */
  #twin(entry: Entry): Entry | undefined {
    if (entry.origin !== "nested") return undefined;
    return this.#ledger
      .claimed()
      .find((other) => other !== entry && other.state === "visible" && other.claim?.hash === entry.contentHash);
  }

  async #links(from: Wanted, text: string, cwd: string, seen: Set<string>, depth: number): Promise<Item[]> {
    const items: Item[] = [];
    const linked = new Set<string>();
    for (const link of findLinks(text)) {
      const target = await resolveLink(link.target, from.entry.path, from.entry.confine);
      if (target.kind === "none") continue;
      const where = { path: from.entry.path, line: link.line };
      const saying = `${from.entry.path}:${link.line}: @${link.target}`;
      if (target.kind === "missing") {
        this.#preparer.tell(
          { severity: "info", code: "context_link_missing", ...where, message: `${saying}: there is no such file` },
          link.target,
        );
        continue;
      }
      if (target.kind === "refused") {
        this.#preparer.tell(
          { severity: "warning", code: "context_link_refused", ...where, message: `${saying}: not followed: ${target.message}` },
          link.target,
        );
        continue;
      }
      linked.add(target.path);
      if (seen.has(target.path)) continue;
      if (depth >= MAX_LINK_DEPTH) {
        this.#preparer.tell(
          {
            severity: "warning",
            code: "context_link_depth",
            ...where,
            message: `${saying}: not followed: links are followed ${MAX_LINK_DEPTH} deep`,
          },
          link.target,
        );
        continue;
      }
      items.push(...(await this.#follow(from, target.path, saying, cwd, seen, depth)));
    }
    return [...items, ...this.#unlinked(from, linked, seen)];
  }

  async #follow(from: Wanted, path: string, saying: string, cwd: string, seen: Set<string>, depth: number): Promise<Item[]> {
    const file = await loadFile(path, (real) => mayLead(from.entry.confine, real));
    if (file.kind === "refused") {
      this.#preparer.tell(
        { severity: "warning", code: "context_link_refused", path, message: `${saying}: not followed: ${file.message}` },
        path,
      );
    }
    if (file.kind !== "text" && file.kind !== "large") return [];
    const { place, scope, confine } = from.entry;
    const fresh = { path, place, scope, origin: "link", confine, linkedFrom: from.entry.path } as const;
    const entry = await entryFor(this.#ledger, file.identity, fresh);
    if (seen.has(entry.path) || entry.claim?.hash === file.contentHash) return [];
    seen.add(entry.path);
    const status = entry.claim ? "changed" : from.status === "changed" ? "added" : from.status;
    const reason = `linked from ${from.entry.path}`;
    return await this.#expand({ entry, file, cap: from.cap, reason, ...(status && { status }) }, cwd, seen, depth + 1);
  }

  /** Files this one used to link and no longer does, and what they alone brought. */
  #unlinked(from: Wanted, linked: ReadonlySet<string>, seen: ReadonlySet<string>): Item[] {
    const items: Item[] = [];
    for (const entry of this.#ledger.claimed()) {
      if (entry.origin !== "link" || entry.linkedFrom !== from.entry.path || linked.has(entry.path) || seen.has(entry.path))
        continue;
      entry.claim = undefined;
      entry.heldBytes = 0;
      entry.state = "removed";
      entry.reason = `no longer linked from ${from.entry.path}`;
      items.push({
        entry,
        file: from.file,
        cap: 0,
        reason: entry.reason,
        status: "removed",
        truncated: false,
        note: "No longer linked; its text no longer applies.",
        gone: true,
      });
      items.push(...this.#unlinked({ ...from, entry }, linked, seen));
    }
    return items;
  }

  /** C6: over the total, the broadest become paths; the closest keep their text. */
  #withinTotal(items: readonly Item[]): Item[] {
    const kept = [...items];
    let left = this.#options.settings.maxTotalChars - this.#used;
    for (let at = kept.length - 1; at >= 0; at--) {
      const item = kept[at];
      if (item?.body === undefined) continue;
      if (item.body.length <= left) {
        left -= item.body.length;
        continue;
      }
      const { body: _left, ...rest } = item;
      const how = this.#preparer.readable(item.entry.path)
        ? "Read it with read_file_range when you work under its scope."
        : "It lies outside the workspace.";
      kept[at] = {
        ...rest,
        truncated: true,
        note: `Not included: the instruction text of this conversation has reached its limit. ${how}`,
      };
    }
    return kept;
  }

  #claim(items: readonly Item[]): Piece[] {
    return items.map((item) => {
      const { entry } = item;
      if (!item.gone) {
        const text = item.body !== undefined || item.note?.startsWith("The same text") === true;
        entry.claim = { hash: entry.contentHash, kind: text ? "text" : "path" };
        entry.state = text ? "visible" : "path_only";
        entry.truncated = item.truncated;
        entry.reason = text || item.body !== undefined ? item.reason : (item.note ?? item.reason);
        entry.lastText = item.body;
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
