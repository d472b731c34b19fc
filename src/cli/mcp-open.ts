/** What every `thndrs mcp` command starts from: the servers of this workspace, and running ones. Refuses: printing. */
import { createPolicy, type ToolPolicy } from "../agent/policy.ts";
import { version } from "../app/version.ts";
import { createProcessOwner } from "../base/process.ts";
import { redact } from "../base/redact.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { type Credentials, createCredentials } from "../config/credentials.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { storedLogin } from "../mcp/held-login.ts";
import { type ListedServer, type Plans, readPlans } from "../mcp/plans.ts";
import { type McpServers, openServers } from "../mcp/servers.ts";
import type { Diagnostic } from "../types/event.ts";
import type { CommandContext } from "./command.ts";

export type McpPlace = {
  readonly root: string;
  readonly loaded: LoadedConfig;
  readonly credentials: Credentials;
  readonly plans: Plans;
};

/** @throws UserError for a broken configuration */
export async function openMcpPlace(context: CommandContext): Promise<McpPlace> {
  const { env, flags, cwd } = context;
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  const credentials = createCredentials({ env, configHome: loaded.homes.config, signal: context.signal });
  const plans = await readPlans({ loaded, env, root, trustProject: flags.trustProject === true });
  return { root, loaded, credentials, plans };
}

/** @throws UserError when there is none of that name, or it may not be started */
export function findServer(place: McpPlace, name: string): ListedServer {
  const { listed, diagnostics } = place.plans;
  const found = listed.find((server) => server.name === name);
  if (!found) {
    const known = listed.map((server) => server.name).join(", ");
    throw new UserError(`there is no MCP server "${name}"${known === "" ? "" : `; there are: ${known}`}`);
  }
  if (found.plan) return found;
  if (found.state === "disabled") throw new UserError(`MCP server ${name} is not enabled (enabled = false in ${found.from})`);
  const why = diagnostics.find((diagnostic) => diagnostic.path === found.from && diagnostic.severity === "warning");
  const message = why?.message ?? `MCP server ${name} cannot be started`;
  throw new UserError(message, found.state === "untrusted" ? EXIT.policy : EXIT.usage);
}

/** What decides, in a run with these flags, which tools there are. */
export function policyOf({ flags }: CommandContext, { loaded }: McpPlace): ToolPolicy {
  return createPolicy(loaded.config.authority, flags.allowTool ?? [], flags.denyTool ?? []);
}

/** @throws UserError where no server may be started: a run here starts none either, and has none of their tools */
function demandStarting({ loaded }: McpPlace): void {
  if (loaded.config.authority !== "read-only") return;
  throw new UserError("authority is read-only: no MCP server is started, and no tool of one exists", EXIT.policy);
}

export type RunningServers = {
  readonly servers: McpServers;
  readonly diagnostics: readonly Diagnostic[];
  /** Secrets of these servers, and our own, are hidden. */
  readonly hide: (text: string) => string;
};

/**
 * Starts servers, waits until each is ready or has failed, lets `use` work with them, and ends them. A signal on the way decides
 * the exit code; servers that never got ready because of it are not reported.
 * @throws UserError under an authority that starts none
 */
export async function withServers(
  context: CommandContext,
  place: McpPlace,
  chosen: readonly ListedServer[],
  use: (running: RunningServers) => Promise<ExitCode>,
): Promise<ExitCode> {
  demandStarting(place);
  const { root, credentials } = place;
  const processes = context.processes ?? createProcessOwner();
  const diagnostics: Diagnostic[] = [];
  const longest = Math.max(1000, ...chosen.map((server) => server.plan?.timeoutMs ?? 0));
  const servers = openServers(
    { ...place.plans, listed: chosen },
    {
      version,
      root,
      processes,
      inherit: context.env,
      // Connecting and listing each have the server's own time-out; here nobody goes on without it.
      startTimeoutMs: 2 * longest + 1000,
      authOf: (plan) => storedLogin(plan, credentials),
      diagnose: (diagnostic) => void diagnostics.push(diagnostic),
    },
  );
  const hide = (text: string): string => redact(text, { exact: [...credentials.knownValues(), ...servers.secrets()] });
  try {
    await servers.ready(context.signal);
    const code = context.signal.aborted ? EXIT.failed : await use({ servers, diagnostics, hide });
    return signalExit(context.signal) ?? code;
  } finally {
    await servers.close();
    await processes.reapAll();
  }
}
