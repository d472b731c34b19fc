/**
 * Sets of characters, asked one character at a time: they need no tables of their own, what Unicode says comes from
 * JavaScript's own classes. Refuses: syntax (pattern-classes.ts), what a set is matched against.
 */

export type CharSet = {
  /** Equal keys, equal sets. */
  readonly key: string;
  readonly has: (code: number) => boolean;
  /** The only character of the set; with `folded` its other cases are in the set too. */
  readonly only?: string;
  readonly folded?: boolean;
};

export function rangeSet(low: number, high: number, fold: boolean): CharSet {
  if (low === high) return singleSet(low, fold);
  if (fold) return unicodeSet(`\\u{${low.toString(16)}}-\\u{${high.toString(16)}}`, true);
  return { key: `${low}-${high}`, has: (code) => code >= low && code <= high };
}

export function singleSet(code: number, fold: boolean): CharSet {
  const only = String.fromCodePoint(code);
  if (fold && (only.toLowerCase() !== only || only.toUpperCase() !== only)) {
    return { ...unicodeSet(`\\u{${code.toString(16)}}`, true), only, folded: true };
  }
  return { key: `${code}`, has: (other) => other === code, only };
}

/** `source` is the inside of a JavaScript character class. */
export function unicodeSet(source: string, fold: boolean): CharSet {
  const expression = new RegExp(`[${source}]`, fold ? "iu" : "u");
  return { key: `${fold ? "i" : ""}[${source}]`, has: (code) => expression.test(String.fromCodePoint(code)) };
}

export function anySet(): CharSet {
  return { key: "any", has: () => true };
}

export function unionSet(sets: readonly CharSet[]): CharSet {
  const [first] = sets;
  if (first !== undefined && sets.length === 1) return first;
  return { key: `(${sets.map((set) => set.key).join("|")})`, has: (code) => sets.some((set) => set.has(code)) };
}

export function negatedSet(set: CharSet): CharSet {
  return { key: `!${set.key}`, has: (code) => !set.has(code) };
}

export type SetOperator = "&&" | "--" | "~~";

export function combinedSet(left: CharSet, operator: SetOperator, right: CharSet): CharSet {
  const key = `(${left.key}${operator}${right.key})`;
  if (operator === "&&") return { key, has: (code) => left.has(code) && right.has(code) };
  if (operator === "--") return { key, has: (code) => left.has(code) && !right.has(code) };
  return { key, has: (code) => left.has(code) !== right.has(code) };
}

/** `\d`, `\s` and `\w`, by their letter: Unicode's, as for rg. */
export const PERL_CLASSES: Readonly<Record<string, string>> = {
  d: "\\p{Nd}",
  s: "\\p{White_Space}",
  w: "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}",
};

export const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: "A-Za-z0-9",
  alpha: "A-Za-z",
  ascii: "\\0-\\x7f",
  blank: " \\t",
  cntrl: "\\0-\\x1f\\x7f",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "A-Za-z0-9_",
  xdigit: "0-9A-Fa-f",
};

const PROPERTY_KEYS: Readonly<Record<string, string>> = {
  gc: "General_Category",
  generalcategory: "General_Category",
  sc: "Script",
  script: "Script",
  scx: "Script_Extensions",
  scriptextensions: "Script_Extensions",
};

/** JavaScript's words for `\p{written}`; undefined for a property it does not know. Rust is lenient about case and spaces. */
export function propertyClass(written: string): string | undefined {
  const [, key, value = ""] = /^(?:([^=:]*)[=:])?(.*)$/s.exec(written) ?? [];
  const words = value.split(/[\s_-]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase());
  const spellings = [value, words.join("_"), value.toUpperCase()].filter((spelling) => /^\w+$/.test(spelling));
  const full = key === undefined ? undefined : PROPERTY_KEYS[key.toLowerCase().replace(/[\s_-]/g, "")];
  if (key !== undefined && full === undefined) return undefined;
  const prefixes = full === undefined ? ["", "Script="] : [`${full}=`];
  const candidates = prefixes.flatMap((prefix) => spellings.map((spelling) => `\\p{${prefix}${spelling}}`));
  return candidates.find(isKnown);
}

function isKnown(expression: string): boolean {
  try {
    new RegExp(expression, "u");
    return true;
  } catch {
    return false;
  }
}
