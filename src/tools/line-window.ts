/**
 * Takes a file in pieces of any size and keeps a bounded window of its lines, while counting all of them. Lines end at `\n` or
 * `\r\n` only. Refuses: reading files, words around the lines.
 */
import { isUtf8 } from "node:buffer";
import { markedEncoding, UTF8_MARK } from "./byte-order-mark.ts";

const LF = 10;
const CR = 13;

type WindowLimits = {
  /** 1-based, inclusive. */
  readonly start: number;
  /** Inclusive; Infinity for "to the end". */
  readonly end: number;
  readonly maxLines: number;
  /** UTF-8 bytes of all rendered lines together. */
  readonly maxBytes: number;
  readonly maxLineChars: number;
};

/** A line longer than the cap: where its unseen part begins. Offsets and lengths are bytes. */
type CutLine = { readonly number: number; readonly length: number; readonly continueAt: number };

export class LineWindow {
  /** Rendered lines, `N: text`. */
  readonly lines: string[] = [];
  readonly cutLines: CutLine[] = [];
  /** Which cap ended the window, when one did. */
  closedBy: "lines" | "bytes" | undefined;
  /** A NUL was met in a line of the window. */
  binary = false;
  /** A line of the window is not valid UTF-8 and was decoded lossily. */
  lossy = false;

  readonly #limits: WindowLimits;
  readonly #keep: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #line = 1;
  #offset = 0;
  #renderedBytes = 0;
  #endsInLine = false;
  #pieces: Buffer[] = [];
  #kept = 0;
  #length = 0;
  #lineOffset = 0;

  constructor(limits: WindowLimits) {
    this.#limits = limits;
    // A character has at most four bytes; a BOM may be hidden before them and a CR follow.
    this.#keep = limits.maxLineChars * 4 + 8;
  }

  /** Lines met so far; after `finish` the number of lines of the file. */
  get total(): number {
    return this.#line - 1 + (this.#endsInLine ? 1 : 0);
  }

  /** Nothing that follows is shown. */
  get isFull(): boolean {
    return this.#line > this.#limits.end || this.closedBy !== undefined;
  }

  feed(chunk: Buffer): void {
    const { start, end } = this.#limits;
    let position = 0;
    while (position < chunk.length) {
      const inside = this.#line >= start && this.#line <= end && this.closedBy === undefined;
      const found = chunk.indexOf(LF, position);
      const stop = found === -1 ? chunk.length : found;
      if (inside) this.#hold(chunk.subarray(position, stop), this.#offset + position);
      if (found === -1) break;
      if (inside) this.#render(true);
      this.#line += 1;
      position = found + 1;
    }
    if (chunk.length > 0) this.#endsInLine = chunk[chunk.length - 1] !== LF;
    this.#offset += chunk.length;
  }

  /** Renders a last line that has no line end. */
  finish(): void {
    const { start, end } = this.#limits;
    if (this.#endsInLine && this.#line >= start && this.#line <= end && this.closedBy === undefined) this.#render(false);
  }

  #hold(piece: Buffer, offset: number): void {
    if (this.#length === 0) this.#lineOffset = offset;
    if (piece.includes(0)) this.binary = true;
    const part = piece.subarray(0, Math.max(0, this.#keep - this.#kept));
    // A copy: the reader fills the same buffer again.
    if (part.length > 0) this.#pieces.push(Buffer.from(part));
    this.#kept += part.length;
    this.#length += piece.length;
  }

  #take(ended: boolean): Buffer {
    let bytes = this.#pieces.length === 1 ? (this.#pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces);
    const whole = this.#length === bytes.length;
    if (whole && ended && bytes[bytes.length - 1] === CR) {
      bytes = bytes.subarray(0, -1);
      this.#length -= 1;
    }
    return bytes;
  }

  #render(ended: boolean): void {
    const bytes = this.#take(ended);
    const number = this.#line;
    const bom = number === 1 && markedEncoding(bytes) === "utf-8" ? UTF8_MARK.length : 0;
    const body = bytes.subarray(bom);
    const whole = this.#length === bytes.length;
    const characters = whole && body.length <= this.#limits.maxLineChars ? undefined : [...this.#decoder.decode(body)];
    let text = characters === undefined ? this.#decoder.decode(body) : "";
    if (characters !== undefined) {
      const cut = !whole || characters.length > this.#limits.maxLineChars;
      text = cut ? characters.slice(0, this.#limits.maxLineChars).join("") : characters.join("");
      if (cut) this.#noteCut(number, text, bom);
      if (cut) text += ` …[line cut: the first ${this.#limits.maxLineChars} characters of ${this.#length} bytes]`;
    }
    const valid = isUtf8(whole ? body : body.subarray(0, lastBoundary(body)));
    this.#pieces = [];
    this.#kept = 0;
    this.#length = 0;
    this.#add(`${number}: ${text}`, valid);
  }

  #noteCut(number: number, shown: string, bom: number): void {
    // Lossy decoding changes lengths; then one byte a character is never too far.
    const bytes = shown.includes("\ufffd") ? this.#limits.maxLineChars : Buffer.byteLength(shown);
    this.cutLines.push({ number, length: this.#length, continueAt: this.#lineOffset + bom + bytes });
  }

  #add(line: string, valid: boolean): void {
    const size = Buffer.byteLength(line) + 1;
    if (this.lines.length > 0 && this.#renderedBytes + size > this.#limits.maxBytes) {
      this.closedBy = "bytes";
      if (this.cutLines.at(-1)?.number === this.#line) this.cutLines.pop();
      return;
    }
    this.lines.push(line);
    this.#renderedBytes += size;
    if (!valid) this.lossy = true;
    if (this.lines.length === this.#limits.maxLines) this.closedBy = "lines";
  }
}

/** Length of `bytes` without a character that is cut off at its end. */
function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) !== 0x80) return byte >= 0xc0 ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
