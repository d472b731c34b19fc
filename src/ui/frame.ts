/**
 * The live region as rows of text and a cursor, and the control sequences that lead from one frame to the next. Pure.
 * Only relative moves, so that the terminal's own scrollback stays what it is. Refuses: time, streams.
 */

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
 * From the cursor of `frame` to the start of its first row, everything from there on erased.
 * @param isOnTop nothing stands above it: tmux would keep in its scrollback what is erased from the screen's first cell on
 */
export function eraseFrame(frame: Frame | undefined, isOnTop = false): string {
  return frame ? `${up(frame.row)}\r${isOnTop ? "\x1b[K\x1b[C\x1b[J\r" : "\x1b[J"}` : "";
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

function drawChanges(before: Frame, next: Frame): string {
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
    const isErased = isOdd || Bun.stringWidth(line) < Bun.stringWidth(old);
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
export function drawFrame(before: Frame | undefined, next: Frame): string {
  if (!before) return drawWhole(next);
  if (before === next || same(before, next)) return "";
  return drawChanges(before, next);
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
export function resizedFrame(frame: Frame, columns: number, reflows: boolean): Frame {
  const own = Math.min(frame.column, columns - 1);
  if (!reflows) return { ...frame, column: own };
  let row = 0;
  for (const line of frame.lines.slice(0, frame.row)) row += Math.max(1, Math.ceil(Bun.stringWidth(line) / columns));
  row += Math.floor(frame.column / columns);
  const column = frame.column % columns;
  // Behind the last cell of a full row there is no next one: the cursor waits at its end.
  const waits = column === 0 && frame.column > 0 && Bun.stringWidth(frame.lines[frame.row] ?? "") <= frame.column;
  return waits ? { lines: frame.lines, row: row - 1, column: columns - 1 } : { lines: frame.lines, row, column };
}
