/**
 * Bracketed classes of a pattern, as Rust's regular expressions have them: nested, with `&&`, `--` and `~~`, with POSIX names.
 * Refuses: what Rust refuses.
 */
import type { Cursor } from "./pattern-cursor.ts";
import { readEscape } from "./pattern-escapes.ts";
import {
  type CharSet,
  combinedSet,
  negatedSet,
  POSIX_CLASSES,
  rangeSet,
  type SetOperator,
  singleSet,
  unicodeSet,
  unionSet,
} from "./pattern-sets.ts";

export type ClassOptions = {
  /** Upper and lower case are the same. */
  readonly fold: boolean;
  /** White space and comments do not count. */
  readonly spaced: boolean;
};

const MAX_DEPTH = 250;
const OPERATORS: readonly SetOperator[] = ["&&", "--", "~~"];

/** Reads a class, its brackets included. */
export function readClass(cursor: Cursor, options: ClassOptions, depth = 1): CharSet {
  const from = cursor.at;
  if (depth > MAX_DEPTH) cursor.fail(`classes are nested more than ${MAX_DEPTH} deep`, from);
  cursor.at += 1;
  skipSpace(cursor, options);
  const negated = cursor.eat("^");
  skipSpace(cursor, options);
  let items: CharSet[] = [];
  while (cursor.eat("-")) {
    items.push(singleSet(45, options.fold));
    skipSpace(cursor, options);
  }
  if (items.length === 0 && cursor.eat("]")) items.push(singleSet(93, options.fold));
  let operators = 0;
  let left: { readonly set: CharSet; readonly operator: SetOperator } | undefined;
  const operand = (): CharSet => (left === undefined ? unionSet(items) : combinedSet(left.set, left.operator, unionSet(items)));
  for (;;) {
    skipSpace(cursor, options);
    if (cursor.peek() === "") cursor.fail("unclosed character class", from);
    if (cursor.eat("]")) break;
    const operator = OPERATORS.find((each) => cursor.eat(each));
    if (operator === undefined) items.push(readItem(cursor, options, depth));
    else {
      operators += 1;
      if (operators > MAX_DEPTH) cursor.fail(`a class has more than ${MAX_DEPTH} operators`, from);
      left = { set: operand(), operator };
      items = [];
    }
  }
  return negated ? negatedSet(operand()) : operand();
}

function readItem(cursor: Cursor, options: ClassOptions, depth: number): CharSet {
  if (cursor.peek() === "[") return readPosix(cursor, options) ?? readClass(cursor, options, depth + 1);
  const from = cursor.at;
  const low = readBound(cursor, options);
  skipSpace(cursor, options);
  const { at, text } = cursor;
  const isRange = text[at] === "-" && text[at + 1] !== "]" && text[at + 1] !== "-" && at + 1 < text.length;
  if (!isRange) return typeof low === "number" ? singleSet(low, options.fold) : low;
  cursor.at += 1;
  skipSpace(cursor, options);
  const high = readBound(cursor, options);
  if (typeof low !== "number" || typeof high !== "number") return cursor.fail("invalid range boundary, must be a literal", from);
  if (low > high) return cursor.fail("invalid character class range, the start must be <= the end", from);
  return rangeSet(low, high, options.fold);
}

/** A character's code, or the set that an escape stands for. */
function readBound(cursor: Cursor, options: ClassOptions): number | CharSet {
  if (cursor.peek() !== "\\") return cursor.next().codePointAt(0) ?? cursor.fail("unclosed character class", cursor.at);
  const from = cursor.at;
  const read = readEscape(cursor, options.fold);
  if (read.kind === "edge") return cursor.fail("invalid escape sequence found in character class", from);
  return read.kind === "character" ? read.code : read.set;
}

/** `[:alpha:]`; anything else that begins like it is a class of those characters. */
function readPosix(cursor: Cursor, options: ClassOptions): CharSet | undefined {
  const from = cursor.at;
  const [, not, name = ""] = cursor.take(/\[:(\^?)([a-z]+):\]/y) ?? [];
  const source = Object.hasOwn(POSIX_CLASSES, name) ? POSIX_CLASSES[name] : undefined;
  if (source === undefined) {
    cursor.at = from;
    return undefined;
  }
  const set = unicodeSet(source, options.fold);
  return not === "^" ? negatedSet(set) : set;
}

/** In the spaced form, what counts for nothing: Unicode's white space, which is not quite `\s`, and comments. */
export function skipSpace(cursor: Cursor, options: ClassOptions): void {
  if (options.spaced) cursor.take(/(?:\p{White_Space}|#[^\n]*)*/uy);
}
