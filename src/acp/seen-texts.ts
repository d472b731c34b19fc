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
  /** When the file had last changed as `base` was seen on the disk; undefined where it was not. */
  baseMs?: number | undefined;
};

const MAX_FILES = 2000;
const MAX_TEXTS = 64;

/** Editors keep text without a byte order mark, with one kind of line end, and some with a last line end of their own. */
function hashOf(text: string): string {
  const plain = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  return contentHash(Buffer.from(plain.endsWith("\n") ? plain.slice(0, -1) : plain));
}

/** Whether an editor would show the same for both. */
export function sameText(one: string, other: string): boolean {
  return hashOf(one) === hashOf(other);
}

/** The oldest entry goes once there are too many. */
function trim(entries: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }, most: number): void {
  const oldest = entries.size > most ? entries.keys().next().value : undefined;
  if (oldest !== undefined) entries.delete(oldest);
}

/** What the sessions of one editor have seen. */
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

  /**
   * The editor took a text, and says so. `held` is what it answers since, `before` what it answered until then (undefined:
   * nothing). One that goes on answering with the old text has not taken the new one over.
   */
  took(
    path: string,
    given: string,
    disk: DiskText,
    { held, before }: { readonly held?: string; readonly before?: string },
  ): void {
    const seen = this.#of(path);
    const onDisk = disk.text === undefined ? undefined : hashOf(disk.text);
    this.#note(seen, hashOf(given));
    if (onDisk !== undefined) this.#note(seen, onDisk);
    if (held && held === before && !sameText(held, given)) return;
    // Some change a text as they save it, and show it so.
    this.#begin(seen, held && hashOf(held) === onDisk ? onDisk : hashOf(given), onDisk, disk);
  }

  /** @param buffer what the editor says it has; undefined where it cannot say */
  judge(path: string, buffer: string | undefined, disk: DiskText): Standing {
    const seen = this.#of(path);
    const onDisk = disk.text === undefined ? undefined : hashOf(disk.text);
    const held = buffer === undefined || buffer === "" ? undefined : hashOf(buffer);
    const standing = this.#compare(seen, held, onDisk, disk);
    if (onDisk !== undefined) this.#note(seen, onDisk);
    if (held !== undefined && standing !== "conflict") this.#begin(seen, standing === "unsaved" ? onDisk : held, onDisk, disk);
    return standing;
  }

  #begin(seen: Seen, base: string | undefined, onDisk: string | undefined, disk: DiskText): void {
    seen.base = base;
    seen.baseMs = base === onDisk ? disk.changedMs : undefined;
  }

  #compare(seen: Seen, held: string | undefined, onDisk: string | undefined, disk: DiskText): Standing {
    // Nothing for a file that holds something is what clients say of files that are not open.
    if (held === undefined || held === onDisk) return "same";
    // The editor had what the disk has: an older text is the user's, too (undone), unless the disk went there and back meanwhile.
    const began = onDisk !== undefined && seen.base === onDisk;
    if (seen.known.has(held)) return began ? (seen.baseMs === disk.changedMs ? "unsaved" : "conflict") : "stale";
    if (onDisk === undefined) return disk.exists ? "same" : "conflict";
    if (seen.base !== undefined) return began ? "unsaved" : "conflict";
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
