/**
 * The one list of sources and their states (context.md, Words). Every route goes through it: that is what keeps a file from
 * arriving twice. Refuses: reading files, text for the model.
 */
import type { SourceInfo, SourceOrigin, SourceState } from "../types/event.ts";
import { DropBoard } from "./drops.ts";
import type { Stamp } from "./load.ts";

/** A link as it is written in the text in force, and the real path it led to when last looked at. */
export type Linked = { readonly target: string; readonly line: number; readonly path?: string };

export type Entry = {
  /** Real path; the key. */
  readonly path: string;
  /** Directory the file governs (a link: that of the file that links it). */
  place: string;
  scope: string;
  origin: SourceOrigin;
  /** Directory that the file's own links must stay in. */
  confine: string;
  stamp: Stamp | undefined;
  contentHash: string;
  /** What a template named in `transclude()` when it was last looked at: paths and hashes as one text; "" for any other file. */
  parts: string;
  byteCount: number;
  truncated: boolean;
  state: SourceState;
  reason: string;
  /** Hash of what this context's conversation holds of it: its text, or its path alone. Undefined: nothing. */
  claim: { readonly hash: string; readonly kind: "text" | "path" } | undefined;
  /** Last capped text delivered, for when a later read fails (C5). Bounded by the total cap. */
  lastText: string | undefined;
  /** Bytes of its text that the conversation holds. */
  heldBytes: number;
  /** Turn-independent clock of use; 0 never. */
  lastUsed: number;
  /** Path of a file that links this one: the first of them that is in force. */
  linkedFrom: string | undefined;
  /** Links of its text while that is in force. */
  links: readonly Linked[];
  /** Path of the file under whose name the conversation holds this very text; the model was told so. */
  twinOf: string | undefined;
};

export type NewEntry = Pick<Entry, "path" | "place" | "scope" | "origin" | "confine"> & Partial<Entry>;

const NO_CLAIM = {
  stamp: undefined,
  contentHash: "",
  parts: "",
  byteCount: 0,
  truncated: false,
  state: "candidate",
  reason: "",
  claim: undefined,
  lastText: undefined,
  heldBytes: 0,
  lastUsed: 0,
  linkedFrom: undefined,
  links: [],
  twinOf: undefined,
} as const;

const ORIGIN_ORDER: Readonly<Record<SourceOrigin, number>> = {
  global: 0,
  ancestor: 1,
  root: 2,
  cwd: 3,
  nested: 4,
  link: 4,
  pin: 5,
};

export function infoOf(entry: Entry): SourceInfo {
  return {
    path: entry.path,
    scope: entry.scope,
    origin: entry.origin,
    contentHash: entry.contentHash,
    byteCount: entry.byteCount,
    truncated: entry.truncated,
    state: entry.state,
    reason: entry.reason,
    ...(entry.heldBytes > 0 && { heldBytes: entry.heldBytes }),
  };
}

/** What it is once the conversation no longer holds it: a candidate, unless somebody decided otherwise. */
export function release(entry: Entry, reason: string): void {
  entry.claim = undefined;
  entry.twinOf = undefined;
  entry.heldBytes = 0;
  if (entry.state === "dropped") return;
  entry.state = "candidate";
  entry.reason = reason;
}

/** Its text is out of force, and with it what it links. */
export function retire(entry: Entry, state: SourceState, reason: string): void {
  entry.claim = undefined;
  entry.twinOf = undefined;
  entry.heldBytes = 0;
  entry.lastText = undefined;
  entry.links = [];
  entry.state = state;
  entry.reason = reason;
}

export class Ledger {
  readonly drops = new DropBoard();
  readonly #entries = new Map<string, Entry>();
  /** Device and inode → path: a second name of one file finds the first (C2). */
  readonly #identities = new Map<string, string>();
  #clock = 0;

  get(path: string): Entry | undefined {
    return this.#entries.get(path);
  }

  /** The entry of `path`, made if there is none. */
  put(fresh: NewEntry): Entry {
    const known = this.#entries.get(fresh.path);
    if (known) return known;
    const entry: Entry = { ...NO_CLAIM, ...fresh };
    this.#entries.set(entry.path, entry);
    return entry;
  }

  /** Path under which this file is known, if it is known by another name. */
  aliasOf(identity: string, path: string): string | undefined {
    const known = this.#identities.get(identity);
    return known === undefined || known === path ? undefined : known;
  }

  identify(identity: string, path: string): void {
    this.#identities.set(identity, path);
  }

  delete(path: string): void {
    this.#entries.delete(path);
  }

  use(entry: Entry): void {
    entry.lastUsed = ++this.#clock;
  }

  entries(): Entry[] {
    return [...this.#entries.values()];
  }

  /** Entries whose text or path the conversation holds. */
  claimed(): Entry[] {
    return this.entries().filter((entry) => entry.claim !== undefined);
  }

  /** Entries whose text stands under another's name, and that one's text is out of force, or about to be (`leaving`). */
  orphanedTwins(leaving: (path: string) => boolean): Entry[] {
    return this.claimed().filter(({ twinOf, claim }) => {
      const other = twinOf === undefined ? undefined : this.get(twinOf);
      return other !== undefined && (leaving(other.path) || other.claim?.kind !== "text" || other.claim.hash !== claim?.hash);
    });
  }

  /** C11: nothing of any file is in the conversation any more. */
  clearClaims(): void {
    for (const entry of this.claimed()) release(entry, "left the conversation when it was compacted");
  }

  /** Broad to close; what the conversation holds before what it does not. */
  list(): SourceInfo[] {
    const depth = (entry: Entry): number => entry.place.split("/").length;
    return this.entries()
      .sort(
        (a, b) =>
          ORIGIN_ORDER[a.origin] - ORIGIN_ORDER[b.origin] ||
          depth(a) - depth(b) ||
          (a.place < b.place ? -1 : a.place > b.place ? 1 : 0),
      )
      .map(infoOf);
  }
}
