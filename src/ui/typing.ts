/** Whether somebody is typing right now: a question must not be answered by keys that were meant for the line. */
import type { Clock } from "../base/clock.ts";

/** Nobody types on after this long a pause without looking. */
const QUIET_MS = 600;

export class Typing {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #last = Number.NEGATIVE_INFINITY;
  readonly #pasting: () => boolean;
  #waiting = 0;

  /** @param pasting a paste has begun: however slowly it comes, it is typing until it ends */
  constructor(clock: Clock, pasting: () => boolean, onChange: () => void) {
    this.#clock = clock;
    this.#pasting = pasting;
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
      while (!signal?.aborted) {
        if (this.#pasting()) this.note();
        const left = this.#last + QUIET_MS - this.#clock.now();
        if (left <= 0) return;
        await this.#quiet(left, signal);
      }
    } finally {
      this.#waiting -= 1;
      this.#onChange();
    }
  }

  #quiet(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(ms, resolve);
    const stop = (): void => resolve();
    signal?.addEventListener("abort", stop, { once: true });
    return promise.finally(() => {
      cancel();
      signal?.removeEventListener("abort", stop);
    });
  }
}
