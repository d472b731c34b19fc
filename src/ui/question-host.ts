/**
 * A terminal for a command that asks a few questions and ends (trust, login, setup): keyboard, live region and clack's look as in
 * the REPL, so that Ctrl+Z, a change of width and the terminal's end are survived in the same way. Refuses: what is asked.
 */
import { monotonicClock } from "../base/clock.ts";
import { exitOf } from "../base/signal-exit.ts";
import { EXIT, type ExitCode } from "../base/user-error.ts";
import type { Asking, Clack } from "./askings.ts";
import { createSegmenter } from "./graphemes.ts";
import { createInputLayout } from "./input-layout.ts";
import { createKeyboard, type Keyboard } from "./keyboard.ts";
import type { KeyEvent } from "./keys.ts";
import { Lending } from "./lending.ts";
import { createLiveTerminal, type LiveTerminal } from "./live.ts";
import type { LiveView } from "./live-view.ts";
import type { OutputStream } from "./output.ts";
import { PlainPrompt } from "./plain-prompt.ts";
import { createPlainTerminal } from "./plain-terminal.ts";
import { GIVING_UP } from "./prompt.ts";
import { PromptCanvas } from "./prompt-canvas.ts";
import { createStyle } from "./style.ts";
import { calmMs, isPlainTerminal, reflowsLines, spacesMarks } from "./terminal-kind.ts";
import { Typing } from "./typing.ts";

