/**
 * What a clack prompt draws, kept as rows instead of written to the terminal: it moves its cursor as if nothing ever changed the
 * terminal behind its back (a stop, a change of width), so the live region draws for it. Refuses: any other sequence than clack's.
 */
import { Writable } from "node:stream";

const PIECE = /\x1b\[(\??[\d;]*)([A-Za-ln-z])|\n|(?:\x1b\[[\d;]*m|[^\x1b\n])+/g;

export class PromptCanvas extends Writable {
  columns: number;
  rows: number;
  #lines: string[] = [""];
  #row = 0;
  /** The cursor stands at the start of its row; clack then erases or writes the row anew. */
  #atStart = true;

  constructor(columns: number, rows: number) {
    super({ decodeStrings: false });
    this.columns = columns;
    this.rows = rows;
  }

  /** Its rows, without an empty last one. */
  get shown(): readonly string[] {
    return this.#lines.at(-1) === "" ? this.#lines.slice(0, -1) : this.#lines;
  }

  /** Whoever draws on it draws anew at once. False when it has this size already. */
  resize(columns: number, rows: number): boolean {
    if (columns === this.columns && rows === this.rows) return false;
    this.columns = columns;
    this.rows = rows;
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
