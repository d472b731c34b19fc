/**
 * The unified diff of a change, as far as it may be long (tools.md "Writes"). Only the lines around the changes are compared, so the
 * size of the file does not matter. Refuses: whole files, colours.
 */
import { structuredPatch } from "diff";
import { cutChars } from "../base/text.ts";
import { MAX_LINE_CHARS } from "./bounds.ts";
import { countLineFeeds, lineEndAfter, lineStartBefore } from "./byte-lines.ts";
import { markedEncoding, UTF8_MARK } from "./byte-order-mark.ts";
import type { Span } from "./edit-match.ts";

const LF = 10;
const CONTEXT_LINES = 3;
export const MAX_DIFF_LINES = 120;
const MAX_DIFF_BYTES = 40_960;
/** Beyond this a line-by-line comparison costs more than it tells. */
const MAX_COMPARED_BYTES = 2_097_152;
const MAX_EDIT_LENGTH = 1500;

type Hunk = {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  added: number;
  removed: number;
  /** Its lines, at least as many as can be shown. */
  lines: string[];
  /** How many lines it has. */
  size: number;
};

type DiffText = {
  /** "" when nothing differs. */
  readonly text: string;
  readonly added: number;
  readonly removed: number;
};

/** The one stretch in which two contents differ. */
export function differingSpan(before: Buffer, after: Buffer): Span {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  const STEP = 65_536;
  while (start + STEP <= shorter && before.subarray(start, start + STEP).equals(after.subarray(start, start + STEP)))
    start += STEP;
  while (start < shorter && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < shorter - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { start, end: before.length - tail, replacement: after.subarray(start, after.length - tail) };
}

/** Begin of the line `count` lines above the one that holds `offset`. */
function above(bytes: Buffer, offset: number, count: number): number {
  let start = lineStartBefore(bytes, offset);
  for (let line = 0; line < count && start > 0; line++) start = lineStartBefore(bytes, start - 1);
  return start;
}

/** End (after its line feed) of the line `count` lines below the one that holds `offset`. */
function beneath(bytes: Buffer, offset: number, count: number): number {
  let end = offset;
  for (let line = 0; line <= count && end < bytes.length; line++) end = Math.min(bytes.length, lineEndAfter(bytes, end) + 1);
  return end;
}

type Window = { start: number; end: number; spans: Span[] };

/** Spans whose surroundings touch are shown together. */
function windows(before: Buffer, spans: readonly Span[]): Window[] {
  const all: Window[] = [];
  for (const span of spans) {
    const start = above(before, span.start, CONTEXT_LINES + 1);
    const end = beneath(before, span.end, CONTEXT_LINES + 1);
    const last = all.at(-1);
    if (last !== undefined && start <= last.end) {
      last.end = Math.max(last.end, end);
      last.spans.push(span);
    } else {
      all.push({ start, end, spans: [span] });
    }
  }
  return all;
}

const NO_NEWLINE = "\\ No newline at end of file";

/** The first lines of one side of a hunk, as many as can be shown; `size` counts all. */
function sideOf(bytes: Buffer, sign: string): { lines: string[]; count: number; size: number; whole: boolean } {
  if (bytes.length === 0) return { lines: [], count: 0, size: 0, whole: true };
  const open = bytes[bytes.length - 1] === LF ? 0 : 1;
  const count = countLineFeeds(bytes) + open;
  let end = 0;
  for (let line = 0; line <= MAX_DIFF_LINES && end < bytes.length; line++)
    end = Math.min(bytes.length, lineEndAfter(bytes, end) + 1);
  end = Math.min(end, MAX_COMPARED_BYTES);
  const lines = bytes.toString("utf8", 0, end).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const marked = lines.map((line) => sign + line);
  const whole = end === bytes.length;
  if (whole && open === 1) marked.push(NO_NEWLINE);
  return { lines: marked, count, size: count + open, whole };
}

/** Everything out, everything in: right for a new file, and the way out when a comparison would take too long. */
function wholesale(before: Buffer, after: Buffer): Hunk {
  const old = sideOf(before, "-");
  const fresh = sideOf(after, "+");
  return {
    ...{ oldStart: 1, oldLines: old.count, newStart: 1, newLines: fresh.count },
    ...{ removed: old.count, added: fresh.count },
    // The new side never follows an incomplete old one.
    lines: old.whole ? [...old.lines, ...fresh.lines] : old.lines,
    size: old.size + fresh.size,
  };
}

function compare(before: Buffer, after: Buffer): Hunk[] {
  if (before.length === 0 || after.length === 0 || before.length + after.length > MAX_COMPARED_BYTES)
    return [wholesale(before, after)];
  const patch = structuredPatch("", "", before.toString("utf8"), after.toString("utf8"), "", "", {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDIT_LENGTH,
  });
  if (patch === undefined) return [wholesale(before, after)];
  return patch.hunks.map((hunk) => ({
    ...hunk,
    added: hunk.lines.filter((line) => line.startsWith("+")).length,
    removed: hunk.lines.filter((line) => line.startsWith("-")).length,
    size: hunk.lines.length,
  }));
}

/** A stretch of the file with the changes that fall into it made. */
function changed(before: Buffer, window: Window): Buffer {
  const parts: Buffer[] = [];
  let position = window.start;
  for (const span of window.spans) {
    parts.push(before.subarray(position, span.start), span.replacement);
    position = span.end;
  }
  parts.push(before.subarray(position, window.end));
  return Buffer.concat(parts);
}

/** A byte order mark that both sides begin with is no part of the text (R08). */
function withoutBom(before: Buffer, after: Buffer): [Buffer, Buffer] {
  const both = markedEncoding(before) === "utf-8" && markedEncoding(after) === "utf-8";
  return both ? [before.subarray(UTF8_MARK.length), after.subarray(UTF8_MARK.length)] : [before, after];
}

function hunksOf(before: Buffer, spans: readonly Span[]): Hunk[] {
  const hunks: Hunk[] = [];
  let line = 0;
  let shift = 0;
  let position = 0;
  for (const window of windows(before, spans)) {
    line += countLineFeeds(before.subarray(position, window.start));
    position = window.start;
    const old = before.subarray(window.start, window.end);
    const fresh = changed(before, window);
    for (const hunk of compare(...(window.start === 0 ? withoutBom(old, fresh) : ([old, fresh] as const)))) {
      hunks.push({ ...hunk, oldStart: hunk.oldStart + line, newStart: hunk.newStart + line + shift });
    }
    shift += countLineFeeds(fresh) - countLineFeeds(old);
  }
  return hunks;
}

/** An empty side of a hunk counts from the line before it. */
function range(start: number, lines: number): string {
  return lines === 1 ? `${start}` : `${lines === 0 ? start - 1 : start},${lines}`;
}

/** Shows the CR of mixed files; where every line has one, it would only be noise. */
function showLine(line: string, hideCr: boolean): string {
  const body = line.endsWith("\r") ? line.slice(0, -1) + (hideCr ? "" : "␍") : line;
  if (body.length <= MAX_LINE_CHARS) return body;
  return `${cutChars(body, MAX_LINE_CHARS)} …[line cut at ${MAX_LINE_CHARS} characters]`;
}

function render(hunks: readonly Hunk[]): string[] {
  const changes = hunks.flatMap((hunk) => hunk.lines).filter((line) => !line.startsWith("\\"));
  const hideCr = changes.every((line) => line.endsWith("\r"));
  return hunks.flatMap((hunk) => [
    `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines.map((line) => showLine(line, hideCr)),
  ]);
}

/** First lines of a diff that fit; `size` is how many there were. */
function capped(lines: readonly string[], size: number): string {
  let bytes = 0;
  let shown = 0;
  while (shown < Math.min(lines.length, MAX_DIFF_LINES)) {
    bytes += Buffer.byteLength(lines[shown] ?? "") + 1;
    if (bytes > MAX_DIFF_BYTES) break;
    shown += 1;
  }
  const text = lines.slice(0, shown).join("\n");
  return shown === size ? text : `${text}\n[diff cut: ${shown} of ${size} lines shown; read_file_range shows the file]`;
}

/**
 * Unified diff of a change: 3 context lines, 120 lines at most, every cut said. `path` is the relative path as it is shown; `created`
 * puts `/dev/null` on the old side.
 */
export function diffText(path: string, before: Buffer, spans: readonly Span[], created: boolean): DiffText {
  const hunks = hunksOf(before, spans);
  const sum = (part: (hunk: Hunk) => number) => hunks.reduce((total, hunk) => total + part(hunk), 0);
  const lines = [`--- ${created ? "/dev/null" : `a/${path}`}`, `+++ b/${path}`, ...render(hunks)];
  const size = 2 + sum((hunk) => 1 + hunk.size);
  return {
    text: hunks.length === 0 ? "" : capped(lines, size),
    added: sum((hunk) => hunk.added),
    removed: sum((hunk) => hunk.removed),
  };
}
