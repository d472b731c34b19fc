/**
 * A question on a terminal that only knows lines (TERM=dumb): the line that answers it, key by key. Refuses: the terminal, what
 * is asked.
 */
import type { Asking } from "./askings.ts";
import type { KeyEvent } from "./keys.ts";
import { GIVING_UP } from "./prompt.ts";

export class PlainPrompt<T> {
  /** Undefined when the person gave up, or the question's signal came. */
  readonly answer: Promise<T | undefined>;
  readonly #asking: Asking<T>;
  readonly #done = Promise.withResolvers<T | undefined>();
  readonly #say: (lines: readonly string[]) => void;
  #typed = "";
  #over = false;

  constructor(asking: Asking<T>, say: (lines: readonly string[]) => void) {
    this.#asking = asking;
    this.#say = say;
    this.answer = this.#done.promise;
    say(asking.lines);
    const { signal } = asking;
    signal?.addEventListener("abort", () => this.#end(undefined), { once: true });
    if (signal?.aborted) this.#end(undefined);
  }

  /** What of the line may be seen. */
  get shown(): string {
    return this.#asking.secret ? "" : this.#typed;
  }

  /** Hands it a key. False when that key is not for a question: it has its answer, or the key is for the terminal. */
  press(event: KeyEvent): boolean {
    if (this.#over || event.type === "reports-keys") return false;
    if (event.type !== "key") this.#typed += event.text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
    else if (event.key === "ctrl+z" || event.key === "ctrl+l") return false;
    else if (GIVING_UP.has(event.key)) this.#end(undefined);
    else if (event.key === "backspace") this.#typed = [...this.#typed].slice(0, -1).join("");
    else if (event.key === "ctrl+u") this.#typed = "";
    else if (event.key === "enter") this.#read();
    return true;
  }

  #read(): void {
    const reading = this.#asking.read(this.#typed);
    if ("value" in reading) {
      this.#end(reading.value);
      return;
    }
    this.#typed = "";
    this.#say([reading.problem]);
  }

  #end(answer: T | undefined): void {
    this.#over = true;
    this.#done.resolve(answer);
  }
}
