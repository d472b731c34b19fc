/**
 * One connection to one server over the official client: handshake, list, call, close. Behind the lazy door: whoever imports
 * this file loads the protocol's package. Refuses: retrying, restarting, naming tools.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type AuthProvider,
  Client,
  type JsonSchemaValidatorResult,
  type jsonSchemaValidator,
  type OAuthClientProvider,
  ProtocolError,
  SSEClientTransport,
  type StandardSchemaV1,
  type Transport,
} from "@modelcontextprotocol/client";
import { isObject } from "../base/json.ts";
import type { ProcessOwner } from "../base/process.ts";
import { CallTooLong, httpStatus, isTimeout, OddAnswer } from "./failures.ts";
import { answersDuring, fetchDuring, HttpTransport } from "./http-transport.ts";
import type { Junk } from "./message-lines.ts";
import type { HttpPlan, ServerPlan } from "./plans.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { atMost, orAborted } from "./waiting.ts";

/** Pages of one list, and tools of one server. */
const MAX_PAGES = 64;
const MAX_TOOLS = 1000;
/** What a call may take whose server goes on reporting progress: as long as the longest command. */
const MAX_CALL_MS = 10 * 60_000;
/** How long a goodbye to an HTTP server may take. */
const GOODBYE_MS = 300;

/** A tool as the server describes it; only the name has been checked. */
export type ListedTool = { readonly name: string } & Readonly<Record<string, unknown>>;

/** Answers a server's question to the user (elicitation). */
export type Elicit = (
  server: string,
  question: { readonly message: string; readonly schema: Readonly<Record<string, unknown>> },
  signal: AbortSignal,
) => Promise<{
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, string | number | boolean | string[]>;
}>;

export type ConnectRequest = {
  readonly plan: ServerPlan;
  readonly version: string;
  /** Real path of the workspace: the one root a server is told of. */
  readonly root: string;
  readonly processes: ProcessOwner;
  readonly inherit: Readonly<Record<string, string | undefined>>;
  readonly auth?: AuthProvider | OAuthClientProvider | undefined;
  /** Absent: the capability is not offered, and a server that asks anyway gets "method not found". */
  readonly elicit?: Elicit | undefined;
  readonly onListChanged: () => void;
  readonly onClosed: () => void;
  readonly signal: AbortSignal;
  /** In place of MAX_CALL_MS. */
  readonly maxCallMs?: number;
};

export type Connection = {
  /** Name and version the server gives itself. */
  readonly server: { readonly name: string; readonly version: string } | undefined;
  readonly protocol: string | undefined;
  /** True over HTTP once the server keeps a session. */
  readonly hasSession: boolean;
  listTools(signal: AbortSignal): Promise<{ readonly tools: readonly ListedTool[]; readonly notes: readonly string[] }>;
  /** The raw result. Rejects with the client's errors. */
  callTool(name: string, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
};

/** A connection that did not come about still knows what its process said. */
export type ProcessFacts = { readonly exit: string | undefined; readonly stderr: string; readonly junk: Junk };

export type Connecting = {
  readonly done: Promise<Connection>;
  /** Undefined for HTTP. */
  readonly facts: () => ProcessFacts | undefined;
  /** Ends what was started, also in the middle of the handshake; waits for no answer of a server. */
  readonly end: () => Promise<void>;
  /** Takes what the browser came back with and fetches the tokens, within the time-out; the caller connects or calls again. */
  readonly finishAuth: (answer: URLSearchParams) => Promise<void>;
};

/** Takes any value: results are looked at member by member, so that one odd tool does not cost the whole list. */
const ANYTHING: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "thndrs", validate: (value) => ({ value }) },
};

/** Output schemas are not enforced: their problems never block a tool (M08). */
const NO_VALIDATION: jsonSchemaValidator = { getValidator: () => accept };

function accept<T>(input: unknown): JsonSchemaValidatorResult<T> {
  return { valid: true, data: input as T, errorMessage: undefined };
}

/**
 * How a connection begins: with the handshake every server knows, or by asking for the newer revisions of the protocol
 * (2026-07-28 on), which a server may insist on.
 */
type Beginning = "handshake" | "negotiated";

