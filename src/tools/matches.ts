/**
 * What a text search found, whichever engine searched: files in path order with their lines, bounded to the limit.
 * Owns the excerpt of a long line (S06, S13) and the bounded collection. Refuses: running engines, wording of results.
 */
import { cutChars, groupDigits } from "../base/text.ts";
import { MAX_LINE_CHARS } from "./bounds.ts";
import { comparePaths } from "./path-order.ts";

export type MatchLine = {
  readonly number: number;
  readonly isMatch: boolean;
  /** At most MAX_LINE_CHARS, without line end. */
  readonly text: string;
  /** Where to read the excerpt from, for a line too long to have been held. */
  readonly far?: FarMatch;
};

/** Bytes: where the line begins in its file, and the first match's place in the line. */
export type FarMatch = { readonly lineOffset: number; readonly start: number; readonly end: number };

export type FileMatches = {
  /** Relative to the root. */
  readonly path: string;
  readonly lines: readonly MatchLine[];
  /** Matching lines among `lines`. */
  readonly matches: number;
  /** The file holds a NUL byte: its lines are not shown. */
  readonly binary: boolean;
};

export type SearchRequest = {
  /** Absolute real path. */
  readonly root: string;
  /** Directory or file, relative to the root; "" is the root. Searched even when it is itself hidden or ignored. */
  readonly base: string;
  readonly baseIsFile: boolean;
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  readonly contextLines: number;
  readonly includeHidden: boolean;
  readonly includeIgnored: boolean;
  /** Which files count; takes paths relative to the root. */
  readonly accept: (path: string) => boolean;
  /** Files that are searched only when `base` names them: of those that match, only the number is told. */
  readonly withholds: (path: string) => boolean;
  /** Name globs an engine may narrow its walk with; `accept` decides. */
  readonly nameGlobs: readonly string[] | undefined;
  /** Matching lines wanted. */
  readonly limit: number;
  readonly signal: AbortSignal;
  /** Default: SEARCH_TIMEOUT_MS. */
  readonly timeoutMs?: number;
};

export type SearchOutcome =
  | {
      readonly ok: true;
      readonly engine: "rg" | "built-in";
      /** Why rg did not serve. */
      readonly passedOver?: "missing" | "inside" | "rules" | "broken" | "trapped";
      readonly files: readonly FileMatches[];
      readonly end: "complete" | "limit" | "timeout" | "cancelled";
      /** Matching lines seen; `exact` says that there are no more. */
      readonly total: number;
      readonly exact: boolean;
      /** Matching files that `withholds` left out. */
      readonly withheld: number;
      readonly unreadable: number;
      readonly firstProblem?: string;
      /** The engine died in the middle: there may be more than it found. */
      readonly endedEarly?: string;
    }
  | { readonly ok: false; readonly message: string };

export type MatchCollector = {
  add(file: FileMatches): void;
  /** Whether no match of this file can be among the first any more: only its number of matches is of interest. */
  isBeyond(path: string): boolean;
  /** Matching lines added so far. */
  total(): number;
  /** False when a file was left before its last match. */
  exact(): boolean;
  /** The first `limit` matches in path order. */
  result(): readonly FileMatches[];
};

/** Keeps the first `limit` matching lines in path order, whatever order files arrive in, in bounded memory. */
export function createMatchCollector(limit: number, contextLines: number): MatchCollector {
  let files: FileMatches[] = [];
  let held = 0;
  let total = 0;
  let exact = true;
  let bound: string | undefined;
  const shrink = (): void => {
    files.sort((a, b) => comparePaths(a.path, b.path));
    files = takeFirst(files, limit, contextLines);
    held = files.reduce((sum, file) => sum + weight(file), 0);
    if (held >= limit) bound = files.at(-1)?.path;
  };
  return {
    add(file) {
      total += weight(file);
      // Engines leave a file after one match more than the limit.
      if (file.matches > limit) exact = false;
      if (bound !== undefined && comparePaths(file.path, bound) > 0) return;
      held += weight(file);
      files.push(file);
      if (held > limit * 4) shrink();
    },
    isBeyond: (path) => bound !== undefined && comparePaths(path, bound) > 0,
    total: () => total,
    exact: () => exact,
    result() {
      shrink();
      return files;
    },
  };
}

/** A binary file is one result, however often it matches. */
function weight(file: FileMatches): number {
  return file.binary ? 1 : file.matches;
}

function takeFirst(files: readonly FileMatches[], limit: number, contextLines: number): FileMatches[] {
  const taken: FileMatches[] = [];
  let room = limit;
  for (const file of files) {
    if (room <= 0) break;
    taken.push(weight(file) <= room ? file : cutFile(file, room, contextLines));
    room -= weight(file);
  }
  return taken;
}

/** The first `matches` matches of a file with the context that belongs to them. */
function cutFile(file: FileMatches, matches: number, contextLines: number): FileMatches {
  let seen = 0;
  let last = 0;
  const lines = file.lines.filter((line) => {
    if (line.isMatch) {
      seen += 1;
      if (seen <= matches) last = line.number;
    }
    return seen <= matches && (line.isMatch || seen < matches || line.number <= last + contextLines);
  });
  return { ...file, lines, matches };
}

/** `bytes` is one line without its end; `start` and `end` are byte offsets of its first match (none for context). */
export function excerpt(bytes: Buffer, start = 0, end = start): string {
  const text = bytes.toString("utf8");
  if (text.length <= MAX_LINE_CHARS) return text;
  // Offsets are bytes (S13); on invalid UTF-8 decoding a prefix is still what decoding the whole gives for it.
  const from = bytes.toString("utf8", 0, start).length;
  return excerptText(text, from, from + bytes.toString("utf8", start, end).length, `${groupDigits(text.length)} characters`);
}

/** The same for a decoded line with offsets in UTF-16 units. `length` says how long the whole line is. */
export function excerptText(text: string, from: number, to: number, length: string): string {
  if (text.length <= MAX_LINE_CHARS) return text;
  const note = ` [excerpt of a line of ${length}]`;
  const room = MAX_LINE_CHARS - note.length - 2;
  const around = Math.max(0, Math.floor((room - (to - from)) / 2));
  const begin = Math.max(0, Math.min(from - around, text.length - room));
  const start = begin > 0 && isLowSurrogate(text, begin) ? begin + 1 : begin;
  const piece = cutChars(text.slice(start, start + room + 1), room);
  return `${start > 0 ? "…" : ""}${piece}${start + piece.length < text.length ? "…" : ""}${note}`;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit < 0xe000;
}
