/**
 * A question that allows something, and beside it the line: what is typed while it is open stays the line's, and Enter answers only
 * after a pause, so that half a sentence and its Enter, or the second Enter of two, decide nothing. Refuses: what is asked.
 */
import type { Clock } from "../base/clock.ts";
import type { Frame } from "./frame.ts";
import { isEditing } from "./input.ts";
import type { KeyEvent } from "./keys.ts";
import { GIVING_UP, OF_THE_TERMINAL, type Prompt } from "./prompt.ts";
import { visible } from "./sanitize.ts";
import { fit } from "./style.ts";

/** Nobody has read a question that is there for so short a time. */
const UNREAD_MS = 500;
/** Nobody who types goes on after so long a silence without looking. */
const TYPED_MS = 1000;
/** Below this the terminal has room for the choices only. */
const MIN_ROWS = 8;

const READY = "↑/↓ to navigate • Enter: confirm";
const UNREAD = "keys count in a moment";
const TYPED = "Enter counts after a pause: what you type goes into the line";

export type GuardOptions = {
  readonly clock: Clock;
  /** What stands in the line. */
  readonly line: () => string;
  readonly onChange: () => void;
};

export class GuardedPrompt {
  readonly #prompt: Pick<Prompt<unknown>, "press" | "frame" | "isOver">;
  readonly #options: GuardOptions;
  #deafUntil = 0;
  #typed = false;
  #cancel: () => void = () => undefined;

  constructor(prompt: Pick<Prompt<unknown>, "press" | "frame" | "isOver">, options: GuardOptions) {
    this.#prompt = prompt;
    this.#options = options;
    this.#wait(UNREAD_MS);
  }

  get isOver(): boolean {
    return this.#prompt.isOver;
  }

  /** Hands it a key. False when that key is the line's, or the terminal's, or the question has its answer. */
  press(event: KeyEvent): boolean {
    if (this.isOver || event.type === "reports-keys") return false;
    if (event.type !== "key" || isEditing(event.key) || this.#endsTyping(event.key)) {
      this.#typed = true;
      this.#wait(TYPED_MS);
      return false;
    }
    if (OF_THE_TERMINAL.has(event.key) || GIVING_UP.has(event.key) || this.#isReady) return this.#prompt.press(event);
    // An arrow has sent nobody astray: whoever holds one down before a question that is new waits no longer for it.
    if (this.#typed || event.key === "enter") this.#wait(this.#typed ? TYPED_MS : UNREAD_MS);
    return true;
  }

  /** What it shows on a terminal of this size. */
  frame(columns: number, rows: number): Frame {
    const own = rows < MIN_ROWS || this.isOver ? [] : this.#below(columns - 1);
    const { lines } = this.#prompt.frame(columns, rows - own.length);
    const all = [...lines, ...own];
    return { lines: all, row: all.length - 1, column: 0 };
  }

  close(): void {
    this.#cancel();
  }

  get #isReady(): boolean {
    return this.#options.clock.now() >= this.#deafUntil;
  }

  /** Among what is being typed these two are about the text. */
  #endsTyping(key: string): boolean {
    return (key === "ctrl+c" || key === "ctrl+d") && this.#typed && !this.#isReady && this.#options.line() !== "";
  }

  #wait(ms: number): void {
    const { clock, onChange } = this.#options;
    this.#deafUntil = clock.now() + ms;
    this.#cancel();
    this.#cancel = clock.after(ms, () => {
      this.#typed = false;
      onChange();
    });
  }

  #below(width: number): string[] {
    const notice = this.#isReady ? READY : this.#typed ? TYPED : UNREAD;
    const line = this.#options.line();
    return line === "" ? [fit(notice, width)] : [fit(notice, width), `❯ ${lastOf(line, width - 2)}`];
  }
}

/** The end of a text as one row. */
function lastOf(text: string, width: number): string {
  const shown = [
    ...visible(
      text
        .slice(-2 * width)
        .toWellFormed()
        .replaceAll("\n", "↵"),
    ),
  ];
  while (Bun.stringWidth(shown.join("")) > width) shown.shift();
  return shown.join("");
}
