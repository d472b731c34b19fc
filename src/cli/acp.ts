/**
 * `thndrs acp …`: serve an editor on stdin and stdout, and look at the agents that `--model acp:NAME` may drive. While it
 * serves, stdout carries protocol only. Refuses: the protocol itself (app/, acp/).
 */
import { createProcessOwner } from "../base/process.ts";
import { redact } from "../base/redact.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { createCredentials } from "../config/credentials.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import type { AcpAgentSettings } from "../config/schema.ts";
import { createNotices, type Notices } from "../ui/notices.ts";
import { sanitize } from "../ui/sanitize.ts";
import { stdinStream } from "../ui/stdin.ts";
import { type CommandContext, environmentOf, verbosityOf } from "./command.ts";
import { renderTable } from "./table.ts";

type Place = { readonly loaded: LoadedConfig; readonly redact: (text: string) => string };

const SMOKE_PROMPT = "Answer with the single word: ready";

/** Runs `acp VERB …` (`list` when there is no verb). */
export async function runAcp(context: CommandContext): Promise<ExitCode> {
  const [verb = "list", ...words] = context.words;
  switch (verb) {
    case "list":
      return list(context, words);
    case "inspect":
      return inspect(context, words);
    case "smoke":
      return smoke(context, words);
    case "serve":
      return serve(context, words);
    default:
      throw new UserError(`unknown command "thndrs acp ${verb}"; it is one of: list, inspect, smoke, serve`);
  }
}

async function openPlace({ env, flags, cwd }: CommandContext): Promise<Place> {
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  const exact = createCredentials({ env, configHome: loaded.homes.config }).knownValues();
  return { loaded, redact: (text) => redact(text, { exact }) };
}

function noticesOf({ flags, output }: CommandContext): Notices {
  return createNotices(output.stderr, verbosityOf(flags));
}

/** How long answers may wait for a client that has closed our input. */
const END_STALL_MS = 2000;

async function serve(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  // What an editor appends to our command line when it lends a terminal to log in (the `setup` method of initialize).
  if (words.length === 1 && words[0] === "setup") {
    const { runSetup } = await import("./setup.ts");
    return runSetup({ ...context, words: [] });
  }
  if (words.length > 0) throw new UserError("usage: thndrs acp serve");
  // Lazy door: the protocol's library, and everything a turn needs.
  const { serveAcp } = await import("../app/acp-server.ts");
  const { flags, cwd, output, signal } = context;
  const { stdout } = output;
  const notices = noticesOf(context);
  const processes = context.processes ?? createProcessOwner();
  await serveAcp({
    // Whoever asks no more may read no more either.
    input: stdinStream().pipeThrough(new TransformStream({ flush: () => stdout.hurry(END_STALL_MS) })),
    write: async (bytes) => {
      stdout.write(bytes);
      await stdout.flush();
      if (stdout.broken !== undefined) throw new Error(`the client no longer reads (${stdout.broken})`);
    },
    env: environmentOf(context.env),
    cwd,
    flags,
    processes,
    signal,
    event: (event) => notices.event(event),
    bug: (error) => {
      const words = error instanceof Error ? error.message : String(error);
      notices.error(`internal error: ${words} (this is a bug in thndrs)`);
      if (flags.verbose && error instanceof Error && error.stack) notices.error(error.stack);
    },
  });
  return signalExit(signal) ?? EXIT.ok;
}

function commandOf(agent: AcpAgentSettings): string {
  return [agent.command, ...agent.args].join(" ");
}

async function list(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  if (words.length > 0) throw new UserError("usage: thndrs acp list [--json]");
  const { loaded, redact } = await openPlace(context);
  const agents = Object.values(loaded.config.acp.agents);
  const { stdout, stderr } = context.output;
  const notices = noticesOf(context);
  for (const diagnostic of loaded.diagnostics) notices.event({ type: "diagnostic", diagnostic });
  if (context.flags.json) {
    const shown = agents.map((agent) => ({
      name: agent.name,
      model: `acp:${agent.name}`,
      command: redact(commandOf(agent)),
      timeout_ms: agent.timeoutMs,
    }));
    stdout.line(JSON.stringify(shown, null, 2));
    return EXIT.ok;
  }
  if (agents.length === 0) stderr.line("thndrs: no ACP agent is configured ([acp.agents.NAME]; see thndrs help acp)");
  const rows = agents.map((agent) => [agent.name, `acp:${agent.name}`, redact(commandOf(agent))]);
  const table = renderTable(["NAME", "MODEL", "COMMAND"], rows, { aligned: stdout.isTerminal, columns: stdout.columns });
  if (rows.length > 0) for (const line of table) stdout.line(line);
  return EXIT.ok;
}

