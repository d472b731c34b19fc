/**
 * A running external agent: its process, its connection, the first handshake, bounded questions and a sure end.
 * @see integrations.md, ACP. Refuses: what its requests mean (the host does), turns, records.
 */
import {
  type AgentRequestMethod,
  type AgentRequestParamsByMethod,
  type AgentRequestResponsesByMethod,
  type ClientApp,
  type ClientConnection,
  type ClientRequestHandlersByMethod,
  client,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { field, text } from "../base/json.ts";
import type { ProcessOwner, RunningProcess } from "../base/process.ts";
import { cutChars, cutCharsFromEnd } from "../base/text.ts";
import { bounded } from "./wait.ts";
import { createAgentWire, type Junk } from "./wire.ts";

export type AgentCommand = {
  readonly name: string;
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Complete. */
  readonly env: Readonly<Record<string, string>>;
  /** Time for each answer to a question of ours; a prompt has no limit. */
  readonly timeoutMs: number;
  /** Ours, as the agent is told. */
  readonly version: string;
};

type Requests = {
  readonly [Method in
    | "session/request_permission"
    | "fs/read_text_file"
    | "fs/write_text_file"
    | "terminal/create"
    | "terminal/output"
    | "terminal/wait_for_exit"
    | "terminal/kill"
    | "terminal/release"]: ClientRequestHandlersByMethod[Method];
};

/** What an agent may ask of us. Handlers throw a `RequestError` where they refuse. */
export type AgentHost = Requests & { readonly update: (params: unknown) => void };

export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly reason: "refused" | "late" | "gone" | "cancelled";
      readonly message: string;
      readonly code?: number;
    };

export type AgentLink = {
  readonly info: InitializeResponse;
  /** False once the agent has gone, whoever ended it. */
  alive(): boolean;
  /** Asks within the agent's time limit; never throws. */
  ask<Method extends AgentRequestMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
    options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
  ): Promise<Answer<AgentRequestResponsesByMethod[Method]>>;
  cancel(sessionId: string): void;
  junk(): Junk;
  /** Ends the process tree; resolves when it is gone. */
  end(): Promise<void>;
};

export type LinkResult = { readonly ok: true; readonly link: AgentLink } | { readonly ok: false; readonly message: string };

const STDERR_CHARS = 2000;
const DETAIL_CHARS = 500;
/** An agent whose pipe has closed is asked to go, and made to. */
const GRACE_MS = 1000;

type Child = {
  readonly process: RunningProcess;
  readonly connection: ClientConnection;
  readonly junk: () => Junk;
  /** Why it is gone, with the last it said on stderr. */
  readonly epitaph: () => string;
  readonly gone: Promise<void>;
  readonly isGone: () => boolean;
};

function appFor(host: AgentHost): ClientApp {
  const app = client({ name: "thndrs" });
  const on = methods.client;
  app.onRequest(on.session.requestPermission, host["session/request_permission"]);
  app.onRequest(on.fs.readTextFile, host["fs/read_text_file"]);
  app.onRequest(on.fs.writeTextFile, host["fs/write_text_file"]);
  app.onRequest(on.terminal.create, host["terminal/create"]);
  app.onRequest(on.terminal.output, host["terminal/output"]);
  app.onRequest(on.terminal.waitForExit, host["terminal/wait_for_exit"]);
  app.onRequest(on.terminal.kill, host["terminal/kill"]);
  app.onRequest(on.terminal.release, host["terminal/release"]);
  // What an agent says beyond the protocol is none of our business, and no reason to print anything.
  return app.onNotification("*", () => undefined);
}

