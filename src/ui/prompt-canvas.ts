/**
 * What a clack prompt draws, kept as rows instead of written to the terminal: it moves its cursor as if nothing ever changed the
 * terminal behind its back (a stop, a change of width), so the live region draws for it. Refuses: any other sequence than clack's.
 */
import { Writable } from "node:stream";

/** A list with all that may be shown of it at once. */
const MIN_ROWS = 24;

const PIECE = /\x1b\[(\??[\d;]*)([A-Za-ln-z])|\n|(?:\x1b\[[\d;]*m|[^\x1b\n])+/g;

export class PromptCanvas extends Writable {
  columns: number;
  /** Rows of the terminal. */
  height: number;
  #lines: string[] = [""];
  #row = 0;
  /** The cursor stands at the start of its row; clack then erases or writes the row anew. */
  #atStart = true;

  constructor(columns: number, height: number) {
    super({ decodeStrings: false });
    this.columns = columns;
    this.height = height;
  }

  /** As clack is told: on a low terminal it would show less than fits. */
  get rows(): number {
    return Math.max(MIN_ROWS, this.height);
  }

  /** Its rows, without an empty last one. */
  get shown(): readonly string[] {
    return this.#lines.at(-1) === "" ? this.#lines.slice(0, -1) : this.#lines;
  }

  /** Whoever draws on it draws anew at once. False when it has this size already. */
  resize(columns: number, height: number): boolean {
    if (columns === this.columns && height === this.height) return false;
    this.columns = columns;
    this.height = height;
    return this.emit("resize");
  }

  override _write(chunk: string | Buffer, _: BufferEncoding, done: () => void): void {
    for (const [piece, parameters = "", command] of String(chunk).matchAll(PIECE)) {
      if (command !== undefined) this.#move(parameters, command);
      else if (piece === "\n") this.#lineFeed();
      else this.#text(piece);
    }
    const gone = this.#lines.splice(0, Math.max(0, this.#lines.length - this.rows));
    this.#row = Math.max(0, this.#row - gone.length);
    done();
  }

  #text(text: string): void {
    this.#lines[this.#row] = this.#atStart ? text : `${this.#lines[this.#row] ?? ""}${text}`;
    this.#atStart = false;
  }

  #lineFeed(): void {
    this.#row += 1;
    this.#lines[this.#row] ??= "";
    this.#atStart = true;
  }

  #move(parameters: string, command: string): void {
    const count = Number(parameters || "1");
    if (command === "A") this.#row = Math.max(0, this.#row - count);
    else if (command === "B") this.#row = Math.min(this.#lines.length - 1, this.#row + count);
    else if (command === "D" || command === "G") this.#atStart = true;
    else if (command === "K") this.#lines[this.#row] = "";
    else if (command === "J") this.#lines = [...this.#lines.slice(0, this.#row), ""];
  }
}
