/**
 * The REPL (repl.md): joins keyboard, input line, transcript and live region to one conversation, and runs the life of the
 * whole: turns with what is queued between them, commands, leaving. Refuses: how anything of it looks or is decoded.
 */
import { join, relative } from "node:path";
import type { Controls } from "../app/controls.ts";
import type { OpenedRuntime } from "../app/open.ts";
import type { AskApproval } from "../app/permit.ts";
import type { Runtime } from "../app/runtime.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { listSessions } from "../session/list.ts";
import type { RunEvent, TurnOutcome } from "../types/event.ts";
import { type Approvals, openApprovals } from "./approvals.ts";
import { createAsker } from "./asker.ts";
import { type CompletionTarget, workspacePaths } from "./completion.ts";
import { editExternally } from "./external-editor.ts";
import { createSegmenter } from "./graphemes.ts";
import { type History, openHistory } from "./history.ts";
import { Input, type InputRequest } from "./input.ts";
import { createInputLayout } from "./input-layout.ts";
import { createKeyboard, type Keyboard } from "./keyboard.ts";
import { createLiveTerminal, type LiveTerminal } from "./live.ts";
import type { LiveView } from "./live-view.ts";
import type { Output, OutputStream } from "./output.ts";
import { askOnTerminal, numberedAnswer, type Question, questionLines } from "./picker.ts";
import { createPlainTerminal } from "./plain-terminal.ts";
import { showTail } from "./resumed-tail.ts";
import { visible } from "./sanitize.ts";
import { parseInput, SLASH_COMMANDS } from "./slash.ts";
import { menuLine, spinnerAt, statusLine } from "./status.ts";
import { createStyle, fit, type Style } from "./style.ts";
import { createTranscript, type Transcript } from "./transcript.ts";
import { Turns } from "./turns.ts";

export type ReplChange = { readonly resume?: string; readonly cwd?: string };

export type ReplOptions = {
  readonly output: Output;
  readonly env: Readonly<Record<string, string>>;
  /** Aborted by a signal or a bug; its reason says which. */
  readonly signal: AbortSignal;
  /** Opens a conversation; `{}` is a new one. */
  readonly open: (change: ReplChange, ask: AskApproval) => Promise<OpenedRuntime>;
  /** Asks the configured endpoints what they serve. */
  readonly listModels: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Models that can be named without asking anybody. */
  readonly knownModels: () => readonly string[];
  readonly firstPrompt: string;
  /** What the first conversation goes on with. */
  readonly first: ReplChange;
  readonly plain: boolean;
  readonly reflows: boolean;
  readonly exitCodeOf: (reason: string) => ExitCode | undefined;
};

