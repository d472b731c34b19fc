/**
 * The life of one configured server in a run: started in the background, its tools kept current, its calls answered whatever
 * happens to it, restarted a few times when it dies (M02, M04, M11, M12). Refuses: deciding which servers there are.
 */
import { failed, type ToolResult } from "../tools/tool.ts";
import type { Diagnostic } from "../types/event.ts";
import type { Connecting, Connection, ConnectRequest, ListedTool } from "./connection.ts";
import type { ServerPlan } from "./plans.ts";
import { toolResult } from "./results.ts";
import { type OutsideTool, toolEntries } from "./tool-entries.ts";
import { atMost, orAborted } from "./waiting.ts";

/** How often a server that ended is started again within RESTART_MS. */
const MAX_RESTARTS = 3;
const RESTART_MS = 5 * 60_000;
/** Between two fetches of a list of tools: a server may announce a change with every list it gives. */
const LIST_PAUSE_MS = 1000;
/** Messages about one server in a run, two a tool: one that renames its tools for ever has nothing more to say. */
const MAX_SAID = 2000;
/** How long a finished call waits for the list of tools that changed under it. */
const LIST_WAIT_MS = 2000;

export type ServerState = "starting" | "ready" | "failed" | "ended" | "closed";

export type ServerOptions = Omit<ConnectRequest, "onListChanged" | "onClosed" | "signal"> & {
  readonly diagnose: (diagnostic: Diagnostic) => void;
  /** The entries or the state have changed. */
  readonly onChange: () => void;
};

type Door = typeof import("./connection.ts") & typeof import("./failures.ts");

/** Lazy door: the protocol's package, with the first server that is started. */
async function openDoor(): Promise<Door> {
  const [connection, failures] = await Promise.all([import("./connection.ts"), import("./failures.ts")]);
  return { ...connection, ...failures };
}

/** There is no server to call, and there will be none. */
class ServerGone extends Error {
  override readonly name = "ServerGone";
}

export class Server {
  readonly plan: ServerPlan;
  readonly #options: ServerOptions;
  readonly #closing = new AbortController();
  readonly #said = new Set<string>();
  #state: ServerState = "starting";
  #reason = "";
  #entries: readonly OutsideTool[] = [];
  #tools: readonly ListedTool[] = [];
  #connecting: Connecting | undefined;
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #listing: Promise<void> = Promise.resolve();
  #listAgain = false;
  #restarts: readonly number[] = [];
  #listedAt = Number.NEGATIVE_INFINITY;
  /** Resolves when the first start has succeeded or failed; never rejects. */
  readonly started: Promise<void>;

  constructor(options: ServerOptions) {
    this.plan = options.plan;
    this.#options = options;
    this.started = this.#start();
  }

  get state(): ServerState {
    return this.#state;
  }
  /** Why it failed or ended; "" while all is well. */
  get reason(): string {
    return this.#reason;
  }
  get entries(): readonly OutsideTool[] {
    return this.#entries;
  }
  get tools(): readonly ListedTool[] {
    return this.#tools;
  }
  /** What the server calls itself. */
  get identity(): Connection["server"] {
    return this.#connection?.server;
  }
  get protocol(): string | undefined {
    return this.#connection?.protocol;
  }
  /** The newest of a stdio server's stderr. */
  get stderr(): string {
    return this.#connecting?.facts()?.stderr ?? "";
  }

  /** Resolves when no change of its tools is being fetched, at most after `ms`. */
  settled(ms: number): Promise<void> {
    return atMost(ms, this.#listing);
  }

  async #start(): Promise<void> {
    try {
      const connection = await this.#open();
      await this.#list(connection);
      this.#setState("ready", "");
    } catch (error) {
      if (this.#state === "closed") return;
      await this.#fail(error);
    }
    this.#sayJunk();
  }

  async #fail(error: unknown): Promise<void> {
    const reason = await this.#explain(error);
    this.#entries = [];
    this.#setState("failed", reason);
    this.#say({ severity: "warning", code: "mcp.server", message: `MCP server ${this.plan.name}: ${reason}` });
    await this.#connecting?.end();
  }

