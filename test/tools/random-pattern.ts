/** Generated patterns of rg's syntax, and lines they have a chance to match. The same seed gives the same ones. */
import { pick, type Random } from "../support/random-tree.ts";

const CHARACTERS = [...'abcABK\u212aſsSß01_- .éÉ日😀😁[]\\^$&~|(){}\t\u00a0\u2028σςΣǅxzq,:#/"', "e\u0301"];
const PADDING = [" ", "a", "ab", "é", "😀", "日 ", "-"];

/** A third of the lines is longer than an excerpt, so that the place of a match matters. */
export function randomLines(random: Random, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const text = Array.from({ length: Math.floor(random() * 14) }, () => pick(random, CHARACTERS)).join("");
    const padding = pick(random, PADDING).repeat(540);
    return index % 3 > 0 ? text : pick(random, [padding + text, text + padding, padding + text + padding]);
  });
}

const CLASS_ITEMS = [
  ..."aé日σ_&~-.$^|",
  ...["a-c", "A-Z", "0-9", "😀-😁", "\\]", "\\[", "\\-", "\\\\", "\\x41", "\\u{e9}"],
  ...["\\d", "\\w", "\\s", "\\W", "\\p{Lu}", "\\pL", "\\P{Greek}"],
  ...["[:alpha:]", "[:^alpha:]", "[:upper:]", "[:space:]", "[:punct:]", "[:word:]", "[:foo:]"],
];
const CLASS_TAILS = ["&&\\w", "--a", "~~a-c"];

function randomClass(random: Random, depth: number): string {
  const first = `${random() < 0.25 ? "^" : ""}${random() < 0.15 ? pick(random, ["]", "-", "--"]) : ""}`;
  const items = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
    depth > 0 && random() < 0.15
      ? pick(random, ["", "&&", "--", "~~"]) + randomClass(random, depth - 1)
      : pick(random, random() < 0.1 ? CLASS_TAILS : CLASS_ITEMS),
  );
  return `[${first}${items.join("")}]`;
}

const ATOMS: readonly (readonly string[])[] = [
  [...'abcAKksSß01_ é日😀σqx-,:/"#&~]}'],
  ["a", "ab", "ba", "Ab", "aé", "."],
  [
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\pL",
    "\\p{Lu}",
    "\\p{Greek}",
    "\\P{L}",
    "\\p{gc=Nd}",
    "\\p{sc:Greek}",
    "\\p{lowercase}",
  ],
  ["\\b", "\\B", "^", "$", "\\b", "\\B"],
  ["\\.", "\\\\", "\\[", "\\]", "\\^", "\\$", "\\(", "\\)", "\\{", "\\}", "\\|", "\\-", "\\&", "\\~", "\\#", "\\t"],
  ["\\x41", "\\x{e9}", "\\u00e9", "\\U0001F600", "\\u{1F600}", "\\xE9"],
  ["(?i)", "(?U)", "(?-i)", "(?s)", "(?m)"],
];
const GROUPS = ["(", "(?:", "(?P<name>", "(?i:", "(?U:", "(?x: ", "(?-i:", "(?s:", "(?m:"];
const REPEATS = [
  "*",
  "+",
  "?",
  "{2}",
  "{1,2}",
  "{2,}",
  "{0}",
  "{0,3}",
  "*?",
  "+?",
  "??",
  "{1,2}?",
  "{2,}?",
  "**",
  "+*",
  "{3}{2}",
];

export function randomPattern(random: Random, depth = 2): string {
  const atom = (): string => {
    const kind = random();
    if (kind < 0.2) return randomClass(random, 2);
    if (kind < 0.45 && depth > 0)
      return `${pick(random, GROUPS).replace("name", () => `n${Math.floor(random() * 2 ** 30)}`)}${randomPattern(random, depth - 1)})`;
    return pick(random, pick(random, ATOMS));
  };
  const choice = (): string =>
    Array.from({ length: Math.floor(random() * 3.2) }, () => atom() + (random() < 0.35 ? pick(random, REPEATS) : "")).join("");
  return Array.from({ length: random() < 0.25 ? 2 : 1 }, choice).join("|");
}
