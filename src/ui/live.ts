/**
 * The terminal as the REPL sees it: settled lines go into the scrollback once, the live region below them is redrawn, at
 * most 30 times a second. Refuses: what is in either.
 */
import { type Clock, monotonicClock } from "../base/clock.ts";
import { drawFrame, eraseFrame, type Frame, resizedFrame } from "./frame.ts";
import type { InputLayout } from "./input-layout.ts";
import { composeFrame, fitted, type LiveView } from "./live-view.ts";
import type { OutputStream } from "./output.ts";

export interface LiveTerminal {
  readonly columns: number;
  readonly rows: number;
  /** One or more lines for the scrollback, joined by "\n"; never drawn again. */
  settle(text: string): void;
  /** The view may have changed. */
  refresh(): void;
  /** Takes the live region away until `release`; settled lines wait. */
  hold(): Promise<void>;
  release(): void;
  /** What stands in the live region instead of the view, until it is undefined again: a question. */
  host(guest: Guest | undefined): void;
  /** Draws anew, below whatever stands there now. */
  restart(): void;
  /** An empty screen; what stood there is in the scrollback. */
  clear(): void;
  /** The last of it: settled lines out, live region away. */
  finish(): Promise<void>;
}

/** Composes what it shows for a terminal of this size; it has no cursor. */
export type Guest = (columns: number, rows: number) => Frame;

export type LiveOptions = {
  readonly stream: OutputStream;
  readonly view: () => LiveView;
  readonly layout: InputLayout;
  /** The terminal breaks long lines anew when its width changes (most do; xterm and the console cut them off). */
  readonly reflows: boolean;
  /** How long after a change of size nothing is drawn: what is drawn for another size than the terminal has leaves rows behind. */
  readonly calmMs?: number;
  readonly clock?: Clock;
};

const FRAME_MS = 34;
/** How long the last of it may wait for the terminal. */
export const LAST_STALL_MS = 2000;
/** Terminals that know it show a frame as a whole; others ignore it. */
const TOGETHER = "\x1b[?2026h";
const DONE = "\x1b[?2026l";
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

class Live implements LiveTerminal {
  readonly #options: LiveOptions;
  readonly #clock: Clock;
  #frame: Frame | undefined;
  #columns: number;
  #rows: number;
  #settled: string[] = [];
  #held = false;
  #guest: Guest | undefined;
  #over = false;
  #planned: (() => void) | undefined;
  #writing = false;
  #stale = false;
  #drawing = false;
  #isCursorHidden = false;
  /** Of another size since it was last drawn: also where it has the old one again, rows may have been cut off meanwhile. */
  #resized = false;
  /** Until then its size may be another one already than we were told. */
  #calmFrom = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  readonly #stopResize: () => void;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#columns = options.stream.columns;
    this.#rows = options.stream.rows;
    this.#stopResize = options.stream.onResize(() => {
      this.#resized = true;
      this.#calmFrom = this.#clock.now() + (options.calmMs ?? 0);
      this.#cancelPlan();
      this.refresh();
    });
  }

  get columns(): number {
    return this.#options.stream.columns;
  }

  get rows(): number {
    return this.#options.stream.rows;
  }

  settle(text: string): void {
    this.#settled.push(text);
    this.refresh();
  }

  refresh(): void {
    // Text that is looked at for this very frame settles lines into it.
    if (this.#drawing) return;
    if (this.#writing) this.#stale = true;
    if (this.#planned || this.#held || this.#over || this.#writing) return;
    const due = Math.max(0, Math.max(this.#last + FRAME_MS, this.#calmFrom) - this.#clock.now());
    this.#planned = this.#clock.after(due, () => {
      this.#planned = undefined;
      void this.#draw();
    });
  }

  async hold(): Promise<void> {
    this.#held = true;
    this.#cancelPlan();
    this.#write(this.#takeSettled());
    await this.#options.stream.flush();
  }

  release(): void {
    this.#held = false;
    // Whoever had the terminal meanwhile has shown the cursor again; as after a stop.
    this.#isCursorHidden = false;
    this.#columns = this.columns;
    this.#rows = this.rows;
    this.refresh();
  }

  host(guest: Guest | undefined): void {
    this.#guest = guest;
    if (!guest) this.#write(SHOW_CURSOR);
    this.#isCursorHidden = false;
    this.refresh();
  }

  restart(): void {
    this.#frame = undefined;
    this.#isCursorHidden = false;
    this.refresh();
  }

  clear(): void {
    // What has settled but was not drawn yet goes to the scrollback like everything before it.
    const text = this.#takeSettled();
    // Pushed out at the top, not erased: many terminals keep nothing of what is erased. So many line feeds push out what is filled.
    this.#write(`${text}${"\n".repeat(Math.max(0, this.rows - 1))}\x1b[H\x1b[J`);
    this.refresh();
  }

  async finish(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#cancelPlan();
    this.#stopResize();
    this.#write(this.#held ? "" : this.#takeSettled());
    // A terminal that takes nothing more is not waited for.
    this.#options.stream.hurry(LAST_STALL_MS);
    await this.#options.stream.flush();
  }

  #cancelPlan(): void {
    this.#planned?.();
    this.#planned = undefined;
  }

  /**
   * The live region away, what has settled in its place. Its lines end as those of print mode do: raw mode leaves it to the
   * terminal to return to the first column, and a second return would cost as much as the text of the line.
   */
  #takeSettled(): string {
    const texts = this.#settled;
    this.#settled = [];
    const erased = this.#resize() + eraseFrame(this.#frame);
    this.#frame = undefined;
    return texts.length === 0 ? erased : `${erased}${texts.join("\n")}\n`;
  }

  async #draw(): Promise<void> {
    const { stream, view, layout } = this.#options;
    const { columns, rows } = stream;
    this.#drawing = true;
    const current = view();
    const guest = this.#guest?.(columns, rows);
    const next = guest ? fitted(guest, columns - 1, layout.counting) : composeFrame(current, columns, rows, layout);
    this.#drawing = false;
    let text = this.#settled.length > 0 ? this.#takeSettled() : this.#resize();
    if (this.#guest && !this.#isCursorHidden) text += HIDE_CURSOR;
    this.#isCursorHidden = this.#guest !== undefined;
    text += drawFrame(this.#frame, next, layout.counting);
    this.#frame = next;
    this.#last = this.#clock.now();
    if (text === "") return;
    this.#write(text);
    // A slow terminal is not fed faster than it reads: what comes meanwhile is drawn together.
    this.#writing = true;
    await stream.flush();
    this.#writing = false;
    if (!this.#stale) return;
    this.#stale = false;
    this.refresh();
  }

  /** Takes away what was drawn for another size. A lower terminal has pushed rows out or cut them off: which, it does not say. */
  #resize(): string {
    const { columns, rows } = this;
    const frame = this.#frame;
    const changed = columns !== this.#columns;
    const isSame = !changed && !this.#resized && rows >= this.#rows;
    this.#columns = columns;
    this.#rows = rows;
    this.#resized = false;
    if (isSame) return "";
    this.#frame = undefined;
    if (!frame) return "";
    const { reflows, layout } = this.#options;
    return eraseFrame(changed ? resizedFrame(frame, columns, reflows, layout.counting) : frame);
  }

  #write(text: string): void {
    if (text !== "") this.#options.stream.write(`${TOGETHER}${text}${DONE}`);
  }
}

/** The live region of a terminal that can move its cursor. */
export function createLiveTerminal(options: LiveOptions): LiveTerminal {
  return new Live(options);
}
