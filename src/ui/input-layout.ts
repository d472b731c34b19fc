/**
 * Typed text laid out in rows of a given width, and where the cursor is in them. The last layout is kept, so a text of
 * 200 KB is laid out once per change. Refuses: colours, more rows than asked for.
 */
import { type Segmenter, shownCluster } from "./graphemes.ts";

export type Row = { readonly start: number; readonly end: number; readonly shown: string };
export type Place = { readonly row: number; readonly column: number };

export interface InputLayout {
  /** Rows of `text` at `width` columns; at least one. */
  rows(text: string, width: number): readonly Row[];
  /** Row and column (in cells) of the UTF-16 index `cursor`. */
  place(text: string, width: number, cursor: number): Place;
  /** The index nearest to a column of the row `delta` below; undefined when there is no such row. */
  vertical(text: string, width: number, cursor: number, delta: -1 | 1, column?: number): number | undefined;
}

const PLAIN = /^[\x20-\x7e]*$/;

function plainRows(text: string, start: number, end: number, width: number, rows: Row[]): void {
  let at = start;
  do {
    const stop = Math.min(end, at + width);
    rows.push({ start: at, end: stop, shown: text.slice(at, stop) });
    at = stop;
  } while (at < end);
}

function wideRows(segmenter: Segmenter, text: string, start: number, end: number, width: number, rows: Row[]): void {
  let from = start;
  let shown: string[] = [];
  let used = 0;
  for (const { segment, index } of segmenter.segment(text.slice(start, end))) {
    const piece = shownCluster(segment);
    const cells = Bun.stringWidth(piece);
    if (used + cells > width && used > 0) {
      rows.push({ start: from, end: start + index, shown: shown.join("") });
      from = start + index;
      shown = [];
      used = 0;
    }
    shown.push(piece);
    used += cells;
  }
  rows.push({ start: from, end, shown: shown.join("") });
}

function cellsBetween(segmenter: Segmenter, text: string, from: number, to: number): number {
  let cells = 0;
  for (const { segment } of segmenter.segment(text.slice(from, to))) cells += Bun.stringWidth(shownCluster(segment));
  return cells;
}

/** A layout with room for one text. */
export function createInputLayout(segmenter: Segmenter): InputLayout {
  let last: { readonly text: string; readonly width: number; readonly rows: readonly Row[] } | undefined;
  const rowsOf = (text: string, width: number): readonly Row[] => {
    if (last && last.text === text && last.width === width) return last.rows;
    const rows: Row[] = [];
    let start = 0;
    for (const line of text.split("\n")) {
      const end = start + line.length;
      if (PLAIN.test(line)) plainRows(text, start, end, width, rows);
      else wideRows(segmenter, text, start, end, width, rows);
      start = end + 1;
    }
    last = { text, width, rows };
    return rows;
  };
  const rowAt = (rows: readonly Row[], cursor: number): number => {
    let low = 0;
    let high = rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((rows[middle]?.start ?? 0) <= cursor) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const place = (text: string, width: number, cursor: number): Place => {
    const rows = rowsOf(text, width);
    const row = rowAt(rows, cursor);
    return { row, column: cellsBetween(segmenter, text, rows[row]?.start ?? 0, cursor) };
  };
  return {
    rows: rowsOf,
    place,
    vertical(text, width, cursor, delta, column) {
      const here = place(text, width, cursor);
      const rows = rowsOf(text, width);
      const target = rows[here.row + delta];
      if (!target) return undefined;
      const wanted = column ?? here.column;
      let cells = 0;
      for (const { segment, index } of segmenter.segment(text.slice(target.start, target.end))) {
        const next = cells + Bun.stringWidth(shownCluster(segment));
        if (next > wanted) return target.start + index;
        cells = next;
      }
      // The end of a wrapped row is the start of the next one.
      const wraps = rows[here.row + delta + 1]?.start === target.end;
      return wraps
        ? Math.max(target.start, target.end - lastCluster(segmenter, text.slice(target.start, target.end)))
        : target.end;
    },
  };
}

function lastCluster(segmenter: Segmenter, text: string): number {
  let length = 0;
  for (const { segment } of segmenter.segment(text)) length = segment.length;
  return length;
}
