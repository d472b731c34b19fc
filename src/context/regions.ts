/** Finds code and comments in Markdown, in one pass (C7, C12). Refuses: rendering; indented code, which lists make ambiguous. */

export type Region = { readonly kind: "fence" | "span" | "comment"; readonly start: number; readonly end: number };

const FENCE = /^[ \t>]*(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})([^\n]*)$/;

type Line = { readonly start: number; readonly end: number };

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start <= text.length) {
    const at = text.indexOf("\n", start);
    const end = at === -1 ? text.length : at;
    lines.push({ start, end });
    start = end + 1;
  }
  return lines;
}

function fenceAt(
  text: string,
  line: Line,
): { readonly char: string; readonly length: number; readonly rest: string } | undefined {
  // Only the head of a line can open a fence; a line of a megabyte is not copied to learn that it is none.
  const found = FENCE.exec(text.slice(line.start, Math.min(line.end, line.start + 400)));
  const run = found?.[1];
  if (!run) return undefined;
  const rest = found[2] ?? "";
  return run[0] === "`" && rest.includes("`") ? undefined : { char: run[0] ?? "", length: run.length, rest };
}

/** For each run of backticks in a stretch: where the next run of the same length ends. */
function spanEnds(stretch: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open = new Map<number, number>();
  for (const found of stretch.matchAll(/`+|\n[ \t>]*(?=\n)/g)) {
    if (found[0][0] !== "`") {
      // A blank line ends the paragraph, and with it every open span.
      open.clear();
      continue;
    }
    const length = found[0].length;
    const before = open.get(length);
    if (before !== undefined) ends.set(before, found.index + length);
    open.set(length, found.index);
  }
  return ends;
}

/** True where only a little white space stands between the line's start and `at`. */
function opensLine(text: string, at: number): boolean {
  let place = at - 1;
  while (at - place < 64 && (text[place] === " " || text[place] === "\t")) place--;
  return place < 0 || text[place] === "\n";
}

/** A comment's end: its close; the end of the text where it opens a line and never closes; undefined where it is no comment. */
function commentEnd(text: string, from: number, lastClose: number): number | undefined {
  // Past the last close a search would run to the end of the text for every opening: quadratic.
  if (from + 4 <= lastClose) return text.indexOf("-->", from + 4) + 3;
  return opensLine(text, from) ? text.length : undefined;
}

type Stretch = { readonly text: string; readonly lastClose: number; readonly regions: Region[] };

/**
 * Adds the spans and comments that begin between `start` and `end`; answers where the last of them ends (a comment may
 * outlast the stretch). The stretch is copied: a search must not run on past it, once for every fence of the text.
 */
function inlineRegions({ text, lastClose, regions }: Stretch, start: number, end: number): number {
  const stretch = text.slice(start, end);
  const ends = spanEnds(stretch);
  const marks = /`+|<!--/g;
  let consumed = start;
  for (let found = marks.exec(stretch); found; found = marks.exec(stretch)) {
    const comment = found[0] === "<!--";
    const at = start + found.index;
    const close = comment ? commentEnd(text, at, lastClose) : ends.get(found.index);
    if (close === undefined) continue;
    const to = comment ? close : start + close;
    regions.push({ kind: comment ? "comment" : "span", start: at, end: to });
    consumed = to;
    if (to >= end) break;
    marks.lastIndex = to - start;
  }
  return consumed;
}

/** Regions in order, without overlap. Linear in the text. */
export function findRegions(text: string): Region[] {
  // Most prompts are plain: every mark of a region is one of these.
  if (!/[`~]|<!--/.test(text)) return [];
  const regions: Region[] = [];
  const stretch: Stretch = { text, lastClose: text.lastIndexOf("-->"), regions };
  let plain = 0;
  let open: { readonly start: number; readonly char: string; readonly length: number } | undefined;
  for (const line of linesOf(text)) {
    if (line.start < plain) continue;
    const fence = fenceAt(text, line);
    if (!fence) continue;
    if (!open) {
      plain = inlineRegions(stretch, plain, line.start);
      if (line.start < plain) continue;
      open = { start: line.start, char: fence.char, length: fence.length };
    } else if (fence.char === open.char && fence.length >= open.length && fence.rest.trim() === "") {
      regions.push({ kind: "fence", start: open.start, end: line.end });
      plain = line.end;
      open = undefined;
    }
  }
  if (open) regions.push({ kind: "fence", start: open.start, end: text.length });
  else inlineRegions(stretch, plain, text.length);
  return regions;
}

/** The text with every region blanked out; positions and lines stay. */
export function blankRegions(text: string, regions: readonly Region[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const region of regions) {
    parts.push(text.slice(at, region.start), text.slice(region.start, region.end).replace(/[^\n]/g, "\u0000"));
    at = region.end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}
