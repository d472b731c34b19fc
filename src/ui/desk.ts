/**
 * The conversation on the desk: the one that is open now, what belongs to it (history, allowances, room in the context), and
 * putting another in its place. Refuses: turns, input.
 */
import { join } from "node:path";
import type { OpenedRuntime } from "../app/open.ts";
import { atMost } from "../base/at-most.ts";
import { UserError } from "../base/user-error.ts";
import type { RunEvent } from "../types/event.ts";
import { type Approvals, openApprovals } from "./approvals.ts";
import { type History, openHistory } from "./history.ts";
import { showTail } from "./resumed-tail.ts";
import { visible } from "./sanitize.ts";
import { reviewLines } from "./slash-compact.ts";
import type { Style } from "./style.ts";
import type { Transcript } from "./transcript.ts";

/** What the next conversation goes on with; `{}` is a new one. */
export type Change = { readonly resume?: string; readonly cwd?: string };

export type DeskOptions = {
  /** Whatever it opens starts nothing before `after` resolves. */
  readonly open: (change: Change, after?: Promise<void>) => Promise<OpenedRuntime>;
  readonly transcript: Transcript;
  readonly style: Style;
  readonly onChange: () => void;
  /** The program's. */
  readonly signal: AbortSignal;
};

/** How long leaving waits for the input history to be written. */
const HISTORY_WAIT_MS = 1000;

export class Desk {
  readonly #options: DeskOptions;
  #opened: OpenedRuntime | undefined;
  #unsubscribe: () => void = () => undefined;
  #introduced = false;
  /** The program ends: what is still being opened is closed again. */
  #left = false;
  /** Turns that have ended in the conversation since it was put here. */
  turns = 0;
  /** Share of the input that is left; undefined before the first request. */
  contextLeft: number | undefined;
  approvals: Approvals = openApprovals(undefined, "");
  history: History;
  /** Where it is kept; undefined before the first conversation. */
  #historyAt: { readonly path: string | undefined } | undefined;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.history = openHistory(
      undefined,
      (text) => text,
      () => undefined,
    );
  }

  /** Undefined before the first one was opened. */
  get current(): OpenedRuntime | undefined {
    return this.#opened;
  }

  get opened(): OpenedRuntime {
    if (!this.#opened) throw new Error("the conversation is not open yet");
    return this.#opened;
  }

  /** @throws UserError when it cannot be opened */
  async openFirst(change: Change): Promise<void> {
    this.#attach(await this.#options.open(change));
  }

  /** Opens another conversation, then closes this one: when the other cannot be opened, this one is as it was. */
  async replace(change: Change): Promise<void> {
    const before = Promise.withResolvers<void>();
    const next = await this.#options.open(change, before.promise);
    this.#unsubscribe();
    await this.#closeOpened();
    before.resolve();
    this.#attach(next);
    if (this.#left) await this.#closeOpened();
    else await this.introduce(change.resume !== undefined);
  }

  /** The startup display (C14), once the instructions are there; then the tail of a resumed session. */
  async introduce(resumed: boolean): Promise<void> {
    const { transcript, style } = this.#options;
    const { controls, inventory, runtime } = this.opened;
    await controls.discovered();
    this.#introduced = true;
    transcript.say(inventory().map((line) => style.dim(visible(line))));
    if (!resumed) transcript.say([""]);
    else showTail(controls.messages, transcript, style);
    if (runtime.pendingCompaction) transcript.say([...reviewLines(runtime.pendingCompaction), ""]);
  }

  /** The last words say how to go on. @throws UserError when something that was owed (a recording) could not be written */
  async close(): Promise<void> {
    const { transcript, style } = this.#options;
    const { sessionPath, sessionId } = this.opened.runtime;
    this.#left = true;
    this.#unsubscribe();
    try {
      await this.opened.runtime.close();
      // A state directory that does not answer must not keep the person waiting.
      await atMost(HISTORY_WAIT_MS, this.history.settled());
    } finally {
      const hint = style.dim(`session ${visible(sessionId)} · thndrs --resume ${visible(sessionId)}`);
      if (sessionPath !== undefined && this.turns > 0) transcript.say([hint]);
    }
  }

  /** What it owed and could not write (a recording) is said, and keeps nobody from going on. */
  async #closeOpened(): Promise<void> {
    try {
      await this.opened.runtime.close();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#options.transcript.error(error.message);
    }
  }

  #attach(opened: OpenedRuntime): void {
    this.#opened = opened;
    this.turns = 0;
    this.#introduced = false;
    this.contextLeft = undefined;
    const { homes, cwd } = opened.controls;
    this.approvals = openApprovals(homes.config && join(homes.config, "approvals.json"), opened.runtime.workspace, cwd);
    this.#keepHistory(homes.state && join(homes.state, "history"));
    this.#unsubscribe = opened.runtime.subscribe((event) => this.#event(event));
  }

  /** One for all conversations: read anew, it would lack what is being written and what the file does not keep. */
  #keepHistory(path: string | undefined): void {
    if (this.#historyAt && this.#historyAt.path === path) return;
    this.#historyAt = { path };
    this.history = openHistory(
      path,
      (text) => this.opened.redact(text),
      (message) => this.#options.transcript.error(message),
      this.#options.signal,
    );
  }

  #roomLeft(): number | undefined {
    const { controls } = this.opened;
    // An outside agent keeps a context of its own: nothing is known of it.
    if (controls.provider === "acp") return undefined;
    const { used, available } = controls.windowUse();
    return Math.max(0, 1 - used / Math.max(1, available));
  }

  #event(event: RunEvent): void {
    // What was said before the startup display is part of it.
    if (event.type === "diagnostic" && !this.#introduced) return;
    this.#options.transcript.event(event);
    if (event.type === "request_started" || event.type === "usage" || event.type === "turn_finished") {
      this.contextLeft = this.#roomLeft();
    }
    this.#options.onChange();
  }
}
