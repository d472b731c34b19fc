/**
 * The door to external agents of a run (`--model acp:NAME`): which one, and what of this run it is handed. Nothing of acp/ is
 * loaded before its first turn. Refuses: knowing the protocol.
 */
import { relative, resolve } from "node:path";
import type { McpServer } from "../acp/protocol.ts";
import type { Permit } from "../agent/calls.ts";
import type { TurnContext } from "../agent/loop.ts";
import type { Toolbox, ToolEntry } from "../agent/toolbox.ts";
import type { ProcessOwner } from "../base/process.ts";
import type { Workspace } from "../base/workspace.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { AcpAgentSettings } from "../config/schema.ts";
import type { EffectKind } from "../tools/tool.ts";
import type { Emit, TurnOutcome } from "../types/event.ts";
import type { Authority } from "../types/settings.ts";
import type { AcpTurnParts, AcpTurns } from "./acp-turn.ts";
import type { AskApproval, PermitGate } from "./permit.ts";

export type ExternalParts = Pick<AcpTurnParts, "env" | "redact" | "redactArguments" | "localSessionId" | "keepsLog"> & {
  readonly loaded: LoadedConfig;
  /** Now; an editor's modes change it within what the configuration allows. */
  readonly authority: () => Authority;
  readonly workspace: Workspace;
  readonly processes: ProcessOwner;
  readonly credentialNames: readonly string[];
  readonly toolbox: Toolbox;
  readonly gate: PermitGate;
  readonly ask: AskApproval | undefined;
  readonly emit: Emit;
  /** The log of a resumed session. */
  readonly logPath: string | undefined;
  /** `--no-mcp` */
  readonly noMcp: boolean;
  readonly trustProject: boolean;
};

export type ExternalAgent = { run(context: TurnContext): Promise<TurnOutcome> };

export interface ExternalAgents {
  of(agent: AcpAgentSettings): ExternalAgent;
  close(): Promise<void>;
}

const EFFECTS: Readonly<Record<string, EffectKind>> = {
  read: "read",
  search: "read",
  think: "read",
  fetch: "net",
  edit: "write",
  delete: "write",
  move: "write",
};

/** The tool a permission question is about, for whoever answers it. It cannot be run. */
function entryOf(name: string, effect: EffectKind): ToolEntry {
  return {
    spec: { name, description: "", parameters: {} },
    effect,
    parallel: false,
    load: () => Promise.reject(new Error(`${name} is the agent's own tool`)),
  };
}

/** Kinds whose questions are alike enough that a lasting answer may cover them all. */
const LASTING: ReadonlySet<string> = new Set(["read", "search", "think", "fetch", "edit"]);

/**
 * An agent's question as one about a call. The name is never that of a tool of ours, so that what was allowed to a tool is not
 * allowed to an agent; a command is shown, and remembered, word for word; other dangerous things by their title.
 */
function questionOf(
  agent: string,
  title: string,
  kind: string,
  raw: Readonly<Record<string, unknown>>,
  { root, cwd }: Pick<Workspace, "root" | "cwd">,
) {
  const { command, cwd: given = raw.workdir } = raw;
  const words = Array.isArray(command) ? command.map(String) : typeof command === "string" ? ["sh", "-c", command] : undefined;
  if (words && words.length > 0) {
    // An agent's commands begin in its own directory.
    const directory = relative(root, typeof given === "string" ? resolve(cwd, given) : cwd);
    return { name: `acp:${agent} ${kind}`, input: { argv: words, ...(directory !== "" && { cwd: directory }) } };
  }
  return { name: `acp:${agent} ${LASTING.has(kind) ? kind : title}`, input: { action: title, kind, input: raw } };
}

/** What print mode answers where a person would be asked; said, because nothing else shows it. */
function answerBySetting(parts: ExternalParts, title: string): "allow" | "reject" {
  const { permissions } = parts.loaded.config.acp;
  const message = `${permissions === "allow" ? "allowed" : "rejected"} without asking (acp.permissions = "${permissions}"): ${title}`;
  parts.emit({
    type: "diagnostic",
    diagnostic: {
      severity: permissions === "allow" ? "info" : "warning",
      code: "acp_permission",
      message: parts.redact(message),
    },
  });
  return permissions;
}

const NO_SERVERS: readonly McpServer[] = [];

/** The servers an agent may have while it may do more than read; what is left out of them is said. */
async function serversFor(parts: ExternalParts): Promise<readonly McpServer[]> {
  const { loaded, env, workspace, trustProject, noMcp, emit, redact } = parts;
  if (noMcp || loaded.config.authority === "read-only") return NO_SERVERS;
  const { passedServers } = await import("./acp-servers.ts");
  const { servers, diagnostics } = await passedServers({ loaded, env, root: workspace.root, cwd: workspace.cwd, trustProject });
  for (const diagnostic of diagnostics) {
    emit({ type: "diagnostic", diagnostic: { ...diagnostic, message: redact(diagnostic.message) } });
  }
  return servers.length === 0 ? NO_SERVERS : servers;
}

async function turnsFor(parts: ExternalParts, agent: AcpAgentSettings): Promise<AcpTurns> {
  // Lazy doors: the protocol's library costs more than a first request.
  const [{ createAcpTurns }, { previousSession }, servers] = await Promise.all([
    import("./acp-turn.ts"),
    import("./acp-history.ts"),
    serversFor(parts),
  ]);
  const { loaded, toolbox, gate, ask } = parts;
  const readOnly = (): boolean => parts.authority() === "read-only";
  return createAcpTurns({
    ...parts,
    agent,
    envAllow: loaded.config.shell.envAllow,
    mcpServers: () => (readOnly() ? NO_SERVERS : servers),
    previous: () => previousSession(parts.logPath, agent.name),
    offers: (effect) => effect === "read" || loaded.config.authority !== "read-only",
    allows: (effect) => effect === "read" || !readOnly(),
    async permit(name, _effect, input, signal): Promise<Permit> {
      const entry = toolbox.find(name);
      return entry ? gate.check(name, input, entry, signal) : { allowed: false, reason: `${name} is not available here.` };
    },
    async decide({ title, kind, input }, signal) {
      const effect = EFFECTS[kind] ?? "shell";
      if (readOnly() && effect !== "read") return "reject";
      if (!ask) return answerBySetting(parts, title);
      const question = questionOf(agent.name, title, kind, input, parts.workspace);
      const permit = await ask(question.name, question.input, entryOf(question.name, effect), signal);
      return permit.allowed ? "allow" : "reject";
    },
  });
}

/** Agents start with their first turn and live until `close`. */
export function createExternalAgents(parts: ExternalParts): ExternalAgents {
  const started = new Map<string, Promise<AcpTurns>>();
  return {
    of: (agent) => ({
      async run(context) {
        const turns = started.get(agent.name) ?? turnsFor(parts, agent);
        started.set(agent.name, turns);
        return (await turns).run(context);
      },
    }),
    async close() {
      // One that never came to be has nothing to close.
      await Promise.allSettled([...started.values()].map(async (turns) => (await turns).close()));
    },
  };
}
