/**
 * The live region as rows of text and a cursor, and the control sequences that lead from one frame to the next. Pure.
 * Only relative moves, so that the terminal's own scrollback stays what it is. Refuses: time, streams.
 */
import { type Counting, createSegmenter } from "./graphemes.ts";

export type Frame = {
  /** Rows, none wider than the terminal less one column. */
  readonly lines: readonly string[];
  /** The row and column the cursor stands on. */
  readonly row: number;
  readonly column: number;
};

/**
 * Characters that terminals disagree about: marks of other scripts than Latin, vowels that join a syllable, emoji. Where the terminal
 * takes them for wider than they are counted here, a full row would wrap, and its first half stay in the scrollback.
 */
const DISPUTED = /[\p{M}--[\u0300-\u036f]]|[\u0e33\u0eb3\u1160-\u11ff]|\p{Extended_Pictographic}|\p{RI}|\p{EMod}/v;
const NO_WRAP = "\x1b[?7l";
const WRAP = "\x1b[?7h";

const up = (count: number): string => (count > 0 ? `\x1b[${count}A` : "");
const down = (count: number): string => (count > 0 ? `\x1b[${count}B` : "");
const right = (count: number): string => (count > 0 ? `\x1b[${count}C` : "");

/**
 * From the cursor of `frame` to the start of its first row, everything from there on erased: the first row by itself, since tmux
 * keeps in its scrollback what is erased from the screen's first cell on, and a change of width may have brought the frame there.
 */
export function eraseFrame(frame: Frame | undefined): string {
  return frame ? `${up(frame.row)}\r\x1b[K\x1b[C\x1b[J\r` : "";
}

/** Draws a frame where nothing is, from the start of a row. */
function drawWhole(frame: Frame): string {
  const last = frame.lines.length - 1;
  const text = `${frame.lines.join("\r\n")}${up(last - frame.row)}\r${right(frame.column)}`;
  return frame.lines.some(isDisputed) ? unwrapped(text) : text;
}

const isDisputed = (line: string): boolean => DISPUTED.test(line);

/** The terminal cuts these rows off instead, and wraps again behind them. */
const unwrapped = (text: string): string => NO_WRAP + text + WRAP;

function drawChanges(before: Frame, next: Frame, { cells }: Counting): string {
  const parts: string[] = [];
  let disputed = false;
  let row = before.row;
  const shared = Math.min(before.lines.length, next.lines.length);
  const goto = (target: number): void => {
    parts.push(target < row ? up(row - target) : down(target - row), "\r");
    row = target;
  };
  for (let index = 0; index < shared; index++) {
    const [old = "", line = ""] = [before.lines[index], next.lines[index]];
    if (old === line) continue;
    goto(index);
    const isOdd = isDisputed(line);
    disputed ||= isOdd;
    // A row that becomes shorter is erased as a whole: tmux remembers how long it was and wraps it as that when it is resized.
    // So is one that may be cut off: behind its last cell the cursor stands on it.
    const isErased = isOdd || cells(line) < cells(old);
    parts.push(...(isErased ? ["\x1b[2K", line] : [line, "\x1b[K"]));
  }
  for (let index = shared; index < next.lines.length; index++) {
    goto(index - 1);
    const line = next.lines[index] ?? "";
    disputed ||= isDisputed(line);
    parts.push("\r\n", line);
    row = index;
  }
  if (next.lines.length < before.lines.length) {
    goto(next.lines.length - 1);
    parts.push("\x1b[1B\r\x1b[J", up(1));
  }
  goto(next.row);
  parts.push(right(next.column));
  return disputed ? unwrapped(parts.join("")) : parts.join("");
}

/** What to write to get from `before` (drawn, cursor in place) to `next`; "" when nothing changed. */
export function drawFrame(before: Frame | undefined, next: Frame, counting: Counting): string {
  if (!before) return drawWhole(next);
  if (before === next || same(before, next)) return "";
  return drawChanges(before, next, counting);
}

function same(a: Frame, b: Frame): boolean {
  return (
    a.row === b.row &&
    a.column === b.column &&
    a.lines.length === b.lines.length &&
    a.lines.every((line, i) => line === b.lines[i])
  );
}

/**
 * The frame as the terminal shows it after a change of width. A terminal that wraps anew (`reflows`) has moved the cursor down
 * by the rows that longer lines now take; others cut lines off.
 */
export function resizedFrame(frame: Frame, columns: number, reflows: boolean, counting: Counting): Frame {
  if (!reflows) return { ...frame, column: Math.min(frame.column, columns - 1) };
  const above = frame.lines.slice(0, frame.row).reduce((sum, line) => sum + rewrapped(line, columns, counting).length, 0);
  const rows = rewrapped(frame.lines[frame.row] ?? "", columns, counting);
  const last = rows.length - 1;
  let row = 0;
  let column = frame.column;
  while (row < last && column >= (rows[row] ?? 0)) {
    column -= rows[row] ?? 0;
    row += 1;
  }
  // Behind the last cell of a full row there is no next one: the cursor waits at its end.
  return { lines: frame.lines, row: above + row, column: Math.min(column, columns - 1) };
}

const PLAIN = /^[\x20-\x7e]*$/;
const segmenter = createSegmenter();

/** Cells of each row that a line takes at this width: a wide character at the edge goes to the next row as a whole. */
function rewrapped(line: string, columns: number, counting: Counting): number[] {
  const text = Bun.stripANSI(line);
  const cells = counting.cells(text);
  if (cells <= columns) return [cells];
  if (PLAIN.test(text)) {
    const full = Array.from({ length: Math.ceil(cells / columns) - 1 }, () => columns);
    return [...full, cells - full.length * columns];
  }
  const rows = [0];
  for (const { segment } of segmenter.segment(text)) {
    for (const own of counting.pieces(segment)) {
      const used = rows.at(-1) ?? 0;
      if (used > 0 && used + own > columns) rows.push(own);
      else rows[rows.length - 1] = used + own;
    }
  }
  return rows;
}
