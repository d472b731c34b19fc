/**
 * What runs: one turn after the other with what was queued meanwhile, or something else that takes its time (repl.md; L08,
 * L09). Refuses: drawing, deciding what typed text means.
 */
import type { Controls } from "../app/controls.ts";
import type { Runtime } from "../app/runtime.ts";
import type { QueueKind, TurnOutcome } from "../types/event.ts";

export type TurnsOptions = {
  readonly runtime: () => Runtime;
  readonly controls: () => Controls;
  readonly now: () => number;
  /** The next turn begins with this text. */
  readonly onPrompt: (text: string) => void;
  readonly onOutcome: (outcome: TurnOutcome) => void;
  readonly onChange: () => void;
  /** Text that was queued and will not be sent after all goes back to the person. */
  readonly giveBack: (text: string) => void;
  readonly onFailure: (error: unknown, text: string) => void;
  readonly leaving: () => boolean;
};

type Running = { readonly label: string; readonly started: number; readonly cancel: () => void; cancelling: boolean };

const TICK_MS = 100;

export class Turns {
  readonly #options: TurnsOptions;
  #running: Running | undefined;
  #target: QueueKind = "steering";
  #ticker: ReturnType<typeof setInterval> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** What runs and since when (ms ago); undefined when idle. */
  get activity(): { readonly label: string; readonly elapsedMs: number } | undefined {
    const running = this.#running;
    if (!running) return undefined;
    return { label: running.cancelling ? "cancelling" : running.label, elapsedMs: this.#options.now() - running.started };
  }

  get cancelling(): boolean {
    return this.#running?.cancelling ?? false;
  }

  /** What Enter does while something runs. A run that winds down takes no steering any more. */
  get target(): QueueKind {
    return this.#running?.label === "working" && !this.#running.cancelling ? this.#target : "follow-up";
  }

  toggleTarget(): void {
    this.#target = this.#target === "steering" ? "follow-up" : "steering";
    this.#options.onChange();
  }

  /** Resolves when the turns that were started are over. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Runs a turn, then what was queued, until nothing is left. */
  start(text: string): void {
    this.#last = this.#run(text);
  }

  /** False when the audit record could not be written: the caller keeps the text. */
  enqueue(text: string): boolean {
    return this.#options.runtime().queue(this.target, text);
  }

  /** Esc: clears pending steering and cancels what runs, once. False when nothing runs. */
  cancel(): boolean {
    const running = this.#running;
    if (!running) return false;
    if (running.cancelling) return true;
    running.cancelling = true;
    this.#options.controls().queue.cancelSteering();
    running.cancel();
    this.#options.onChange();
    return true;
  }

  /** Something else than a turn; what is sent meanwhile waits and is run afterwards. */
  async busy<T>(label: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const end = this.#begin(label, () => controller.abort("user"));
    try {
      return await work(controller.signal);
    } finally {
      end();
      const next = this.#options.leaving() ? undefined : this.#options.controls().queue.takeFollowUp();
      if (next !== undefined) this.start(next);
    }
  }

  async #run(first: string): Promise<void> {
    let text: string | undefined = first;
    while (text !== undefined && !this.#options.leaving()) {
      const outcome = await this.#one(text);
      text = outcome && this.#next(outcome);
    }
  }

  async #one(text: string): Promise<TurnOutcome | undefined> {
    this.#options.onPrompt(text);
    const runtime = this.#options.runtime();
    const end = this.#begin("working", () => runtime.cancel("user"));
    try {
      const outcome = await runtime.submit(text);
      this.#options.onOutcome(outcome);
      return outcome;
    } catch (error) {
      this.#options.onFailure(error, text);
      return undefined;
    } finally {
      end();
    }
  }

  /** Steering that came too late becomes a turn of its own after a good end; after a bad one it goes back to the person. */
  #next(outcome: TurnOutcome): string | undefined {
    if (this.#options.leaving()) return undefined;
    const { queue } = this.#options.controls();
    if (outcome.status === "ok") queue.retarget();
    else {
      const late = queue.cancelSteering().map((input) => input.text);
      if (late.length > 0) this.#options.giveBack(late.join("\n"));
    }
    return queue.takeFollowUp();
  }

  #begin(label: string, cancel: () => void): () => void {
    const running: Running = { label, started: this.#options.now(), cancel, cancelling: false };
    const before = this.#running;
    this.#running = running;
    this.#ticker ??= setInterval(this.#options.onChange, TICK_MS);
    this.#options.onChange();
    return () => {
      this.#running = before;
      if (!before) {
        clearInterval(this.#ticker);
        this.#ticker = undefined;
      }
      this.#options.onChange();
    };
  }
}
