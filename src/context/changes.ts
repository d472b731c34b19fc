/**
 * What changed on disk since it was sent (C10). Compares, tells the person, and says what is wanted again.
 * Refuses: reading directories itself (resolve.ts), wording for the model (format.ts).
 */

import { dirname } from "node:path";
import { lstat } from "../base/async-fs.ts";
import type { SourceOrigin } from "../types/event.ts";
import type { ContextOptions } from "./contract.ts";
import { partsOf, type Wanted } from "./deliver.ts";
import { DROPPED } from "./drops.ts";
import type { Piece } from "./format.ts";
import { type Entry, infoOf, type Ledger, retire } from "./ledger.ts";
import { loadFile } from "./load.ts";
import type { Places } from "./nested.ts";
import type { OnDisk } from "./prepare.ts";
import { chainReason, type Resolved, type Resolver } from "./resolve.ts";
import { mayLead } from "./secret-files.ts";

/** What a comparison found: files to send, and elements that carry no text. */
export type Changes = { readonly wanted: Wanted[]; readonly notes: Piece[] };

const PARTS_CHANGED = " (a file that it transcludes)";
const CHAIN: ReadonlySet<SourceOrigin> = new Set(["global", "ancestor", "root", "cwd"]);

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

export class ChangeFinder {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #resolver: Resolver;
  readonly #places: Places;
  /** Paths of the chain as last delivered. */
  #chain: readonly string[] = [];

  constructor(options: ContextOptions, ledger: Ledger, resolver: Resolver, places: Places) {
    this.#options = options;
    this.#ledger = ledger;
    this.#resolver = resolver;
    this.#places = places;
  }

  /** The chain that was just delivered. */
  remember(chain: readonly Resolved[]): void {
    this.#chain = chain.map(({ entry }) => entry.path);
  }

  tell(kind: "changed" | "added" | "removed", entry: { readonly path: string; readonly origin?: string }, more = ""): void {
    const severity = kind === "added" ? "info" : "warning";
    const message = `${entry.path}: ${entry.origin === "pin" ? "pinned" : "instruction"} file ${kind}${more}`;
    this.#options.diagnose({ severity, code: `context_${kind}`, path: entry.path, message });
  }

  /** C3, C10: the chain's members and their contents. Everything unchanged: nothing. */
  async chain(cwd: string): Promise<Changes> {
    const now = await this.#resolver.chain(cwd);
    const before = this.#chain;
    const paths = now.map(({ entry }) => entry.path);
    const wanted = now.flatMap((found) => this.#compare(found, this.capOf(found.entry), chainReason(found.entry)));
    const notes: Piece[] = [];
    for (const path of before.filter((path) => !paths.includes(path))) {
      const entry = this.#ledger.get(path);
      if (entry) notes.push(...(await this.#left(entry, cwd)));
    }
    const kept = before.filter((path) => this.#stays(path, paths));
    this.#chain = kept.length === 0 ? paths : merge(before, paths, new Set(kept));
    if (wanted.length === 0 && notes.length === 0) return { wanted, notes };
    // The updated chain is delivered whole; what did not change, as metadata.
    if (wanted.some((item) => item.status === "added") || notes.length > 0) notes.push(...this.#unchanged(now, wanted));
    return { wanted, notes };
  }

  /** An unreadable member keeps its last good text and its place (C5). */
  #stays(path: string, now: readonly string[]): boolean {
    const entry = this.#ledger.get(path);
    return !now.includes(path) && entry?.claim !== undefined && entry.reason.startsWith("kept");
  }

  #unchanged(now: readonly Resolved[], wanted: readonly Wanted[]): Piece[] {
    const sent = new Set(wanted.map((item) => item.entry));
    return now
      .filter(({ entry }) => !sent.has(entry) && entry.claim !== undefined)
      .map(({ entry }): Piece => ({ info: infoOf(entry), status: "unchanged" }));
  }

  #compare({ entry, file }: Resolved, cap: number, reason: string): Wanted[] {
    const sameText = entry.claim?.hash === file.contentHash;
    if (sameText && entry.state !== "dropped" && entry.parts === partsOf(file)) {
      entry.stamp = file.stamp;
      if (entry.reason.startsWith("kept")) entry.reason = reason;
      return [];
    }
    const status = entry.claim ? "changed" : "added";
    if (this.#ledger.drops.holds(entry.path, file.contentHash))
      // The delivery withdraws what was sent.
      return entry.claim ? [{ entry, file, cap, reason: DROPPED }] : [];
    // A blocked or unreadable file is looked at again each turn; it is news only when its content is.
    if (entry.state !== "blocked" || entry.contentHash !== file.contentHash)
      this.tell(
        status,
        entry,
        entry.state === "dropped" ? ": it was dropped, and its content is new" : sameText ? PARTS_CHANGED : "",
      );
    return [{ entry, file, cap, reason, status }];
  }

  /** A former member of the chain: gone, unreadable now, or merely not on the way to the new working directory. */
  async #left(entry: Entry, cwd: string): Promise<Piece[]> {
    if (entry.claim === undefined) return [];
    const stillThere = await exists(entry.path);
    if (stillThere && !this.#resolver.chainDirectories(cwd).has(entry.place)) {
      entry.origin = "nested";
      entry.reason = "was in the chain of an earlier working directory";
      return [
        {
          info: infoOf(entry),
          status: "unchanged",
          note: "No longer in the chain of the working directory; it still governs its own scope.",
        },
      ];
    }
    return await this.#goneOrUnreadable(entry);
  }

  async #goneOrUnreadable(entry: Entry): Promise<Piece[]> {
    const file = await loadFile(entry.path, (real) => mayLead(entry.confine, real));
    if (file.kind === "refused") {
      if (!entry.reason.startsWith("kept")) {
        entry.reason = `kept as last read: ${file.message}`;
        this.#options.diagnose({
          severity: "warning",
          code: "context_unreadable",
          path: entry.path,
          message: `${entry.path}: ${file.message}; its last good text is kept`,
        });
      }
      return [];
    }
    if (file.kind === "missing") return [this.#removed(entry)];
    return [this.#removed(entry, file.kind === "empty" ? "it is empty now" : "another file of its directory takes its place")];
  }

  #removed(entry: Entry, why?: string): Piece {
    this.tell("removed", entry, why === undefined ? "" : ` (${why})`);
    retire(entry, "removed", why ?? "it is gone from disk");
    if (entry.origin === "nested") this.#places.expect(entry.place);
    return { info: infoOf(entry), status: "removed" };
  }