async function launch(command: AgentCommand, host: AgentHost, processes: ProcessOwner): Promise<Child | string> {
  let input: RunningProcess["input"];
  const wire = createAgentWire(async (line) => {
    if (!input) throw new Error("the agent has no input");
    await input.write(line);
  }, host.update);
  let stderr = "";
  const decoder = new TextDecoder();
  const started = await processes.start({
    argv: command.argv,
    cwd: command.cwd,
    env: command.env,
    stdin: "pipe",
    graceMs: GRACE_MS,
    onStdout: (chunk) => wire.push(chunk),
    onStderr: (chunk) => {
      stderr = cutCharsFromEnd(stderr + decoder.decode(chunk, { stream: true }), STDERR_CHARS);
    },
  });
  if (!started.ok) return started.failure.message;
  input = started.process.input;
  const connection = appFor(host).connect(wire.stream);
  let epitaph = "";
  let over = false;
  const gone = started.process.done.then(
    (end) => {
      over = true;
      const how = end.signal ? `was ended by ${end.signal}` : `exited with code ${end.exitCode ?? "unknown"}`;
      const words = stderr.trim();
      epitaph = words === "" ? how : `${how}; its last words: ${words.split("\n").slice(-3).join(" | ")}`;
      wire.finish();
      connection.close();
    },
    () => {
      over = true;
      epitaph = "was lost";
      connection.close();
    },
  );
  return { process: started.process, connection, junk: wire.junk, epitaph: () => epitaph, gone, isGone: () => over };
}

/** A refusal in the agent's own words, with what it added to them. */
function wordsOf({ message, data }: RequestError): string {
  const details = text(data) ?? text(field(data, "details")) ?? text(field(data, "message")) ?? "";
  return details === "" || message.includes(details) ? message : `${message}: ${cutChars(details, DETAIL_CHARS)}`;
}

/** What the program goes on with, of answers that it goes on with something of; an agent may answer anything. */
const NEEDED: Readonly<Record<string, { readonly field: string; readonly type: "string" | "number" }>> = {
  initialize: { field: "protocolVersion", type: "number" },
  "session/new": { field: "sessionId", type: "string" },
  "session/prompt": { field: "stopReason", type: "string" },
};

/** What an answer lacks, as the end of a sentence about the agent. */
function missing(method: string, value: unknown): string | undefined {
  const needed = NEEDED[method];
  if (needed === undefined || typeof field(value, needed.field) === needed.type) return undefined;
  return `answered ${method} without a ${needed.field}`;
}

function linkOf(child: Child, command: AgentCommand, info: InitializeResponse): AgentLink {
  const { connection, process } = child;
  return {
    info,
    alive: () => !child.isGone(),
    async ask(method, params, options = {}) {
      const request = connection.agent.request(method, params).then(
        (value): Answer<typeof value> => {
          const lacking = missing(method, value);
          return lacking === undefined ? { ok: true, value } : { ok: false, reason: "refused", message: lacking };
        },
        async (error: unknown): Promise<Answer<never>> => {
          if (error instanceof RequestError && !child.isGone()) {
            return { ok: false, reason: "refused", message: wordsOf(error), code: error.code };
          }
          // The pipe closes a moment before the process is known to be gone.
          await bounded(child.gone, { ms: GRACE_MS });
          return { ok: false, reason: "gone", message: child.epitaph() || "closed the connection" };
        },
      );
      const answer = await bounded(request, { ms: options.timeoutMs ?? command.timeoutMs, signal: options.signal });
      if (answer === "late") return { ok: false, reason: "late", message: `did not answer ${method} in time` };
      if (answer === "cancelled") return { ok: false, reason: "cancelled", message: "cancelled" };
      return answer;
    },
    cancel(sessionId) {
      connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => undefined);
    },
    junk: child.junk,
    async end() {
      process.input?.end();
      await process.end();
      connection.close();
    },
  };
}

/** Starts the agent and shakes hands. Whatever goes wrong, nothing of it is left running. Never throws. */
export async function startAgent(
  command: AgentCommand,
  host: AgentHost,
  processes: ProcessOwner,
  offer: { readonly write: boolean; readonly terminal: boolean },
  signal?: AbortSignal,
): Promise<LinkResult> {
  const child = await launch(command, host, processes);
  if (typeof child === "string") return { ok: false, message: child };
  const link = linkOf(child, command, { protocolVersion: PROTOCOL_VERSION });
  const answer = await link.ask(
    "initialize",
    {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "thndrs", title: "thndrs", version: command.version },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: offer.write }, terminal: offer.terminal },
    },
    signal ? { signal } : {},
  );
  const fail = async (message: string): Promise<LinkResult> => {
    await link.end();
    return { ok: false, message };
  };
  if (!answer.ok) return fail(answer.message);
  if (answer.value.protocolVersion !== PROTOCOL_VERSION) {
    return fail(`speaks ACP version ${answer.value.protocolVersion}; thndrs speaks version ${PROTOCOL_VERSION}`);
  }
  return { ok: true, link: linkOf(child, command, answer.value) };
}
