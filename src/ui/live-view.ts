/**
 * What stands below the settled text: rows above the input, the input, rows below it, as one frame of bounded size. Pure.
 * The status stands below the input, so that hardly anything is above the cursor when the terminal changes its width.
 */
import type { Frame } from "./frame.ts";
import type { Counting } from "./graphemes.ts";
import type { InputLayout } from "./input-layout.ts";
import { fit } from "./style.ts";
import { expandTabs } from "./tabs.ts";

export type LiveView = {
  /** Sanitised, coloured rows; the newest last. */
  readonly above: readonly string[];
  readonly input: { readonly prompt: string; readonly text: string; readonly cursor: number };
  readonly below: readonly string[];
};

/** The region is never higher than this, whatever the terminal. */
const MAX_ROWS = 16;
const MAX_INPUT_ROWS = 8;

/** Rows of the input around the cursor, and the cursor's place in them. */
function inputRows(view: LiveView, width: number, limit: number, layout: InputLayout): Frame {
  const { prompt, text, cursor } = view.input;
  const indent = Bun.stringWidth(prompt);
  const inner = Math.max(1, width - indent);
  const rows = layout.rows(text, inner);
  const place = layout.place(text, inner, cursor);
  const from = Math.max(0, Math.min(place.row - limit + 1, rows.length - limit), place.row - limit + 1);
  const start = Math.min(from, place.row);
  const shown = rows.slice(start, start + limit);
  const lines = shown.map((row, index) => `${start + index === 0 ? prompt : " ".repeat(indent)}${row.shown}`);
  const column = Math.min(indent + place.column, width);
  return { lines, row: place.row - start, column };
}

/** A row that is as wide as it is counted: a tab never is. */
function row(line: string, width: number, { cells }: Counting): string {
  return fit(expandTabs(line), width, cells);
}

/** A frame whose rows are cut off where the terminal would do it, by its own count. */
export function fitted(frame: Frame, width: number, { cells }: Counting): Frame {
  return { ...frame, lines: frame.lines.map((line) => fit(line, width, cells)) };
}

/** Composes the frame for a terminal of this size. */
export function composeFrame(view: LiveView, columns: number, rows: number, layout: InputLayout): Frame {
  const width = Math.max(2, columns - 1);
  const limit = Math.max(1, Math.min(MAX_ROWS, rows - 1));
  const below = view.below.slice(0, Math.max(0, limit - 1)).map((line) => row(line, width, layout.counting));
  const input = inputRows(view, width, Math.max(1, Math.min(MAX_INPUT_ROWS, limit - below.length)), layout);
  const room = Math.max(0, limit - below.length - input.lines.length);
  const above = (room === 0 ? [] : view.above.slice(-room)).map((line) => row(line, width, layout.counting));
  return { lines: [...above, ...input.lines, ...below], row: above.length + input.row, column: input.column };
}
