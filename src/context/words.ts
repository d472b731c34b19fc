/**
 * Text as a run of words with breaks between sentences: what phrase rules (C12) are matched on. Matching words instead of
 * running regular expressions over the text keeps the scan linear and makes case, emphasis and line ends irrelevant.
 */

export type Word = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** A sentence, list item, cell or paragraph ends before this word. */
  readonly breaks: boolean;
  /** A comma, colon, dash or bracket stands before this word. */
  readonly pause: boolean;
};

const WORDS = /[\p{L}\p{N}]+(?:'[\p{L}]+)*/gu;
const BREAK = /[.!?;]["')\]*_`]*\s|\n[\s>]*\n|\n[\s>]*(?:[-*+]\s|#|\|)|\|/;
const PAUSE = /[,:;()\u2013\u2014]|\s-+\s/;
const PIPE = 0x7c;
/** Between two words further apart than this there is no phrase. */
const MAX_GAP = 200;
/** Characters that are not drawn, beyond those removed from the text itself. */
const UNDRAWN = /\p{Default_Ignorable_Code_Point}/gu;

/** Cyrillic and Greek letters that are drawn like Latin ones, and those. */
const ALIKE = ["асеіјорѕхуһԁԛԝкмтвнгпαεικνορτυχγωη", "aceijopsxyhdqwkmtbhrnaeikvoptuxywn"] as const;
const MIXED = /[a-z\u0370-\u052f]{2,64}/g;

/** In words that mix alphabets, letters drawn alike become the Latin ones; words of one alphabet stay. */
function foldAlike(text: string): string {
  if (!/[\u0370-\u052f]/.test(text)) return text;
  return text.replace(MIXED, (word) => {
    if (!/[a-z]/.test(word) || !/[\u0370-\u052f]/.test(word)) return word;
    return word.replace(/[\u0370-\u052f]/g, (letter) => ALIKE[1][ALIKE[0].indexOf(letter)] ?? letter);
  });
}

/** NFKC, lower case, undrawn characters gone. Line ends keep their number, so a line here is a line of the file. */
export function foldForMatching(text: string): string {
  const folded = text
    .normalize("NFKC")
    .replace(UNDRAWN, "")
    .toLowerCase()
    .replace(/[\u2018\u2019\u02bc]/g, "'");
  return foldAlike(folded);
}

export function splitWords(text: string): Word[] {
  const words: Word[] = [];
  let last = 0;
  for (const found of text.matchAll(WORDS)) {
    const start = found.index;
    const gap = start - last;
    // Most words stand one blank apart.
    const between = gap === 1 ? "" : text.slice(last, Math.min(start, last + MAX_GAP));
    const breaks = gap === 1 ? text.charCodeAt(last) === PIPE : gap > MAX_GAP || BREAK.test(between);
    const pause = gap === 1 ? PAUSE.test(text[last] ?? "") : PAUSE.test(between);
    words.push({ text: found[0], start, end: start + found[0].length, breaks, pause });
    last = start + found[0].length;
  }
  return words;
}

/** One place of a phrase: any of `any`, after at most `gap` other words (only words of `filler`, when given). */
export type Step = { readonly any: ReadonlySet<string>; readonly gap: number; readonly filler?: ReadonlySet<string> };

/** Index of the last word of the phrase that starts at `at` (its first step matches there), or -1. */
export function matchPhrase(words: readonly Word[], at: number, steps: readonly Step[], from = 1): number {
  const step = steps[from];
  if (!step) return at;
  for (let skipped = 0; skipped <= step.gap; skipped++) {
    const index = at + 1 + skipped;
    const word = words[index];
    if (!word || word.breaks) return -1;
    if (step.any.has(word.text)) {
      const end = matchPhrase(words, index, steps, from + 1);
      if (end !== -1) return end;
    }
    if (step.filler && !step.filler.has(word.text)) return -1;
  }
  return -1;
}

const NEGATIONS = new Set([
  "never",
  "not",
  "don't",
  "dont",
  "doesn't",
  "didn't",
  "mustn't",
  "shouldn't",
  "can't",
  "cannot",
  "won't",
  "no",
  "avoid",
]);
const BETWEEN = new Set(["ever", "simply", "just", "blindly", "please", "silently", "to", "try"]);

/** Verbs that no noun is written like: "no" before them is an answer. */
const ORDERS = new Set(["ignore", "forget", "bypass", "disregard", "discard"]);

/** Whether the word at `place` turns round what follows it: not "No, ignore …", "Why not ignore …?", "never not ignore …". */
function negates(words: readonly Word[], place: number): boolean {
  const word = words[place];
  if (!word || !NEGATIONS.has(word.text)) return false;
  const next = words[place + 1];
  if (next?.pause && !(word.text === "never" && next.text === "ever")) return false;
  const before = word.breaks ? undefined : words[place - 1]?.text;
  return before === undefined || (before !== "why" && !NEGATIONS.has(before));
}

/** True where the word before (past "ever", "just", …) turns the phrase round: "never ignore …". */
export function isNegated(words: readonly Word[], at: number): boolean {
  let place = at;
  for (let hops = 0; hops < 2; hops++) {
    if (words[place]?.breaks) return false;
    const before = words[--place];
    if (!before) return false;
    if (before.text === "no" && ORDERS.has(words[at]?.text ?? "")) return false;
    if (NEGATIONS.has(before.text)) return negates(words, place);
    if (!BETWEEN.has(before.text)) return false;
  }
  return false;
}

/** True where a negation stands anywhere earlier in the same sentence (at most 20 words back). */
export function isNegatedSentence(words: readonly Word[], at: number): boolean {
  for (let place = at, hops = 0; hops < 20 && place > 0 && !words[place]?.breaks; place--, hops++) {
    if (negates(words, place - 1)) return true;
  }
  return false;
}