function newClient(request: ConnectRequest, beginning: Beginning): Client {
  const { plan, version, root, elicit } = request;
  const client = new Client(
    { name: "thndrs", version },
    {
      capabilities: { roots: {}, ...(elicit && { elicitation: { form: { applyDefaults: true } } }) },
      jsonSchemaValidator: NO_VALIDATION,
      ...(beginning === "negotiated" && {
        versionNegotiation: { mode: "auto" as const },
        // There changes come over a stream of their own, which this asks for.
        listChanged: { tools: { autoRefresh: false, onChanged: () => request.onListChanged() } },
      }),
    },
  );
  client.setRequestHandler("roots/list", async () => ({
    roots: [{ uri: pathToFileURL(root).href, name: basename(root) }],
  }));
  if (elicit) {
    client.setRequestHandler("elicitation/create", async ({ params }, context) => {
      const schema = "requestedSchema" in params && isObject(params.requestedSchema) ? params.requestedSchema : {};
      const answer = await elicit(plan.name, { message: params.message, schema }, context.mcpReq.signal);
      return { action: answer.action, ...(answer.content && { content: answer.content }) };
    });
  }
  if (beginning === "handshake") {
    client.setNotificationHandler("notifications/tools/list_changed", () => request.onListChanged());
  }
  // Stray answers, odd notifications and the like: nothing depends on them (M17).
  client.onerror = () => {};
  client.onclose = request.onClosed;
  return client;
}

type AnyHttpTransport = HttpTransport | SSEClientTransport;

function httpTransports(plan: HttpPlan, request: ConnectRequest, life: AbortSignal) {
  const url = new URL(plan.url);
  const options = {
    requestInit: { headers: plan.headers },
    ...(request.auth && { authProvider: request.auth }),
  };
  return {
    streamable: () => new HttpTransport(url, { ...options, fetch: answersDuring(life) }),
    // The older transport: servers from before 2025-03-26 know only this one.
    sse: () => new SSEClientTransport(url, { ...options, fetch: fetchDuring(life) }),
  };
}

/** Statuses with which newer servers, and those of the older transport, refuse the handshake. */
const REFUSED_HANDSHAKE: ReadonlySet<number> = new Set([400, 404, 405]);
/** JSON-RPC errors with which a newer server does: no such method, no such version. */
const REFUSED_CODES: ReadonlySet<number> = new Set([-32601, -32022]);

type Opened = { readonly client: Client; readonly transport: Transport };

/** The transport in use, also of an attempt that failed: an authorization is finished on the one that asked for it. */
type Held = { transport?: AnyHttpTransport };

/** `signal`: when to give up, wherever the handshake is; the client's own limit covers no more than its first request. */
async function open(
  request: ConnectRequest,
  signal: AbortSignal,
  transport: Transport,
  beginning: Beginning = "handshake",
): Promise<Opened> {
  const client = newClient(request, beginning);
  const connected = client.connect(transport, { signal, timeout: request.plan.timeoutMs });
  try {
    await orAborted(connected, signal);
  } catch (error) {
    client.onclose = () => {};
    // Whatever was opened is closed; the reason is the handshake's.
    const close = (): Promise<void> => transport.close().catch(() => undefined);
    // What heard nothing of the signal may still open something.
    if (signal.aborted) void connected.then(close, close);
    await close();
    throw error;
  }
  return { client, transport };
}

async function openHttp(
  plan: HttpPlan,
  request: ConnectRequest,
  held: Held,
  { life, signal }: { readonly life: AbortSignal; readonly signal: AbortSignal },
): Promise<Opened> {
  const { streamable, sse } = httpTransports(plan, request, life);
  const use = (transport: AnyHttpTransport, beginning?: Beginning): Promise<Opened> => {
    signal.throwIfAborted();
    held.transport = transport;
    return open(request, signal, transport, beginning);
  };
  if (plan.sse) return use(sse());
  try {
    return await use(streamable());
  } catch (error) {
    if (!REFUSED_HANDSHAKE.has(httpStatus(error) ?? 0)) throw error;
    // A newer server, or an older one; if it is neither, the first answer is what there is to say, unless the last one stayed out.
    return await use(streamable(), "negotiated")
      .catch(() => use(sse()))
      .catch((last) => Promise.reject(isTimeout(last) ? last : error));
  }
}

async function listTools(client: Client, timeoutMs: number, signal: AbortSignal) {
  const notes: string[] = [];
  const tools = new Map<string, ListedTool>();
  const seen = new Set<string>();
  if (!client.getServerCapabilities()?.tools) return { tools: [], notes };
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method: "tools/list", params }, ANYTHING, { signal, timeout: timeoutMs });
    const { tools: found, nextCursor } = isObject(result) ? result : { tools: undefined, nextCursor: undefined };
    // No tools at all: servers leave the member out, or say null.
    if (found !== undefined && found !== null && !Array.isArray(found)) {
      if (page === 1) throw new OddAnswer("its list of tools is no list");
      notes.push("a page of its list of tools is no list; what came before counts");
      break;
    }
    let unnamed = 0;
    let over = 0;
    let doubled = 0;
    const named = new Set<string>();
    for (const tool of found ?? []) {
      if (!isObject(tool) || typeof tool.name !== "string" || tool.name === "") unnamed += 1;
      // A page that comes again is told below.
      else if (tools.has(tool.name)) doubled += named.has(tool.name) ? 1 : 0;
      else if (tools.size >= MAX_TOOLS) over += 1;
      else tools.set(tool.name, { ...tool, name: tool.name });
      if (isObject(tool) && typeof tool.name === "string") named.add(tool.name);
    }
    if (unnamed > 0) notes.push(`${unnamed} tools without a name are left out`);
    if (doubled > 0) notes.push(`${doubled} tools with a name that another has are left out`);
    if (over > 0) notes.push(`${over} tools beyond ${MAX_TOOLS} are left out`);
    if (typeof nextCursor !== "string") break;
    if (seen.has(nextCursor)) {
      notes.push("its list of tools repeats a page; what came before counts");
      break;
    }
    if (page >= MAX_PAGES || tools.size >= MAX_TOOLS) {
      notes.push(`its list of tools has no end; the first ${tools.size} count`);
      break;
    }
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  return { tools: [...tools.values()], notes };
}

