/**
 * What an editor is asked for while a session runs: permission, its files, its terminal. Keeps what belongs to calls that
 * run: diffs, terminals, lasting answers. Refuses: the conversation (acp-session.ts).
 */
import type { AgentContext, ClientCapabilities } from "@agentclientprotocol/sdk";
import { type LentTerminal, type OpenTerminal, terminalTool } from "../acp/editor-terminal.ts";
import { type Editor, editorTool } from "../acp/editor-tools.ts";
import type { SeenTexts } from "../acp/seen-texts.ts";
import type { Sender } from "../acp/sender.ts";
import type { FileDiff } from "../acp/session-updates.ts";
import { kindOf, locationsOf, titleOf } from "../acp/tool-calls.ts";
import { bounded } from "../acp/wait.ts";
import type { Permit } from "../agent/calls.ts";
import type { ToolEntry } from "../agent/toolbox.ts";
import type { Tool } from "../tools/tool.ts";
import type { RunEvent } from "../types/event.ts";

export type EditorParts = {
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  readonly sessionId: string;
  readonly sender: Sender;
  /** Of all sessions of this editor: one file is one buffer. */
  readonly texts: SeenTexts;
  /** Real path of the workspace. */
  readonly root: () => string;
  readonly redact: (text: string) => string;
};

/** An editor that does not answer costs a call, not the turn. */
const READ_MS = 5000;
const WRITE_MS = 10_000;
const TERMINAL_MS = 10_000;

/** What a permission that lasts covers: this very command, or this kind of change. */
function grantKey(name: string, input: Readonly<Record<string, unknown>>): string {
  return input.argv === undefined ? name : `${name} ${JSON.stringify([input.argv, input.cwd ?? "."])}`;
}

/** Resolves when it is done, has failed or takes too long. */
async function quiet(work: Promise<unknown>): Promise<void> {
  await bounded(
    work.catch(() => undefined),
    { ms: TERMINAL_MS },
  );
}

/** The editor at the other end of one session. */
export class EditorLink {
  readonly #parts: EditorParts;
  readonly #diffs = new Map<string, FileDiff>();
  readonly #terminals = new Map<string, string>();
  /** Calls that have started and not finished: call id → tool. */
  readonly #running = new Map<string, string>();
  readonly #granted = new Set<string>();

  constructor(parts: EditorParts) {
    this.#parts = parts;
  }

  diffOf(callId: string): FileDiff | undefined {
    return this.#diffs.get(callId);
  }
  terminalOf(callId: string): string | undefined {
    return this.#terminals.get(callId);
  }

  /** Every event of the session, before it is translated. */
  note(event: RunEvent): void {
    if (event.type === "turn_started") this.#parts.texts.begin(Date.now());
    else if (event.type === "tool_started") this.#running.set(event.callId, event.name);
    else if (event.type === "tool_finished") this.#running.delete(event.callId);
    else if (event.type === "turn_finished") {
      this.#diffs.clear();
      this.#terminals.clear();
      this.#running.clear();
    }
  }