  async #explain(error: unknown): Promise<string> {
    if (error instanceof ServerGone) return error.message;
    const { sayFailure } = await openDoor();
    const facts = this.#connecting?.facts();
    const { name, timeoutMs } = this.plan;
    return sayFailure(error, { server: name, timeoutMs, ...(facts && { exit: facts.exit, stderr: facts.stderr }) });
  }

  #setState(state: ServerState, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = state;
    this.#reason = reason;
    this.#options.onChange();
  }

  #say(diagnostic: Diagnostic): void {
    if (this.#state === "closed" || this.#said.has(diagnostic.message) || this.#said.size >= MAX_SAID) return;
    this.#said.add(diagnostic.message);
    this.#options.diagnose(diagnostic);
  }

  /** One diagnostic, however much junk there is (M01). */
  #sayJunk(): void {
    const junk = this.#connecting?.facts()?.junk;
    if (!junk || junk.lines === 0 || this.#said.has("junk")) return;
    this.#said.add("junk");
    const message = `MCP server ${this.plan.name}: what it prints besides the protocol is skipped ("${junk.sample}")`;
    this.#options.diagnose({ severity: "info", code: "mcp.junk", message });
  }

  /** The connection, made or remade; callers that come meanwhile share it. */
  #open(): Promise<Connection> {
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #connect(): Promise<Connection> {
    const { connect } = await openDoor();
    this.#closing.signal.throwIfAborted();
    const { diagnose: _, onChange: __, ...rest } = this.#options;
    const connecting = connect({
      ...rest,
      signal: this.#closing.signal,
      onListChanged: () => void this.#relist(),
      onClosed: () => this.#onClosed(connecting),
    });
    const old = this.#connecting;
    this.#connecting = connecting;
    const connection = await connecting.done;
    this.#connection = connection;
    // An expired session's streams; the call that noticed does not wait for their end.
    void old?.end();
    return connection;
  }

  #onClosed(connecting: Connecting): void {
    if (this.#connecting !== connecting || this.#state !== "ready") return;
    this.#connection = undefined;
    const exit = connecting.facts()?.exit;
    this.#setState("ended", exit ? `it ${exit}` : "the connection was closed");
  }

  async #list(connection: Connection): Promise<void> {
    const { plan } = this.#options;
    const limit = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(plan.timeoutMs)]);
    const { tools, notes } = await connection.listTools(limit);
    this.#tools = tools;
    for (const note of notes) {
      this.#say({ severity: "warning", code: "mcp.tools", message: `MCP server ${plan.name}: ${note}` });
    }
    this.#entries = toolEntries({
      server: plan.name,
      tools,
      allowed: plan.tools,
      call: (tool, input, signal) => this.call(tool, input, signal),
      diagnose: (diagnostic) => this.#say(diagnostic),
    });
  }

  /** The server says that its tools changed. One fetch at a time; a change during it is fetched after it. */
  #relist(): Promise<void> {
    if (this.#listAgain) return this.#listing;
    this.#listAgain = true;
    this.#listing = this.#listing.then(async () => {
      const wait = this.#listedAt + LIST_PAUSE_MS - performance.now();
      if (wait > 0) await atMost(wait, new Promise(() => undefined), this.#closing.signal);
      this.#listAgain = false;
      this.#listedAt = performance.now();
      const connection = this.#connection;
      if (!connection || !(this.#state === "ready" || this.#state === "starting")) return;
      try {
        await this.#list(connection);
        this.#options.onChange();
      } catch (error) {
        const reason = await this.#explain(error);
        const message = `MCP server ${this.plan.name}: its changed list of tools cannot be read: ${reason}`;
        this.#say({ severity: "warning", code: "mcp.tools", message });
      }
    });
    return this.#listing;
  }

  /** Calls a tool by its original name. Never rejects: what goes wrong is the result. */
  async call(tool: string, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult> {
    try {
      const answer = await this.#callOnce(tool, input, signal);
      await this.settled(LIST_WAIT_MS);
      return toolResult(answer);
    } catch (error) {
      if (signal.aborted) return { ...failed("Cancelled. The server was told to stop."), status: "cancelled" };
      return failed(`${tool} of MCP server ${this.plan.name} failed: ${await this.#explain(error)}.`);
    } finally {
      this.#sayJunk();
    }
  }

  async #callOnce(tool: string, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    const connection = await orAborted(this.#live(), signal);
    try {
      return await connection.callTool(tool, input, signal);
    } catch (error) {
      if (signal.aborted || !(await this.#isExpired(error, connection))) throw error;
      // M12: a new session, without the old id, and the call once more; then whatever happens is the answer.
      const fresh = await orAborted(this.#renew(connection), signal);
      return await fresh.callTool(tool, input, signal);
    }
  }

  async #isExpired(error: unknown, connection: Connection): Promise<boolean> {
    const { httpStatus } = await openDoor();
    const status = httpStatus(error);
    return connection.hasSession && (status === 404 || status === 400);
  }

  /** A connection in place of one whose session has expired; several calls that notice it share the new one. */
  async #renew(old: Connection): Promise<Connection> {
    if (this.#connection && this.#connection !== old) return this.#connection;
    return this.#open();
  }

  async #live(): Promise<Connection> {
    if (this.#connection) return this.#connection;
    if (this.#state === "closed") throw new ServerGone("the run is over");
    if (this.#opening) return this.#opening;
    const now = performance.now();
    this.#restarts = this.#restarts.filter((time) => now - time < RESTART_MS);
    if (this.#restarts.length >= MAX_RESTARTS)
      throw new ServerGone(`${this.#reason}, and was restarted ${MAX_RESTARTS} times before`);
    this.#restarts = [...this.#restarts, now];
    await this.#connecting?.end();
    const connection = await this.#open();
    this.#setState("ready", "");
    void this.#relist();
    return connection;
  }

  /** Ends the server and everything it started. Idempotent. */
  async close(): Promise<void> {
    this.#state = "closed";
    this.#entries = [];
    this.#closing.abort("closed");
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
    await this.#connecting?.end();
  }
}
