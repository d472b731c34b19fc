/** Finds code and comments in Markdown (C7, C12). Refuses: rendering; indented code, which lists make ambiguous. */

import { type Block, readBlocks } from "./blocks.ts";
import { findComments, findInline } from "./inline.ts";

export type Region = { readonly kind: "fence" | "span" | "comment"; readonly start: number; readonly end: number };

/** Front matter longer than this is none. */
const MAX_FRONT_MATTER = 16 * 1024;

/** Where the text begins behind its front matter; 0 without one. */
function frontMatterEnd(text: string): number {
  if (!/^---[ \t]*\n/.test(text)) return 0;
  const close = /\n(?:---|\.\.\.)[ \t]*(?=\n|$)/.exec(text.slice(0, MAX_FRONT_MATTER));
  return close ? close.index + close[0].length : 0;
}

/** The text of a block with the marks of its quotes blanked out; places stay. */
function contentOf(text: string, { start, end, marks = [] }: Block): string {
  const parts: string[] = [];
  let at = start;
  for (const [from, to] of marks) {
    parts.push(text.slice(at, from), " ".repeat(to - from));
    at = to;
  }
  parts.push(text.slice(at, end));
  return parts.join("");
}

function regionsOf(text: string, block: Block): readonly Region[] {
  if (block.kind === "fence") return [{ kind: "fence", start: block.start, end: block.end }];
  const found = (block.kind === "html" ? findComments : findInline)(contentOf(text, block));
  return found.map(({ kind, start, end }) => ({ kind, start: block.start + start, end: block.start + end }));
}

/** Regions in order, without overlap. Linear in the text. */
export function findRegions(text: string): Region[] {
  // Most prompts are plain: every mark of a region is one of these.
  if (!/[`~]|<!--/.test(text)) return [];
  const regions = readBlocks(text).flatMap((block) => regionsOf(text, block));
  const body = frontMatterEnd(text);
  if (body === 0) return regions;
  // Some readers know front matter and some take it for prose: code is what both see.
  const behind = new Set<string>();
  for (const block of readBlocks(text, body)) for (const { start, end } of regionsOf(text, block)) behind.add(`${start}:${end}`);
  return regions.filter(({ kind, start, end }) => kind === "comment" || behind.has(`${start}:${end}`));
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
