/**
 * Removes characters that a reader cannot see and a model can (C12). Kept: joiners inside emoji and between letters of
 * scripts that are written with them, one variation selector after a character, the three flags made of tag characters.
 */

// Written as a string: in a literal these would read as one combined character.
const SUSPECT_CLASS =
  "[\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u061c\\ufeff\\ufe00-\\ufe0f\\u{e0000}-\\u{e007f}\\u{e0100}-\\u{e01ef}]";
const SUSPECT = new RegExp(SUSPECT_CLASS, "u");
const SUSPECTS = new RegExp(SUSPECT_CLASS, "gu");
const ENDS_SUSPECT = new RegExp(`${SUSPECT_CLASS}$`, "u");
const FLAGS =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/gu;
const BEFORE_JOINER = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)$/u;
const AFTER_JOINER = /^\p{Extended_Pictographic}/u;
const JOINING_SCRIPT =
  "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}]";

function joins(before: string, after: string): boolean {
  return new RegExp(`${JOINING_SCRIPT}$`, "u").test(before) && new RegExp(`^${JOINING_SCRIPT}`, "u").test(after);
}

/** Whether the suspect at `at` belongs to visible writing. */
function belongs(text: string, at: number, char: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  const before = text.slice(Math.max(0, at - 2), at);
  if (code === 0x200d || code === 0x200c) {
    const after = text.slice(at + 1, at + 3);
    if (code === 0x200d && BEFORE_JOINER.test(before) && AFTER_JOINER.test(after)) return true;
    return joins(before, after);
  }
  const selector = (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef);
  return selector && before !== "" && !/\s$/u.test(before) && !ENDS_SUSPECT.test(before);
}

export type Cleaned = {
  readonly text: string;
  readonly removed: number /** 1-based line of the first; 0 without one. */;
  readonly line: number;
};

/** Linear in the text; texts without suspects come back untouched. */
export function removeInvisible(text: string): Cleaned {
  if (!SUSPECT.test(text)) return { text, removed: 0, line: 0 };
  const flags = new Set<number>();
  for (const flag of text.matchAll(FLAGS)) {
    for (let at = flag.index; at < flag.index + flag[0].length; at += 2) flags.add(at);
  }
  let removed = 0;
  let first = -1;
  const clean = text.replace(SUSPECTS, (char, at: number) => {
    if (flags.has(at) || belongs(text, at, char)) return char;
    if (removed === 0) first = at;
    removed++;
    return "";
  });
  return { text: clean, removed, line: first < 0 ? 0 : text.slice(0, first).split("\n").length };
}
