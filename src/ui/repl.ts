/**
 * The REPL (repl.md): joins keyboard, input line, transcript and live region to one conversation, and runs the life of the
 * whole: turns with what is queued between them, commands, leaving. Refuses: how anything of it looks or is decoded.
 */
import type { Controls } from "../app/controls.ts";
import type { OpenedRuntime } from "../app/open.ts";
import type { AskApproval } from "../app/permit.ts";
import type { Runtime } from "../app/runtime.ts";
import { atMost } from "../base/at-most.ts";
import { monotonicClock } from "../base/clock.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import type { TurnOutcome } from "../types/event.ts";
import { createAsker } from "./asker.ts";
import { type Change, Desk } from "./desk.ts";
import { editInput } from "./external-editor.ts";
import { createSegmenter, type Segmenter } from "./graphemes.ts";
import { Input, type InputRequest } from "./input.ts";
import { createInputLayout, type InputLayout } from "./input-layout.ts";
import { QuitArming } from "./interrupt.ts";
import { KeptLines } from "./kept-lines.ts";
import { createKeyboard, type Keyboard } from "./keyboard.ts";
import type { KeyEvent } from "./keys.ts";
import { Lending } from "./lending.ts";
import { createLiveTerminal, type LiveTerminal } from "./live.ts";
import type { LiveView } from "./live-view.ts";
import type { OutputStream } from "./output.ts";
import type { Question } from "./picker.ts";
import { createPlainTerminal } from "./plain-terminal.ts";
import { candidatesFor } from "./repl-completion.ts";
import type { ReplOptions } from "./repl-options.ts";
import { composeView } from "./repl-view.ts";
import { Sending } from "./sending.ts";
import { typedFor } from "./slash.ts";
import { createStyle, type Style } from "./style.ts";
import { spacesMarks } from "./terminal-kind.ts";
import { createTranscript, type Transcript } from "./transcript.ts";
import { Turns } from "./turns.ts";
import { Typing } from "./typing.ts";

/** How long a turn may wind down when the program leaves. */
const WIND_DOWN_MS = 5000;

export class Repl {
  readonly #options: ReplOptions;
  readonly #stream: OutputStream;
  readonly #style: Style;
  readonly #live: LiveTerminal;
  readonly #keyboard: Keyboard;
  readonly #input: Input;
  readonly #transcript: Transcript;
  readonly #ask: AskApproval;
  readonly #done = Promise.withResolvers<ExitCode>();
  readonly #turns: Turns;
  readonly #desk: Desk;
  readonly #sending: Sending;
  readonly #lending: Lending;
  readonly #arming: QuitArming;
  readonly #typing: Typing;
  #quitting = false;
  readonly #kept = new KeptLines();

