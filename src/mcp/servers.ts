/**
 * All servers of a run behind one face: started together in the background, waited for once, their tools in one stable list.
 * Loads nothing of the protocol itself. Refuses: reading configuration.
 */
import { cutChars, sayDuration } from "../base/text.ts";
import type { HeldLogin } from "./held-login.ts";
import type { Plans, ServerPlan } from "./plans.ts";
import { Server, type ServerOptions, type ServerState } from "./server.ts";
import type { OutsideTool } from "./tool-entries.ts";
import { atMost } from "./waiting.ts";

export type ServersOptions = Omit<ServerOptions, "plan" | "onChange" | "auth"> & {
  /** How long the first request waits for servers (`mcp.start_timeout`). */
  readonly startTimeoutMs: number;
  /** The stored login of a remote server, if there is one. */
  readonly authOf: (plan: ServerPlan) => Promise<HeldLogin | undefined>;
};

export type ServerStatus = {
  readonly name: string;
  readonly state: ServerState;
  readonly reason: string;
  readonly tools: readonly string[];
  /** The newest of a stdio server's stderr. */
  readonly stderr: string;
};

export interface McpServers {
  /** The same array while nothing changed. */
  entries(): readonly OutsideTool[];
  /** Waits for servers that are starting, at most the start time-out, and for changed lists of tools; names who is missing. */
  ready(signal: AbortSignal): Promise<void>;
  /** Servers that are ready, by name. */
  names(): readonly string[];
  /** Values of their variables and headers that must not be shown. */
  secrets(): readonly string[];
  status(): readonly ServerStatus[];
  /** Ends servers that are gone or changed, starts new ones. */
  update(plans: Plans): Promise<void>;
  close(): Promise<void>;
}

function plansOf(plans: Plans): Map<string, ServerPlan> {
  return new Map(plans.listed.flatMap((server) => (server.plan ? [[server.name, server.plan] as const] : [])));
}

class Fleet implements McpServers {
  readonly #options: ServersOptions;
  /** In the order of the configuration, so that the catalog has the same order in every run. */
  #plans: Map<string, ServerPlan>;
  readonly #servers = new Map<string, Server>();
  readonly #starting = new Map<string, Promise<void>>();
  readonly #begun = new WeakSet<ServerPlan>();
  readonly #logins = new Set<HeldLogin>();
  /** Named as missing already; not waited for again. */
  readonly #missed = new Set<string>();
  /** Left out for their names, and said so. */
  readonly #doubles = new WeakSet<OutsideTool>();
  #entries: readonly OutsideTool[] = [];
  #closed = false;

  constructor(plans: Plans, options: ServersOptions) {
    this.#options = options;
    this.#plans = plansOf(plans);
    for (const plan of this.#plans.values()) this.#start(plan);
  }

  #inOrder(): readonly Server[] {
    return [...this.#plans.keys()].flatMap((name) => this.#servers.get(name) ?? []);
  }

  #refresh(): void {
    const next = this.#distinct(this.#inOrder().flatMap((server) => server.entries));
    const same = next.length === this.#entries.length && next.every((entry, index) => entry === this.#entries[index]);
    if (!same) this.#entries = next;
  }

  /** One name twice is a request no provider takes. Names differ by a hash of 32 bits, for which a server can search. */
  #distinct(entries: readonly OutsideTool[]): readonly OutsideTool[] {
    const owners = new Map<string, OutsideTool>();
    for (const entry of entries) {
      const owner = owners.get(entry.spec.name);
      if (!owner) owners.set(entry.spec.name, entry);
      else if (!this.#doubles.has(entry)) {
        this.#doubles.add(entry);
        const tool = cutChars(entry.mcp.tool, 100);
        const message = `MCP server ${entry.mcp.server}, tool ${tool}: left out: a tool of ${owner.mcp.server} has the same name`;
        this.#options.diagnose({ severity: "warning", code: "mcp.name", message });
      }
    }
    return [...owners.values()];
  }

  #start(plan: ServerPlan): void {
    if (this.#begun.has(plan)) return;
    this.#begun.add(plan);
    const work = this.#launch(plan).finally(() => {
      if (this.#starting.get(plan.name) === work) this.#starting.delete(plan.name);
    });
    this.#starting.set(plan.name, work);
  }

  async #launch(plan: ServerPlan): Promise<void> {
    const { startTimeoutMs: _, authOf, ...rest } = this.#options;
    // A login that cannot be read is none: the server then says that it needs one.
    const auth = plan.transport.kind === "http" ? await authOf(plan).catch(() => undefined) : undefined;
    if (this.#closed || this.#plans.get(plan.name) !== plan) return;
    if (auth) this.#logins.add(auth);
    const server = new Server({ ...rest, plan, onChange: () => this.#refresh(), ...(auth && { auth }) });
    this.#servers.set(plan.name, server);
    await server.started;
  }

  #sayMissing(): void {
    const names = [...this.#starting.keys()].filter((name) => !this.#missed.has(name));
    if (names.length === 0) return;
    for (const name of names) this.#missed.add(name);
    const after = `not ready after ${sayDuration(this.#options.startTimeoutMs)}`;
    const message = `MCP server${names.length > 1 ? "s" : ""} ${names.join(", ")} ${after}; going on without`;
    this.#options.diagnose({ severity: "warning", code: "mcp.late", message });
  }

  entries(): readonly OutsideTool[] {
    return this.#entries;
  }

  async ready(signal: AbortSignal): Promise<void> {
    const limit = this.#options.startTimeoutMs;
    const starts = [...this.#starting].flatMap(([name, work]) => (this.#missed.has(name) ? [] : [work]));
    const lists = this.#inOrder().map((server) => server.settled(limit));
    await atMost(limit, Promise.all([...starts, ...lists]), signal);
    if (!signal.aborted) this.#sayMissing();
  }

  names(): readonly string[] {
    return this.#inOrder().flatMap((server) => (server.state === "ready" ? [server.plan.name] : []));
  }

  secrets(): readonly string[] {
    const declared = [...this.#plans.values()].flatMap((plan) => plan.secrets);
    return [...declared, ...[...this.#logins].flatMap((login) => login.secrets())];
  }

  status(): readonly ServerStatus[] {
    return this.#inOrder().map((server) => ({
      name: server.plan.name,
      state: server.state,
      reason: server.reason,
      tools: server.entries.map((entry) => entry.spec.name),
      stderr: server.stderr,
    }));
  }

  async update(plans: Plans): Promise<void> {
    const wanted = plansOf(plans);
    for (const [name, plan] of wanted) {
      const known = this.#plans.get(name);
      if (known && JSON.stringify(known) === JSON.stringify(plan)) wanted.set(name, known);
    }
    const gone = this.#inOrder().filter((server) => wanted.get(server.plan.name) !== server.plan);
    this.#plans = wanted;
    for (const server of gone) {
      this.#servers.delete(server.plan.name);
      this.#missed.delete(server.plan.name);
    }
    this.#refresh();
    await Promise.all(gone.map((server) => server.close()));
    for (const plan of wanted.values()) this.#start(plan);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const login of this.#logins) login.close();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }
}

/** Starts every server that is ready to be started; nothing is waited for. */
export function openServers(plans: Plans, options: ServersOptions): McpServers {
  return new Fleet(plans, options);
}
