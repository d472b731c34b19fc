/**
 * Rows of a screen and how a terminal of another width wraps them anew, as tmux does it (grid_reflow): rows that were wrapped are
 * joined, long ones split between characters. Refuses: the cursor's meaning, sequences.
 */

export type Cell = {
  text: string;
  width: 0 | 1 | 2;
  /** Never written to since its row was made or erased whole: not part of the text. */
  unused?: true;
};

export type Line = Cell[] & {
  /** The terminal itself went on in the next row. */
  wraps?: boolean;
  /** Kept once it cannot change any more. */
  text?: string;
};

export type Point = { readonly row: number; readonly column: number };

export const unusedCell = (): Cell => ({ text: " ", width: 1, unused: true });

export const emptyLine = (columns: number): Line => Array.from({ length: columns }, unusedCell);

export function textOf(line: Line): string {
  return line
    .map((cell) => cell.text)
    .join("")
    .trimEnd();
}

/** Cells up to the last one that was written. */
function usedOf(line: Line): number {
  let used = line.length;
  while (used > 0 && line[used - 1]?.unused) used--;
  return used;
}

function split(cells: readonly Cell[], columns: number): Line[] {
  const rows: Line[] = [[]];
  for (let at = 0; at < cells.length; at++) {
    const cell = cells[at];
    if (!cell || cell.width === 0) continue;
    let row = rows.at(-1) ?? [];
    if (row.length + cell.width > columns && row.length > 0) {
      row.wraps = true;
      row = [];
      rows.push(row);
    }
    row.push(cell);
    if (cell.width === 2 && columns > 1) row.push({ text: "", width: 0 });
  }
  return rows;
}

/** All rows, the oldest first, at another width; and where the cursor is then. */
export function reflow(lines: readonly Line[], columns: number, cursor: Point): { lines: Line[]; cursor: Point } {
  const result: Line[] = [];
  let at: Point = { row: 0, column: 0 };
  for (let first = 0; first < lines.length; ) {
    let end = first;
    while (lines[end]?.wraps && end + 1 < lines.length) end++;
    const group = lines.slice(first, end + 1);
    const used = group.map(usedOf);
    const rows = split(
      group.flatMap((line, index) => line.slice(0, used[index])),
      columns,
    );
    if (cursor.row >= first && cursor.row <= end) {
      const own = used[cursor.row - first] ?? 0;
      const before = used.slice(0, cursor.row - first).reduce((sum, count) => sum + count, 0);
      const place = cursor.column >= own ? undefined : before + cursor.column;
      at = placeIn(rows, place, result.length);
    }
    for (const row of rows) {
      while (row.length < columns) row.push(unusedCell());
      result.push(row);
    }
    first = end + 1;
  }
  return { lines: result, cursor: at };
}

/** Behind the text (no place) the cursor stays behind it. */
function placeIn(rows: readonly Line[], place: number | undefined, from: number): Point {
  let left = place ?? Number.POSITIVE_INFINITY;
  for (const [index, row] of rows.entries()) {
    if (left < row.length) return { row: from + index, column: left };
    if (index === rows.length - 1) return { row: from + index, column: row.length };
    left -= row.length;
  }
  return { row: from, column: 0 };
}
