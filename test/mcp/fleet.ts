/** Servers of one test: fake ones by their manners, or any plan; what they say; and their end. */
import { join } from "node:path";
import { createProcessOwner, type ProcessOwner } from "../../src/base/process.ts";
import { openWorkspace } from "../../src/base/workspace.ts";
import type { ListedServer, ServerPlan } from "../../src/mcp/plans.ts";
import { type McpServers, openServers, type ServersOptions } from "../../src/mcp/servers.ts";
import { createBackgroundProcesses } from "../../src/tools/background.ts";
import type { ToolContext, ToolResult } from "../../src/tools/tool.ts";
import type { Diagnostic } from "../../src/types/event.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import type { Manners } from "./fake-server.ts";

export const FAKE = join(import.meta.dir, "fake-server.ts");

/** How a fake server is started. */
export function fakeCommand(manners: Manners): readonly string[] {
  return [process.execPath, FAKE, JSON.stringify(manners)];
}

export function stdioPlan(name: string, argv: readonly string[], more: Partial<ServerPlan> = {}): ServerPlan {
  const [command = "", ...args] = argv;
  return {
    name,
    transport: { kind: "stdio", command, args, env: {}, cwd: import.meta.dir },
    timeoutMs: 5000,
    from: "test",
    secrets: [],
    ...more,
  };
}

export function httpPlan(name: string, url: string, more: Partial<ServerPlan> = {}): ServerPlan {
  return {
    name,
    transport: { kind: "http", url, headers: {}, sse: false },
    timeoutMs: 5000,
    from: "test",
    secrets: [],
    ...more,
  };
}

export function listed(plans: readonly ServerPlan[]): readonly ListedServer[] {
  return plans.map((plan) => ({ name: plan.name, from: plan.from, target: "", state: "configured", plan }));
}

export type Fleet = AsyncDisposable & {
  readonly servers: McpServers;
  readonly processes: ProcessOwner;
  readonly diagnostics: readonly Diagnostic[];
  readonly dir: TempDir;
  /** Waits for the servers as the first request does. */
  ready(): Promise<void>;
  names(): readonly string[];
  call(name: string, input?: object, signal?: AbortSignal): Promise<ToolResult>;
};

export async function openFleet(plans: readonly ServerPlan[], options: Partial<ServersOptions> = {}): Promise<Fleet> {
  const dir = await tempDir();
  const processes = createProcessOwner();
  const diagnostics: Diagnostic[] = [];
  const workspace = await openWorkspace(dir.path);
  const servers = openServers(
    { listed: listed(plans), diagnostics: [], files: [] },
    {
      version: "0.0.0",
      root: dir.path,
      processes,
      inherit: process.env,
      startTimeoutMs: 10_000,
      authOf: async () => undefined,
      diagnose: (diagnostic) => void diagnostics.push(diagnostic),
      ...options,
    },
  );
  const background = createBackgroundProcesses({ processes, onEffect: () => undefined });
  const context: Omit<ToolContext, "signal"> = {
    workspace,
    env: {},
    callId: "call-1",
    background,
    settings: {
      shellTimeoutMs: 1000,
      shellMaxTimeoutMs: 1000,
      shellEnvAllow: [],
      webAllowHosts: [],
      webSearch: "none",
      credential: () => undefined,
    },
  };
  return {
    servers,
    processes,
    diagnostics,
    dir,
    ready: () => servers.ready(new AbortController().signal),
    names: () => servers.entries().map((entry) => entry.spec.name),
    async call(name, input = {}, signal = new AbortController().signal) {
      const entry = servers.entries().find((known) => known.spec.name === name);
      if (!entry) throw new Error(`no tool ${name}; there are ${servers.entries().map((known) => known.spec.name)}`);
      const tool = await entry.load();
      return tool.run(tool.input.parse(input), { ...context, signal });
    },
    async [Symbol.asyncDispose]() {
      await servers.close();
      await processes.reapAll();
      dir.remove();
    },
  };
}