  /** C10: nested files and links that the conversation holds. */
  async claimed(): Promise<Changes> {
    const wanted: Wanted[] = [];
    const notes: Piece[] = [];
    const chain = new Set(this.#chain);
    for (const entry of this.#ledger.claimed()) {
      // Pinned files: pinned.ts.
      if (chain.has(entry.path) || entry.claim === undefined || entry.origin === "pin") continue;
      const file = await loadFile(entry.path, (real) => mayLead(entry.confine, real));
      if (file.kind === "text" || file.kind === "large") {
        if (entry.origin === "link" && file.path !== entry.path) {
          notes.push(this.#removed(entry, "its name leads to another file"));
          continue;
        }
        if (entry.origin !== "link" && (await this.#superseded(entry, wanted, notes))) continue;
        if (entry.reason.startsWith("kept")) entry.reason = "readable again";
        wanted.push(...this.#compare({ entry, file }, this.capOf(entry), entry.reason));
        continue;
      }
      notes.push(...(await this.#goneOrUnreadable(entry)));
      if (entry.claim === undefined && entry.origin === "nested") await this.#successor(entry.place, wanted);
    }
    return { wanted, notes };
  }

  /** A name that comes earlier in C2 has appeared beside a nested file. */
  async #superseded(entry: Entry, wanted: Wanted[], notes: Piece[]): Promise<boolean> {
    const now = await this.#resolver.directory(entry.place);
    if (now?.entry === entry) return false;
    if (!now) {
      // It stood there by a link, which is gone or leads elsewhere; what it led to still is where it was.
      if (dirname(entry.path) === entry.place) return false;
      notes.push(this.#removed(entry, "no link of its directory leads to it any more"));
      return true;
    }
    notes.push(this.#removed(entry, "another file of its directory takes its place"));
    wanted.push(...this.#compare(now, this.#options.settings.maxDiscoveredChars, "takes the place of another file"));
    return true;
  }

  async #successor(directory: string, wanted: Wanted[]): Promise<void> {
    const now = await this.#resolver.directory(directory);
    if (now && now.entry.claim === undefined)
      wanted.push(...this.#compare(now, this.#options.settings.maxDiscoveredChars, "takes the place of another file"));
  }

  /** C6. Links keep the cap of the file that links them. */
  capOf(entry: Entry): number {
    const { maxChars, ownMaxChars, maxDiscoveredChars } = this.#options.settings;
    let from: Entry | undefined = entry;
    for (let hops = 0; from?.linkedFrom !== undefined && hops < 8; hops++) from = this.#ledger.get(from.linkedFrom);
    if (from?.origin === "global") return ownMaxChars;
    const inChain = from && (CHAIN.has(from.origin) || this.#chain.includes(from.path));
    return inChain ? maxChars : maxDiscoveredChars;
  }

  /** C5: files that were sent and cannot be read at the moment, with their last good text. */
  async unreadable(held: readonly Entry[]): Promise<Wanted[]> {
    const wanted: Wanted[] = [];
    for (const entry of held) {
      const text = entry.lastText;
      if (text === undefined || entry.stamp === undefined) continue;
      const now = await loadFile(entry.path, (real) => mayLead(entry.confine, real));
      if (now.kind !== "refused") continue;
      const { path, stamp, contentHash, byteCount } = entry;
      const file: OnDisk = { kind: "text", path, identity: "", stamp, contentHash, byteCount, uid: 0, gid: 0, mode: 0, text };
      wanted.push({ entry, file, cap: text.length, reason: `kept as last read: ${now.message}` });
    }
    return wanted;
  }

  /** C10: directories called for before, where a file has appeared, was repaired or was allowed since. */
  async appeared(cwd: string): Promise<Wanted[]> {
    const chain = this.#resolver.chainDirectories(cwd);
    const wanted: Wanted[] = [];
    for (const directory of await this.#places.due())
      if (!chain.has(directory)) wanted.push(...(await this.#appearedIn(directory)));
    return wanted;
  }

  async #appearedIn(directory: string): Promise<Wanted[]> {
    const now = await this.#resolver.directory(directory);
    if (!now) return [];
    if (now.entry.claim !== undefined) {
      this.#places.met(directory);
      return [];
    }
    return this.#compare(now, this.#options.settings.maxDiscoveredChars, "appeared in a directory in use");
  }
}

/** The new chain with the kept members at their old places. */
function merge(before: readonly string[], now: readonly string[], kept: ReadonlySet<string>): string[] {
  const merged: string[] = [...now];
  for (const [at, path] of before.entries()) if (kept.has(path)) merged.splice(Math.min(at, merged.length), 0, path);
  return merged;
}