  /** Asks for permission; the answer may last for this session. */
  async ask(name: string, input: Readonly<Record<string, unknown>>, entry: ToolEntry, signal: AbortSignal): Promise<Permit> {
    const key = grantKey(name, input);
    if (this.#granted.has(key)) return { allowed: true };
    const { client, sessionId } = this.#parts;
    // The gate asks right after the call has started: the newest call of that tool is meant.
    const toolCallId = [...this.#running].findLast(([, tool]) => tool === name)?.[0] ?? `question-${crypto.randomUUID()}`;
    await this.#parts.sender.settled();
    const shown = this.#parts.redact(titleOf(name, input));
    const always =
      input.argv !== undefined ? "Always allow this command in this session" : `Always allow ${name} in this session`;
    const request = client.request(
      "session/request_permission",
      {
        sessionId,
        toolCall: {
          toolCallId,
          title: shown,
          kind: entry.mcp ? "other" : kindOf(name),
          status: "pending",
          locations: locationsOf(name, input, this.#parts.root()),
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
      request
        .then(({ outcome }) => (outcome.outcome === "selected" ? outcome.optionId : "cancelled"))
        // Also an answer of another shape.
        .catch(() => "failed" as const),
      { signal },
    );
    if (answer === "always") this.#granted.add(key);
    if (answer === "allow" || answer === "always") return { allowed: true };
    const why = answer === "reject" ? "The user said no." : "The question was not answered.";
    return { allowed: false, reason: why };
  }

  /** The tool as it runs with this editor. */
  wrap(tool: Tool): Tool {
    const { fs, terminal } = this.#parts.capabilities;
    if (tool.name === "run_shell") return terminal ? terminalTool(tool, (request) => this.#openTerminal(request)) : tool;
    const editor: Editor = {
      changed: (callId, diff) => this.#changed(callId, diff),
      texts: this.#parts.texts,
      ...(fs?.readTextFile && { readText: (path, signal) => this.#readText(path, signal) }),
      ...(fs?.writeTextFile && { writeText: (path, content, signal) => this.#writeText(path, content, signal) }),
    };
    return editorTool(tool, editor);
  }

  #changed(callId: string, { path, oldText, newText }: FileDiff): void {
    const { redact } = this.#parts;
    this.#diffs.set(callId, { path, oldText: oldText === null ? null : redact(oldText), newText: redact(newText) });
  }

  async #readText(path: string, signal: AbortSignal): Promise<string | undefined> {
    const { client, sessionId } = this.#parts;
    const request = client
      .request("fs/read_text_file", { sessionId, path })
      .then(({ content }) => (typeof content === "string" ? { content } : undefined))
      // Also an answer of another shape.
      .catch(() => undefined);
    const answer = await bounded(request, { ms: READ_MS, signal });
    return typeof answer === "object" ? answer.content : undefined;
  }

  async #writeText(path: string, content: string, signal: AbortSignal): Promise<string | undefined> {
    const { client, sessionId } = this.#parts;
    const request = client.request("fs/write_text_file", { sessionId, path, content }).then(
      () => "done" as const,
      (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
    );
    const answer = await bounded(request, { ms: WRITE_MS, signal });
    if (answer === "done") return undefined;
    return typeof answer === "object" ? answer.message : answer === "late" ? "the editor did not answer" : "cancelled";
  }

  async #openTerminal(request: Parameters<OpenTerminal>[0]): Promise<LentTerminal> {
    const { client, sessionId } = this.#parts;
    const [command = "", ...args] = request.argv;
    const opening = client.createTerminal({
      sessionId,
      command,
      args,
      cwd: request.cwd,
      env: Object.entries(request.env).map(([name, value]) => ({ name, value })),
      outputByteLimit: request.outputBytes,
    });
    const handle = await bounded(opening, { ms: TERMINAL_MS, signal: request.signal });
    if (typeof handle === "string") {
      // One that opens after all has nobody to end it.
      opening.then((late) => late.release()).catch(() => undefined);
      throw new Error(handle === "late" ? "it does not answer" : "cancelled");
    }
    this.#terminals.set(request.callId, handle.id);
    this.#parts.sender.push({
      sessionUpdate: "tool_call_update",
      toolCallId: request.callId,
      content: [{ type: "terminal", terminalId: handle.id }],
    });
    return {
      id: handle.id,
      exited: handle.waitForExit().catch(() => ({ exitCode: null, signal: null })),
      output: async () => {
        const answer = await bounded(
          handle.currentOutput().catch(() => undefined),
          { ms: TERMINAL_MS },
        );
        return typeof answer === "string" ? undefined : answer;
      },
      kill: () => quiet(handle.kill()),
      release: () => quiet(handle.release()),
    };
  }
}
