/**
 * Typed text laid out in rows of a given width, and where the cursor is in them. The last layout is kept, so a text of
 * 200 KB is laid out once per change. Refuses: colours, more rows than asked for.
 */
import { BY_CLUSTERS, BY_MARKS, type Counting, type Segmenter, shownCluster } from "./graphemes.ts";

export type Row = { readonly start: number; readonly end: number; readonly shown: string };
export type Place = { readonly row: number; readonly column: number };

export interface InputLayout {
  /** How the terminal counts that it is for. */
  readonly counting: Counting;
  /** Rows of `text` at `width` columns; at least one. */
  rows(text: string, width: number): readonly Row[];
  /** Row and column (in cells) of the UTF-16 index `cursor`. */
  place(text: string, width: number, cursor: number): Place;
  /** The index nearest to a column of the row `delta` below; undefined when there is no such row. */
  vertical(text: string, width: number, cursor: number, delta: -1 | 1, column?: number): number | undefined;
}

type CellsOf = Counting["cells"];

const PLAIN = /^[\x20-\x7e]*$/;

/** Rows of one line; places count from its start. */
function lineRows(segmenter: Segmenter, cellsOf: CellsOf, line: string, width: number): readonly Row[] {
  return PLAIN.test(line) ? plainRows(line, width) : wideRows(segmenter, cellsOf, line, width);
}

function plainRows(line: string, width: number): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < line.length; at += width) {
    const end = Math.min(line.length, at + width);
    rows.push({ start: at, end, shown: line.slice(at, end) });
  }
  return rows.length > 0 ? rows : [{ start: 0, end: 0, shown: "" }];
}

function wideRows(segmenter: Segmenter, cellsOf: CellsOf, line: string, width: number): Row[] {
  const rows: Row[] = [];
  let from = 0;
  let shown: string[] = [];
  let used = 0;
  for (const { segment, index } of segmenter.segment(line)) {
    const piece = shownCluster(segment);
    const cells = cellsOf(piece);
    if (used + cells > width && used > 0) {
      rows.push({ start: from, end: index, shown: shown.join("") });
      from = index;
      shown = [];
      used = 0;
    }
    shown.push(piece);
    used += cells;
  }
  rows.push({ start: from, end: line.length, shown: shown.join("") });
  return rows;
}

function cellsBetween(segmenter: Segmenter, cellsOf: CellsOf, text: string, from: number, to: number): number {
  const part = text.slice(from, to);
  if (PLAIN.test(part)) return part.length;
  let cells = 0;
  for (const { segment } of segmenter.segment(part)) cells += cellsOf(shownCluster(segment));
  return cells;
}

/**
 * A layout with room for one text.
 * @param spacesMarks marks that stand beside their letter have a cell of their own
 */
export function createInputLayout(segmenter: Segmenter, spacesMarks = false): InputLayout {
  const counting = spacesMarks ? BY_MARKS : BY_CLUSTERS;
  const cellsOf = counting.cells;
  let last: { readonly text: string; readonly width: number; readonly rows: readonly Row[] } | undefined;
  /** Lines of the last text: a key changes one of them. */
  let known = new Map<string, readonly Row[]>();
  const rowsOf = (text: string, width: number): readonly Row[] => {
    if (last && last.text === text && last.width === width) return last.rows;
    const before = last?.width === width ? known : new Map<string, readonly Row[]>();
    known = new Map();
    const rows: Row[] = [];
    let start = 0;
    for (const line of text.split("\n")) {
      const own = known.get(line) ?? before.get(line) ?? lineRows(segmenter, cellsOf, line, width);
      known.set(line, own);
      for (const row of own) rows.push({ start: start + row.start, end: start + row.end, shown: row.shown });
      start += line.length + 1;
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
    return { row, column: cellsBetween(segmenter, cellsOf, text, rows[row]?.start ?? 0, cursor) };
  };
  return {
    counting,
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
        const next = cells + cellsOf(shownCluster(segment));
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