/** How long the second Ctrl+C is waited for. */
const ARMED_MS = 3000;
/** How long a turn may wind down when the program leaves. */
const WIND_DOWN_MS = 5000;
const KEPT_LINES = 400;

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
  #opened: OpenedRuntime | undefined;
  #approvals: Approvals | undefined;
  #history: History = openHistory(
    undefined,
    (text) => text,
    () => undefined,
  );
  #unsubscribe: () => void = () => undefined;
  readonly #turns: Turns;
  #ready: Promise<void> = Promise.resolve();
  #lent: Promise<unknown> = Promise.resolve();
  #hint: string | undefined;
  #armed: ReturnType<typeof setTimeout> | undefined;
  #contextLeft: number | undefined;
  #question: { readonly answer: (typed: string | undefined) => void } | undefined;
  #quitting = false;
  #answered = 0;
  #introduced = false;
  #kept: string[] = [];
  #cleared: readonly string[] = [];

  constructor(options: ReplOptions) {
    this.#options = options;
    const { stdout, stderr } = options.output;
    // Where stdout is a file, it gets the answers and the terminal behind stderr gets everything else (L07).
    this.#stream = stdout.isTerminal ? stdout : stderr;
    this.#style = createStyle(this.#stream.color);
    const segmenter = createSegmenter();
    const layout = createInputLayout(segmenter);
    const view = (): LiveView => this.#view();
    this.#live = options.plain
      ? createPlainTerminal(this.#stream, view)
      : createLiveTerminal({ stream: this.#stream, view, layout, reflows: options.reflows });
    this.#transcript = createTranscript({
      style: this.#style,
      color: this.#stream.color,
      columns: () => this.#live.columns,
      settle: (lines) => this.#settle(lines),
      now: () => performance.now(),
    });
    const repl = this;
    this.#input = new Input({
      segmenter,
      layout,
      history: {
        get entries() {
          return repl.#history.entries;
        },
        add: (text) => this.#history.add(text),
        settled: () => this.#history.settled(),
      },
      complete: (target) => this.#complete(target),
      width: () => Math.max(1, this.#live.columns - 3),
      onRequest: (request) => this.#request(request),
      onChange: () => this.#live.refresh(),
    });
    this.#keyboard = createKeyboard({
      stream: this.#stream,
      plain: options.plain,
      onEvents: (events) => {
        for (const event of events) this.#input.handle(event);
        this.#live.refresh();
      },
      onGone: () => this.quit(EXIT.sighup),
    });
    this.#turns = new Turns({
      runtime: () => this.runtime,
      controls: () => this.controls,
      now: () => performance.now(),
      onPrompt: (text) => this.#transcript.prompt(text),
      onOutcome: (outcome) => this.#outcome(outcome),
      onChange: () => this.#live.refresh(),
      giveBack: (text) => this.#giveBack(text),
      onFailure: (error, text) => {
        this.#giveBack(text);
        this.#failed(error);
      },
      leaving: () => this.#quitting,
    });
    this.#ask = createAsker({
      approvals: () => this.#approvals ?? openApprovals(undefined, ""),
      pick: (question) => this.pick(question),
      cancel: () => void this.#turns.cancel(),
      onFailure: (message) => this.error(message),
    });
  }

  get runtime(): Runtime {
    return this.#now.runtime;
  }
  get controls(): Controls {
    return this.#now.controls;
  }
  get redact(): (text: string) => string {
    return this.#now.redact;
  }
  get writer(): OpenedRuntime["writer"] {
    return this.#now.writer;
  }
  get columns(): number {
    return this.#live.columns - 1;
  }
  get running(): boolean {
    return this.#turns.activity !== undefined;
  }
  /** The user's home directory. */
  get home(): string | undefined {
    return this.#options.env.HOME;
  }
  get #now(): OpenedRuntime {
    if (!this.#opened) throw new Error("the conversation is not open yet");
    return this.#opened;
  }

  /** Runs until the person leaves, a signal comes, or the terminal goes away. */
  async run(): Promise<ExitCode> {
    const { signal, first, firstPrompt } = this.#options;
    this.#attach(await this.#options.open(first, this.#ask));
    const onAbort = (): void => {
      this.quit(this.#options.exitCodeOf(String(signal.reason)) ?? EXIT.internal);
      // At once, whatever else takes its time: the shell may be next to read keys.
      this.#keyboard.close();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      this.#keyboard.open();
      this.#live.refresh();
      this.#ready = this.#introduce(first.resume !== undefined);
      await this.#ready;
      if (firstPrompt.trim() !== "" && !this.#quitting) this.#turns.start(firstPrompt);
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
    this.#question?.answer(undefined);
    this.#done.resolve(code);
  }

  /** Closes this conversation and opens another; when that fails this one is opened again. */
  async open(change: ReplChange): Promise<void> {
    const before = this.runtime;
    await this.busy("opening", async () => {
      this.#unsubscribe();
      await before.close();
      try {
        this.#attach(await this.#options.open(change, this.#ask));
      } catch (error) {
        const back = this.#answered > 0 && before.sessionPath !== undefined ? { resume: before.sessionId } : {};
        this.#attach(await this.#options.open(back, this.#ask));
        this.#introduced = true;
        throw error;
      }
      await this.#introduce(change.resume !== undefined);
    });
  }

  /** Something that takes its time and may be cancelled with Esc. Input that is sent meanwhile waits as follow-up. */
  async busy<T>(label: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#turns.busy(label, work);
  }

  /** Asks with a list; undefined when the person gave up. */
  pick<T>(question: Question<T>): Promise<T | undefined> {
    if (this.#quitting) return Promise.resolve(undefined);
    if (!this.#options.plain) return this.#lend(() => askOnTerminal(question, this.#stream));
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    this.#transcript.say(questionLines(question));
    const give = (): void => this.#question?.answer(undefined);
    question.signal?.addEventListener("abort", give, { once: true });
    this.#question = {
      answer: (typed) => {
        this.#question = undefined;
        question.signal?.removeEventListener("abort", give);
        resolve(typed === undefined ? undefined : numberedAnswer(question, typed));
        this.#live.refresh();
      },
    };
    this.#live.refresh();
    return promise;
  }

  clear(): void {
    const dropped = this.controls.queue.cancelAll();
    this.#cleared = this.#kept;
    this.#kept = [];
    this.#live.clear();
    if (dropped.length > 0) this.say([`${dropped.length} queued input${dropped.length === 1 ? "" : "s"} cleared`]);
  }

  undoClear(): void {
    if (this.#cleared.length === 0) this.say(["nothing was cleared"]);
    const lines = this.#cleared;
    this.#cleared = [];
    this.#settle(lines);
  }

  sessionIds(): readonly string[] {
    const dir = this.controls.sessionDir;
    return dir === undefined ? [] : listSessions(dir).map((session) => session.id);
  }

  knownModels(): readonly string[] {
    return [...new Set([this.runtime.model, ...this.#options.knownModels()])];
  }

  listModels(signal: AbortSignal): Promise<readonly string[]> {
    return this.#options.listModels(signal);
  }

  #attach(opened: OpenedRuntime): void {
    this.#opened = opened;
    this.#answered = 0;
    this.#introduced = false;
    this.#contextLeft = undefined;
    const { homes } = opened.controls;
    this.#approvals = openApprovals(homes.config && join(homes.config, "approvals.json"), opened.runtime.workspace);
    this.#history = openHistory(homes.state && join(homes.state, "history"), opened.redact, (message) => this.error(message));
    this.#unsubscribe = opened.runtime.subscribe((event) => this.#event(event));
  }

  /** The startup display (C14), once the instructions are there; then the tail of a resumed session. */
  async #introduce(resumed: boolean): Promise<void> {
    await this.controls.discovered();
    this.#introduced = true;
    this.say(this.#now.inventory().map((line) => this.#style.dim(visible(line))));
    if (resumed) showTail(this.controls.messages, this.#transcript, this.#style);
    else this.say([""]);
  }

  #event(event: RunEvent): void {
    // What was said before the startup display is part of it.
    if (event.type === "diagnostic" && !this.#introduced) return;
    this.#transcript.event(event);
    if (event.type === "request_started" || event.type === "usage" || event.type === "turn_finished") {
      const { used, available } = this.controls.windowUse();
      this.#contextLeft = Math.max(0, 1 - used / Math.max(1, available));
    }
    this.#live.refresh();
  }

  #outcome(outcome: TurnOutcome): void {
    this.#answered += 1;
    const { stdout } = this.#options.output;
    if (outcome.status === "ok" && this.#stream !== stdout) stdout.line(outcome.text);
    // After a good end everything has been said; other ends have said their error as an event.
    if (outcome.status === "limit") this.say([this.#style.dim("· the limit ends this turn; the conversation goes on")]);
  }

  #settle(lines: readonly string[]): void {
    for (const line of lines) this.#kept.push(line);
    if (this.#kept.length > 2 * KEPT_LINES) this.#kept = this.#kept.slice(-KEPT_LINES);
    this.#live.settle(lines);
  }

  #giveBack(text: string): void {
    const typed = this.#input.text;
    this.#input.set(typed === "" ? text : `${text}\n${typed}`);
  }

  /** A foreseeable failure is shown; anything else is a bug and goes its way. */
  #failed(error: unknown): void {
    if (!(error instanceof UserError)) throw error;
    this.error(error.message);
  }

  #request(request: InputRequest): void {
    this.#disarm(request);
    switch (request) {
      case "submit":
        this.#submit();
        break;
      case "interrupt":
        this.#interrupt();
        break;
      case "escape":
        if (this.#question) this.#question.answer(undefined);
        else this.#turns.cancel();
        break;
      case "end":
        this.quit();
        break;
      case "suspend":
        void this.#suspend();
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

  #submit(): void {
    const typed = this.#input.text;
    if (this.#question) {
      this.#input.clear();
      this.#question.answer(typed);
      return;
    }
    if (typed.trim() === "" || this.#quitting) return;
    this.#history.add(typed);
    const parsed = parseInput(typed);
    if (parsed.kind === "text") {
      this.#send(parsed.text);
      return;
    }
    this.#input.clear();
    if (parsed.kind === "unknown") {
      const near = parsed.near === undefined ? "/help lists them" : `did you mean /${parsed.near}?`;
      this.error(`there is no command /${parsed.name}: ${near}`);
      return;
    }
    this.say([this.#style.cyan(`❯ ${fit(visible(typed.trim()), this.columns - 2)}`)]);
    if (parsed.command.when === "idle" && this.running) {
      this.error(`/${parsed.command.name} has to wait until the run is done (Esc cancels it)`);
      return;
    }
    void this.#command(async () => parsed.command.run(this, parsed.words, parsed.rest));
  }

  async #command(run: () => Promise<void>): Promise<void> {
    try {
      await this.#ready;
      await run();
    } catch (error) {
      this.#failed(error);
    }
  }

  #send(text: string): void {
    if (this.running) {
      if (this.#turns.enqueue(text)) this.#input.clear();
      else this.error(`the session log cannot be written, so this was not queued: ${this.runtime.logFailure ?? "unknown"}`);
      return;
    }
    this.#input.clear();
    this.#turns.start(text);
  }

  /** Ctrl+C: typed text, else the run, else once more to leave (L11). */
  #interrupt(): void {
    if (this.#question) this.#question.answer(undefined);
    else if (this.#input.text !== "") this.#input.discard();
    else if (this.running && !this.#turns.cancelling) this.#turns.cancel();
    else if (this.#armed !== undefined) this.quit();
    else {
      this.#hint = "Ctrl+C again to quit";
      this.#armed = setTimeout(() => this.#disarm(undefined), ARMED_MS);
    }
  }

  #disarm(request: InputRequest | undefined): void {
    if (request === "interrupt" || this.#armed === undefined) return;
    clearTimeout(this.#armed);
    this.#armed = undefined;
    this.#hint = undefined;
    this.#live.refresh();
  }

  #lend<T>(
    work: () => Promise<T>,
    lender: (work: () => Promise<T>) => Promise<T> = (lent) => this.#keyboard.lend(lent),
  ): Promise<T> {
    const turn = this.#lent.then(async () => {
      await this.#live.hold();
      try {
        return await lender(work);
      } finally {
        this.#live.release();
      }
    });
    this.#lent = turn.catch(() => undefined);
    return turn;
  }

  async #suspend(): Promise<void> {
    await this.#lend(
      async () => undefined,
      async () => {
        await this.#keyboard.suspend();
        return undefined;
      },
    );
  }

  async #edit(): Promise<void> {
    const { homes, cwd } = this.controls;
    if (homes.state === undefined) throw new UserError("there is no home for the editor's file: set HOME or THNDRS_HOME");
    const file = join(homes.state, "input.md");
    const text = await this.#lend(() => editExternally(this.#input.text, file, { cwd, env: this.#options.env }));
    if (text === undefined) this.error("the editor failed: your text is as it was");
    else this.#input.set(text);
  }

  async #complete(target: CompletionTarget): Promise<readonly string[]> {
    if (target.kind === "command") return SLASH_COMMANDS.map((command) => command.name);
    if (target.kind === "path") {
      const { workspace } = this.runtime;
      const base = relative(workspace, this.controls.cwd).replaceAll("\\", "/");
      const paths = await workspacePaths(workspace, base, this.#options.signal);
      return paths.flatMap((path) => {
        const below = base === "" ? path : path.startsWith(`${base}/`) ? path.slice(base.length + 1) : "";
        return below === "" || /[\s\x00-\x1f]/.test(below) ? [] : [below];
      });
    }
    const command = SLASH_COMMANDS.find((known) => known.name === target.before[0]);
    return (await command?.complete?.(this, target.before)) ?? [];
  }

  #view(): LiveView {
    const { search, menu, text, cursor } = this.#input;
    const columns = this.columns;
    const style = this.#style;
    const activity = this.#turns.activity;
    const above = [
      ...this.#transcript.moving(spinnerAt(activity?.elapsedMs ?? 0), Math.max(1, Math.min(8, Math.floor(this.#live.rows / 3)))),
      ...(this.#opened?.controls.queue.pending() ?? []).map((input) =>
        style.dim(fit(`↳ ${input.kind}: ${visible(input.text)}`, columns)),
      ),
    ];
    const below: string[] = [];
    if (search) below.push(style.yellow(fit(`history: ${visible(search.query)}${search.found ? "" : " (not found)"}`, columns)));
    if (menu) below.push(menuLine(menu.candidates, menu.at, columns, style));
    if (this.#opened) below.push(this.#status(this.#opened, activity));
    const prompt = this.#question ? "? " : "❯ ";
    return { above, input: { prompt: this.#options.plain ? prompt.replace("❯", ">") : prompt, text, cursor }, below };
  }

  #status({ runtime, controls }: OpenedRuntime, activity: Turns["activity"]): string {
    const hint = this.#keyboard.pasting ? "pasting… (Esc ends it)" : this.#hint;
    return statusLine(
      {
        model: runtime.model,
        activity: this.#quitting ? "closing" : activity?.label,
        elapsedMs: activity?.elapsedMs ?? 0,
        usage: runtime.totals().usage,
        contextLeft: this.#contextLeft,
        target: this.#turns.target,
        background: controls.background.list().filter((process) => process.status === "running").length,
        hint,
      },
      this.columns,
      this.#style,
    );
  }

  async #leave(): Promise<void> {
    const { runtime } = this.#now;
    clearTimeout(this.#armed);
    runtime.cancel("quit");
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, WIND_DOWN_MS);
    await Promise.race([this.#turns.settled(), late]);
    clearTimeout(timer);
    this.#unsubscribe();
    await runtime.close();
    await this.#history.settled();
    if (runtime.sessionPath !== undefined && this.#answered > 0) {
      this.say([this.#style.dim(`session ${visible(runtime.sessionId)} · thndrs --resume ${visible(runtime.sessionId)}`)]);
    }
    await this.#live.finish();
    this.#keyboard.close();
  }
}
