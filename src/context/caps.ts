/** Cuts instruction text to its cap (C6): 70 % head, 20 % tail, a marker between. Characters are UTF-16 units. */

import { attribute } from "../base/own-elements.ts";

const HEAD = 0.7;
const TAIL = 0.2;
/** How far a cut may move to keep one written character whole. */
const MAX_STEPS = 32;

export type Capped = { readonly text: string; readonly truncated: boolean };

/** True where a cut before `at` would leave half of what a reader sees as one character. */
function splits(text: string, at: number): boolean {
  const next = text.codePointAt(at);
  const before = text.charCodeAt(at - 1);
  if (next === undefined) return false;
  const unit = text.charCodeAt(at);
  if (unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff) return true;
  if (before === 0x200d || next === 0x200d) return true;
  if (next < 0x300) return false;
  return /^[\p{M}\p{Emoji_Modifier}]/u.test(String.fromCodePoint(next));
}

function boundary(text: string, at: number, step: -1 | 1): number {
  let place = at;
  for (let moved = 0; moved < MAX_STEPS && place > 0 && place < text.length && splits(text, place); moved++) place += step;
  const unit = text.charCodeAt(place);
  // Never inside a surrogate pair, however long a run of joiners is.
  return unit >= 0xdc00 && unit <= 0xdfff && place > 0 && place < text.length ? place + step : place;
}

const count = (value: number): string => value.toLocaleString("en-US");

/**
 * `name` is how the marker names the file (escaped as in the file's element); `readable` says whether the file tools can reach it.
 * The result never has more than `cap` characters plus the marker.
 */
export function capText(text: string, cap: number, name: string, readable: boolean): Capped {
  if (text.length <= cap) return { text, truncated: false };
  const headEnd = boundary(text, Math.floor(cap * HEAD), -1);
  const tailStart = boundary(text, text.length - Math.floor(cap * TAIL), 1);
  const shown = headEnd + text.length - tailStart;
  const rest = readable
    ? "read the rest with read_file_range"
    : "the rest lies outside the workspace, where the file tools cannot read";
  const marker = `[… ${attribute(name)}: ${count(shown)} of ${count(text.length)} characters shown; ${rest} …]`;
  return { text: `${text.slice(0, headEnd)}\n${marker}\n${text.slice(tailStart)}`, truncated: true };
}
