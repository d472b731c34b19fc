/** What a backslash means in a pattern, as Rust's regular expressions have it. Refuses: escapes that Rust refuses. */
import type { Cursor } from "./pattern-cursor.ts";
import { type CharSet, negatedSet, PERL_CLASSES, propertyClass, unicodeSet } from "./pattern-sets.ts";

/** A place between two characters. The halves look to one side only. */
export type Edge = "start" | "end" | "word" | "not word" | "word start" | "word end" | "word start half" | "word end half";

export type Escape =
  | { readonly kind: "character"; readonly code: number }
  | { readonly kind: "set"; readonly set: CharSet }
  | { readonly kind: "edge"; readonly edge: Edge };

const CONTROLS: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };
const EDGES: Readonly<Record<string, Edge>> = {
  A: "start",
  z: "end",
  b: "word",
  B: "not word",
  "<": "word start",
  ">": "word end",
};
const NAMED_EDGES: Readonly<Record<string, Edge>> = {
  start: "word start",
  end: "word end",
  "start-half": "word start half",
  "end-half": "word end half",
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const MAX_CODE = 0x10ffff;

/** Reads an escape, its backslash included. */
export function readEscape(cursor: Cursor, fold: boolean): Escape {
  const from = cursor.at;
  cursor.at += 1;
  const letter = cursor.next();
  if (letter === "") cursor.fail("incomplete escape sequence, reached end of pattern prematurely", from);
  if (/[0-9]/.test(letter)) cursor.fail("backreferences are not supported", from);
  if (letter === "p" || letter === "P") return { kind: "set", set: readProperty(cursor, letter === "P", fold, from) };
  const perl = PERL_CLASSES[letter.toLowerCase()];
  if (perl !== undefined) {
    const set = unicodeSet(perl, false);
    return { kind: "set", set: letter === letter.toLowerCase() ? set : negatedSet(set) };
  }
  const control = CONTROLS[letter];
  if (control !== undefined) return { kind: "character", code: control };
  if (HEX_DIGITS[letter] !== undefined) return { kind: "character", code: readHex(cursor, letter, from) };
  if (letter === "b") {
    const [whole, name = ""] = cursor.take(/\{([A-Za-z-]+)\}/y) ?? [];
    const edge = NAMED_EDGES[name] ?? "word";
    if (whole !== undefined && edge === "word") cursor.fail("unrecognized word boundary", from);
    return { kind: "edge", edge };
  }
  const edge = EDGES[letter];
  if (edge !== undefined) return { kind: "edge", edge };
  // Models escape more than they need to; rg since 14 takes any ASCII punctuation for itself.
  if (/[!-/:-@[-`{-~ ]/.test(letter)) return { kind: "character", code: letter.charCodeAt(0) };
  return cursor.fail("unrecognized escape sequence", from);
}

function readProperty(cursor: Cursor, negated: boolean, fold: boolean, from: number): CharSet {
  const found = cursor.take(/\{([^{}]*)\}|[^{]/uy);
  if (found === undefined) return cursor.fail("incomplete Unicode class", from);
  const [whole, braced] = found;
  const [, key = "", differs = "", value = ""] = /^(?:(.*?)(!?)[=:])?(.*)$/s.exec(braced ?? whole) ?? [];
  const source = propertyClass(key === "" ? value : `${key}=${value}`);
  if (source === undefined) return cursor.fail("Unicode property not found", from);
  const set = unicodeSet(source, fold);
  return negated !== (differs === "!") ? negatedSet(set) : set;
}

function readHex(cursor: Cursor, letter: string, from: number): number {
  const digits = HEX_DIGITS[letter] ?? 0;
  const found = cursor.take(/\{([^}]*)\}/y)?.[1] ?? cursor.take(new RegExp(`[0-9A-Fa-f]{${digits}}`, "y"))?.[0] ?? "";
  const code = /^[0-9A-Fa-f]{1,8}$/.test(found) ? Number.parseInt(found, 16) : Number.NaN;
  const isScalar = code <= MAX_CODE && !(code >= 0xd800 && code <= 0xdfff);
  return isScalar ? code : cursor.fail("hexadecimal escape is no Unicode character", from);
}
