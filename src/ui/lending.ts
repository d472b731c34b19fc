/**
 * Giving the terminal to somebody else for a while and taking it back: the editor, the shell (Ctrl+Z), one at a time; and the
 * keys to a question. Refuses: what is asked.
 */
import { type Clock, monotonicClock } from "../base/clock.ts";
import { type Asking, listOf } from "./askings.ts";
import { GuardedPrompt } from "./guarded-prompt.ts";
import type { Keyboard } from "./keyboard.ts";
import type { KeyEvent } from "./keys.ts";
import type { LiveTerminal } from "./live.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { numberedAnswer, type Question, questionLines } from "./picker.ts";
import type { Prompt } from "./prompt.ts";

export type LendingOptions = {
  readonly keyboard: () => Keyboard;
  readonly live: LiveTerminal;
  /** Only lines: questions are answered by number, in the input line. */
  readonly plain: boolean;
  readonly say: (lines: readonly string[]) => void;
  /** The line beside a question; without it there is none. */
  readonly line?: { readonly text: () => string; readonly giveBack: (text: string) => void };
  /** Resolves when a question may come; `expected`: the person has just called for it. */
  readonly pause?: (signal: AbortSignal, expected: boolean) => Promise<void>;
  readonly clock?: Clock;
};

/** An Enter this close behind the one that answered is the same press. */
const BOUNCE_MS = 400;

export class Lending {
  readonly #options: LendingOptions;
  readonly #borrowers = oneAtATime();
  /** Apart from the borrowers: a question borrows nothing, and Ctrl+Z works beside it. */
  readonly #questions = oneAtATime();
  #prompt: Pick<Prompt<unknown>, "press" | "isOver"> | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #answer: ((typed: string | undefined) => void) | undefined;
  /** The program leaves: what is being asked is taken back, nothing is asked any more. */
  readonly #leaving = new AbortController();

  readonly #clock: Clock;

  constructor(options: LendingOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
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

  /** Hands a key to the question that takes them. False when there is none, or the key is not for a question. */
  press(event: KeyEvent): boolean {
    const isEnter = event.type === "key" && event.key === "enter";
    const prompt = this.#prompt;
    if (prompt && !prompt.isOver) {
      const taken = prompt.press(event);
      if (isEnter && prompt.isOver) this.#answeredAt = this.#clock.now();
      return taken;
    }
    // The second Enter of two answered nothing, and must not send what stands in the line either.
    const bounces = isEnter && this.#clock.now() - this.#answeredAt < BOUNCE_MS;
    if (!bounces && event.type !== "reports-keys") this.#answeredAt = Number.NEGATIVE_INFINITY;
    return bounces;
  }

  /** Runs `work` while it has keys and terminal; its signal comes when the program leaves. */
  lend<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#alone(() => this.#options.keyboard().lend(() => work(this.#leaving.signal)));
  }

  /** Ctrl+Z; resolves when the program goes on. */
  suspend(): Promise<void> {
    return this.#alone(() => this.#options.keyboard().suspend());
  }

  /** Undefined when the person gave up, the question's signal came, or the program leaves. */
  pick<T>(question: Question<T>): Promise<T | undefined> {
    const signal = this.#until(question.signal);
    const asked = { ...question, signal };
    return this.#questions(async () => {
      await this.#options.pause?.(signal, question.isGuarded !== true);
      if (signal.aborted) return undefined;
      return this.#options.plain ? this.#pickByNumber(asked) : this.#prompted(listOf(asked), signal);
    });
  }

  /** The same with a question of any kind, on a terminal that can move its cursor. */
  put<T>(asking: Asking<T>): Promise<T | undefined> {
    const signal = this.#until(asking.signal);
    return this.#questions(async () => (signal.aborted ? undefined : this.#prompted({ ...asking, signal }, signal)));
  }

  /** Takes the terminal back from whoever has it. */
  end(): void {
    this.#leaving.abort();
  }

  /** Resolves when nobody has the terminal. */
  idle(): Promise<void> {
    return this.#borrowers(async () => undefined);
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    const own = this.#leaving.signal;
    return signal ? AbortSignal.any([own, signal]) : own;
  }

  async #prompted<T>(asking: Asking<T>, signal: AbortSignal): Promise<T | undefined> {
    const { live, say } = this.#options;
    // Lazy door: most runs never ask.
    const { openPrompt } = await import("./prompt.ts");
    await this.idle();
    const prompt = await openPrompt(asking, live.columns, live.rows, say);
    const guard = asking.isGuarded === true ? this.#guarded(prompt) : undefined;
    const shown = guard ?? prompt;
    this.#prompt = shown;
    live.host((columns, rows) => shown.frame(columns, rows));
    try {
      return await prompt.answer;
    } finally {
      guard?.close();
      this.#prompt = undefined;
      live.host(undefined);
      // What was taken back leaves nothing behind; what the person did stays to be read.
      if (!signal.aborted) say(prompt.lines);
    }
  }

  #guarded(prompt: Prompt<unknown>): GuardedPrompt {
    const { line, live } = this.#options;
    return new GuardedPrompt(prompt, {
      clock: this.#clock,
      line: () => line?.text() ?? "",
      onChange: () => live.refresh(),
    });
  }

  #pickByNumber<T>(question: Question<T> & { readonly signal: AbortSignal }): Promise<T | undefined> {
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const { line } = this.#options;
    // A line that was begun before the question came is no answer, be it a number.
    let begun = (line?.text() ?? "") !== "";
    const others: string[] = [];
    const giveUp = (): void => this.#answer?.(undefined);
    this.#options.say(questionLines(question));
    question.signal.addEventListener("abort", giveUp, { once: true });
    this.#answer = (typed) => {
      // Something else was being typed when the question came: it is neither yes nor no.
      if (typed !== undefined && (begun || numberedAnswer(question, typed) === undefined)) {
        begun = false;
        if (typed.trim() !== "") others.push(typed);
        this.#options.say([`answer with a number from 1 to ${question.choices.length}, or give up with Esc`]);
        return;
      }
      this.#answer = undefined;
      question.signal.removeEventListener("abort", giveUp);
      resolve(typed === undefined ? undefined : numberedAnswer(question, typed));
      if (others.length > 0) line?.giveBack(others.join("\n"));
      this.#options.live.refresh();
    };
    this.#options.live.refresh();
    return promise;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const { live } = this.#options;
    return this.#borrowers(async () => {
      await live.hold();
      try {
        return await work();
      } finally {
        live.release();
      }
    });
  }
}
