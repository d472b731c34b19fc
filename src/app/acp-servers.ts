/** MCP servers between thndrs and the other side of an ACP connection: ours for an external agent, an editor's for us. */
import type { McpServer } from "../acp/protocol.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { McpServerSettings } from "../config/schema.ts";
import { type PlanRequest, readPlans } from "../mcp/plans.ts";

const pairs = (values: Readonly<Record<string, string>>): { name: string; value: string }[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

/** Our servers that are ready to start, as an agent is told of them. What they need (variables, headers) goes with them. */
export async function passedServers(request: PlanRequest): Promise<McpServer[]> {
  const plans = await readPlans(request);
  return plans.listed.flatMap(({ plan }): McpServer[] => {
    if (!plan) return [];
    const { name, transport } = plan;
    if (transport.kind === "stdio") {
      const { command, args, env } = transport;
      return [{ name, command, args: [...args], env: pairs(env) }];
    }
    return [{ type: transport.sse ? "sse" : "http", name, url: transport.url, headers: pairs(transport.headers) }];
  });
}

const CALL_MS = 20_000;

function settingsOf(server: McpServer): McpServerSettings {
  const record = (values: readonly { readonly name: string; readonly value: string }[]): Record<string, string> =>
    Object.fromEntries(values.map(({ name, value }) => [name, value]));
  const base = { name: server.name, args: [], env: {}, headers: {}, enabled: true, timeoutMs: CALL_MS };
  if ("type" in server) return { ...base, url: server.url, headers: record(server.headers) };
  return { ...base, command: server.command, args: server.args, env: record(server.env) };
}

/** The configuration with an editor's servers added; ours keep their names. */
export function withServers(loaded: LoadedConfig, servers: readonly McpServer[]): LoadedConfig {
  if (servers.length === 0) return loaded;
  const { config } = loaded;
  const given = Object.fromEntries(servers.map((server) => [server.name, settingsOf(server)]));
  return { ...loaded, config: { ...config, mcp: { ...config.mcp, servers: { ...given, ...config.mcp.servers } } } };
}
