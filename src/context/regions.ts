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

/** For each run of backticks in the stretch: where the next run of the same length begins. */
function spanEnds(text: string, start: number, end: number): Map<number, number> {
  const ends = new Map<number, number>();
  const open = new Map<number, number>();
  let paragraph = start;
  const runs = /`+|\n[ \t>]*(?=\n)/g;
  runs.lastIndex = start;
  for (let found = runs.exec(text); found && found.index < end; found = runs.exec(text)) {
    if (found[0][0] !== "`") {
      // A blank line ends the paragraph, and with it every open span.
      open.clear();
      paragraph = found.index;
      continue;
    }
    const length = found[0].length;
    const before = open.get(length);
    if (before !== undefined && before >= paragraph) ends.set(before, found.index + length);
    open.set(length, found.index);
  }
  return ends;
}

/** A comment's end: its close; the end of the text where it opens a line and never closes; undefined where it is no comment. */
function commentEnd(text: string, from: number, lastClose: number): number | undefined {
  // Past the last close a search would run to the end of the text for every opening: quadratic.
  if (from + 4 <= lastClose) return text.indexOf("-->", from + 4) + 3;
  return text.slice(text.lastIndexOf("\n", from - 1) + 1, from).trim() === "" ? text.length : undefined;
}

/** Adds the spans and comments that begin in the stretch; answers where the last of them ends (a comment may outlast it). */
function inlineRegions(text: string, start: number, end: number, regions: Region[]): number {
  const ends = spanEnds(text, start, end);
  const marks = /`+|<!--/g;
  marks.lastIndex = start;
  const lastClose = text.lastIndexOf("-->");
  let consumed = start;
  for (let found = marks.exec(text); found && found.index < end; found = marks.exec(text)) {
    const comment = found[0] === "<!--";
    const to = comment ? commentEnd(text, found.index, lastClose) : ends.get(found.index);
    if (to === undefined) {
      continue;
    }
    regions.push({ kind: comment ? "comment" : "span", start: found.index, end: to });
    marks.lastIndex = to;
    consumed = to;
  }
  return consumed;
}

/** Regions in order, without overlap. Linear in the text, up to one search for the last comment close per fence. */
export function findRegions(text: string): Region[] {
  const regions: Region[] = [];
  let plain = 0;
  let open: { readonly start: number; readonly char: string; readonly length: number } | undefined;
  for (const line of linesOf(text)) {
    if (line.start < plain) continue;
    const fence = fenceAt(text, line);
    if (!fence) continue;
    if (!open) {
      plain = inlineRegions(text, plain, line.start, regions);
      if (line.start < plain) continue;
      open = { start: line.start, char: fence.char, length: fence.length };
    } else if (fence.char === open.char && fence.length >= open.length && fence.rest.trim() === "") {
      regions.push({ kind: "fence", start: open.start, end: line.end });
      plain = line.end;
      open = undefined;
    }
  }
  if (open) regions.push({ kind: "fence", start: open.start, end: text.length });
  else inlineRegions(text, plain, text.length, regions);
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
