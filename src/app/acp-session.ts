/**
 * One session an editor drives: an ordinary thndrs conversation whose events become updates, whose questions go to the
 * editor, whose tools may use what the editor lends. Refuses: the connection and the list of sessions (acp-server.ts).
 */
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
import { terminalTool } from "../acp/editor-terminal.ts";
import { type Editor, editorTool } from "../acp/editor-tools.ts";
import { promptText } from "../acp/prompt-text.ts";
import type { McpServer } from "../acp/protocol.ts";
import { refuse, requestFailed } from "../acp/refusal.ts";
import { createSender, type Sender } from "../acp/sender.ts";
import { createUpdates, type FileDiff } from "../acp/session-updates.ts";
import { kindOf, locationsOf, titleOf } from "../acp/tool-calls.ts";
import { bounded } from "../acp/wait.ts";
import type { Permit } from "../agent/calls.ts";
import type { ToolEntry } from "../agent/toolbox.ts";
import type { ProcessOwner } from "../base/process.ts";
import type { LoadedConfig } from "../config/load.ts";
import { cleanTitle } from "../session/title.ts";
import type { Tool } from "../tools/tool.ts";
import type { RunEvent, TurnOutcome } from "../types/event.ts";
import type { Authority } from "../types/settings.ts";
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
  /** Says something on stderr. */
  readonly event: (event: RunEvent) => void;
  readonly cwd: string;
  /** Exact id of a session to go on with, or the id of a new one. */
  readonly id: string;
  readonly resume: boolean;
  readonly servers: readonly McpServer[];
};

const READ_MS = 5000;
const WRITE_MS = 10_000;
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
const MODES: readonly { readonly id: Authority; readonly name: string; readonly description: string }[] = [
  { id: "workspace-write", name: "Write", description: "All tools: reads, edits, commands" },
  { id: "read-only", name: "Read only", description: "Only tools that read" },
];

function isEffort(value: unknown): value is ReasoningEffort {
  return EFFORTS.some((effort) => effort === value);
}

/** What a permission that lasts covers: this very command, or this kind of change. */
function grantKey(name: string, input: Readonly<Record<string, unknown>>): string {
  return name === "run_shell" ? `${name} ${JSON.stringify([input.argv, input.cwd ?? "."])}` : name;
}

export class ServedSession {
  readonly #options: ServedOptions;
  readonly #sender: Sender;
  readonly #diffs = new Map<string, FileDiff>();
  readonly #terminals = new Map<string, string>();
  /** Calls that have started and not finished: call id → tool. */
  readonly #running = new Map<string, string>();
  readonly #granted = new Set<string>();
  #opened: OpenedRuntime | undefined;
  #loaded: LoadedConfig | undefined;
  #mode: Authority | undefined;
  #models: readonly string[] = [];
  #turn: AbortController | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  private constructor(options: ServedOptions) {
    this.#options = options;
    const { client, id } = options;
    this.#sender = createSender((update) => client.notify("session/update", { sessionId: id, update }));
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
    const { env, processes, flags, cwd, id, resume, servers } = this.#options;
    const opened = await openRuntime({
      env,
      cwd,
      processes,
      flags,
      rendererMode: "acp",
      ...(resume ? { resume: id } : { sessionId: id }),
      ask: (name, input, entry, signal) => this.#ask(name, input, entry, signal),
      wrapTool: (tool) => this.#wrap(tool),
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
      diffOf: (callId) => this.#diffs.get(callId),
      terminalOf: (callId) => this.#terminals.get(callId),
      cost: () => runtime.totals().usage.costUsd,
    });
    runtime.subscribe((event) => {
      this.#note(event);
      for (const update of updates(event)) this.#sender.push(update);
    });
    if (this.#loaded) this.#models = await modelNames(this.#loaded, env, runtime.model);
  }