  constructor(options: ReplOptions) {
    this.#options = options;
    const { stdout, stderr } = options.output;
    // Where stdout is a file, it gets the answers and the terminal behind stderr gets everything else (L07).
    this.#stream = stdout.isTerminal ? stdout : stderr;
    this.#style = createStyle(this.#stream.color);
    const segmenter = createSegmenter();
    const layout = createInputLayout(segmenter, spacesMarks(options.env));
    const view = (): LiveView => this.#view();
    this.#live = options.plain
      ? createPlainTerminal(this.#stream, view)
      : createLiveTerminal({ stream: this.#stream, view, layout, reflows: options.reflows, calmMs: options.calmMs });
    this.#transcript = createTranscript({
      style: this.#style,
      color: this.#stream.color,
      columns: () => this.#live.columns,
      settle: (text) => this.#settle(text),
      now: () => performance.now(),
    });
    this.#desk = new Desk({
      open: (change, after) => options.open(change, this.#ask, after),
      transcript: this.#transcript,
      style: this.#style,
      onChange: () => this.#live.refresh(),
      signal: options.signal,
    });
    this.#input = this.#createInput(segmenter, layout);
    this.#arming = new QuitArming(() => this.#live.refresh());
    this.#typing = new Typing({
      clock: monotonicClock,
      pasting: () => this.#keyboard.pasting,
      drafting: () => this.#input.text !== "",
      onChange: () => this.#live.refresh(),
    });
    this.#lending = new Lending({
      keyboard: () => this.#keyboard,
      live: this.#live,
      plain: options.plain,
      say: (lines) => this.say(lines),
      line: { text: () => this.#input.text, giveBack: (text) => this.#input.giveBack(text) },
      pause: (signal, expected) => this.#typing.pause(signal, expected),
    });
    this.#keyboard = this.#createKeyboard();
    this.#turns = this.#createTurns();
    this.#sending = this.#createSending();
    this.#ask = createAsker({
      approvals: () => this.#desk.approvals,
      pick: (question) => this.pick(question),
      cancel: () => void this.#turns.cancel(),
      onFailure: (message) => this.error(message),
    });
  }

  #createInput(segmenter: Segmenter, layout: InputLayout): Input {
    return new Input({
      segmenter,
      layout,
      entries: () => this.#desk.history.entries,
      complete: (target) => candidatesFor(this, target, this.#options.signal),
      width: () => Math.max(1, this.#live.columns - 3),
      onRequest: (request) => this.#request(request),
      onChange: () => this.#live.refresh(),
    });
  }

  #createKeyboard(): Keyboard {
    return createKeyboard({
      stream: this.#stream,
      plain: this.#options.plain,
      onEvents: (events) => this.#keys(events),
      onContinue: () => this.#live.restart(),
      onGone: () => this.quit(EXIT.sighup),
    });
  }

  #createTurns(): Turns {
    return new Turns({
      runtime: () => this.runtime,
      controls: () => this.controls,
      now: () => performance.now(),
      onPrompt: (text) => this.#transcript.prompt(text),
      onOutcome: (outcome) => this.#outcome(outcome),
      onChange: () => this.#live.refresh(),
      giveBack: (text) => this.#input.giveBack(typedFor(text)),
      onFailure: (error, text) => {
        this.#input.giveBack(typedFor(text));
        this.#failed(error);
      },
      leaving: () => this.#quitting,
    });
  }

  #createSending(): Sending {
    return new Sending({
      repl: this,
      turns: this.#turns,
      lending: this.#lending,
      style: this.#style,
      remember: (typed) => this.#desk.history.add(typed),
      clear: () => this.#input.clear(),
      giveBack: (typed) => this.#input.giveBack(typed),
      onFailure: (error) => this.#failed(error),
      leaving: () => this.#quitting,
    });
  }

  get runtime(): Runtime {
    return this.#desk.opened.runtime;
  }
  get controls(): Controls {
    return this.#desk.opened.controls;
  }
  get redact(): (text: string) => string {
    return this.#desk.opened.redact;
  }
  get writer(): OpenedRuntime["writer"] {
    return this.#desk.opened.writer;
  }
  get columns(): number {
    return this.#live.columns - 1;
  }
  get running(): boolean {
    return this.#turns.activity !== undefined;
  }
  get home(): string | undefined {
    return this.controls.homes.user;
  }

  /** Runs until the person leaves, a signal comes, or the terminal goes away. */
  async run(): Promise<ExitCode> {
    const { signal, first, firstPrompt } = this.#options;
    await this.#desk.openFirst(first);
    const onAbort = (): void => {
      this.quit(this.#options.exitCodeOf(String(signal.reason)) ?? EXIT.internal);
      // At once, whatever else takes its time: the shell may be next to read keys.
      this.#keyboard.close();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      this.#stream.onBroken(() => this.quit(EXIT.sighup));
      const introduced = this.#keyboard.openFirst().then(() => this.#desk.introduce(first.resume !== undefined));
      await this.#sending.hold(introduced);
      if (firstPrompt.trim() !== "" && !this.#quitting) this.#sending.send(firstPrompt);
      return await this.#done.promise;
    } finally {
      await this.#leave();
      signal.removeEventListener("abort", onAbort);
    }
  }

  say(lines: readonly string[]): void {
    this.#transcript.say(lines);
  }

  error(message: string): void {
    this.#transcript.error(message);
  }

  /** Leaves, once: the turn is cancelled, children are reaped. */
  quit(code: ExitCode = EXIT.ok): void {
    if (this.#quitting) return;
    this.#quitting = true;
    // First, whatever it does to those who have the terminal.
    this.#done.resolve(code);
    this.#lending.end();
  }

  /** Opens another conversation and closes this one; when the other cannot be opened, this one stays. */
  async open(change: Change): Promise<void> {
    await this.hold(this.busy("opening", () => this.#desk.replace(change)));
  }

  /** What is sent until `work` is over is for the conversation that is there then; it comes back where the work fails, or is false. */
  hold<T>(work: Promise<T>): Promise<T> {
    return this.#sending.hold(work);
  }

  /** Something that takes its time and may be cancelled with Esc. Input that is sent meanwhile waits as follow-up. */
  async busy<T>(label: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#turns.busy(label, work);
  }

  /** Asks with a list; undefined when the person gave up. */
  pick<T>(question: Question<T>): Promise<T | undefined> {
    return this.#lending.pick(question);
  }

  clear(): void {
    const dropped = this.controls.queue.cancelAll();
    this.#kept.clear();
    this.#live.clear();
    if (dropped.length > 0) this.say([`${dropped.length} queued input${dropped.length === 1 ? "" : "s"} cleared`]);
  }

  undoClear(): void {
    const text = this.#kept.takeCleared();
    if (text === undefined) this.say(["nothing was cleared"]);
    else this.#settle(text);
  }

  knownModels(): readonly string[] {
    return [...new Set([this.runtime.model, ...this.#options.knownModels()])];
  }

  listModels(signal: AbortSignal): Promise<readonly string[]> {
    return this.#options.listModels(signal);
  }

  #outcome(outcome: TurnOutcome): void {
    this.#desk.turns += 1;
    const { stdout } = this.#options.output;
    if (outcome.status === "ok" && this.#stream !== stdout) stdout.line(outcome.text);
    if (outcome.status === "limit") this.say([this.#style.dim("· the limit ends this turn; the conversation goes on")]);
  }

  #settle(text: string): void {
    this.#kept.add(text);
    this.#live.settle(text);
  }

  /** A foreseeable failure is shown; anything else is a bug and goes its way. */
  #failed(error: unknown): void {
    if (!(error instanceof UserError)) throw error;
    this.error(error.message);
  }

  #request(request: InputRequest): void {
    if (request !== "interrupt") this.#arming.disarm();
    switch (request) {
      case "submit":
        this.#sending.submit(this.#input.text);
        break;
      case "interrupt":
        this.#interrupt();
        break;
      case "escape":
        if (!this.#lending.answer(undefined)) this.#turns.cancel();
        break;
      case "end":
        this.quit();
        break;
      case "suspend":
        void this.#lending.suspend();
        break;
      case "toggle-queue":
        this.#turns.toggleTarget();
        break;
      case "external-editor":
        void this.#edit().catch((error: unknown) => this.#failed(error));
        break;
      case "clear-screen":
        this.#live.clear();
        break;
    }
  }

  #keys(events: readonly KeyEvent[]): void {
    this.#typing.note(events);
    for (const event of events) {
      if (this.#lending.press(event)) continue;
      const interrupts = event.type === "key" && event.key === "ctrl+c";
      if (!interrupts && event.type !== "reports-keys") this.#arming.disarm();
      this.#input.handle(event);
    }
    this.#live.refresh();
  }

  /** Ctrl+C: typed text, else the run, else once more to leave (L11). */
  #interrupt(): void {
    const rung = (): boolean => {
      if (this.#lending.answer(undefined)) return true;
      if (this.#input.text !== "") this.#input.discard();
      else if (this.running && !this.#turns.cancelling) this.#turns.cancel();
      else return false;
      return true;
    };
    if (rung()) this.#arming.disarm();
    else if (this.#arming.press()) this.quit();
  }

  async #edit(): Promise<void> {
    const { homes, cwd } = this.controls;
    const place = { cwd, state: homes.state, env: this.#options.env };
    await editInput(this.#input, place, (work) => this.#lending.lend(work));
  }

  #view(): LiveView {
    const mark = this.#lending.asking ? "?" : this.#options.plain ? ">" : "❯";
    return composeView({
      opened: this.#desk.current,
      input: this.#input,
      transcript: this.#transcript,
      turns: this.#turns,
      style: this.#style,
      columns: this.columns,
      rows: this.#live.rows,
      prompt: `${mark} `,
      closing: this.#quitting,
      contextLeft: this.#desk.contextLeft,
      hint: this.#keyboard.pasting ? "pasting… (Esc ends it)" : (this.#arming.hint ?? this.#typing.hint),
    });
  }

  async #leave(): Promise<void> {
    this.#arming.disarm();
    this.runtime.cancel("quit");
    try {
      await atMost(WIND_DOWN_MS, this.#turns.settled());
    } finally {
      // Also behind a turn that ended in a bug: the log is closed, the terminal given back.
      await atMost(WIND_DOWN_MS, this.#lending.idle());
      await this.#desk.close().finally(async () => {
        await this.#live.finish();
        this.#keyboard.close();
      });
    }
  }
}
