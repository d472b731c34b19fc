/**
 * Trying out a configured agent without a conversation of ours: what it says of itself, one prompt in a session of its own.
 * Whatever it asks for is refused. Refuses: logging, rendering.
 */
import { type AgentHost, type AgentLink, startAgent } from "../acp/agent-link.ts";
import { refuse } from "../acp/refusal.ts";
import { AgentUpdates } from "../acp/updates.ts";
import { childEnvironment } from "../base/child-env.ts";
import { field } from "../base/json.ts";
import type { ProcessOwner } from "../base/process.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { AcpAgentSettings } from "../config/schema.ts";
import { resolveProviders } from "../provider/presets.ts";
import type { RunEvent } from "../types/event.ts";
import { keyVariables } from "./model.ts";
import { version } from "./version.ts";

export type ProbeParts = {
  readonly agent: AcpAgentSettings;
  readonly loaded: LoadedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly processes: ProcessOwner;
  readonly signal: AbortSignal;
};

export type Inspected = {
  readonly protocolVersion: number;
  readonly agent: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities: unknown;
  readonly authMethods: readonly { readonly id: string; readonly name: string }[];
};

export type Probed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

const NOTHING_LENT = "not during a test: this is a smoke test";

function refusing(update: (params: unknown) => void): AgentHost {
  const no = (): never => {
    throw refuse(NOTHING_LENT);
  };
  return {
    update,
    "session/request_permission": () => ({ outcome: { outcome: "cancelled" } }),
    "fs/read_text_file": no,
    "fs/write_text_file": no,
    "terminal/create": no,
    "terminal/output": no,
    "terminal/wait_for_exit": no,
    "terminal/kill": no,
    "terminal/release": no,
  };
}

async function withAgent<T>(
  parts: ProbeParts,
  update: (params: unknown) => void,
  work: (link: AgentLink) => Promise<Probed<T>>,
): Promise<Probed<T>> {
  const { agent, env, cwd, loaded, processes, signal } = parts;
  const providers = resolveProviders(env, loaded.config.providers);
  const credentialNames = keyVariables(providers, loaded);
  const inherited = childEnvironment(env, { allow: loaded.config.shell.envAllow, credentialNames });
  const command = {
    name: agent.name,
    argv: [agent.command, ...agent.args],
    cwd,
    env: { ...inherited, ...agent.env },
    timeoutMs: agent.timeoutMs,
    version,
  };
  const started = await startAgent(command, refusing(update), processes, { write: false, terminal: false }, signal);
  if (!started.ok) return started;
  try {
    return await work(started.link);
  } finally {
    await started.link.end();
  }
}

/** Starts the agent, shakes hands, ends it. */
export function inspectAgent(parts: ProbeParts): Promise<Probed<Inspected>> {
  return withAgent(
    parts,
    () => undefined,
    async ({ info }) => ({
      ok: true,
      value: {
        protocolVersion: info.protocolVersion,
        agent: info.agentInfo ? { name: info.agentInfo.name, version: info.agentInfo.version } : undefined,
        capabilities: info.agentCapabilities ?? {},
        authMethods: (Array.isArray(info.authMethods) ? info.authMethods : []).map(({ id, name }) => ({ id, name })),
      },
    }),
  );
}

/** One prompt, answered within the agent's time limit. `heard` gets the run events as they come. */
export function smokeAgent(
  parts: ProbeParts,
  prompt: string,
  heard: (event: RunEvent) => void,
): Promise<Probed<{ readonly text: string; readonly stopReason: string }>> {
  const sink = {
    turnId: "smoke",
    emit: heard,
    redact: (text: string) => text,
    redactArguments: (value: Readonly<Record<string, unknown>>) => value,
    terminalText: () => undefined,
    now: () => performance.now(),
  };
  const updates = new AgentUpdates(sink, undefined);
  return withAgent(
    parts,
    (params) => updates.take(field(params, "update")),
    async (link) => {
      const { signal } = parts;
      const session = await link.ask("session/new", { cwd: parts.cwd, mcpServers: [] }, { signal });
      if (!session.ok) return session;
      const content = [{ type: "text", text: prompt } as const];
      const answer = await link.ask("session/prompt", { sessionId: session.value.sessionId, prompt: content }, { signal });
      const { last } = updates.finish("ended");
      return answer.ok ? { ok: true, value: { text: last, stopReason: answer.value.stopReason } } : answer;
    },
  );
}
