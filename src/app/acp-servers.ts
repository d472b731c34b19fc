/** MCP servers between thndrs and the other side of an ACP connection: ours for an external agent, an editor's for us. */
import type { McpServer } from "../acp/protocol.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type LiteralServer, type PlanRequest, readPlans, type ServerPlan } from "../mcp/plans.ts";
import type { Diagnostic } from "../types/event.ts";

const pairs = (values: Readonly<Record<string, string>>): { name: string; value: string }[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

function passed({ name, transport }: ServerPlan): McpServer {
  if (transport.kind === "stdio") {
    const { command, args, env } = transport;
    return { name, command, args: [...args], env: pairs(env) };
  }
  return { type: transport.sse ? "sse" : "http", name, url: transport.url, headers: pairs(transport.headers) };
}

/** What a plan says that the protocol has no words for: without it the server would be another one than was configured. */
function unsayable({ tools, transport }: ServerPlan, places: readonly string[]): readonly string[] {
  const elsewhere = transport.kind === "stdio" && !places.includes(transport.cwd);
  return [...(tools ? ["its list of allowed tools (tools)"] : []), ...(elsewhere ? ["its directory (cwd)"] : [])];
}

export type PassedServers = { readonly servers: readonly McpServer[]; readonly diagnostics: readonly Diagnostic[] };

/**
 * Our servers that are ready to start, as an agent is told of them; what they need (variables, headers) goes with them. `cwd`:
 * where the agent works.
 */
export async function passedServers(request: PlanRequest & { readonly cwd: string }): Promise<PassedServers> {
  const plans = await readPlans(request);
  const servers: McpServer[] = [];
  const diagnostics = [...plans.diagnostics];
  for (const plan of plans.listed.flatMap((listed) => listed.plan ?? [])) {
    const lost = unsayable(plan, [request.root, request.cwd]);
    if (lost.length === 0) servers.push(passed(plan));
    else {
      const message = `MCP server ${plan.name} is not passed to the agent, which cannot be told ${lost.join(" and ")}`;
      diagnostics.push({ severity: "warning", code: "mcp.passed", message, path: plan.from });
    }
  }
  return { servers, diagnostics };
}

const CALL_MS = 20_000;

function settingsOf(server: McpServer): LiteralServer {
  const record = (values: readonly { readonly name: string; readonly value: string }[]): Record<string, string> =>
    Object.fromEntries(values.map(({ name, value }) => [name, value]));
  const sse = "type" in server && server.type === "sse";
  const base = {
    name: server.name,
    args: [],
    env: {},
    headers: {},
    enabled: true,
    timeoutMs: CALL_MS,
    literal: true,
    sse,
  } as const;
  if ("url" in server) return { ...base, url: server.url, headers: record(server.headers) };
  return { ...base, command: server.command, args: server.args, env: record(server.env) };
}

/** The configuration with an editor's servers added; ours keep their names. */
export function withServers(loaded: LoadedConfig, servers: readonly McpServer[]): LoadedConfig {
  if (servers.length === 0) return loaded;
  const { config } = loaded;
  const given = Object.fromEntries(servers.map((server) => [server.name, settingsOf(server)]));
  return { ...loaded, config: { ...config, mcp: { ...config.mcp, servers: { ...given, ...config.mcp.servers } } } };
}
