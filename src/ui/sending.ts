/**
 * What becomes of a line that was sent: an answer to a numbered question, a command, or text for the model; at once, or when what
 * it has to wait for is over. Refuses: running turns, what a command does.
 */
import type { Lending } from "./lending.ts";
import type { Repl } from "./repl.ts";
import { visible } from "./sanitize.ts";
import { type ParsedInput, parseInput, typedFor } from "./slash.ts";
import { fit, type Style } from "./style.ts";
import type { Turns } from "./turns.ts";

export type SendingOptions = {
  readonly repl: Repl;
  readonly turns: Turns;
  readonly lending: Pick<Lending, "asking" | "answer">;
  readonly style: Style;
  readonly remember: (typed: string) => void;
  /** The line was taken. */
  readonly clear: () => void;
  /** Back into the input line, as it was typed. */
  readonly giveBack: (typed: string) => void;
  readonly onFailure: (error: unknown) => void;
  readonly leaving: () => boolean;
};

export class Sending {
  readonly #options: SendingOptions;
  /** Works that may replace the conversation: what is sent meanwhile is for the one that they were to bring. */
  #holds = 0;
  readonly #waiting: string[] = [];
  /** Sent after the work was given up with Esc: for what is there then. */
  readonly #after: string[] = [];
  /** Sent behind a work that came to nothing. */
  readonly #returning: string[] = [];

  constructor(options: SendingOptions) {
    this.#options = options;
  }

  /** Enter. */
  submit(typed: string): void {
    const { lending, leaving, remember, clear } = this.#options;
    const passes = lending.asking && isForAnyTime(parseInput(typed));
    if (lending.asking && !passes) {
      clear();
      lending.answer(typed);
      return;
    }
    if (typed.trim() === "" || leaving()) return;
    remember(typed);
    clear();
    // A question is part of what the others wait for; what is allowed at any time does not wait for its answer.
    if (this.#holds > 0 && !passes) (this.#options.turns.cancelling ? this.#after : this.#waiting).push(typed);
    else this.#act(typed);
  }

  /** What is sent until `work` is over waits for that; where it fails, or resolves to false, the line comes back and nothing is sent. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#holds += 1;
    let isDone = false;
    try {
      const result = await work;
      isDone = result !== false;
      return result;
    } finally {
      this.#holds -= 1;
      if (!isDone) this.#returning.push(...this.#waiting.splice(0));
      this.#waiting.push(...this.#after.splice(0));
      this.#goOn();
    }
  }

  /** Several lines are one text, as what was queued for a run that ended badly is. */
  #giveBack(): void {
    const lines = this.#returning.splice(0);
    const [only] = lines;
    if (only === undefined || this.#options.leaving()) return;
    this.#options.giveBack(lines.length === 1 ? only : typedFor(lines.map(textOf).join("\n")));
  }

  /** One after the other: any of them may be something to wait for. */
  #goOn(): void {
    while (this.#holds === 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#act(next);
    }
  }

  /** Text for the model: a turn of its own, or queued beside what runs. */
  send(text: string): void {
    const { repl, turns, giveBack } = this.#options;
    if (!repl.running) turns.start(text);
    else if (!turns.enqueue(text)) {
      giveBack(typedFor(text));
      repl.error(`the session log cannot be written, so this was not queued: ${repl.runtime.logFailure ?? "unknown"}`);
    }
  }

  #act(typed: string): void {
    const { repl, style, leaving, onFailure } = this.#options;
    if (leaving()) return;
    const parsed = parseInput(typed);
    if (parsed.kind === "text") {
      this.send(parsed.text);
      return;
    }
    if (parsed.kind === "unknown") {
      const near = parsed.near === undefined ? "/help lists them" : `did you mean /${parsed.near}?`;
      repl.error(`there is no command /${parsed.name}: ${near}`);
      return;
    }
    repl.say([style.cyan(`❯ ${fit(visible(typed.trim()), repl.columns - 2)}`)]);
    if (parsed.command.when === "idle" && repl.running) {
      repl.error(`/${parsed.command.name} has to wait until the run is done (Esc cancels it)`);
      return;
    }
    const run = async (): Promise<void> => parsed.command.run(repl, parsed.words, parsed.rest);
    // First is said why.
    void run()
      .catch(onFailure)
      .finally(() => this.#giveBack());
  }
}

function textOf(typed: string): string {
  const parsed = parseInput(typed);
  return parsed.kind === "text" ? parsed.text : typed;
}

/** Commands that are allowed at any time are no answer to a question that is open. */
function isForAnyTime(parsed: ParsedInput): boolean {
  return parsed.kind === "command" && parsed.command.when === "any";
}
