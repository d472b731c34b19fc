/**
 * What an external agent may do through us while its turn runs: files inside the workspace, commands as our children, both
 * under the policy and approval of the tools they stand for (X04). Refuses: anything between turns.
 */
import type { AgentHost } from "../acp/agent-link.ts";
import { provePlace, proveWritable, readText, writeText } from "../acp/files.ts";
import { createPermissionDesk, type Decide } from "../acp/permissions.ts";
import { refuse, requestFailed } from "../acp/refusal.ts";
import type { Terminals } from "../acp/terminals.ts";
import type { Permit } from "../agent/calls.ts";
import { resolveProgram } from "../base/spawn-failure.ts";
import type { Workspace } from "../base/workspace.ts";
import type { EffectKind } from "../tools/tool.ts";
import type { Emit } from "../types/event.ts";

export type HostParts = {
  readonly workspace: Workspace;
  /** Policy and approval for what the agent does through us, by the name of the tool it stands for. */
  readonly permit: (
    name: string,
    effect: EffectKind,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ) => Promise<Permit>;
  /** Whether such tools may exist here at all: what an agent is told when it starts. */
  readonly offers: (effect: EffectKind) => boolean;
  /** Whether they exist now (authority). */
  readonly allows: (effect: EffectKind) => boolean;
  readonly decide: Decide;
  readonly emit: Emit;
  /** The environment of a command, on top of which the agent may declare variables. */
  readonly childEnv: () => Record<string, string>;
  /** True for a session log at this absolute path. */
  readonly keepsLog: (path: string) => boolean;
};

/** `signal` aborts with a cancel, and when the prompt is over. */
export type ActivePrompt = { readonly turnId: string; readonly signal: AbortSignal };

type TerminalRequest = {
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly cwd?: string | null;
  readonly outputByteLimit?: number | null;
};

/** A name that no shell would read as anything else. */
const PLAIN_WORD = /^[\w@%+:,./-]*$/;

/** Some agents send a whole command line in place of a program: the shell's, as in editors. */
function argvOf({ command, args }: TerminalRequest, cwd: string, env: Readonly<Record<string, string>>): readonly string[] {
  const given = args ?? [];
  const isLine = given.length === 0 && !PLAIN_WORD.test(command) && !resolveProgram([command], cwd, env).ok;
  return isLine ? ["sh", "-c", command] : [command, ...given];
}

type Demand = (name: string, effect: EffectKind, input: Readonly<Record<string, unknown>>) => Promise<ActivePrompt>;

/** The way to everything with an effect. @throws RequestError where the tool it stands for would not run. */
function createGate({ allows, permit }: HostParts, active: () => ActivePrompt | undefined): Demand {
  return async (name, effect, input) => {
    const now = active();
    if (!now || now.signal.aborted) throw refuse("no turn is running");
    if (!allows(effect)) throw refuse("not allowed here: this session is read-only");
    const answer = await permit(name, effect, input, now.signal);
    if (!answer.allowed) throw refuse(answer.reason);
    if (now.signal.aborted) throw refuse("the turn was cancelled");
    return now;
  };
}

/** The handlers of everything but updates. @param active the prompt that runs, if any */
export function createAcpHost(
  parts: HostParts,
  terminals: Terminals,
  active: () => ActivePrompt | undefined,
): Omit<AgentHost, "update"> {
  const { workspace, emit } = parts;
  const desk = createPermissionDesk(() => {
    const now = active();
    return now && { ...now, emit };
  }, parts.decide);

  const demand = createGate(parts, active);

  async function createTerminal(params: TerminalRequest): Promise<{ terminalId: string }> {
    const place = await provePlace(workspace, params.cwd ?? workspace.cwd);
    const env = { ...parts.childEnv(), ...Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value])) };
    const argv = argvOf(params, place.path, env);
    await demand("run_shell", "shell", { argv, cwd: place.relative });
    const terminalId = await terminals.create({
      argv,
      cwd: place.path,
      relativeCwd: place.relative,
      env,
      outputBytes: params.outputByteLimit ?? undefined,
    });
    return { terminalId };
  }

  return {
    "session/request_permission": ({ params }) => desk(params),
    "fs/read_text_file": async ({ params }) => {
      const place = await provePlace(workspace, params.path);
      await demand("read_file_range", "read", { path: place.relative });
      return { content: await readText(place, params.line, params.limit) };
    },
    "fs/write_text_file": async ({ params }) => {
      const place = await proveWritable(workspace, params.path, parts.keepsLog);
      const { turnId } = await demand(place.exists ? "write_patch" : "create_file", "write", { path: place.relative });
      const { effect, error } = await writeText(workspace, place, params.content);
      emit({ type: "effect", turnId, callId: "fs/write_text_file", effect });
      if (error !== undefined) throw requestFailed(error);
      return {};
    },
    "terminal/create": ({ params }) => createTerminal(params),
    "terminal/output": ({ params }) => terminals.output(params.terminalId),
    "terminal/wait_for_exit": ({ params }) => terminals.wait(params.terminalId),
    "terminal/kill": async ({ params }) => {
      await terminals.kill(params.terminalId);
      return {};
    },
    "terminal/release": async ({ params }) => {
      await terminals.release(params.terminalId);
      return {};
    },
  };
}
