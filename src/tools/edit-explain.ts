/**
 * Says why a text was not found: the nearest lines and the first character that differs, by code point. Pure, and bounded for any
 * size of file. Refuses: suggesting that something near is good enough.
 */

import { lineEndAfter, lineNumberAt, lineStartBefore } from "./byte-lines.ts";
import { fold, named, plain, visible } from "./character-names.ts";

const MAX_HITS = 500;
const MAX_SCANNED_BYTES = 1_048_576;
/** A longer line is looked at only around the place that drew attention. */
const MAX_LINE_BYTES = 8192;
const MAX_COMPARED_LINES = 100;
const SHOWN_BYTES = 160;
const MIN_LIKENESS = 0.4;

/** A stretch of the file that is one line, or the interesting part of a very long one. Offsets are bytes. */
type Stretch = { readonly start: number; readonly text: string };

function stretchAt(bytes: Buffer, lineStart: number, lineEnd: number, hit: number): Stretch {
  const long = lineEnd - lineStart > MAX_LINE_BYTES;
  let start = long ? Math.max(lineStart, hit - MAX_LINE_BYTES / 2) : lineStart;
  // Never begin inside a character.
  while (start < lineEnd && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { start, text: bytes.toString("utf8", start, long ? Math.min(lineEnd, start + MAX_LINE_BYTES) : lineEnd) };
}

/** Lines that share a long word with `anchor`; in a small file without such lines, all of them. */
function candidates(bytes: Buffer, anchor: string): Stretch[] {
  const words = [...new Set(anchor.match(/[A-Za-z0-9_]{2,}/g) ?? [])].sort((one, other) => other.length - one.length).slice(0, 3);
  const byStart = new Map<number, Stretch>();
  for (const word of words) {
    let hits = 0;
    for (let at = bytes.indexOf(word); at !== -1 && hits < MAX_HITS; hits++) {
      const start = lineStartBefore(bytes, at);
      const end = lineEndAfter(bytes, at);
      if (!byStart.has(start)) byStart.set(start, stretchAt(bytes, start, end, at));
      at = bytes.indexOf(word, end);
    }
  }
  if (byStart.size === 0 && bytes.length <= MAX_SCANNED_BYTES) {
    for (let start = 0; start < bytes.length; ) {
      const end = lineEndAfter(bytes, start);
      byStart.set(start, stretchAt(bytes, start, end, start));
      start = end + 1;
    }
  }
  return [...byStart.values()].sort((one, other) => one.start - other.start);
}

/** 0 to 1: 1 when `wanted` is a part of `line`. */
function likeness(line: string, wanted: string): number {
  if (line.includes(wanted)) return 1;
  const longest = Math.max(line.length, wanted.length);
  const shortest = Math.min(line.length, wanted.length);
  let head = 0;
  while (head < shortest && line[head] === wanted[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && line[line.length - 1 - tail] === wanted[wanted.length - 1 - tail]) tail += 1;
  const words = wanted.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const shared = words.length === 0 ? 0 : words.filter((word) => line.includes(word)).length / words.length;
  return 0.95 * Math.max((head + tail) / longest, shared * 0.9);
}

/** Start of the line `back` lines before the one that holds `offset`; undefined when there are not so many. */
function linesBack(bytes: Buffer, offset: number, back: number): number | undefined {
  let start = lineStartBefore(bytes, offset);
  for (let step = 0; step < back; step++) {
    if (start === 0) return undefined;
    start = lineStartBefore(bytes, start - 1);
  }
  return start;
}

/** How many of the wanted lines the file has, in place, from `start` on (spelling details ignored). */
function linesInPlace(bytes: Buffer, start: number, wanted: readonly string[]): number {
  let count = 0;
  let position = start;
  for (const line of wanted) {
    if (position >= bytes.length) break;
    const end = lineEndAfter(bytes, position);
    if (fold(stretchAt(bytes, position, end, position).text).text === line) count += 1;
    position = end + 1;
  }
  return count;
}

type Nearest = { readonly anchorAt: Stretch; readonly firstLine: number };

function nearest(bytes: Buffer, oldLines: readonly string[]): Nearest | undefined {
  const folded = oldLines.slice(0, MAX_COMPARED_LINES).map((line) => fold(line.slice(0, MAX_LINE_BYTES)).text);
  const anchor = folded.reduce((best, line, index) => (line.length > (folded[best]?.length ?? 0) ? index : best), 0);
  const wanted = folded[anchor] ?? "";
  if (wanted === "") return undefined;
  const scored = candidates(bytes, (oldLines[anchor] ?? "").slice(0, MAX_LINE_BYTES))
    .map((stretch) => ({ stretch, score: likeness(fold(stretch.text).text, wanted) }))
    .filter(({ score }) => score >= MIN_LIKENESS)
    .sort((one, other) => other.score - one.score || one.stretch.start - other.stretch.start)
    .slice(0, 20);
  let best: (Nearest & { readonly total: number }) | undefined;
  for (const { stretch, score } of scored) {
    const firstLine = linesBack(bytes, stretch.start, anchor);
    if (firstLine === undefined) continue;
    const total = score + (folded.length > 1 ? linesInPlace(bytes, firstLine, folded) : 0);
    if (best === undefined || total > best.total) best = { anchorAt: stretch, firstLine, total };
  }
  return best;
}

/** Where in a file line the first line of the old text begins: UTF-16 index. When more lines follow, it reaches to the line's end. */
function alignFirst(fileLine: string, oldLine: string, moreFollow: boolean): number {
  if (moreFollow && fileLine.endsWith(oldLine)) return fileLine.length - oldLine.length;
  const exact = fileLine.indexOf(oldLine);
  if (exact !== -1) return exact;
  const oldBody = oldLine.trimStart();
  const oldLead = oldLine.length - oldBody.length;
  const file = fold(fileLine);
  const wanted = fold(oldLine).text;
  const at = wanted === "" ? -1 : file.text.indexOf(wanted);
  const body = at === -1 ? fileLine.length - fileLine.trimStart().length : (file.from[at] ?? 0);
  let lead = 0;
  while (lead < oldLead && lead < body && /[\p{Zs}\t]/u.test(fileLine[body - 1 - lead] ?? "")) lead += 1;
  return body - lead;
}

type Difference = { readonly file: string | undefined; readonly old: string | undefined };

type Compared = {
  /** UTF-16 length of the part that is the same. */
  readonly same: number;
  /** The first difference, then others of the same kind (only spelled differently), each once. */
  readonly differences: readonly Difference[];
};

function compare(file: string, old: string): Compared {
  const fileCharacters = [...file];
  const oldCharacters = [...old];
  let index = 0;
  let same = 0;
  while (index < oldCharacters.length && fileCharacters[index] === oldCharacters[index]) {
    same += oldCharacters[index]?.length ?? 0;
    index += 1;
  }
  const differences: Difference[] = [{ file: fileCharacters[index], old: oldCharacters[index] }];
  for (; index < oldCharacters.length && differences.length < 5; index++) {
    const [one, other] = [fileCharacters[index], oldCharacters[index]];
    if (one === other) continue;
    if (one === undefined || other === undefined || plain(one) !== plain(other)) break;
    if (!differences.some((known) => known.file === one && known.old === other)) differences.push({ file: one, old: other });
  }
  return { same, differences };
}

/** Characters between two offsets, without decoding a line that may be huge. */
function countCharacters(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) count += 1;
  return count;
}

/** What stands around an offset on its line, everything in it visible. */
function around(bytes: Buffer, offset: number): string {
  const lineStart = lineStartBefore(bytes, offset);
  const lineEnd = lineEndAfter(bytes, offset);
  const start = Math.max(lineStart, offset - SHOWN_BYTES);
  const end = Math.min(lineEnd, offset + SHOWN_BYTES);
  // A cut through a character leaves replacement characters at the ends.
  const text = bytes.toString("utf8", start, end).replace(/^\ufffd+|\ufffd+$/g, "");
  return `${start > lineStart ? "…" : ""}${visible(text)}${end < lineEnd ? "…" : ""}`;
}

/** Offset in the file where the old text would have to begin. */
function alignedStart(bytes: Buffer, old: string, found: Nearest): number {
  const [oldFirst = ""] = old.split("\n", 1);
  const inAnchor = lineStartBefore(bytes, found.anchorAt.start) === found.firstLine;
  const first = inAnchor
    ? found.anchorAt
    : stretchAt(bytes, found.firstLine, lineEndAfter(bytes, found.firstLine), found.firstLine);
  return first.start + Buffer.byteLength(first.text.slice(0, alignFirst(first.text, oldFirst, oldFirst.length < old.length)));
}

function describe(bytes: Buffer, old: string, found: Nearest): string {
  const start = alignedStart(bytes, old, found);
  const file = bytes.toString("utf8", start, Math.min(bytes.length, start + Buffer.byteLength(old) * 2 + 1024));
  const { same, differences } = compare(file, old);
  const offset = start + Buffer.byteLength(file.slice(0, same));
  const oldBytes = Buffer.from(old);
  const line = lineNumberAt(bytes, offset);
  const column = countCharacters(bytes, lineStartBefore(bytes, offset), offset) + 1;
  const [difference, ...others] = differences;
  const say = (one: Difference | undefined) =>
    `the file has ${named(one?.file, "its end")} where old_string has ${named(one?.old, "its end")}`;
  const more = others.map((one) => `; further on, ${say(one)}`).join("");
  return [
    `The nearest place first differs at line ${line}, column ${column}: ${say(difference)}${more}.`,
    `  file, line ${line}: ${around(bytes, offset)}`,
    `  old_string: ${around(oldBytes, Buffer.byteLength(old.slice(0, same)))}`,
  ].join("\n");
}

/** Lines of read_file_range copied with their numbers: the commonest reason of all. */
function hasLineNumbers(old: string): boolean {
  return old
    .split("\n")
    .every((line, index, all) => /^\d+: /.test(line) || (index > 0 && index === all.length - 1 && line === ""));
}

/** The whole message for an old_string that does not occur. `old` and `replacement` as they were searched for. */
export function explainMiss(bytes: Buffer, old: string, replacement: string): string {
  const parts = ["old_string was not found; it must match the file exactly."];
  if (hasLineNumbers(old)) {
    parts.push("It begins with the `N: ` line numbers that read_file_range adds: they are not part of the file.");
  }
  const applied = replacement.trim().length > 2 ? bytes.indexOf(Buffer.from(replacement)) : -1;
  if (applied !== -1)
    parts.push(`new_string is already there, at line ${lineNumberAt(bytes, applied)}: perhaps the edit was applied before.`);
  const found = nearest(bytes, old.split("\n"));
  parts.push(found === undefined ? "No line of the file resembles it." : describe(bytes, old, found));
  parts.push("Nothing was changed. Read the file again and copy the text as it is.");
  return parts.join("\n");
}
