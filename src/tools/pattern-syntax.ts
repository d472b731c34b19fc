/**
 * Reads a pattern of Rust's regular expressions, the syntax rg takes, into a tree. Whoever asks searches line by line, so `.`
 * is any character and `^` and `$` are the ends of the line. Refuses: what Rust refuses, and matching bytes (`(?-u)`).
 */
import { readClass, skipSpace } from "./pattern-classes.ts";
import { Cursor, PatternProblem } from "./pattern-cursor.ts";
import { type Edge, readEscape } from "./pattern-escapes.ts";
import { anySet, type CharSet, singleSet } from "./pattern-sets.ts";

export type Node =
  | { readonly kind: "set"; readonly set: CharSet }
  | { readonly kind: "edge"; readonly edge: Edge }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly parts: readonly Node[] }
  | { readonly kind: "repeat"; readonly part: Node; readonly min: number; readonly max: number; readonly greedy: boolean };

type Flags = { readonly fold: boolean; readonly spaced: boolean; readonly swapGreed: boolean };

const MAX_DEPTH = 250;

/** Throws a PatternProblem. */
export function parsePattern(pattern: string, ignoreCase: boolean): Node {
  const cursor = new Cursor(pattern);
  const node = readChoice(cursor, { fold: ignoreCase, spaced: false, swapGreed: false }, 1);
  if (cursor.peek() === ")") cursor.fail("unopened group", cursor.at);
  return node;
}

/** A plain text as a tree. */
export function parseLiteral(text: string, ignoreCase: boolean): Node {
  const parts = Array.from(text, (character) => literal(character.codePointAt(0) ?? 0, ignoreCase));
  return { kind: "sequence", parts };
}

/** Up to the end of the pattern or of the group. */
function readChoice(cursor: Cursor, outer: Flags, depth: number): Node {
  let flags = outer;
  const choices: Node[] = [];
  let parts: Node[] = [];
  let isRepeatable = false;
  let repeats = 0;
  for (;;) {
    skipSpace(cursor, flags);
    const character = cursor.peek();
    if (character === "" || character === ")") break;
    const isRepeat = "*+?{".includes(character);
    repeats = isRepeat ? repeats + 1 : 0;
    if (cursor.eat("|")) {
      choices.push({ kind: "sequence", parts });
      parts = [];
      isRepeatable = false;
    } else if (isRepeat) {
      if (repeats > MAX_DEPTH) return cursor.fail(`repetitions are nested more than ${MAX_DEPTH} deep`, cursor.at);
      const last = isRepeatable ? parts.pop() : undefined;
      if (last === undefined) return cursor.fail("repetition operator missing expression", cursor.at);
      parts.push(readRepeat(cursor, last, flags));
    } else if (character === "(") {
      const read = readGroup(cursor, flags, depth);
      isRepeatable = "kind" in read;
      if ("kind" in read) parts.push(read);
      else flags = read;
    } else {
      parts.push(readAtom(cursor, character, flags));
      isRepeatable = true;
    }
  }
  const last: Node = { kind: "sequence", parts };
  return choices.length === 0 ? last : { kind: "choice", parts: [...choices, last] };
}

function readAtom(cursor: Cursor, character: string, flags: Flags): Node {
  const from = cursor.at;
  if (character === "[") {
    const set = readClass(cursor, flags);
    return set.only === "\n" || set.only === "\r" ? refuseLineEnd(cursor.text.slice(from, cursor.at)) : { kind: "set", set };
  }
  if (character === "\\") {
    const read = readEscape(cursor, flags.fold);
    if (read.kind !== "character") return read;
    return isLineEnd(read.code) ? refuseLineEnd(cursor.text.slice(from, cursor.at)) : literal(read.code, flags.fold);
  }
  cursor.at += character.length;
  if (character === ".") return { kind: "set", set: anySet() };
  if (character === "^") return { kind: "edge", edge: "start" };
  if (character === "$") return { kind: "edge", edge: "end" };
  return literal(character.codePointAt(0) ?? 0, flags.fold);
}

function literal(code: number, fold: boolean): Node {
  return { kind: "set", set: singleSet(code, fold) };
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13;
}

function refuseLineEnd(written: string): never {
  throw new PatternProblem(`a match lies within one line: the literal ${written} is not allowed in a regex`);
}

function readRepeat(cursor: Cursor, part: Node, flags: Flags): Node {
  const from = cursor.at;
  const sign = cursor.next();
  const [min, max] = sign === "{" ? readCounts(cursor, from, flags) : SIGNS[sign as "*"];
  const isLazy = cursor.eat("?");
  return { kind: "repeat", part, min, max, greedy: isLazy === flags.swapGreed };
}

const SIGNS = { "*": [0, Number.POSITIVE_INFINITY], "+": [1, Number.POSITIVE_INFINITY], "?": [0, 1] } as const;

/** The rest of `{2}`, `{2,}` or `{2,3}`. */
function readCounts(cursor: Cursor, from: number, flags: Flags): readonly [number, number] {
  const found = cursor.take(flags.spaced ? /\s*(\d+)\s*(?:(,)\s*(?:(\d+)\s*)?)?\}/y : /(\d+)(?:(,)(\d*))?\}/y);
  if (found === undefined) {
    return cursor.fail("a repetition count is {2}, {2,} or {2,3}; for the character itself write \\{", from);
  }
  const [, low, comma, high = ""] = found;
  const min = Number(low);
  const max = comma === undefined ? min : high === "" ? Number.POSITIVE_INFINITY : Number(high);
  if (min > max) return cursor.fail("invalid repetition count range, the start must be <= the end", from);
  return [min, max];
}

/** A group, or the flags that hold from here on. */
function readGroup(cursor: Cursor, flags: Flags, depth: number): Node | Flags {
  const from = cursor.at;
  if (depth > MAX_DEPTH) return cursor.fail(`groups are nested more than ${MAX_DEPTH} deep`, from);
  cursor.at += 1;
  if (cursor.take(/\?(?:=|!|<=|<!)/y) !== undefined) {
    return cursor.fail("look-around, including look-ahead and look-behind, is not supported", from);
  }
  let inner = flags;
  if (cursor.peek() === "?" && cursor.take(/\?P?<[\p{Alphabetic}_][\w.[\]\p{Alphabetic}]*>/uy) === undefined) {
    const [, on = "", minus, off = "", end] = cursor.take(/\?([a-zA-Z]*)(?:(-)([a-zA-Z]+))?([:)])/y) ?? [];
    if (end === undefined) return cursor.fail("unrecognized flag", from);
    if (end === ")" && on === "" && minus === undefined) return cursor.fail("repetition operator missing expression", from);
    inner = changeFlags(cursor, flags, on, off, from);
    if (end === ")") return inner;
  }
  const node = readChoice(cursor, inner, depth + 1);
  return cursor.eat(")") ? node : cursor.fail("unclosed group", from);
}

/** `s`, `m`, `u` and `R` change nothing here: a line holds no line end, and characters are Unicode's. */
function changeFlags(cursor: Cursor, flags: Flags, on: string, off: string, from: number): Flags {
  const unknown = /[^imsUuxR]/.exec(on + off);
  if (unknown !== null) return cursor.fail("unrecognized flag", from);
  if (off.includes("u")) return cursor.fail("matching bytes instead of characters needs ripgrep (rg)", from);
  const set = (flag: string, before: boolean): boolean => (before || on.includes(flag)) && !off.includes(flag);
  return { fold: set("i", flags.fold), spaced: set("x", flags.spaced), swapGreed: set("U", flags.swapGreed) };
}