async function goodbye(transport: Transport): Promise<void> {
  if (!(transport instanceof HttpTransport) || transport.sessionId === undefined) return;
  await atMost(GOODBYE_MS, transport.terminateSession());
}

function connectionOf({ client, transport }: Opened, request: ConnectRequest, end: () => Promise<void>): Connection {
  const { timeoutMs } = request.plan;
  const info = client.getServerVersion();
  return {
    server: info && { name: info.name, version: info.version },
    protocol: client.getNegotiatedProtocolVersion(),
    get hasSession() {
      return transport.sessionId !== undefined;
    },
    listTools: (signal) => listTools(client, timeoutMs, signal),
    callTool: (name, input, signal) => {
      const limitMs = Math.max(timeoutMs, request.maxCallMs ?? MAX_CALL_MS);
      const params = { name, arguments: input };
      const limits = { timeout: timeoutMs, resetTimeoutOnProgress: true, onprogress: () => {} };
      return within(
        limitMs,
        [signal],
        (bound) => client.request({ method: "tools/call", params }, ANYTHING, { ...limits, signal: bound }),
        // Of the client's kind: it hands on such a reason as it is.
        () => new CallTooLong(limitMs),
      );
    },
    async close() {
      await goodbye(transport);
      await end();
    },
  };
}

function timeoutError(): DOMException {
  return new DOMException("no answer in time", "TimeoutError");
}

/** Lets `work` begin under a signal that is aborted with one of the others, and when it takes longer than `ms`. */
async function within<T>(
  ms: number,
  others: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
  reason: () => Error = timeoutError,
): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(reason()), ms);
  const signal = AbortSignal.any([...others, late.signal]);
  return await work(signal).finally(() => clearTimeout(timer));
}

function connectHttp(plan: HttpPlan, request: ConnectRequest): Connecting {
  const { timeoutMs } = request.plan;
  const held: Held = {};
  /** Ends with a reason of its own kind: what the transports fetch with must look aborted to them, not failed. */
  const life = new AbortController();
  const others = [request.signal, life.signal];
  const end = async (): Promise<void> => {
    life.abort();
    await held.transport?.close().catch(() => undefined);
  };
  const opening = within(timeoutMs, others, (signal) =>
    openHttp(plan, request, held, { life: life.signal, signal }).catch((error: unknown) => {
      // A refusal may be followed by a login over the same transport; nothing follows this.
      if (signal.aborted) life.abort();
      throw error;
    }),
  );
  const done = opening.then((opened) => connectionOf(opened, request, end));
  return {
    finishAuth: (answer) =>
      within(timeoutMs, others, (signal) => orAborted(held.transport?.finishAuth(answer) ?? Promise.resolve(), signal)),
    done,
    facts: () => undefined,
    end,
  };
}

/** Starts or reaches the server and shakes hands, within its time-out. `done` rejects; see failures.ts. */
export function connect(request: ConnectRequest): Connecting {
  const { transport: plan, timeoutMs } = request.plan;
  if (plan.kind === "http") return connectHttp(plan, request);
  const start = (): StdioTransport => new StdioTransport({ ...plan, inherit: request.inherit, processes: request.processes });
  let transport = start();
  const opening = within(timeoutMs, [request.signal], (signal) =>
    open(request, signal, transport).catch((error: unknown) => {
      if (!(error instanceof ProtocolError && REFUSED_CODES.has(error.code))) throw error;
      signal.throwIfAborted();
      transport = start();
      return open(request, signal, transport, "negotiated");
    }),
  );
  return {
    finishAuth: async () => undefined,
    done: opening.then((opened) => connectionOf(opened, request, () => transport.close())),
    facts: () => ({ exit: transport.exit, stderr: transport.stderr(), junk: transport.junk() }),
    end: () => transport.close(),
  };
}
