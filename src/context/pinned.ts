/**
 * The text of pinned files: read like an instruction file (C5), sent when it is not in the conversation as it is on disk.
 * A pinned instruction file is none of this: it governs (C4), so it comes by its own way. Refuses: wording, caps.
 */

import { dirname } from "node:path";
import { realpath } from "../base/async-fs.ts";
import type { ChangeFinder } from "./changes.ts";
import type { ContextOptions } from "./contract.ts";
import { describe, type Wanted } from "./deliver.ts";
import { DROPPED } from "./drops.ts";
import type { Piece } from "./format.ts";
import { entryFor } from "./identity.ts";
import { type Entry, infoOf, type Ledger, release } from "./ledger.ts";
import { loadFile } from "./load.ts";
import { isInside, scopeOf } from "./places.ts";
import type { OnDisk, Preparer } from "./prepare.ts";
import { isSecretFile } from "./secret-files.ts";

export type PinnedText = { readonly wanted: Wanted[] /** Files that are gone. */; readonly notes: Piece[] };

export class PinnedFiles {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #preparer: Preparer;
  readonly #changes: ChangeFinder;
  /** Real path → hash as an earlier run recorded it (C10). */
  readonly #recorded = new Map<string, string>();

  constructor(options: ContextOptions, ledger: Ledger, preparer: Preparer, changes: ChangeFinder) {
    this.#options = options;
    this.#ledger = ledger;
    this.#preparer = preparer;
    this.#changes = changes;
  }

  remember(path: string, contentHash: string): void {
    this.#recorded.set(path, contentHash);
  }

  /** What of these paths the conversation lacks. */
  async look(paths: readonly string[]): Promise<PinnedText> {
    const found: PinnedText = { wanted: [], notes: [] };
    for (const path of paths) {
      const real = await realpath(path).catch(() => path);
      const leads = this.#leads(path, real);
      const file = leads === undefined ? await loadFile(real, () => false) : ({ kind: "refused", message: leads } as const);
      if (file.kind === "text" || file.kind === "large") await this.#there(file, found);
      // Where a link leads out, what it leads to is not named either.
      else if (file.kind === "refused") this.#refused(leads === undefined ? real : path, file.message);
      else this.#gone(real, file.kind === "empty" ? "it is empty now" : "it is gone from disk", found);
    }
    return found;
  }

  /** An unpinned file that the conversation does not hold is nobody's source. */
  forget(path: string): void {
    const entry = this.#ledger.get(path);
    if (entry?.origin === "pin" && entry.claim === undefined) this.#ledger.delete(path);
  }

  /** Why a pinned path is not followed. Who pins `.env` means it; who pins a link does not see that it leads there. */
  #leads(path: string, real: string): string | undefined {
    const { root } = this.#options;
    if (!isInside(root, real)) return "it is a link that leads outside";
    return real !== path && isSecretFile(root, real) ? "it is a link to a file that may hold secrets" : undefined;
  }

  #place(path: string) {
    const { root } = this.#options;
    const place = dirname(path);
    return { path, place, scope: scopeOf(root, place), origin: "pin", confine: root } as const;
  }

  async #there(file: OnDisk, found: PinnedText): Promise<void> {
    const fresh = this.#place(file.path);
    const entry = await entryFor(this.#ledger, file.identity, fresh);
    if (entry.origin !== "pin" && !this.#takeOver(entry)) return this.#ledger.use(entry);
    const { path, contentHash } = file;
    if (this.#ledger.drops.holds(entry.path, contentHash)) {
      describe(entry, file);
      if (entry.claim) found.wanted.push({ entry, file, cap: 0, reason: DROPPED, plain: true });
      else Object.assign(entry, { state: "dropped", reason: DROPPED });
      return;
    }
    if (entry.claim?.hash === contentHash) {
      if (entry.reason.startsWith("kept")) entry.reason = "pinned";
      return this.#ledger.use(entry);
    }
    const recorded = this.#recorded.get(path);
    this.#recorded.delete(path);
    const changed = entry.claim !== undefined || (recorded !== undefined && recorded !== contentHash);
    const blocked = entry.state === "blocked" && entry.contentHash === contentHash;
    if (changed && !blocked) this.#changes.tell("changed", entry, recorded === undefined ? "" : " since the recorded run");
    const cap = this.#options.settings.maxDiscoveredChars;
    found.wanted.push({ entry, file, cap, reason: "pinned", plain: true, ...(changed && { status: "changed" }) });
  }

  /** A file that was linked once, or that stood for its directory once, and that the conversation does not hold. */
  #takeOver(entry: Entry): boolean {
    if (entry.claim !== undefined || (entry.origin !== "link" && entry.state !== "removed")) return false;
    Object.assign(entry, this.#place(entry.path), { linkedFrom: undefined });
    return true;
  }

  #refused(path: string, message: string): void {
    // A pinned directory has no text of its own.
    if (message === "it is a directory") return;
    const entry = this.#ledger.put(this.#place(path));
    if (entry.origin !== "pin") return;
    const held = entry.claim !== undefined;
    const kept = held ? "; its last good text is kept" : "";
    const said = `${path}: pinned, but ${message}${kept}`;
    this.#preparer.tell({ severity: "warning", code: "context_skipped", path, message: said }, message);
    if (!held) entry.state = "skipped";
    entry.reason = held ? `kept as last read: ${message}` : message;
  }

  #gone(path: string, reason: string, found: PinnedText): void {
    const entry = this.#ledger.get(path);
    if (entry?.origin !== "pin") return;
    const held = entry.claim !== undefined;
    release(entry, reason);
    entry.state = "removed";
    entry.reason = reason;
    if (!held) return;
    this.#changes.tell("removed", entry);
    found.notes.push({ info: infoOf(entry), status: "removed" });
  }
}