async function probeParts(context: CommandContext, words: readonly string[], usage: string) {
  const [name, ...more] = words;
  if (name === undefined || more.length > 0) throw new UserError(`usage: thndrs acp ${usage}`);
  const place = await openPlace(context);
  const { agents } = place.loaded.config.acp;
  const plain = name.startsWith("acp:") ? name.slice("acp:".length) : name;
  const agent = Object.hasOwn(agents, plain) ? agents[plain] : undefined;
  if (!agent) {
    const known = Object.keys(agents);
    throw new UserError(
      `there is no ACP agent ${JSON.stringify(plain)} (${known.length === 0 ? "none is configured" : `there are: ${known.join(", ")}`})`,
    );
  }
  const { env, cwd, signal } = context;
  const processes = context.processes ?? createProcessOwner();
  return { place, parts: { agent, loaded: place.loaded, env, cwd, processes, signal } };
}

async function inspect(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  const { place, parts } = await probeParts(context, words, "inspect NAME [--json]");
  const { inspectAgent } = await import("../app/acp-probe.ts");
  const found = await inspectAgent(parts);
  const ended = signalExit(context.signal);
  if (ended !== undefined) return ended;
  const { stdout } = context.output;
  if (!found.ok) {
    noticesOf(context).error(`error: agent ${parts.agent.name} ${place.redact(found.message)}`);
    return EXIT.failed;
  }
  const { protocolVersion, agent, capabilities, authMethods } = found.value;
  if (context.flags.json) {
    const shown = {
      name: parts.agent.name,
      protocol_version: protocolVersion,
      agent: agent ?? null,
      capabilities,
      auth_methods: authMethods,
    };
    stdout.line(place.redact(JSON.stringify(shown, null, 2)));
    return EXIT.ok;
  }
  const lines = [
    `name          ${parts.agent.name}`,
    `command       ${commandOf(parts.agent)}`,
    `agent         ${agent ? `${agent.name} ${agent.version}` : "(does not say)"}`,
    `protocol      ${protocolVersion}`,
    `capabilities  ${JSON.stringify(capabilities)}`,
    `logins        ${authMethods.map((method) => method.name).join(", ") || "(none)"}`,
  ];
  for (const line of lines) stdout.line(sanitize(place.redact(line)));
  return EXIT.ok;
}

async function smoke(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  const { place, parts } = await probeParts(context, words, "smoke NAME [--prompt TEXT] [--json]");
  const { smokeAgent } = await import("../app/acp-probe.ts");
  const notices = noticesOf(context);
  const prompt = context.flags.prompt ?? SMOKE_PROMPT;
  const done = await smokeAgent(parts, prompt, (event) => notices.event(event));
  const ended = signalExit(context.signal);
  if (ended !== undefined) return ended;
  const { stdout } = context.output;
  const ok = done.ok && done.value.stopReason === "end_turn";
  if (context.flags.json) {
    const shown = done.ok
      ? { name: parts.agent.name, ok, stop_reason: done.value.stopReason, text: done.value.text }
      : { name: parts.agent.name, ok, error: done.message };
    stdout.line(place.redact(JSON.stringify(shown, null, 2)));
    return ok ? EXIT.ok : EXIT.failed;
  }
  if (done.ok) {
    stdout.line(sanitize(place.redact(done.value.text)));
    notices.note(`${parts.agent.name}: ${done.value.stopReason}`);
  } else notices.error(`error: agent ${parts.agent.name} ${place.redact(done.message)}`);
  return ok ? EXIT.ok : EXIT.failed;
}
