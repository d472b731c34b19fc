/**
 * Whether somebody is typing right now: a question must not be answered by keys that were meant for the line, or for the question
 * before it. Refuses: what a key does.
 */
import type { Clock } from "../base/clock.ts";
import type { KeyEvent } from "./keys.ts";

/** Nobody types on after this long a pause without looking. */
const QUIET_MS = 600;
/** With half a line written, a pause may be for thinking. */
const THINKING_MS = 2000;
/** A second Enter this close to the first is no other Enter. */
const BOUNCE_MS = 200;

export type TypingOptions = {
  readonly clock: Clock;
  /** A paste has begun: however slowly it comes, it is typing until it ends. */
  readonly pasting: () => boolean;
  /** Something stands in the line that was not sent. */
  readonly drafting: () => boolean;
  readonly onChange: () => void;
};

export class Typing {
  readonly #options: TypingOptions;
  #last = Number.NEGATIVE_INFINITY;
  /** The last key was an Enter: what it was for is over. */
  #sent = false;
  #waiting = 0;

  constructor(options: TypingOptions) {
    this.#options = options;
  }

  get hint(): string | undefined {
    return this.#waiting > 0 && !this.#sent ? "a question waits until you stop typing" : undefined;
  }

  /** Keys came, whoever gets them: those that answer a question are not for the next one. */
  note(events: readonly KeyEvent[]): void {
    const last = events.findLast((event) => event.type !== "reports-keys");
    if (!last) return;
    this.#last = this.#options.clock.now();
    this.#sent = last.type === "key" && last.key === "enter";
  }

  /**
   * Resolves after a pause in the typing; at once when there is one already, or when the signal comes.
   * @param expected the person has just called for what comes: an Enter behind it is all that has to be waited for
   */
  async pause(signal: AbortSignal | undefined, expected = false): Promise<void> {
    const { clock, onChange, pasting } = this.#options;
    this.#waiting += 1;
    onChange();
    try {
      while (!signal?.aborted) {
        if (pasting()) {
          this.#last = clock.now();
          this.#sent = false;
        }
        const left = this.#last + this.#quietMs(expected) - clock.now();
        if (left <= 0) return;
        await this.#quiet(left, signal);
      }
    } finally {
      this.#waiting -= 1;
      onChange();
    }
  }

  #quietMs(expected: boolean): number {
    if (this.#options.drafting()) return THINKING_MS;
    return expected && this.#sent ? BOUNCE_MS : QUIET_MS;
  }

  #quiet(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(ms, resolve);
    const stop = (): void => resolve();
    signal?.addEventListener("abort", stop, { once: true });
    return promise.finally(() => {
      cancel();
      signal?.removeEventListener("abort", stop);
    });
  }
}
