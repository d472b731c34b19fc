/**
 * `thndrs acp serve`: the agent side of ACP over one pair of streams. Nothing but protocol goes to `write`; what a person
 * should know goes to `event`. Several sessions at a time, each an ordinary session with its log. Refuses: turns (acp-session.ts).
 */
import { realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import {
  type AgentContext,
  type AgentRequestMethod,
  type AgentRequestParamsByMethod,
  type AgentRequestResponsesByMethod,
  agent,
  type ClientCapabilities,
  type InitializeRequest,
  type InitializeResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { answeredStream } from "../acp/answered-stream.ts";
import { updateOfRecord } from "../acp/history.ts";
import type { McpServer } from "../acp/protocol.ts";
import { AUTH_REQUIRED, notFound, refuse, requestFailed } from "../acp/refusal.ts";
import { SeenTexts } from "../acp/seen-texts.ts";
import { bounded } from "../acp/wait.ts";
import type { ProcessOwner } from "../base/process.ts";
import { redact } from "../base/redact.ts";
import { UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { createCredentials } from "../config/credentials.ts";
import { loadConfig } from "../config/load.ts";
import { isSessionId } from "../session/ids.ts";
import { listSessions, sessionIds } from "../session/list.ts";
import { newSessionId } from "../session/log.ts";
import { newTally, readRecords } from "../session/read.ts";
import { deleteSession } from "../session/remove.ts";
import type { RunEvent } from "../types/event.ts";
import { ServedSession } from "./acp-session.ts";
import { MissingKey } from "./model.ts";
import type { RunFlags } from "./open.ts";
import { version } from "./version.ts";

export type ServeOptions = {
  readonly input: ReadableStream<Uint8Array>;
  /** Resolves when the bytes have left; rejects when the reader is gone. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly env: Readonly<Record<string, string>>;
  /** Sessions are listed here when the client names no directory. */
  readonly cwd: string;
  readonly flags: RunFlags;
  readonly processes: ProcessOwner;
  readonly signal: AbortSignal;
  readonly event: (event: RunEvent) => void;
  /** An error nobody foresaw. */
  readonly bug: (error: unknown) => void;
};

const PAGE = 50;
/** How long the sessions may take to end when the client has gone. */
const CLOSE_MS = 5000;

const AUTH: InitializeResponse["authMethods"] = [
  {
    id: "key",
    name: "API key",
    description: "Set the provider's key variable, or run thndrs login PROVIDER (thndrs setup walks through it)",
  },
];

type Place = { readonly root: string; readonly dir: string; readonly hide: (text: string) => string };

class Server {
  readonly #options: ServeOptions;
  readonly #sessions = new Map<string, ServedSession>();
  readonly #opening = new Map<string, Promise<ServedSession>>();
  /** The directory of every session this client was told of. */
  readonly #dirs = new Map<string, string>();
  readonly #deleted = new Set<string>();
  /** Aborted when the connection is over: nothing is waited for any more. */
  readonly #life = new AbortController();
  readonly #texts = new SeenTexts();
  #capabilities: ClientCapabilities = {};

  constructor(options: ServeOptions) {
    this.#options = options;
  }

  initialize(request: InitializeRequest): InitializeResponse {
    this.#capabilities = request.clientCapabilities ?? {};
    const terminalLogin = this.#capabilities.auth?.terminal
      ? [{ type: "terminal" as const, id: "setup", name: "thndrs setup", args: ["setup"] }]
      : [];
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "thndrs", title: "thndrs", version },
      authMethods: [...(AUTH ?? []), ...terminalLogin],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: false, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      },
    };
  }

  session(id: string): ServedSession {
    const session = this.#sessions.get(id);
    if (!session) throw notFound(`there is no open session ${JSON.stringify(id)}`);
    return session;
  }

  async open(
    client: AgentContext,
    request: { readonly cwd: string; readonly servers: readonly McpServer[]; readonly resume?: string },
  ): Promise<ServedSession> {
    const { servers, resume } = request;
    const cwd = await demandDirectory(request.cwd);
    const known = resume === undefined ? undefined : this.#sessions.get(resume);
    if (known) return known;
    if (resume !== undefined) await this.#demandSession(cwd, resume);
    const id = resume ?? newSessionId(new Date());
    if (this.#opening.has(id)) throw refuse(`session ${id} is being opened already`);
    if (this.#life.signal.aborted) throw refuse("the connection is closed");
    const { env, processes, flags, event } = this.#options;
    const capabilities = this.#capabilities;
    const place = { cwd, id, resume: resume !== undefined, servers, signal: this.#life.signal, texts: this.#texts };
    const opening = ServedSession.open({ env, processes, flags, event, client, capabilities, ...place });
    this.#opening.set(id, opening);
    try {
      const session = await opening;
      this.#sessions.set(id, session);
      if (session.logPath !== undefined) this.#dirs.set(id, dirname(session.logPath));
      return session;
    } finally {
      this.#opening.delete(id);
    }
  }

  async #place(cwd: string): Promise<Place> {
    const { env, flags } = this.#options;
    const { root } = await openWorkspace(cwd);
    const { model: _, ...rest } = flags;
    const loaded = await loadConfig({ env, flags: rest, cwd, workspaceRoot: root });
    const exact = createCredentials({ env, configHome: loaded.homes.config }).knownValues();
    return {
      root,
      dir: loaded.config.sessionDir ?? join(root, ".thndrs", "sessions"),
      hide: (text) => redact(text, { exact }),
    };
  }

  async #demandSession(cwd: string, id: string): Promise<void> {
    const { dir } = await this.#place(cwd);
    if (!isSessionId(id) || !sessionIds(dir).includes(id)) {
      throw notFound(`there is no session ${JSON.stringify(id)} in ${dir}`);
    }
  }

  /** Shows the session again, record by record, at the reader's speed. */
  async replay(client: AgentContext, session: ServedSession): Promise<void> {
    const { id, root, logPath } = session;
    if (logPath === undefined || (await stat(logPath).catch(() => undefined)) === undefined) return;
    for await (const batch of readRecords(logPath, newTally())) {
      for (const read of batch) {
        const update = read.known ? updateOfRecord(read.record, root) : undefined;
        if (update) await client.notify(methods.client.session.update, { sessionId: id, update });
      }
    }
  }

  async list(cwd: string | null | undefined, cursor: string | null | undefined) {
    const { root, dir, hide } = await this.#place(cwd ?? this.#options.cwd);
    const all = listSessions(dir).filter((summary) => summary.workspace === "" || summary.workspace === root);
    const start = cursor ? all.findIndex((summary) => summary.id === cursor) + 1 : 0;
    if (cursor && start === 0) throw refuse("the cursor is not one of this list");
    const page = all.slice(start, start + PAGE);
    const last = page.at(-1);
    for (const { id } of page) this.#dirs.set(id, dir);
    return {
      sessions: page.map(({ id, title, updated }) => ({
        sessionId: id,
        cwd: root,
        title: hide(title),
        ...(updated !== "" && { updatedAt: updated }),
      })),
      ...(last && start + PAGE < all.length && { nextCursor: last.id }),
    };
  }

  async close(id: string): Promise<void> {
    const session = this.session(id);
    this.#sessions.delete(id);
    await session.close("user");
  }

  /** Where the client was told it is; one it was never told of, in the server's own directory. @throws RequestError */
  async remove(id: string): Promise<void> {
    const open = this.#sessions.has(id);
    if (open) await this.close(id);
    const dir = this.#dirs.get(id) ?? (await this.#place(this.#options.cwd)).dir;
    if (isSessionId(id) && sessionIds(dir).includes(id)) deleteSession(dir, id);
    // Without a log there is nothing to delete; a second time is no mistake either. A client reads this refusal as "it is gone".
    else if (!open && !this.#deleted.has(id)) throw notFound(`there is no session ${JSON.stringify(id)} in ${dir}`);
    this.#deleted.add(id);
  }

  /** Also ends sessions that are still being opened: what they started would outlive the connection. */
  async closeAll(reason: string): Promise<void> {
    this.#life.abort(reason);
    const late = [...this.#opening.values()];
    const open = [...this.#sessions.values()];
    this.#sessions.clear();
    const ends = [
      ...open.map((session) => session.close(reason)),
      ...late.map((opening) => opening.then((session) => session.close(reason))),
    ];
    await bounded(Promise.allSettled(ends), { ms: CLOSE_MS });
  }

  /** Errors people can act on keep their words; a bug is told of where a developer sees it. */
  async answer<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof RequestError) throw error;
      if (error instanceof MissingKey) throw new RequestError(AUTH_REQUIRED, error.message);
      if (error instanceof UserError) throw requestFailed(error.message);
      this.#options.bug(error);
      throw requestFailed(`internal error: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** Its real path. @throws RequestError */
async function demandDirectory(cwd: string): Promise<string> {
  if (!isAbsolute(cwd)) throw refuse(`cwd must be an absolute path, not ${JSON.stringify(cwd)}`);
  if (!(await stat(cwd).catch(() => undefined))?.isDirectory()) throw refuse(`${cwd} is not a directory`);
  return realpath(cwd);
}

type Context<Method extends AgentRequestMethod> = {
  readonly params: AgentRequestParamsByMethod[Method];
  readonly client: AgentContext;
  readonly signal: AbortSignal;
};

function appOf(server: Server) {
  const app = agent({ name: "thndrs" });
  const on = <Method extends AgentRequestMethod>(
    method: Method,
    handle: (context: Context<Method>) => AgentRequestResponsesByMethod[Method] | Promise<AgentRequestResponsesByMethod[Method]>,
  ): void => {
    // The library's overloads want the handler of this very method; ours is it, for every method alike.
    app.onRequest(method, ((context: Context<Method>) => server.answer(() => handle(context))) as never);
  };
  const facts = (session: ServedSession) => ({ modes: session.modes(), configOptions: session.configOptions() });
  on("initialize", ({ params }) => server.initialize(params));
  on("authenticate", ({ params }) => {
    if (params.methodId !== "key") throw refuse(`there is no method ${params.methodId}`);
    return {};
  });
  on("session/new", async ({ params, client }) => {
    const session = await server.open(client, { cwd: params.cwd, servers: params.mcpServers });
    return { sessionId: session.id, ...facts(session) };
  });
  on("session/load", async ({ params, client }) => {
    const { cwd, mcpServers, sessionId } = params;
    const session = await server.open(client, { cwd, servers: mcpServers, resume: sessionId });
    await server.replay(client, session);
    return facts(session);
  });
  on("session/resume", async ({ params, client }) => {
    const { cwd, mcpServers, sessionId } = params;
    return facts(await server.open(client, { cwd, servers: mcpServers ?? [], resume: sessionId }));
  });
  on("session/list", ({ params }) => server.list(params.cwd, params.cursor));
  on("session/prompt", ({ params, signal }) => server.session(params.sessionId).prompt(params.prompt, signal));
  on("session/set_mode", ({ params }) => {
    server.session(params.sessionId).setMode(params.modeId);
    return {};
  });
  on("session/set_config_option", async ({ params, signal }) => ({
    configOptions: await server.session(params.sessionId).setOption(params.configId, params.value, signal),
  }));
  on("session/close", async ({ params }) => {
    await server.close(params.sessionId);
    return {};
  });
  on("session/delete", async ({ params }) => {
    await server.remove(params.sessionId);
    return {};
  });
  app.onNotification(methods.agent.session.cancel, ({ params }) => {
    // A session that is gone has nothing to cancel, and a notification no answer.
    void server.answer(() => server.session(params.sessionId).cancel()).catch(() => undefined);
  });
  return app.onNotification("*", () => undefined);
}

/** Serves until the client goes or `signal` aborts; then every session is closed. */
export async function serveAcp(options: ServeOptions): Promise<void> {
  const server = new Server(options);
  const output = new WritableStream<Uint8Array>({ write: (bytes) => options.write(bytes) });
  const connection = appOf(server).connect(answeredStream(ndJsonStream(output, options.input)));
  await bounded(connection.closed, { signal: options.signal });
  const { reason } = options.signal;
  await server.closeAll(options.signal.aborted && typeof reason === "string" ? reason : "client gone");
  connection.close();
}
