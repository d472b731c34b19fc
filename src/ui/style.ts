/** Colours of our own and fitting text into columns. Refuses: text that was not sanitised. */
import picocolors from "picocolors";

export type Style = ReturnType<typeof picocolors.createColors>;

/** Colour functions that do nothing where there is no colour. */
export function createStyle(color: boolean): Style {
  return picocolors.createColors(color);
}

/** Cut to `columns` cells, an ellipsis where something is missing; colours are kept and closed. */
export function fit(text: string, columns: number, cells: (text: string) => number = Bun.stringWidth): string {
  if (columns <= 0) return "";
  if (text.length <= columns && /^[\x20-\x7e]*$/.test(text)) return text;
  if (cells(text) <= columns) return text;
  for (let room = columns - 1; room > 0; room--) {
    const part = Bun.sliceAnsi(text, 0, room);
    // A wide character at the edge may be taken whole.
    if (cells(part) < columns) return `${part}…`;
  }
  return "…";
}

/** The space a row was broken at. */
const BROKEN_AT = /^((?:\x1b\[[0-9;]*m)*) (?=\S)/;

/** One line in rows of at most `columns` cells, broken at words where that is possible. */
export function wrap(text: string, columns: number): string[] {
  const rows = Bun.wrapAnsi(text, Math.max(1, columns), { hard: true, trim: false }).split("\n");
  return rows.map((row, index) => (index === 0 ? row : row.replace(BROKEN_AT, "$1")));
}

/** `340 ms`, `12 s`, `2 min 5 s`. */
export function shortTime(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `950`, `1.2k`, `34k`, `1.3M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 10_000) return `${(count / 1000).toFixed(1)}k`;
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