export type HostOptions = {
  /** A terminal. */
  readonly stream: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

const SPINNER = ["◒", "◐", "◓", "◑"] as const;
const SPIN_MS = 80;

export class QuestionHost {
  readonly #options: HostOptions;
  readonly #plain: boolean;
  readonly #live: LiveTerminal;
  readonly #keyboard: Keyboard;
  readonly #lending: Lending;
  readonly #typing: Typing;
  readonly #ending = new AbortController();
  #ended: ExitCode | undefined;
  #givenUp = false;
  #line: Pick<PlainPrompt<unknown>, "press" | "shown"> | undefined;
  #work: { readonly label: string; readonly started: number; readonly cancel: AbortController } | undefined;

  constructor(options: HostOptions) {
    const { stream, env } = options;
    this.#options = options;
    this.#plain = isPlainTerminal(env);
    const view = (): LiveView => this.#view();
    const layout = createInputLayout(createSegmenter(), spacesMarks(env));
    this.#live = this.#plain
      ? createPlainTerminal(stream, view)
      : createLiveTerminal({ stream, view, layout, reflows: reflowsLines(env), calmMs: calmMs(env) });
    this.#keyboard = createKeyboard({
      stream,
      plain: this.#plain,
      onEvents: (events) => this.#keys(events),
      onContinue: () => this.#live.restart(),
      onGone: () => this.#end(EXIT.sighup),
    });
    this.#lending = new Lending({
      keyboard: () => this.#keyboard,
      live: this.#live,
      plain: this.#plain,
      say: (lines) => this.say(lines),
    });
    this.#typing = new Typing({
      clock: monotonicClock,
      pasting: () => this.#keyboard.pasting,
      drafting: () => false,
      onChange: () => this.#live.refresh(),
    });
  }

  /** What the program ends with, once a signal has come or the terminal is gone. */
  get ended(): ExitCode | undefined {
    return this.#ended;
  }

  async open(): Promise<void> {
    const { signal, stream } = this.#options;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
    stream.onBroken(() => this.#end(EXIT.sighup));
    await stream.flush();
    // What was typed before the first question is no answer to it.
    await this.#keyboard.openFirst();
  }

  /** Undefined when the person gave up, a signal came, or the terminal is gone. */
  async ask<T>(asking: Asking<T>): Promise<T | undefined> {
    await this.#typing.pause(this.#ending.signal, true);
    if (this.#givenUp || this.#ended !== undefined) return undefined;
    return this.#plain ? this.#askInLines(asking) : this.#lending.put(asking);
  }

  /** Something that takes its time. Undefined when the person gave it up. */
  async busy<T>(label: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const cancel = new AbortController();
    this.#work = { label, started: performance.now(), cancel };
    if (this.#plain) this.say([`${label}…`]);
    const spin = setInterval(() => this.#live.refresh(), SPIN_MS);
    this.#live.refresh();
    try {
      const result = await work(AbortSignal.any([this.#ending.signal, cancel.signal]));
      return cancel.signal.aborted ? undefined : result;
    } finally {
      clearInterval(spin);
      this.#work = undefined;
      this.#live.refresh();
    }
  }

  say(lines: readonly string[]): void {
    // Nobody reads it any more, or the shell has the terminal.
    if (this.#ended !== undefined || lines.length === 0) return;
    const text = lines.join("\n");
    this.#live.settle(this.#plain ? Bun.stripANSI(text) : text);
  }

  /** What clack says beside its questions. */
  async show(draw: (clack: Clack, to: { readonly output: PromptCanvas }) => void): Promise<void> {
    const canvas = new PromptCanvas(this.#live.columns, Number.POSITIVE_INFINITY);
    // Lazy door: as for the questions.
    draw(await import("@clack/prompts"), { output: canvas });
    this.say(canvas.shown);
  }

  /** Gives the terminal back. */
  async close(): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#lending.end();
    await this.#lending.idle();
    await this.#live.finish();
    this.#keyboard.close();
  }

  readonly #onAbort = (): void => this.#end(exitOf(this.#options.signal.reason) ?? EXIT.internal);

  #end(code: ExitCode): void {
    if (this.#ended !== undefined) return;
    this.#ended = code;
    this.#ending.abort();
    this.#lending.end();
    // At once, whatever else takes its time: the shell may be next to read keys.
    this.#keyboard.close();
  }

  async #askInLines<T>(asking: Asking<T>): Promise<T | undefined> {
    const prompt = new PlainPrompt({ ...asking, signal: this.#ending.signal }, (lines) => this.say(lines));
    this.#line = prompt;
    this.#live.refresh();
    try {
      return await prompt.answer;
    } finally {
      this.#line = undefined;
      this.#live.refresh();
    }
  }

  #keys(events: readonly KeyEvent[]): void {
    this.#typing.note(events);
    for (const event of events) {
      if (event.type === "reports-keys") continue;
      if (this.#line?.press(event) || this.#lending.press(event)) continue;
      if (event.type === "key" && event.key === "ctrl+z") void this.#lending.suspend();
      else if (event.type === "key" && event.key === "ctrl+l") this.#live.clear();
      else if (event.type === "key" && GIVING_UP.has(event.key)) this.#giveUp(event.key);
    }
    this.#live.refresh();
  }

  /** Where nothing is asked it is about what is being done, else only Ctrl+C can be meant. */
  #giveUp(key: string): void {
    if (this.#work) this.#work.cancel.abort();
    else if (key === "ctrl+c") this.#givenUp = true;
  }

  #view(): LiveView {
    const below = this.#typing.hint === undefined ? [] : [this.#typing.hint];
    const text = this.#line?.shown ?? "";
    return { above: this.#spinner(), input: { prompt: this.#line ? "? " : "", text, cursor: text.length }, below };
  }

  #spinner(): string[] {
    if (!this.#work) return [];
    const { label, started } = this.#work;
    const frame = SPINNER[Math.floor((performance.now() - started) / SPIN_MS) % SPINNER.length] ?? "";
    return [`${createStyle(this.#options.stream.color).magenta(frame)}  ${label}…`];
  }
}

/** A host for as long as `work` takes. */
export async function withQuestions<T>(options: HostOptions, work: (host: QuestionHost) => Promise<T>): Promise<T> {
  const host = new QuestionHost(options);
  try {
    await host.open();
    return await work(host);
  } finally {
    await host.close();
  }
}
