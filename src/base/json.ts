/**
 * Reads values of unknown shape by small total functions: no schema library, nothing thrown. For wire formats and other
 * hot paths where zod would cost more than the request. Refuses: validation with messages (zod at the door does that).
 */

export type Json = Readonly<Record<string, unknown>>;

const NOTHING: Json = Object.freeze({});

/** An object that is no array and not null. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as an object; `{}` when it is none. */
export function object(value: unknown): Json {
  return isObject(value) ? value : NOTHING;
}

/** A member of a value that may not be an object. */
export function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** The value as an array; empty when it is none. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a string, else undefined. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value if it is a non-empty string, else undefined. */
export function filled(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value if it is a finite number that counts something (0 or more), else undefined: never NaN. */
export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Deeper values than anybody means: walking them, or writing them out again, would overflow the stack. */
const MAX_DEPTH = 500;

/** Whether JSON text is nested deeper than any honest value. Linear, and free for short text. */
export function nestedTooDeep(source: string): boolean {
  if (source.length <= MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === 0x22) at = stringEnd(source, at);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > MAX_DEPTH) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** The same of a value that is already read. Asked before it is written out: that takes the square of a depth without end. */
export function valueTooDeep(value: unknown, room = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (room === 0) return true;
  return Object.values(value).some((inner) => valueTooDeep(inner, room - 1));
}

/** Where the string that opens at `at` closes; the end of the text where it does not. Long strings are not walked. */
function stringEnd(source: string, at: number): number {
  for (let end = source.indexOf('"', at + 1); end >= 0; end = source.indexOf('"', end + 1)) {
    let slashes = 0;
    while (source.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return source.length;
}

/**
 * Parses JSON text; undefined when it is none, or nested too deep to be handled (JSON has no undefined, so they cannot be
 * confused with a value).
 */
export function parseJson(source: string): unknown {
  if (nestedTooDeep(source)) return undefined;
  try {
    return JSON.parse(source) as unknown;
  } catch {
    return undefined;
  }
}

/** The same value with every string (and key) well-formed: lone surrogates become U+FFFD. Same object when nothing changed. */
export function wellFormed(value: unknown): unknown {
  return isWellFormed(value) ? value : repaired(value);
}

/** Nearly all that is looked at is: nothing is made for it. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  const members = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(members)) if (!key.isWellFormed() || !isWellFormed(members[key])) return false;
  return true;
}

function repaired(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(repaired);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), repaired(inner)] as const));
}
