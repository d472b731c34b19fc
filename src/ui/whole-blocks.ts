/**
 * The block of Markdown that begins at a place of a text, where the text ahead tells that it is complete: what the splitter
 * of markdown-blocks.ts finds line by line, found at once. Pure. Refuses: whatever needs more than a look (it says undefined).
 */
import type { Block } from "./markdown-blocks.ts";
import { FENCE, HEADING, LIST, MAX_BLOCK, MAX_FENCE_LINES } from "./markdown-lines.ts";

export type WholeBlock = {
  readonly text: string;
  readonly fence?: Block["fence"];
  /** Where the line behind it begins. */
  readonly next: number;
  /** It is not over, only as long as a block may be. */
  readonly cut: boolean;
};

/** A line that may be more than text of a paragraph; most begin with a letter. A fence, a list, a heading never does. */
const SPECIAL_LINE = /(?:^|\n)(?![A-Za-z"'(\u00c0-\uffff])/;
const HEADING_BELOW = /\n {0,3}#{1,6}(?:\s|$)/;
const BLANK_LINE = /(?:^|\n)[ \t][^\S\n]*(?:\n|$)/;
const GOES_ON = /^(?:\s{2,}\S|\s*$)/;

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
  if (end === -1) return undefined;
  const block = text.slice(start, end);
  if (!SPECIAL_LINE.test(block)) return { text: block, next: whole ? end + 2 : end + 1, cut: !whole };
  if (!whole || block.includes("```") || block.includes("~~~") || BLANK_LINE.test(block)) return undefined;
  if (block.includes("#") && (HEADING.test(block) || HEADING_BELOW.test(block))) return undefined;
  if (LIST.test(block) && mayGoOn(text, end + 2)) return undefined;
  return { text: block, next: end + 2, cut: false };
}

function wholeHeading(text: string, start: number): WholeBlock | undefined {
  const end = text.indexOf("\n", start);
  if (end === -1) return undefined;
  const line = text.slice(start, end);
  return HEADING.test(line) && !line.includes("```") && !line.includes("~~~")
    ? { text: line, next: end + 1, cut: false }
    : undefined;
}

/** Whether the list before the blank line may have more items or text behind it. */
function mayGoOn(text: string, next: number): boolean {
  const end = text.indexOf("\n", next);
  if (end === -1) return true;
  const line = text.slice(next, end);
  return GOES_ON.test(line) || LIST.test(line);
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
  return { text: code, fence, next: close + 4, cut: false };
}

function hasLines(text: string, count: number): boolean {
  let at = -1;
  for (let lines = 1; lines < count; lines++) {
    at = text.indexOf("\n", at + 1);
    if (at === -1) return false;
  }
  return true;
}
