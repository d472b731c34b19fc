/**
 * The unified diff of a change, as far as it may be long (tools.md "Writes"). Only the lines around the changes are compared, so the
 * size of the file does not matter. Refuses: whole files, colours.
 */
import { structuredPatch } from "diff";
import { countLineFeeds, lineEndAfter, lineStartBefore } from "./byte-lines.ts";
import type { Span } from "./edit-match.ts";

const CONTEXT_LINES = 3;
export const MAX_DIFF_LINES = 120;
const MAX_DIFF_BYTES = 40_960;
const MAX_LINE_CHARS = 512;
/** Beyond this a line-by-line comparison costs more than it tells. */
const MAX_COMPARED_BYTES = 2_097_152;
const MAX_EDIT_LENGTH = 4000;

type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] };

export type DiffText = {
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

function linesOf(text: string, sign: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const complete = lines.at(-1) === "";
  if (complete) lines.pop();
  const marked = lines.map((line) => sign + line);
  return complete ? marked : [...marked, "\\ No newline at end of file"];
}

/** Everything out, everything in: right for a new file, and the way out when a comparison would take too long. */
function wholesale(before: string, after: string): Hunk {
  const removed = linesOf(before, "-");
  const added = linesOf(after, "+");
  const count = (lines: string[]) => lines.filter((line) => !line.startsWith("\\")).length;
  return { oldStart: 1, oldLines: count(removed), newStart: 1, newLines: count(added), lines: [...removed, ...added] };
}

function compareTexts(before: string, after: string): Hunk[] {
  if (before === "" || after === "" || before.length + after.length > MAX_COMPARED_BYTES) return [wholesale(before, after)];
  const patch = structuredPatch("", "", before, after, "", "", { context: CONTEXT_LINES, maxEditLength: MAX_EDIT_LENGTH });
  return patch === undefined ? [wholesale(before, after)] : patch.hunks;
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
function withoutBom(before: string, after: string, atHead: boolean): [string, string] {
  const both = atHead && before.startsWith("\ufeff") && after.startsWith("\ufeff");
  return both ? [before.slice(1), after.slice(1)] : [before, after];
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
    for (const hunk of compareTexts(...withoutBom(old.toString("utf8"), fresh.toString("utf8"), window.start === 0))) {
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
  return `${body
    .slice(0, MAX_LINE_CHARS)
    .toWellFormed()
    .replace(/\ufffd$/, "")} …[line cut, ${body.length} characters]`;
}

function render(hunks: readonly Hunk[]): string[] {
  const changes = hunks.flatMap((hunk) => hunk.lines).filter((line) => !line.startsWith("\\"));
  const hideCr = changes.every((line) => line.endsWith("\r"));
  return hunks.flatMap((hunk) => [
    `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines.map((line) => showLine(line, hideCr)),
  ]);
}

/** First lines of a diff that fit, and how many there were. */
function capped(lines: readonly string[]): string {
  let bytes = 0;
  let shown = 0;
  while (shown < Math.min(lines.length, MAX_DIFF_LINES)) {
    bytes += Buffer.byteLength(lines[shown] ?? "") + 1;
    if (bytes > MAX_DIFF_BYTES) break;
    shown += 1;
  }
  const text = lines.slice(0, shown).join("\n");
  return shown === lines.length
    ? text
    : `${text}\n[diff cut: ${shown} of ${lines.length} lines shown; read_file_range shows the file]`;
}

/**
 * Unified diff of a change: 3 context lines, 120 lines at most, every cut said. `path` is the relative path as it is shown; `created`
 * puts `/dev/null` on the old side.
 */
export function diffText(path: string, before: Buffer, spans: readonly Span[], created: boolean): DiffText {
  const hunks = hunksOf(before, spans);
  const count = (sign: string) => hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.startsWith(sign)).length, 0);
  const lines = [`--- ${created ? "/dev/null" : `a/${path}`}`, `+++ b/${path}`, ...render(hunks)];
  return { text: hunks.length === 0 ? "" : capped(lines), added: count("+"), removed: count("-") };
}
