/**
 * What a resumed run held against the disk (C10): a log has no text of instruction files, so what is in force comes again.
 * Refuses: reading what discovery would not find; a log is no authority.
 */
import { isAbsolute, resolve } from "node:path";
import type { SourceInfo } from "../types/event.ts";
import type { ChangeFinder, Changes } from "./changes.ts";
import type { ContextOptions, RecordedFile } from "./contract.ts";
import { describe, type Wanted } from "./deliver.ts";
import type { Piece } from "./format.ts";
import { infoOf, type Ledger } from "./ledger.ts";
import type { Places } from "./nested.ts";
import { isInside, isSkippedName, segmentsBelow } from "./places.ts";
import { MAX_NESTED } from "./redelivery.ts";
import type { Resolver } from "./resolve.ts";

const SINCE = " since the recorded run";
/** Files that are gone are named up to here; then counted. */
const MAX_GONE = 20;

export class ResumedFiles {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #resolver: Resolver;
  readonly #places: Places;
  readonly #changes: Pick<ChangeFinder, "tell">;

  constructor(options: ContextOptions, ledger: Ledger, resolver: Resolver, places: Places, changes: Pick<ChangeFinder, "tell">) {
    this.#options = options;
    this.#ledger = ledger;
    this.#resolver = resolver;
    this.#places = places;
    this.#changes = changes;
  }

  /**
   * C10, on resume: what the earlier run held against the disk. The current text comes again, as after a compaction (C11): of
   * nested files the most recent five, of the others the path. `recorded`: the last delivered last.
   */
  async compare(recorded: readonly RecordedFile[], pins: ReadonlySet<string>, cwd: string): Promise<Changes> {
    const chain = this.#resolver.chainDirectories(cwd);
    const wanted: Wanted[] = [];
    const notes: Piece[] = [];
    const gone: RecordedFile[] = [];
    for (const file of recorded) {
      if (pins.has(file.path) || file.origin === "pin") continue;
      if (this.#ledger.get(file.path)?.claim) notes.push(...this.#sinceRecorded(file));
      else await this.#recordedNested(file, chain, wanted, gone);
    }
    const older = wanted.splice(0, Math.max(0, wanted.length - MAX_NESTED));
    return { wanted: [...older.map(asPath), ...wanted], notes: [...notes, ...this.#goneSince(gone)] };
  }

  #goneSince(gone: readonly RecordedFile[]): Piece[] {
    const told = gone.slice(0, MAX_GONE);
    for (const file of told) {
      const isReplaced = this.#ledger
        .entries()
        .some(({ place, state }) => place === this.#directoryOf(file) && state !== "removed");
      this.#changes.tell("removed", file, `${SINCE}${isReplaced ? " (another file of its directory takes its place)" : ""}`);
    }
    if (gone.length > told.length) {
      const message = `${gone.length - told.length} more instruction files removed${SINCE}`;
      this.#options.diagnose({ severity: "warning", code: "context_removed", message });
    }
    return told.map((file) => ({ info: goneInfo(file), status: "removed" }));
  }

  #directoryOf({ scope }: RecordedFile): string {
    return resolve(this.#options.root, scope);
  }

  /** It stands in the chain, or among its links. */
  #sinceRecorded({ path, contentHash }: RecordedFile): Piece[] {
    const entry = this.#ledger.get(path);
    if (!entry || entry.contentHash === contentHash) return [];
    this.#changes.tell("changed", entry, SINCE);
    return [{ info: infoOf(entry), status: "changed", note: "Changed since the earlier run; its current text stands above." }];
  }

  /** The instruction file of the directory that this one governed, whatever it is called now. */
  async #recordedNested(file: RecordedFile, chain: ReadonlySet<string>, wanted: Wanted[], gone: RecordedFile[]): Promise<void> {
    const { root, settings } = this.#options;
    // Links come behind what links them; files outside the workspace are compared by the chain alone.
    if (file.origin === "link" || file.scope === "~" || isAbsolute(file.scope)) return;
    const directory = this.#directoryOf(file);
    if (!isInside(root, directory) || segmentsBelow(root, directory).some(isSkippedName)) return;
    const found = chain.has(directory) ? undefined : await this.#resolver.directory(directory);
    const state = this.#ledger.get(file.path)?.state;
    // Withheld is not gone: it was told why, and may be repaired or allowed.
    if (state === "blocked" || state === "skipped") this.#places.expect(directory);
    else if (found?.entry.path !== file.path) gone.push(file);
    if (!found || found.entry.claim || wanted.some(({ entry }) => entry === found.entry)) return;
    describe(found.entry, found.file);
    const { path, contentHash } = found.file;
    const status = path !== file.path ? "added" : contentHash === file.contentHash ? undefined : "changed";
    if (status) this.#changes.tell(status, found.entry, SINCE);
    const reason = "in use in the resumed run";
    wanted.push({ ...found, cap: settings.maxDiscoveredChars, reason, ...(status && { status }) });
  }
}

/** The model is told where it is. */
function asPath(wanted: Wanted): Wanted {
  const { status: _, ...rest } = wanted;
  const reason = "in use in the resumed run, longer ago than others";
  return { ...rest, reason, named: "Not included; read it before you work under its scope." };
}

function goneInfo({ path, scope }: RecordedFile): SourceInfo {
  const nothing = { contentHash: "", byteCount: 0, truncated: false, reason: "" };
  return { path, scope, origin: "nested", state: "removed", ...nothing };
}
