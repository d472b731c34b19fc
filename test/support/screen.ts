/**
 * A small model of a terminal's screen: what a person would see after these bytes. Cells, cursor, wrapping, scrolling with
 * scrollback, erasing, the alternate screen, wide characters by `Bun.stringWidth`. Colours are read and forgotten. On a resize
 * lines are cropped or padded, as xterm does, or wrapped anew as tmux does (`reflows`). Marks that stand beside their letter are part
 * of its cell, or have their own as in tmux (`spacesMarks`).
 */
import { type Cell, emptyLine, type Line, reflow, textOf, unusedCell } from "./reflow.ts";

const segments = new Intl.Segmenter("en", { granularity: "grapheme" });

/** One complete control sequence, or a run of plain text, at the start of the input. */
const CSI = /^\x1b\[([<=>?]?)([0-9;:]*)([ !"#$%&'()*+,\-./]*)([@-~])/;
const CSI_OPEN = /^\x1b\[[<=>?]?[0-9;:]*[ -/]*$/;
const TEXT = /^[^\x00-\x1f\x7f]+/;
/** OSC, DCS, APC, PM, SOS: closed by BEL (OSC) or ST. */
const STRING_SEQUENCE = /^\x1b[\]P_^X][\s\S]*?(?:\x07|\x1b\\)/;

function blank(): Cell {
  return { text: " ", width: 1 };
}

export class Screen {
  columns: number;
  rows: number;
  /** Zero-based. */
  row = 0;
  column = 0;
  /** Private modes that are on, by number: 25 cursor, 1049 alternate screen, 2004 bracketed paste. */
  readonly modes = new Set<number>([7, 25]);
  bells = 0;
  title = "";
  /** Called with what a real terminal would answer to a question (cursor position, device attributes). */
  onAnswer: (text: string) => void = () => {};

  readonly #reflows: boolean;
  readonly #spacesMarks: boolean;
  readonly #history: Line[] = [];
  #lines: Line[];
  #other: { lines: Line[]; row: number; column: number } | undefined;
  #saved = { row: 0, column: 0 };
  #top = 0;
  #bottom: number;
  #wrapPending = false;
  #rest = "";

  constructor(columns = 80, rows = 24, options: { readonly reflows?: boolean; readonly spacesMarks?: boolean } = {}) {
    this.#reflows = options.reflows ?? false;
    this.#spacesMarks = options.spacesMarks ?? false;
    this.columns = columns;
    this.rows = rows;
    this.#bottom = rows - 1;
    this.#lines = Array.from({ length: rows }, () => emptyLine(columns));
  }

  /** Lines that scrolled off the top, oldest first. */
  get scrollback(): string[] {
    return this.#history.map((line) => (line.text ??= textOf(line)));
  }

  /** The visible lines, without trailing blanks. */
  lines(): string[] {
    return this.#lines.map(textOf);
  }

  /** The visible text, without empty lines at the end. */
  text(): string {
    return this.lines().join("\n").trimEnd();
  }

  /** Scrollback and screen together. */
  everything(): string {
    return [...this.scrollback, ...this.lines()].join("\n").trimEnd();
  }

  /** Everything as lines, however often the terminal itself wrapped them. */
  logicalLines(): string[] {
    const lines: string[] = [];
    let open = "";
    for (const line of [...this.#history, ...this.#lines]) {
      open += line.wraps ? line.map((cell) => (cell.unused ? "" : cell.text)).join("") : textOf(line);
      if (line.wraps) continue;
      lines.push(open);
      open = "";
    }
    return lines;
  }

  /** The line the cursor is on. */
  currentLine(): string {
    return textOf(this.#lines[this.row] ?? []);
  }

  resize(columns: number, rows: number): void {
    while (this.#lines.length > rows) {
      // Empty lines below the cursor go first; then the top scrolls away.
      if (this.#lines.length - 1 > this.row) this.#lines.pop();
      else {
        const gone = this.#lines.shift();
        if (gone && !this.#other) this.#history.push(gone);
        this.row = Math.max(0, this.row - 1);
      }
    }
    const place = this.#reflows ? this.#reflow(columns, rows) : { row: this.row, column: this.column };
    for (const line of this.#lines) {
      line.length = Math.min(line.length, columns);
      while (line.length < columns) line.push(unusedCell());
    }
    this.columns = columns;
    while (this.#lines.length < rows) this.#lines.push(emptyLine(columns));
    this.rows = rows;
    this.#top = 0;
    this.#bottom = rows - 1;
    this.#moveTo(place.row, place.column);
    this.#wrapPending = this.#reflows && place.column >= columns;
  }

  /** Everything at another width: as many of the last rows as fit are the screen, and the cursor goes with its character. */
  #reflow(columns: number, rows: number): { readonly row: number; readonly column: number } {
    const before = this.#history.length;
    const all = reflow([...this.#history, ...this.#lines], columns, {
      row: before + this.row,
      column: this.column + (this.#wrapPending ? 1 : 0),
    });
    const kept = Math.max(0, all.lines.length - rows);
    this.#history.splice(0, before, ...all.lines.slice(0, kept));
    this.#lines = all.lines.slice(kept);
    return all.cursor.row < kept ? { row: 0, column: 0 } : { row: all.cursor.row - kept, column: all.cursor.column };
  }

  /** Feeds output; a sequence cut between two calls is completed by the next. */
  write(text: string): void {
    let rest = this.#rest + text;
    this.#rest = "";
    while (rest !== "") {
      const used = this.#step(rest);
      if (used === 0) {
        this.#rest = rest;
        return;
      }
      rest = rest.slice(used);
    }
  }

  /** Consumes one piece and returns its length; 0 when it is not complete yet. */
  #step(input: string): number {
    const plain = TEXT.exec(input);
    if (plain) {
      for (const { segment } of segments.segment(plain[0])) {
        const isSpaced = this.#spacesMarks && /\p{M}/u.test(segment) && !/[\u200d\ufe0e\ufe0f]/.test(segment);
        for (const part of isSpaced ? segment : [segment]) this.#print(part);
      }
      return plain[0].length;
    }
    if (input[0] !== "\x1b") {
      this.#control(input[0] ?? "");
      return 1;
    }
    if (input.length === 1 || CSI_OPEN.test(input)) return 0;
    const csi = CSI.exec(input);
    if (csi) {
      const [whole, prefix = "", numbers = "", between = "", final = ""] = csi;
      if (between === "") this.#csi(prefix, numbers, final);
      return whole.length;
    }
    if (/^\x1b[\]P_^X]/.test(input)) {
      const string = STRING_SEQUENCE.exec(input);
      if (!string) return 0;
      const title = /^\x1b\][02];([\s\S]*?)(?:\x07|\x1b\\)$/.exec(string[0]);
      if (title) this.title = title[1] ?? "";
      return string[0].length;
    }
    if (/^\x1b[ -/]$/.test(input)) return 0;
    const charset = /^\x1b[ -/]+[0-~]/.exec(input);
    if (charset) return charset[0].length;
    this.#escape(input[1] ?? "");
    return 2;
  }

  #moveTo(row: number, column: number): void {
    this.row = Math.max(0, Math.min(this.rows - 1, row));
    this.column = Math.max(0, Math.min(this.columns - 1, column));
    this.#wrapPending = false;
  }

  #control(char: string): void {
    if (char === "\r") this.#moveTo(this.row, 0);
    else if (char === "\n" || char === "\v" || char === "\f") this.#lineFeed();
    else if (char === "\b") this.#moveTo(this.row, this.column - 1);
    else if (char === "\t") this.#moveTo(this.row, (Math.floor(this.column / 8) + 1) * 8);
    else if (char === "\x07") this.bells++;
  }

  #lineFeed(): void {
    this.#wrapPending = false;
    if (this.row === this.#bottom) this.#scroll(1);
    else if (this.row < this.rows - 1) this.row++;
  }

  #scroll(count: number): void {
    for (let i = 0; i < Math.abs(count); i++) {
      if (count > 0) {
        const [gone] = this.#lines.splice(this.#top, 1);
        if (gone && this.#top === 0 && !this.#other) this.#history.push(gone);
        this.#lines.splice(this.#bottom, 0, emptyLine(this.columns));
      } else {
        this.#lines.splice(this.#bottom, 1);
        this.#lines.splice(this.#top, 0, emptyLine(this.columns));
      }
    }
  }

  #print(grapheme: string): void {
    const least = this.#spacesMarks && /^\p{Mc}/u.test(grapheme) ? 1 : 0;
    const width = Math.min(2, Math.max(least, Bun.stringWidth(grapheme))) as 0 | 1 | 2;
    if (width === 0) {
      this.#join(grapheme);
      return;
    }
    const wraps = this.modes.has(7);
    if ((this.#wrapPending || this.column + width > this.columns) && wraps) {
      const full = this.#lines[this.row];
      if (full) full.wraps = true;
      this.#moveTo(this.row, 0);
      this.#lineFeed();
    }
    const line = this.#lines[this.row];
    if (!line) return;
    const at = Math.min(this.column, Math.max(0, this.columns - width));
    this.#clearHalves(line, at, at + width - 1);
    line[at] = { text: grapheme, width };
    if (width === 2 && at + 1 < this.columns) line[at + 1] = { text: "", width: 0 };
    this.#wrapPending = at + width >= this.columns;
    this.column = Math.min(this.columns - 1, at + width);
  }

  /** A combining mark that arrived on its own belongs to the cell before the cursor. */
  #join(mark: string): void {
    const line = this.#lines[this.row] ?? [];
    let at = this.#wrapPending ? this.column : this.column - 1;
    if (line[at]?.width === 0) at--;
    const cell = line[at];
    if (cell) cell.text += mark;
  }

  /** Writing over one half of a wide character erases the other. */
  #clearHalves(line: Line, from: number, to: number): void {
    if (line[from]?.width === 0 && from > 0) line[from - 1] = blank();
    if (line[to]?.width === 2 && to + 1 < line.length) line[to + 1] = blank();
  }

  #erase(row: number, from: number, to: number): void {
    const line = this.#lines[row];
    if (!line) return;
    this.#clearHalves(line, from, to - 1);
    const whole = from === 0 && to >= line.length;
    if (to >= line.length) line.wraps = false;
    // As tmux: what was text stays part of its line as blanks, unless the line is erased whole.
    for (let at = from; at < Math.min(to, line.length); at++) line[at] = whole || line[at]?.unused ? unusedCell() : blank();
  }

  #eraseDisplay(mode: number): void {
    if (mode === 3) this.#history.length = 0;
    // As tmux: what is erased from the first cell on is kept.
    if (this.#reflows && !this.#other && mode === 0 && this.row === 0 && this.column === 0) {
      const filled = this.#lines.findLastIndex((line) => line.some((cell) => !cell.unused)) + 1;
      this.#history.push(...this.#lines.slice(0, filled).map((line) => Object.assign([...line], { wraps: line.wraps ?? false })));
    }
    if (mode === 0) this.#erase(this.row, this.column, this.columns);
    if (mode === 1) this.#erase(this.row, 0, this.column + 1);
    const first = mode === 0 ? this.row + 1 : 0;
    const end = mode === 1 ? this.row : mode === 3 ? 0 : this.rows;
    for (let row = first; row < end; row++) this.#erase(row, 0, this.columns);
  }

  #eraseLine(mode: number): void {
    this.#erase(this.row, mode === 0 ? this.column : 0, mode === 1 ? this.column + 1 : this.columns);
    this.#wrapPending = false;
  }

  #csi(prefix: string, numbers: string, final: string): void {
    const values = numbers.split(/[;:]/).map((value) => (value === "" ? undefined : Number(value)));
    const n = Math.max(1, values[0] ?? 1);
    if (prefix !== "") {
      if (prefix === "?" && (final === "h" || final === "l")) for (const mode of values) this.#setMode(mode ?? 0, final === "h");
      return;
    }
    const actions: Readonly<Record<string, () => void>> = {
      A: () => this.#moveTo(this.row - n, this.column),
      B: () => this.#moveTo(this.row + n, this.column),
      C: () => this.#moveTo(this.row, this.column + n),
      D: () => this.#moveTo(this.row, this.column - n),
      E: () => this.#moveTo(this.row + n, 0),
      F: () => this.#moveTo(this.row - n, 0),
      G: () => this.#moveTo(this.row, n - 1),
      "`": () => this.#moveTo(this.row, n - 1),
      d: () => this.#moveTo(n - 1, this.column),
      H: () => this.#moveTo(n - 1, (values[1] ?? 1) - 1),
      f: () => this.#moveTo(n - 1, (values[1] ?? 1) - 1),
      J: () => this.#eraseDisplay(values[0] ?? 0),
      K: () => this.#eraseLine(values[0] ?? 0),
      L: () => this.#insertLines(n),
      M: () => this.#insertLines(-n),
      P: () => this.#shiftCells(-n),
      "@": () => this.#shiftCells(n),
      X: () => this.#erase(this.row, this.column, this.column + n),
      S: () => this.#scroll(n),
      T: () => this.#scroll(-n),
      r: () => this.#setRegion((values[0] ?? 1) - 1, (values[1] ?? this.rows) - 1),
      s: () => this.#save(),
      u: () => this.#moveTo(this.#saved.row, this.#saved.column),
      n: () => this.#answer(values[0] ?? 0),
      c: () => this.onAnswer("\x1b[?62;22c"),
    };
    actions[final]?.();
  }

  #answer(question: number): void {
    if (question === 5) this.onAnswer("\x1b[0n");
    if (question === 6) this.onAnswer(`\x1b[${this.row + 1};${this.column + 1}R`);
  }

  #save(): void {
    this.#saved = { row: this.row, column: this.column };
  }

  #setRegion(top: number, bottom: number): void {
    if (top >= bottom) return;
    this.#top = Math.max(0, top);
    this.#bottom = Math.min(this.rows - 1, bottom);
    this.#moveTo(0, 0);
  }

  #insertLines(count: number): void {
    if (this.row < this.#top || this.row > this.#bottom) return;
    for (let i = 0; i < Math.abs(count); i++) {
      this.#lines.splice(count > 0 ? this.#bottom : this.row, 1);
      this.#lines.splice(count > 0 ? this.row : this.#bottom, 0, emptyLine(this.columns));
    }
  }

  #shiftCells(count: number): void {
    const line = this.#lines[this.row];
    if (!line) return;
    if (count > 0) line.splice(this.column, 0, ...Array.from({ length: count }, blank));
    else line.splice(this.column, -count);
    line.length = Math.min(line.length, this.columns);
    while (line.length < this.columns) line.push(blank());
  }

  #setMode(mode: number, on: boolean): void {
    const was = this.modes.has(mode);
    if (on) this.modes.add(mode);
    else this.modes.delete(mode);
    if ((mode === 1049 || mode === 1047 || mode === 47) && was !== on) this.#switchScreen();
  }

  #switchScreen(): void {
    const shown = { lines: this.#lines, row: this.row, column: this.column };
    const back = this.#other;
    this.#other = back ? undefined : shown;
    this.#lines = back?.lines ?? Array.from({ length: this.rows }, () => emptyLine(this.columns));
    this.#moveTo(back?.row ?? 0, back?.column ?? 0);
  }

  #escape(char: string): void {
    if (char === "7") this.#save();
    else if (char === "8") this.#moveTo(this.#saved.row, this.#saved.column);
    else if (char === "D") this.#lineFeed();
    else if (char === "E") {
      this.#moveTo(this.row, 0);
      this.#lineFeed();
    } else if (char === "M") {
      if (this.row === this.#top) this.#scroll(-1);
      else this.#moveTo(this.row - 1, this.column);
    } else if (char === "c") {
      this.#eraseDisplay(2);
      this.#moveTo(0, 0);
    }
  }
}
