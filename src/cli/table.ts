/** Rows of cells as an aligned table on a terminal, as tab-separated plain lines in a pipe. Refuses: colours. */
import { visible } from "../ui/sanitize.ts";

export type TableOptions = {
  /** Aligned with a heading; false gives one line a row, cells separated by tabs, no heading. */
  readonly aligned: boolean;
  /** Terminal width: the last column is cut to fit. */
  readonly columns: number;
};

/** Every cell is made safe for a terminal. */
export function renderTable(heading: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): string[] {
  const safe = rows.map((row) => row.map((cell) => visible(cell.toWellFormed())));
  if (!options.aligned) return safe.map((row) => row.join("\t"));
  const all = [heading, ...safe];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => Bun.stringWidth(row[column] ?? ""))));
  return all.map((row) => {
    const cells = row.map((cell, column) =>
      column === row.length - 1 ? cell : cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell))),
    );
    const line = cells.join("  ");
    return Bun.stringWidth(line) <= options.columns ? line : `${Bun.sliceAnsi(line, 0, Math.max(1, options.columns - 1))}…`;
  });
}

/** `1.2 MB`. */
export function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let size = bytes;
  let unit = 0;
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000;
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

/** `2026-01-31 12:00` of an ISO time, as stored (UTC). */
export function timeText(iso: string): string {
  return iso === "" ? "-" : iso.slice(0, 16).replace("T", " ");
}

/** What a longer text begins with, on one line: its first sentence, or its first line where no sentence ends. */
export function firstSentence(text: string): string {
  return /^.*?[.](?=\s|$)/.exec(text.replace(/\s+/g, " "))?.[0] ?? text.split("\n")[0] ?? "";
}
