/**
 * A question by clack that never touches the terminal: it gets the keys one at a time, and what it draws is drawn by the live
 * region. So nothing that happens to the terminal meanwhile (Ctrl+Z, a change of width, its end) is in clack's hands.
 * Refuses: what is asked; the terminal.
 */
import { Readable } from "node:stream";
import type { Asking, Clack } from "./askings.ts";
import type { Frame } from "./frame.ts";
import type { KeyEvent } from "./keys.ts";
import { PromptCanvas } from "./prompt-canvas.ts";
import { rowsThatFit } from "./prompt-rows.ts";
import { visible } from "./sanitize.ts";
import { wrap } from "./style.ts";

/** Rows of a prompt that are neither message nor choices, at most. */
const FRAME_ROWS = 6;
/** Columns of the bar in front of a message. */
const BAR = 3;
/** Text longer than this has not been typed key by key. */
const LONG = 40;
/** No answer is longer than this. */
const MAX_TEXT = 20_000;

/** Keys that mean something to a prompt, as a terminal would send them. */
const SEQUENCES: Readonly<Record<string, string>> = {
  enter: "\r",
  tab: "\t",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  delete: "\x1b[3~",
  backspace: "\x7f",
  "ctrl+h": "\x7f",
  "ctrl+a": "\x01",
  "ctrl+e": "\x05",
  "ctrl+u": "\x15",
  "ctrl+w": "\x17",
};
const GIVE_UP = "\x03";
/** Keys that give up whatever they are pressed in. */
export const GIVING_UP: ReadonlySet<string> = new Set(["escape", "ctrl+[", "ctrl+c", "ctrl+d"]);
/** What is meant for the terminal, whatever it shows. */
export const OF_THE_TERMINAL: ReadonlySet<string> = new Set(["ctrl+z", "ctrl+l"]);

/** The keyboard as clack sees it. */
class Keys extends Readable {
  /** Its reader wants no more. */
  left = false;

  /** More of the same text follows at once. */
  #more = false;

  override _read(): void {}

  /** Not pushed: clack and readline act before this returns, so that the key behind an answer is not theirs any more. */
  type(text: string): void {
    const last = text.length > LONG ? ([...text].at(-1) ?? "") : text;
    this.#more = true;
    if (last !== text) this.emit("data", Buffer.from(text.slice(0, -last.length)));
    this.#more = false;
    this.emit("data", Buffer.from(last));
  }

  override emit(name: string | symbol, ...values: unknown[]): boolean {
    if (name !== "keypress" || !this.#more) return super.emit(name, ...values);
    // The first listener is readline, which keeps the line. Clack draws it at each call, which takes the longer the longer it is.
    this.listeners(name)[0]?.apply(this, values);
    return true;
  }

  override pause(): this {
    this.left = true;
    return super.pause();
  }
}

export class Prompt<T> {
  /** Undefined when the person gave up, or the question's signal came. */
  readonly answer: Promise<T | undefined>;
  readonly #keys = new Keys();
  readonly #canvas: PromptCanvas;
  readonly #asking: Asking<T>;
  readonly #sayAll: (lines: readonly string[]) => void;
  #said = false;
  /** Its rows are written for another size: the next ones must have nothing in common with them. */
  #stale = false;

  /** @param sayAll told once, when the terminal has no room for the whole message */
  constructor(clack: Clack, asking: Asking<T>, columns: number, rows: number, sayAll: (lines: readonly string[]) => void) {
    this.#canvas = new PromptCanvas(columns - 1, rows - 1);
    this.#asking = asking;
    this.#sayAll = sayAll;
    this.answer = ask(clack, asking, this.#looks(), this.#keys, this.#canvas);
  }

  /** It has its answer, or was given up. */
  get isOver(): boolean {
    return this.#keys.left;
  }

  /** Hands it a key. False when that key is not for a prompt: it has its answer, or the key is for the terminal. */
  press(event: KeyEvent): boolean {
    if (this.#keys.left) return false;
    if (event.type === "reports-keys" || (event.type === "key" && OF_THE_TERMINAL.has(event.key))) return false;
    if (this.#asking.takes?.(event) === false) return true;
    const sequence = event.type === "key" ? sequenceOf(event.key) : event.text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
    // Half of what was pasted would be something else.
    if (sequence !== "" && sequence.length <= MAX_TEXT) this.#keys.type(sequence);
    return true;
  }

  /** What it shows on a terminal of this size. */
  frame(columns: number, rows: number): Frame {
    this.#stale = true;
    const resized = this.#canvas.resize(Math.max(1, columns - 1), Math.max(1, rows - 1));
    this.#stale = false;
    if (resized) this.#canvas.emit("resize");
    const lines = rowsThatFit(this.lines, rows - 1, columns - 1);
    return { lines, row: lines.length - 1, column: 0 };
  }

  /** Its rows as they stand. */
  get lines(): readonly string[] {
    const { shown } = this.#canvas;
    return shown.length === 0 ? [""] : shown;
  }

  /** What clack looks at whenever it draws. It rewrites rows that have changed, and counts those of the old size wrongly. */
  #looks(): Looks {
    const message = (): string => (this.#stale ? "" : this.#message());
    const withGuide = (): boolean => !this.#stale;
    return {
      get message() {
        return message();
      },
      get withGuide() {
        return withGuide();
      },
    };
  }

  /** As much of it as leaves room for the choices. */
  #message(): string {
    const { message } = this.#asking;
    const { columns, height } = this.#canvas;
    const lines = message.split("\n").map(visible);
    const wrapped = lines.flatMap((line) => wrap(line, columns - BAR));
    const room = Math.max(height > 1 ? 1 : 0, height - this.#asking.rows - FRAME_ROWS);
    if (wrapped.length <= room) return lines.join("\n");
    // A question must not hide what it asks for.
    if (!this.#said) this.#sayAll(lines);
    this.#said = true;
    return `${wrapped.slice(0, room).join("\n")}…`;
  }
}

type Looks = { readonly message: string; readonly withGuide: boolean };

function sequenceOf(key: string): string {
  return GIVING_UP.has(key) ? GIVE_UP : (SEQUENCES[key] ?? "");
}

async function ask<T>(clack: Clack, asking: Asking<T>, looks: Looks, input: Keys, output: PromptCanvas): Promise<T | undefined> {
  const { signal } = asking;
  // A signal of its own, let go of with the answer: clack listens for ever.
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await asking.put(clack, Object.assign(looks, { input, output, signal: controller.signal }));
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Puts a question; it is open when this resolves. */
export async function openPrompt<T>(
  asking: Asking<T>,
  columns: number,
  rows: number,
  sayAll: (lines: readonly string[]) => void,
): Promise<Prompt<T>> {
  // Lazy door: most runs never ask.
  return new Prompt(await import("@clack/prompts"), asking, columns, rows, sayAll);
}
