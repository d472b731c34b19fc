/**
 * From bytes to JSON values, line by line, whatever crashes did to the file: NUL blocks, two records on one line, torn or
 * endless lines. Knows nothing of record types. Refuses: node:readline (it splits records at U+2028).
 */
import { isObject, type Json, parseJson } from "../base/json.ts";

const NEWLINE = 10;
const NUL = 0;
const QUOTE = 34;
const BACKSLASH = 92;
const OPEN = 123;
const CLOSE = 125;

/** What one line held: values in order, and the number of stretches that were no JSON object. */
type ParsedLine = { readonly values: readonly unknown[]; readonly malformed: number; readonly nulBlocks: number };

/** Parses one line (without its newline). NUL runs split it: a raw NUL is never part of JSON text (J03). */
export function parseLine(line: Buffer): ParsedLine {
  if (line.indexOf(NUL) === -1) return parseStretch(line);
  const values: unknown[] = [];
  let malformed = 0;
  let nulBlocks = 0;
  let start = 0;
  while (start < line.length) {
    const nul = line.indexOf(NUL, start);
    const end = nul === -1 ? line.length : nul;
    const part = parseStretch(line.subarray(start, end));
    values.push(...part.values);
    malformed += part.malformed;
    start = end;
    if (start < line.length) nulBlocks++;
    while (start < line.length && line[start] === NUL) start++;
  }
  return { values, malformed, nulBlocks };
}

function parseStretch(bytes: Buffer): ParsedLine {
  const text = bytes.toString("utf8");
  if (text.trim() === "") return { values: [], malformed: 0, nulBlocks: 0 };
  const whole = parseObject(text);
  if (whole !== undefined) return { values: [whole], malformed: 0, nulBlocks: 0 };
  return splitObjects(bytes);
}

/** Several objects on one line (J04): cut where the braces outside strings balance. A `}{` inside a string is text. */
function splitObjects(bytes: Buffer): ParsedLine {
  const values: unknown[] = [];
  let malformed = 0;
  let position = 0;
  while (position < bytes.length) {
    const open = bytes.indexOf(OPEN, position);
    if (open === -1) {
      if (!isBlank(bytes, position, bytes.length)) malformed++;
      break;
    }
    if (!isBlank(bytes, position, open)) malformed++;
    const end = endOfObject(bytes, open);
    if (end === -1) {
      malformed++;
      break;
    }
    const value = parseObject(bytes.toString("utf8", open, end));
    if (value === undefined) malformed++;
    else values.push(value);
    position = end;
  }
  return { values, malformed, nulBlocks: 0 };
}

/** Index after the brace that closes the one at `open`; -1 when the line ends first. */
function endOfObject(bytes: Buffer, open: number): number {
  let depth = 0;
  let inString = false;
  for (let i = open; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN) depth++;
    else if (byte === CLOSE && --depth === 0) return i + 1;
  }
  return -1;
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte !== 32 && byte !== 9 && byte !== 13) return false;
  }
  return true;
}

/** The object that a text is as a whole; undefined where it is none. */
export function parseObject(text: string): Json | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

function hasNul(bytes: Buffer, start: number, end: number): boolean {
  const at = bytes.indexOf(NUL, start);
  return at !== -1 && at < end;
}

/** Cuts a stream of chunks into lines. A line longer than `maxBytes` is dropped while it passes, never held. */
export class LineSplitter {
  #pieces: Buffer[] = [];
  #held = 0;
  #dropping = false;
  #oversized = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Lines that were longer than the limit so far. */
  get oversized(): number {
    return this.#oversized;
  }

  /**
   * Calls `onLine` for each line that `chunk` completes. The line is only valid during the call. With `onLines`, lines that are
   * whole in the chunk come together where there is no NUL in them, decoded and without the last newline: that costs a fraction.
   */
  push(chunk: Buffer, onLine: (line: Buffer) => void, onLines?: (text: string) => void): void {
    let start = 0;
    if (onLines) {
      if (this.#held > 0 || this.#dropping) {
        const newline = chunk.indexOf(NEWLINE);
        if (newline !== -1) this.#complete(chunk.subarray(0, newline), onLine);
        start = newline + 1;
      }
      const end = chunk.lastIndexOf(NEWLINE);
      if (end >= start && end - start <= this.#maxBytes && !this.#dropping && !hasNul(chunk, start, end)) {
        onLines(chunk.toString("utf8", start, end));
        start = end + 1;
      }
    }
    for (;;) {
      const newline = chunk.indexOf(NEWLINE, start);
      if (newline === -1) break;
      this.#complete(chunk.subarray(start, newline), onLine);
      start = newline + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** The end of the file: what is held is a last line without a newline. */
  finish(onLine: (line: Buffer) => void): void {
    if (this.#held > 0 || this.#dropping) this.#complete(Buffer.alloc(0), onLine);
  }

  #complete(last: Buffer, onLine: (line: Buffer) => void): void {
    if (this.#dropping || this.#held + last.length > this.#maxBytes) {
      this.#oversized++;
      this.#dropping = false;
      this.#release();
      return;
    }
    const line = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#release();
    onLine(line);
  }

  #hold(piece: Buffer): void {
    if (this.#dropping) return;
    if (this.#held + piece.length > this.#maxBytes) {
      this.#dropping = true;
      this.#release();
      return;
    }
    // The chunk's memory is reused for the next read.
    this.#pieces.push(Buffer.from(piece));
    this.#held += piece.length;
  }

  #release(): void {
    this.#pieces = [];
    this.#held = 0;
  }
}
