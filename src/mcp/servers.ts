/**
 * All servers of a run behind one face: started together in the background, waited for once, their tools in one stable list.
 * Loads nothing of the protocol itself. Refuses: reading configuration.
 */
import { sayDuration } from "../base/text.ts";
import type { Elicit } from "./connection.ts";
import type { HeldLogin } from "./held-login.ts";
import type { Plans, ServerPlan } from "./plans.ts";
import { Server, type ServerOptions, type ServerState } from "./server.ts";
import type { OutsideTool } from "./tool-entries.ts";

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

export type { Elicit, Plans, ServerPlan };

/** Resolves after `ms`, or when the signal is aborted, and can be taken back. */
function pause(ms: number, signal: AbortSignal): { readonly over: Promise<void>; readonly clear: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = (): void => resolve();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) resolve();
  return {
    over: promise,
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}

function plansOf(plans: Plans): Map<string, ServerPlan> {
  return new Map(plans.listed.flatMap((server) => (server.plan ? [[server.name, server.plan] as const] : [])));
}

/** Starts every server that is ready to be started; nothing is waited for. */
export function openServers(plans: Plans, options: ServersOptions): McpServers {
  /** In the order of the configuration, so that the catalog has the same order in every run. */
  let current = new Map<string, ServerPlan>();
  const servers = new Map<string, Server>();
  const starting = new Map<string, Promise<void>>();
  const begun = new WeakSet<ServerPlan>();
  const logins = new Set<HeldLogin>();
  /** Named as missing already; not waited for again. */
  const missed = new Set<string>();
  let entries: readonly OutsideTool[] = [];
  let closed = false;

  const inOrder = (): readonly Server[] => [...current.keys()].flatMap((name) => servers.get(name) ?? []);
  const onChange = (): void => {
    const next = inOrder().flatMap((server) => server.entries);
    if (next.length === entries.length && next.every((entry, index) => entry === entries[index])) return;
    entries = next;
  };
  const launch = async (plan: ServerPlan): Promise<void> => {
    const { startTimeoutMs: _, authOf, ...rest } = options;
    const auth = plan.transport.kind === "http" ? await authOf(plan) : undefined;
    if (closed || current.get(plan.name) !== plan) return;
    if (auth) logins.add(auth);
    const server = new Server({ ...rest, plan, onChange, ...(auth && { auth }) });
    servers.set(plan.name, server);
    await server.started;
  };
  const start = (plan: ServerPlan): void => {
    if (begun.has(plan)) return;
    begun.add(plan);
    const work = launch(plan).finally(() => {
      if (starting.get(plan.name) === work) starting.delete(plan.name);
    });
    starting.set(plan.name, work);
  };
  const sayMissing = (): void => {
    const names = [...starting.keys()].filter((name) => !missed.has(name));
    if (names.length === 0) return;
    for (const name of names) missed.add(name);
    const after = `not ready after ${sayDuration(options.startTimeoutMs)}`;
    const message = `MCP server${names.length > 1 ? "s" : ""} ${names.join(", ")} ${after}; going on without`;
    options.diagnose({ severity: "warning", code: "mcp.late", message });
  };

  current = plansOf(plans);
  for (const plan of current.values()) start(plan);
  return {
    entries: () => entries,
    async ready(signal) {
      const starts = [...starting].flatMap(([name, work]) => (missed.has(name) ? [] : [work]));
      const lists = inOrder().map((server) => server.settled(options.startTimeoutMs));
      const limit = pause(options.startTimeoutMs, signal);
      await Promise.race([Promise.all([...starts, ...lists]), limit.over]);
      limit.clear();
      if (!signal.aborted) sayMissing();
    },
    names: () =>
      inOrder()
        .filter((server) => server.state === "ready")
        .map((server) => server.plan.name),
    secrets: () => [...[...current.values()].flatMap((plan) => plan.secrets), ...[...logins].flatMap((login) => login.secrets())],
    status: () =>
      inOrder().map((server) => ({
        name: server.plan.name,
        state: server.state,
        reason: server.reason,
        tools: server.entries.map((entry) => entry.spec.name),
        stderr: server.stderr,
      })),
    async update(next) {
      const wanted = plansOf(next);
      for (const [name, plan] of wanted) {
        const known = current.get(name);
        if (known && JSON.stringify(known) === JSON.stringify(plan)) wanted.set(name, known);
      }
      const gone = inOrder().filter((server) => wanted.get(server.plan.name) !== server.plan);
      current = wanted;
      for (const server of gone) {
        servers.delete(server.plan.name);
        missed.delete(server.plan.name);
      }
      onChange();
      await Promise.all(gone.map((server) => server.close()));
      for (const plan of wanted.values()) start(plan);
    },
    async close() {
      closed = true;
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}
