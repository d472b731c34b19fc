/**
 * The choices of a list as clack shows them: whole where they fit, a row each where they do not. Refuses: what is asked, the terminal.
 */
import type { Choice } from "./picker.ts";
import type { PromptCanvas } from "./prompt-canvas.ts";
import { visible } from "./sanitize.ts";
import { fit } from "./style.ts";

/** Choices that are shown at once. */
export const MAX_SHOWN = 10;
/** Columns that clack keeps free for the bar in front of a choice: it counts the bar's colours too. */
const BAR_COLUMNS = 13;
const MARK_COLUMNS = 2;
/** Fewer columns of a name tell nothing: it rather takes two rows. */
const MIN_NAME = 12;
/** Rows around choices: the message, the bars, what the keys do. */
const FRAME_ROWS = 8;
/** Less of a hint says nothing. */
const MIN_HINT = 6;

/** One choice; the value is its place in the list. */
export type Option = { readonly value: number; readonly label: string; readonly hint: string };

/**
 * Where the terminal has no room for them as they wrap, each is one row: of what is too high only the last rows would be seen, without
 * the choice that Enter takes.
 */
export function optionsOf<T>(choices: readonly Choice<T>[], size: Pick<PromptCanvas, "columns" | "height">): Option[] {
  const whole = choices.map((choice) => ({ label: visible(choice.label), hint: visible(choice.hint ?? "") }));
  const width = (): number => Math.max(MIN_NAME, size.columns - BAR_COLUMNS - MARK_COLUMNS);
  let known = { columns: 0, height: 0, isTight: false };
  const isTight = (): boolean => {
    const { columns, height } = size;
    if (known.columns !== columns || known.height !== height)
      known = { columns, height, isTight: wrapsBeyond(whole, columns, height) };
    return known.isTight;
  };
  return whole.map((own, value) => ({
    value,
    get label() {
      return isTight() ? withBothEnds(own.label, width()) : own.label;
    },
    get hint() {
      if (own.hint === "" || !isTight()) return own.hint;
      const room = width() - Bun.stringWidth(own.label) - 3;
      return room < MIN_HINT ? "" : fit(own.hint, room);
    },
  }));
}

function wrapsBeyond(options: readonly Omit<Option, "value">[], columns: number, rows: number): boolean {
  const width = Math.max(1, columns - BAR_COLUMNS);
  const cells = options.map(
    ({ label, hint }) => MARK_COLUMNS + Bun.stringWidth(label) + (hint === "" ? 0 : Bun.stringWidth(hint) + 3),
  );
  const high = cells.map((count) => Math.max(1, Math.ceil(count / width))).sort((a, b) => b - a);
  return high.slice(0, MAX_SHOWN).reduce((sum, count) => sum + count, FRAME_ROWS) > rows;
}

/** Names of one family differ at their end. */
function withBothEnds(text: string, columns: number): string {
  const cells = Bun.stringWidth(text);
  if (cells <= columns) return text;
  const head = Math.floor((columns - 1) / 3);
  for (let tail = columns - 1 - head; tail > 0; tail--) {
    const shown = `${Bun.sliceAnsi(text, 0, head)}…${Bun.sliceAnsi(text, cells - tail, cells)}`;
    // A wide character at an edge may be taken whole.
    if (Bun.stringWidth(shown) <= columns) return shown;
  }
  return fit(text, columns);
}

/** Whether what is typed to search a long list finds a choice: also in what the terminal has no room for. */
export function holds<T>(choice: Choice<T> | undefined, search: string): boolean {
  const text = `${visible(choice?.label ?? "")}\n${visible(choice?.hint ?? "")}`;
  return text.toLowerCase().includes(search.toLowerCase());
}
