/**
 * The block of Markdown that begins at a place of a text, where the text ahead tells that it is complete: what the splitter
 * of markdown-blocks.ts finds line by line, found at once. Pure. Refuses: whatever needs more than a look (it says undefined).
 */
import type { Block } from "./markdown-blocks.ts";
import { FENCE, goesOnAfterBlank, HEADING, isList, MAX_BLOCK, MAX_FENCE_LINES } from "./markdown-lines.ts";

export type WholeBlock = {
  readonly text: string;
  readonly fence?: Block["fence"];
  /** Where the line behind it begins. */
  readonly next: number;
  /** What follows stands without a blank line: the block is as long as a block may be, or a list begins below it. */
  readonly continued: boolean;
};

/** A line that may be more than text of a paragraph; most begin with a letter or a number. A fence, a list, a heading never does. */
const SPECIAL_LINE = /(?:^|\n)(?![A-Za-z"'(\u00c0-\uffff]|\d+(?![\d.)]))/;
const HEADING_BELOW = /\n {0,3}#{1,6}(?:\s|$)/;
const BLANK_LINE = /(?:^|\n)[ \t][^\S\n]*(?:\n|$)/;
const LIST_INSIDE = /\n(?= {0,3}(?:[-*+]|1[.)])[ ]+\S)/;

/**
 * The block at `start` (the begin of a line, no other block open). `blank` is the first "\n\n" at or behind `start`, -1 where
 * there is none.
 */
export function wholeBlock(text: string, start: number, blank: number): WholeBlock | undefined {
  if (blank === start || text.charCodeAt(start) === 10) return undefined;
  const first = text.charAt(start);
  if (first === "`") return wholeFence(text, start);
  const whole = blank !== -1 && blank - start <= MAX_BLOCK;
  // Lines are added until there are too many characters: the last of them is the one that makes it so.
  const end = whole ? blank : text.indexOf("\n", start + MAX_BLOCK);
  if (first === "#") return wholeHeading(text, start);
  if (end === -1 || (!whole && end - text.lastIndexOf("\n", end - 1) > MAX_BLOCK + 1)) return undefined;
  const block = text.slice(start, end);
  if (!SPECIAL_LINE.test(block)) return { text: block, next: whole ? end + 2 : end + 1, continued: !whole };
  if (!whole || block.includes("```") || block.includes("~~~") || BLANK_LINE.test(block)) return undefined;
  if (block.includes("#") && (HEADING.test(block) || HEADING_BELOW.test(block))) return undefined;
  const lineEnd = block.indexOf("\n");
  const firstLine = lineEnd === -1 ? block : block.slice(0, lineEnd);
  const below = isList(firstLine) ? undefined : LIST_INSIDE.exec(block)?.index;
  if (below !== undefined) return { text: block.slice(0, below), next: start + below + 1, continued: true };
  const goesOn = goesOnAfterBlank(firstLine);
  if (goesOn && mayGoOn(text, end + 2, goesOn)) return undefined;
  return { text: block, next: end + 2, continued: false };
}

function wholeHeading(text: string, start: number): WholeBlock | undefined {
  const end = text.indexOf("\n", start);
  if (end === -1) return undefined;
  const line = text.slice(start, end);
  return line.length <= MAX_BLOCK && HEADING.test(line) && !line.includes("```") && !line.includes("~~~")
    ? { text: line, next: end + 1, continued: false }
    : undefined;
}

/** Whether the block before the blank line may go on behind it. */
function mayGoOn(text: string, next: number, goesOn: RegExp): boolean {
  const end = text.indexOf("\n", next);
  return end === -1 || goesOn.test(text.slice(next, end));
}

/** A fence of three backticks that closes with the first three that follow. */
function wholeFence(text: string, start: number): WholeBlock | undefined {
  const headEnd = text.indexOf("\n", start);
  if (headEnd === -1) return undefined;
  const head = FENCE.exec(text.slice(start, headEnd));
  if (head?.[2] !== "```") return undefined;
  const close = text.indexOf("```", headEnd);
  if (close === -1 || text.charCodeAt(close - 1) !== 10 || text.charCodeAt(close + 3) !== 10) return undefined;
  const code = text.slice(headEnd + 1, Math.max(headEnd + 1, close - 1));
  if (code.length >= MAX_BLOCK || hasLines(code, MAX_FENCE_LINES)) return undefined;
  const fence = { info: (head[3] ?? "").trim(), head: true, tail: true };
  return { text: code, fence, next: close + 4, continued: false };
}

function hasLines(text: string, count: number): boolean {
  let at = -1;
  for (let lines = 1; lines < count; lines++) {
    at = text.indexOf("\n", at + 1);
    if (at === -1) return false;
  }
  return true;
}
