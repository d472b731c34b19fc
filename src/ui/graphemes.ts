/** Character clusters as a person sees them: where they begin and end, how wide they are. Refuses: splitting one. */
import { once } from "../base/once.ts";
import { visible } from "./sanitize.ts";

/** Clusters are looked for in a window of this size: no real one is longer, and texts may be. */
const WINDOW = 256;
const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/;
const TAGS = /[\u{e0000}-\u{e007f}]/u;

/** Splits text into clusters. */
export type Segmenter = Pick<Intl.Segmenter, "segment">;

/** The constructor takes 1.5 ms, so it waits for text that is not plain. */
export function createSegmenter(): Segmenter {
  const made = once(() => new Intl.Segmenter("en", { granularity: "grapheme" }));
  return { segment: (text) => made().segment(text) };
}

const isPlain = (code: number): boolean => code >= 0x20 && code < 0x7f;

/** A place at or before `index` where a cluster surely begins: between two printable ASCII characters, or at a line's start. */
function anchorBefore(text: string, index: number): number {
  const limit = Math.max(0, index - WINDOW);
  for (let at = index - 1; at > limit; at--) {
    const code = text.charCodeAt(at);
    const before = text.charCodeAt(at - 1);
    if (before === 10 || (isPlain(code) && isPlain(before))) return at;
  }
  return limit;
}

/** The end of the cluster that begins at `index`. */
export function nextBoundary(segmenter: Segmenter, text: string, index: number): number {
  if (index >= text.length) return text.length;
  // Nothing joins two printable ASCII characters; what follows the last one may still join it.
  if (isPlain(text.charCodeAt(index)) && (index + 1 === text.length || isPlain(text.charCodeAt(index + 1)))) return index + 1;
  const [first] = segmenter.segment(text.slice(index, index + WINDOW));
  return index + (first?.segment.length ?? 1);
}

/** The start of the cluster that ends at `index`. */
export function previousBoundary(segmenter: Segmenter, text: string, index: number): number {
  if (index <= 0) return 0;
  if (isPlain(text.charCodeAt(index - 1)) && (index === 1 || isPlain(text.charCodeAt(index - 2)))) return index - 1;
  const from = anchorBefore(text, index);
  let last = from;
  for (const { index: at } of segmenter.segment(text.slice(from, index))) last = from + at;
  return last;
}

/** The first boundary at or after `index`, which may lie inside a cluster. */
export function boundaryFrom(segmenter: Segmenter, text: string, index: number): number {
  if (index <= 0 || index >= text.length) return Math.min(Math.max(0, index), text.length);
  const from = anchorBefore(text, index);
  for (const { index: at, segment } of segmenter.segment(text.slice(from, index + WINDOW))) {
    if (from + at >= index) return from + at;
    if (from + at + segment.length >= index) return from + at + segment.length;
  }
  return text.length;
}

/** How a cluster of typed text is shown: itself, or a visible stand-in where it would show nothing or turn the line around. */
export function shownCluster(cluster: string): string {
  const code = cluster.charCodeAt(0);
  if (cluster.length === 1 && isPlain(code)) return cluster;
  if (cluster === "\t") return "    ";
  const hidden =
    code < 0x20 || (code >= 0x7f && code < 0xa0) || BIDI.test(cluster) || (TAGS.test(cluster) && !cluster.startsWith("🏴"));
  return hidden || Bun.stringWidth(cluster) === 0 ? visible(cluster) : cluster;
}

/** How a terminal counts cells. One counting for one terminal: what is laid out by another one than it is erased by leaves rows behind. */
export type Counting = {
  /** Of a text, or of a cluster; colours take none. */
  readonly cells: (text: string) => number;
  /** Of the pieces of a cluster that a terminal may put into different rows. */
  readonly pieces: (cluster: string) => readonly number[];
};

const MARK = /\p{M}/u;
const SPACING_MARKS = /\p{Mc}/gu;

export const BY_CLUSTERS: Counting = { cells: Bun.stringWidth, pieces: (cluster) => [Bun.stringWidth(cluster)] };

/** As `wcwidth` counts: marks that stand beside their letter have a cell of their own. */
export const BY_MARKS: Counting = {
  cells(text) {
    const marks = text.match(SPACING_MARKS);
    if (!marks) return Bun.stringWidth(text);
    // Some of them are counted there, too.
    return marks.reduce(
      (sum, mark) => sum + Math.max(1, Bun.stringWidth(mark)),
      Bun.stringWidth(text.replace(SPACING_MARKS, "")),
    );
  },
  pieces(cluster) {
    const whole = BY_MARKS.cells(cluster);
    if (whole < 2 || !MARK.test(cluster)) return [whole];
    const parts = Array.from(cluster, BY_MARKS.cells);
    // What is less than its parts (an emoji) is one.
    return parts.reduce((sum, part) => sum + part, 0) === whole ? parts : [whole];
  },
};
