/** Whether somebody is typing right now: a question must not be answered by keys that were meant for the line. */
import type { Clock } from "../base/clock.ts";

/** Nobody types on after this long a pause without looking. */
const QUIET_MS = 600;

export class Typing {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #last = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get hint(): string | undefined {
    return this.#waiting > 0 ? "a question waits until you stop typing" : undefined;
  }

  /** A key came. */
  note(): void {
    this.#last = this.#clock.now();
  }

  /** Resolves after a pause in the typing; at once when there is one already, or when the signal comes. */
  async pause(signal: AbortSignal | undefined): Promise<void> {
    this.#waiting += 1;
    this.#onChange();
    try {
      for (;;) {
        const left = this.#last + QUIET_MS - this.#clock.now();
        if (left <= 0 || signal?.aborted) return;
        await this.#clock.sleep(left);
      }
    } finally {
      this.#waiting -= 1;
      this.#onChange();
    }
  }
}