  #note(event: RunEvent): void {
    if (event.type === "tool_started") this.#running.set(event.callId, event.name);
    else if (event.type === "tool_finished") this.#running.delete(event.callId);
    else if (event.type === "turn_finished") {
      this.#diffs.clear();
      this.#terminals.clear();
      this.#running.clear();
    } else if (event.type === "diagnostic" && this.#options.capabilities.session?.notices) {
      const { severity, message } = event.diagnostic;
      if (severity !== "info") this.#sender.push({ sessionUpdate: "notice", severity, title: message });
    }
    this.#options.event(event);
  }

  /** Runs one prompt to its end. @throws RequestError for a prompt that cannot be taken, and for a turn that failed. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    const { runtime } = this.#runtime;
    if (this.#turn) throw refuse("a prompt is already running in this session: wait for its end, or cancel it");
    const text = promptText(blocks, runtime.workspace);
    if (!text.ok) throw refuse(text.message);
    const controller = new AbortController();
    // A request is aborted by its sender, or by the end of the connection.
    const stop = (): void => controller.abort(signal.reason instanceof RequestError ? "user" : "client gone");
    signal.addEventListener("abort", stop, { once: true });
    this.#turn = controller;
    try {
      const turn = runtime.submit(text.text, controller.signal);
      this.#ended = turn.catch(() => undefined);
      const outcome = await turn;
      this.#sender.push({
        sessionUpdate: "session_info_update",
        title: this.#title(text.text),
        updatedAt: new Date().toISOString(),
      });
      await this.#sender.settled();
      return { stopReason: this.#stopReason(outcome) };
    } finally {
      this.#turn = undefined;
      signal.removeEventListener("abort", stop);
    }
  }

  /** A session has the title of its first prompt. */
  #title(prompt: string): string {
    const { controls, redact } = this.#runtime;
    const first = controls.messages.find((message) => message.role === "user");
    return cleanTitle(redact(first && controls.messages.length > 2 ? first.text : prompt));
  }

  #stopReason(outcome: TurnOutcome): StopReason {
    const { status, error } = outcome;
    if (status === "ok") return "end_turn";
    if (status === "cancelled" || status === "timeout") return "cancelled";
    if (error?.class === "max_turns") return "max_turn_requests";
    if (error?.class === "output_limit") return "max_tokens";
    if (error?.class === "refusal") return "refusal";
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
  async setOption(id: string, value: unknown): Promise<SessionConfigOption[]> {
    const { controls } = this.#runtime;
    if (this.#turn && id === "model") throw refuse("a prompt is running: choose the model when it has ended");
    if (id === "mode") this.setMode(String(value));
    else if (id === "model" && typeof value === "string") await controls.useModel(value);
    else if (id === "effort" && isEffort(value)) controls.setReasoningEffort(value);
    else if (!(id === "effort" && value === "default"))
      throw refuse(`${JSON.stringify(id)} has no value ${JSON.stringify(value)}`);
    return this.configOptions();
  }

  // ── what the editor is asked for

  async #ask(name: string, input: Readonly<Record<string, unknown>>, entry: ToolEntry, signal: AbortSignal): Promise<Permit> {
    const key = grantKey(name, input);
    if (this.#granted.has(key)) return { allowed: true };
    const { client, id } = this.#options;
    // The gate asks right after the call has started: the newest call of that tool is meant.
    const toolCallId = [...this.#running].findLast(([, tool]) => tool === name)?.[0] ?? `question-${crypto.randomUUID()}`;
    await this.#sender.settled();
    const shown = this.#runtime.redact(titleOf(name, input));
    const always = name === "run_shell" ? "Always allow this command in this session" : `Always allow ${name} in this session`;
    const request = client.request(
      "session/request_permission",
      {
        sessionId: id,
        toolCall: {
          toolCallId,
          title: shown,
          kind: entry.mcp ? "other" : kindOf(name),
          status: "pending",
          locations: locationsOf(name, input, this.root),
        },
        options: [
          { optionId: "allow", name: "Allow", kind: "allow_once" },
          { optionId: "always", name: always, kind: "allow_always" },
          { optionId: "reject", name: "Reject", kind: "reject_once" },
        ],
      },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    const answer = await bounded(
      request.then(
        ({ outcome }) => (outcome.outcome === "selected" ? outcome.optionId : "cancelled"),
        () => "failed" as const,
      ),
      { signal },
    );
    if (answer === "always") this.#granted.add(key);
    if (answer === "allow" || answer === "always") return { allowed: true };
    const why = answer === "reject" ? "The user said no." : "The question was not answered.";
    return { allowed: false, reason: why };
  }

  #wrap(tool: Tool): Tool {
    const { fs, terminal } = this.#options.capabilities;
    if (tool.name === "run_shell") return terminal ? terminalTool(tool, (request) => this.#openTerminal(request)) : tool;
    const editor: Editor = {
      changed: (callId, diff) => this.#changed(callId, diff),
      ...(fs?.readTextFile && { readText: (path, signal) => this.#readText(path, signal) }),
      ...(fs?.writeTextFile && { writeText: (path, content, signal) => this.#writeText(path, content, signal) }),
    };
    return editorTool(tool, editor);
  }

  #changed(callId: string, { path, oldText, newText }: FileDiff): void {
    const { redact } = this.#runtime;
    this.#diffs.set(callId, { path, oldText: oldText === null ? null : redact(oldText), newText: redact(newText) });
  }

  async #readText(path: string, signal: AbortSignal): Promise<string | undefined> {
    const { client, id } = this.#options;
    const request = client.request("fs/read_text_file", { sessionId: id, path }).then(
      ({ content }) => ({ content }),
      () => undefined,
    );
    const answer = await bounded(request, { ms: READ_MS, signal });
    return typeof answer === "object" ? answer.content : undefined;
  }

  async #writeText(path: string, content: string, signal: AbortSignal): Promise<string | undefined> {
    const { client, id } = this.#options;
    const request = client.request("fs/write_text_file", { sessionId: id, path, content }).then(
      () => "done" as const,
      (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
    );
    const answer = await bounded(request, { ms: WRITE_MS, signal });
    if (answer === "done") return undefined;
    return typeof answer === "object" ? answer.message : answer === "late" ? "the editor did not answer" : "cancelled";
  }

  async #openTerminal(request: Parameters<Parameters<typeof terminalTool>[1]>[0]) {
    const { client, id } = this.#options;
    const [command = "", ...args] = request.argv;
    const handle = await client.createTerminal({
      sessionId: id,
      command,
      args,
      cwd: request.cwd,
      env: Object.entries(request.env).map(([name, value]) => ({ name, value })),
      outputByteLimit: request.outputBytes,
    });
    this.#terminals.set(request.callId, handle.id);
    this.#sender.push({
      sessionUpdate: "tool_call_update",
      toolCallId: request.callId,
      content: [{ type: "terminal", terminalId: handle.id }],
    });
    const quiet = (work: Promise<unknown>): Promise<void> =>
      work.then(
        () => undefined,
        () => undefined,
      );
    return {
      id: handle.id,
      exited: handle.waitForExit().catch(() => ({ exitCode: null, signal: null })),
      output: () => handle.currentOutput().catch(() => ({ output: "", truncated: false })),
      kill: () => quiet(handle.kill()),
      release: () => quiet(handle.release()),
    };
  }
}
