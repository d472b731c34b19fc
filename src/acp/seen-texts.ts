/**
 * What an editor's text of a file is, compared with the disk: the same, one the disk had before (the editor has not reloaded it
 * yet), or changes the user has not saved. Remembers hashes of what was seen while a session runs. Refuses: reading anything.
 */
import { contentHash } from "../base/hash.ts";

export type Standing =
  | "same"
  /** The editor's text was on the disk before: the disk is newer. */
  | "stale"
  /** The user changed it, and the disk is what these changes began from. */
  | "unsaved"
  /** Both have changed, or it cannot be told: whichever is written over is lost. */
  | "conflict";

export type DiskText = {
  readonly exists: boolean;
  /** Undefined where there is none that can be compared. */
  readonly text: string | undefined;
  /** When the file last changed in any way; 0 where it is not there. */
  readonly changedMs: number;
};

type Seen = {
  /** Of texts that were on the disk, oldest first. */
  readonly known: Set<string>;
  /** The text the editor's began from, as far as is known. */
  base?: string | undefined;
};

const MAX_FILES = 2000;
const MAX_TEXTS = 64;

/** Editors keep text without a byte order mark, with one kind of line end, and some with a last line end of their own. */
function hashOf(text: string): string {
  const plain = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  return contentHash(Buffer.from(plain.endsWith("\n") ? plain.slice(0, -1) : plain));
}

/** The oldest entry goes once there are too many. */
function trim(entries: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }, most: number): void {
  const oldest = entries.size > most ? entries.keys().next().value : undefined;
  if (oldest !== undefined) entries.delete(oldest);
}

/** What one session has seen. */
export class SeenTexts {
  readonly #files = new Map<string, Seen>();
  #since = Number.POSITIVE_INFINITY;

  /** The first turn begins: from here on files change in ways that an editor hears of late. */
  begin(nowMs: number): void {
    this.#since = Math.min(this.#since, nowMs);
  }

  /** This text is on the disk. */
  saw(path: string, text: string): void {
    this.#note(this.#of(path), hashOf(text));
  }

  /** This text is on the disk, and the editor has it. */
  synced(path: string, text: string): void {
    const seen = this.#of(path);
    seen.base = hashOf(text);
    this.#note(seen, seen.base);
  }

  /** @param buffer what the editor says it has; undefined where it cannot say */
  judge(path: string, buffer: string | undefined, disk: DiskText): Standing {
    const seen = this.#of(path);
    const onDisk = disk.text === undefined ? undefined : hashOf(disk.text);
    const held = buffer === undefined || buffer === "" ? undefined : hashOf(buffer);
    const standing = this.#compare(seen, held, onDisk, disk);
    if (onDisk !== undefined) this.#note(seen, onDisk);
    if (held !== undefined && standing !== "conflict") seen.base = standing === "unsaved" ? onDisk : held;
    return standing;
  }

  #compare(seen: Seen, held: string | undefined, onDisk: string | undefined, disk: DiskText): Standing {
    // Nothing for a file that holds something is what clients say of files that are not open.
    if (held === undefined || held === onDisk) return "same";
    if (seen.known.has(held)) return "stale";
    if (onDisk === undefined) return disk.exists ? "same" : "conflict";
    if (seen.base !== undefined) return seen.base === onDisk ? "unsaved" : "conflict";
    // A text never seen before: of the user, or what the disk had before a command that ran since.
    return disk.changedMs < this.#since ? "unsaved" : "conflict";
  }

  #of(path: string): Seen {
    const seen = this.#files.get(path) ?? { known: new Set() };
    this.#files.delete(path);
    this.#files.set(path, seen);
    trim(this.#files, MAX_FILES);
    return seen;
  }

  #note(seen: Seen, hash: string): void {
    seen.known.delete(hash);
    seen.known.add(hash);
    trim(seen.known, MAX_TEXTS);
  }
}
