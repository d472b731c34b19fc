/**
 * One session an editor drives: an ordinary thndrs conversation whose events become updates, whose questions go to the
 * editor, whose tools may use what the editor lends. Refuses: the connection and the list of sessions (acp-server.ts).
 */
import { dirname } from "node:path";
import {
  type AgentContext,
  type ClientCapabilities,
  type ContentBlock,
  type PromptResponse,
  RequestError,
  type SessionConfigOption,
  type SessionModeState,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { promptText } from "../acp/prompt-text.ts";
import type { McpServer } from "../acp/protocol.ts";
import { refuse, requestFailed } from "../acp/refusal.ts";
import type { SeenTexts } from "../acp/seen-texts.ts";
import { createSender, type Sender } from "../acp/sender.ts";
import { createUpdates } from "../acp/session-updates.ts";
import { bounded } from "../acp/wait.ts";
import type { ProcessOwner } from "../base/process.ts";
import type { LoadedConfig } from "../config/load.ts";
import { summarize } from "../session/list.ts";
import { cleanTitle } from "../session/title.ts";
import type { RunEvent, TurnOutcome } from "../types/event.ts";
import type { Authority } from "../types/settings.ts";
import { EditorLink } from "./acp-editor.ts";
import { modelNames } from "./acp-models.ts";
import { withServers } from "./acp-servers.ts";
import type { ReasoningEffort } from "./controls.ts";
import { type OpenedRuntime, openRuntime, type RunFlags } from "./open.ts";

export type ServedOptions = {
  readonly env: Readonly<Record<string, string>>;
  readonly processes: ProcessOwner;
  readonly flags: RunFlags;
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  readonly texts: SeenTexts;
  /** Says something on stderr. */
  readonly event: (event: RunEvent) => void;
  readonly cwd: string;
  /** Exact id of a session to go on with, or the id of a new one. */
  readonly id: string;
  readonly resume: boolean;
  readonly servers: readonly McpServer[];
  /** Ends what is waited for while the session is opened, or another model: the client has gone. */
  readonly signal: AbortSignal;
};

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
const MODES: readonly { readonly id: Authority; readonly name: string; readonly description: string }[] = [
  { id: "workspace-write", name: "Write", description: "All tools: reads, edits, commands" },
  { id: "read-only", name: "Read only", description: "Only tools that read" },
];

function isEffort(value: unknown): value is ReasoningEffort {
  return EFFORTS.some((effort) => effort === value);
}

/** One session and its editor. */
export class ServedSession {
  readonly #options: ServedOptions;
  readonly #sender: Sender;
  readonly #editor: EditorLink;
  #opened: OpenedRuntime | undefined;
  #loaded: LoadedConfig | undefined;
  #mode: Authority | undefined;
  #models: readonly string[] = [];
  #turn: AbortController | undefined;
  /** Resolves when the model that was chosen last is there. */
  #choosing: Promise<unknown> = Promise.resolve();
  #firstPrompt: string | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  private constructor(options: ServedOptions) {
    this.#options = options;
    const { client, id } = options;
    this.#sender = createSender((update) => client.notify("session/update", { sessionId: id, update }));
    this.#editor = new EditorLink({
      client,
      capabilities: options.capabilities,
      sessionId: id,
      sender: this.#sender,
      texts: options.texts,
      root: () => this.root,
      redact: (text) => this.#runtime.redact(text),
    });
  }

  /** @throws UserError as openRuntime does. */
  static async open(options: ServedOptions): Promise<ServedSession> {
    const session = new ServedSession(options);
    await session.#open();
    return session;
  }

  get id(): string {
    return this.#options.id;
  }
  /** Real path. */
  get root(): string {
    return this.#runtime.runtime.workspace;
  }
  get logPath(): string | undefined {
    return this.#runtime.runtime.sessionPath;
  }
  get redact(): (text: string) => string {
    return this.#runtime.redact;
  }

  get #runtime(): OpenedRuntime {
    if (!this.#opened) throw requestFailed("the session is closed");
    return this.#opened;
  }

  async #open(): Promise<void> {
    const { env, processes, flags, cwd, id, resume, servers, signal } = this.#options;
    const opened = await openRuntime({
      env,
      cwd,
      processes,
      flags,
      signal,
      rendererMode: "acp",
      ...(resume ? { resume: id } : { sessionId: id }),
      ask: (name, input, entry, signal) => this.#editor.ask(name, input, entry, signal),
      wrapTool: (tool) => this.#editor.wrap(tool),
      authority: () => this.#mode ?? this.#loaded?.config.authority ?? "read-only",
      extend: (loaded) => {
        this.#loaded = withServers(loaded, servers);
        return this.#loaded;
      },
    });
    this.#opened = opened;
    const { runtime } = opened;
    const updates = createUpdates({
      root: runtime.workspace,
      diffOf: (callId) => this.#editor.diffOf(callId),
      terminalOf: (callId) => this.#editor.terminalOf(callId),
      cost: () => runtime.totals().usage.costUsd,
    });
    runtime.subscribe((event) => {
      this.#note(event);
      for (const update of updates(event)) this.#sender.push(update);
    });
    if (this.#loaded) this.#models = await modelNames(this.#loaded, env, runtime.model);
  }

  #note(event: RunEvent): void {
    this.#editor.note(event);
    if (event.type === "diagnostic" && event.diagnostic.severity !== "info")
      this.#notice(event.diagnostic.severity, event.diagnostic.message);
    // No error to an editor, so it says nothing of it by itself.
    if (event.type === "failed" && event.failure === "policy") this.#notice("warning", event.error);
    this.#options.event(event);
  }

  #notice(severity: "warning" | "error", title: string): void {
    if (this.#options.capabilities.session?.notices) this.#sender.push({ sessionUpdate: "notice", severity, title });
  }

  /** Runs one prompt to its end. @throws RequestError for a prompt that cannot be taken, and for a turn that failed. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    const { runtime } = this.#runtime;
    // Nothing is waited for between this question and its answer.
    if (this.#turn) throw refuse("a prompt is already running in this session: wait for its end, or cancel it");
    const text = promptText(blocks, runtime.workspace);
    if (!text.ok) throw refuse(text.message);
    const controller = new AbortController();
    // A request is aborted by its sender, or by the end of the connection.
    const stop = (): void => controller.abort(signal.reason instanceof RequestError ? "user" : "client gone");
    signal.addEventListener("abort", stop, { once: true });
    this.#turn = controller;
    this.#firstPrompt ??= text.text;
    try {
      const turn = this.#submit(text.text, controller.signal);
      this.#ended = turn.catch(() => undefined);
      const outcome = await turn;
      this.#sender.push({
        sessionUpdate: "session_info_update",
        title: this.#title(),
        updatedAt: new Date().toISOString(),
      });
      await this.#sender.settled();
      return { stopReason: this.#stopReason(outcome) };
    } finally {
      this.#turn = undefined;
      signal.removeEventListener("abort", stop);
    }
  }

  /** A prompt that was sent behind the choice of a model is for that model. */
  async #submit(text: string, signal: AbortSignal): Promise<TurnOutcome> {
    const { runtime } = this.#runtime;
    await bounded(this.#choosing, { signal });
    return runtime.submit(text, signal);
  }

  /** One after the other: the last one counts, however long another takes. */
  #choose(model: string, signal: AbortSignal): Promise<void> {
    const { controls } = this.#runtime;
    const chosen = this.#choosing.then(() => controls.useModel(model, signal));
    this.#choosing = chosen.catch(() => undefined);
    return chosen;
  }

  /** As the list of sessions has it; where nothing is recorded, of the first prompt. */
  #title(): string {
    const recorded = this.logPath === undefined ? undefined : summarize(dirname(this.logPath), this.id)?.title;
    return this.redact(recorded || cleanTitle(this.#firstPrompt ?? ""));
  }

  #stopReason(outcome: TurnOutcome): StopReason {
    const { status, error } = outcome;
    if (status === "ok") return "end_turn";
    if (status === "cancelled" || status === "timeout") return "cancelled";
    if (error?.class === "max_turns") return "max_turn_requests";
    if (error?.class === "output_limit") return "max_tokens";
    if (error?.class === "refusal") return "refusal";
    // Whoever denied the call is at the editor, and a turn without it went as far as it could.
    if (status === "policy") return error?.behind === "refusal" ? "refusal" : "end_turn";
    throw requestFailed(this.#runtime.redact(error?.message ?? "the turn failed"), { class: error?.class ?? "internal" });
  }

  cancel(reason = "user"): void {
    this.#turn?.abort(reason);
  }

  async close(reason: string): Promise<void> {
    this.cancel(reason);
    await this.#ended;
    await this.#opened?.runtime.close();
    this.#opened = undefined;
  }

  // ── choices of the editor

  get #ceiling(): Authority {
    return this.#loaded?.config.authority ?? "read-only";
  }

  modes(): SessionModeState {
    const available = this.#ceiling === "read-only" ? MODES.filter((mode) => mode.id === "read-only") : MODES;
    return { currentModeId: this.#mode ?? this.#ceiling, availableModes: [...available] };
  }

  configOptions(): SessionConfigOption[] {
    const { runtime, controls } = this.#runtime;
    const modes = this.modes();
    const efforts = [...(controls.reasoningEffort === undefined ? ["default"] : []), ...EFFORTS];
    const names = this.#models.includes(runtime.model) ? this.#models : [runtime.model, ...this.#models];
    const select = (values: readonly string[]) => values.map((value) => ({ value, name: value }));
    return [
      {
        type: "select",
        id: "mode",
        name: "Mode",
        category: "mode",
        currentValue: modes.currentModeId,
        options: modes.availableModes.map(({ id, name, description }) => ({ value: id, name, description: description ?? null })),
      },
      { type: "select", id: "model", name: "Model", category: "model", currentValue: runtime.model, options: select(names) },
      {
        type: "select",
        id: "effort",
        name: "Reasoning effort",
        category: "thought_level",
        currentValue: controls.reasoningEffort ?? "default",
        options: select(efforts),
      },
    ];
  }

  /** @throws RequestError for a mode that is not offered. */
  setMode(id: string): void {
    const mode = this.modes().availableModes.find((offered) => offered.id === id);
    if (!mode) throw refuse(`there is no mode ${JSON.stringify(id)} here`);
    this.#mode = mode.id as Authority;
    this.#sender.push({ sessionUpdate: "current_mode_update", currentModeId: id });
  }

  /** @throws RequestError, or UserError for a model that cannot be used. */
  async setOption(id: string, value: unknown, signal: AbortSignal): Promise<SessionConfigOption[]> {
    const { controls } = this.#runtime;
    if (this.#turn && id === "model") throw refuse("a prompt is running: choose the model when it has ended");
    if (id === "mode") this.setMode(String(value));
    else if (id === "model" && typeof value === "string") await this.#choose(value, signal);
    else if (id === "effort" && isEffort(value)) controls.setReasoningEffort(value);
    else if (!(id === "effort" && value === "default"))
      throw refuse(`${JSON.stringify(id)} has no value ${JSON.stringify(value)}`);
    return this.configOptions();
  }
}
