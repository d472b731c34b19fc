/**
 * Giving the terminal to somebody else for a while and taking it back: pickers, the editor, the shell (Ctrl+Z). One at a
 * time. Refuses: what is asked.
 */
import type { Keyboard } from "./keyboard.ts";
import type { LiveTerminal } from "./live.ts";
import type { OutputStream } from "./output.ts";
import { askOnTerminal, numberedAnswer, type Question, questionLines } from "./picker.ts";

export type LendingOptions = {
  readonly keyboard: () => Keyboard;
  readonly live: LiveTerminal;
  readonly stream: OutputStream;
  /** Only lines: questions are answered by number, in the input line. */
  readonly plain: boolean;
  readonly say: (lines: readonly string[]) => void;
};

export class Lending {
  readonly #options: LendingOptions;
  #last: Promise<unknown> = Promise.resolve();
  #answer: ((typed: string | undefined) => void) | undefined;
  #over = false;

  constructor(options: LendingOptions) {
    this.#options = options;
  }

  /** A numbered question waits for the input line. */
  get asking(): boolean {
    return this.#answer !== undefined;
  }

  /** Answers the numbered question; undefined gives it up. False when there is none. */
  answer(typed: string | undefined): boolean {
    if (!this.#answer) return false;
    this.#answer(typed);
    return true;
  }

  /** Runs `work` while it has keys and terminal. */
  lend<T>(work: () => Promise<T>): Promise<T> {
    return this.#alone(() => this.#options.keyboard().lend(work));
  }

  /** Ctrl+Z; resolves when the program goes on. */
  suspend(): Promise<void> {
    return this.#alone(() => this.#options.keyboard().suspend());
  }

  /** Undefined when the person gave up. */
  pick<T>(question: Question<T>): Promise<T | undefined> {
    if (this.#over) return Promise.resolve(undefined);
    const { plain, stream } = this.#options;
    return plain ? this.#pickByNumber(question) : this.lend(() => askOnTerminal(question, stream));
  }

  /** The program leaves: nothing is asked any more. */
  end(): void {
    this.#over = true;
    this.#answer?.(undefined);
  }

  #pickByNumber<T>(question: Question<T>): Promise<T | undefined> {
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const giveUp = (): void => this.#answer?.(undefined);
    this.#options.say(questionLines(question));
    question.signal?.addEventListener("abort", giveUp, { once: true });
    this.#answer = (typed) => {
      // Something else was being typed when the question came: it is neither yes nor no.
      if (typed !== undefined && numberedAnswer(question, typed) === undefined) {
        this.#options.say([`answer with a number from 1 to ${question.choices.length}, or give up with Esc`]);
        return;
      }
      this.#answer = undefined;
      question.signal?.removeEventListener("abort", giveUp);
      resolve(typed === undefined ? undefined : numberedAnswer(question, typed));
      this.#options.live.refresh();
    };
    this.#options.live.refresh();
    return promise;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const { live } = this.#options;
    const turn = this.#last.then(async () => {
      await live.hold();
      try {
        return await work();
      } finally {
        live.release();
      }
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
