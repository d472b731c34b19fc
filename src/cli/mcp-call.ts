/** `thndrs mcp test NAME` and `mcp call NAME TOOL --args JSON`: one server by hand, without a model. Refuses: guessing a tool. */
import type { ToolPolicy } from "../agent/policy.ts";
import { nearestWord } from "../base/nearest.ts";
import { sayDuration } from "../base/text.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { findServer, openMcpPlace, policyOf, type RunningServers, withServers } from "./mcp-open.ts";

/** Starts the server, lists its tools, and says what there is to say. Exit 1 when it does not get ready. */
export async function testServer(context: CommandContext, name: string): Promise<ExitCode> {
  const place = await openMcpPlace(context);
  const server = findServer(place, name);
  const began = performance.now();
  return withServers(context, place, [server], async ({ servers, diagnostics, hide }) => {
    const [found] = servers.status();
    const elapsedMs = Math.round(performance.now() - began);
    const ready = found?.state === "ready";
    const { stdout } = context.output;
    // The failure itself is the reason already.
    const notes = diagnostics.filter(({ code }) => code !== "mcp.server").map(({ message }) => hide(message));
    if (context.flags.json) {
      const { tools = [], reason = "" } = found ?? {};
      const plain = { name, ready, elapsed_ms: elapsedMs, tools, reason: hide(reason), notes, stderr: hide(found?.stderr ?? "") };
      stdout.line(JSON.stringify(plain, null, 2));
    } else {
      const how = ready
        ? `ready in ${sayDuration(elapsedMs)}, ${found.tools.length} tools`
        : `failed: ${hide(found?.reason ?? "")}`;
      stdout.line(visible(`${name}: ${how}`));
      for (const note of notes) stdout.line(visible(`  ${note}`));
      if (!ready)
        for (const line of hide(found?.stderr ?? "")
          .split("\n")
          .slice(-20))
          if (line !== "") stdout.line(visible(`  | ${line}`));
    }
    return ready ? EXIT.ok : EXIT.failed;
  });
}

function parseArguments(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UserError(`--args is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UserError(`--args must be a JSON object, for example '{"path": "."}'`);
}

type Call = {
  readonly server: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What a model could not do here is not done by hand either. */
  readonly policy: ToolPolicy;
};

async function call(context: CommandContext, running: RunningServers, wanted: Call): Promise<ExitCode> {
  const { servers, hide } = running;
  const { server, tool, input } = wanted;
  const [state] = servers.status();
  if (state?.state !== "ready")
    throw new UserError(`MCP server ${server}: ${hide(state?.reason ?? "it is not ready")}`, EXIT.failed);
  const entry = servers.entries().find((known) => known.mcp.tool === tool || known.spec.name === tool);
  if (!entry) {
    const names = servers.entries().map((known) => known.mcp.tool);
    const near = nearestWord(tool, names);
    throw new UserError(`${server} has no tool "${tool}"${near ? `; did you mean "${near}"?` : `; it has: ${names.join(", ")}`}`);
  }
  const { policy } = wanted;
  const name = entry.spec.name;
  const refused = policy.offers(entry)
    ? policy.refuses(name, input)
    : `${name} is denied, or not among the tools that are allowed`;
  if (refused !== undefined) throw new UserError(refused, EXIT.policy);
  const result = await entry.call(input, context.signal);
  const text = hide(result.text);
  const { stdout, stderr } = context.output;
  if (context.flags.json) stdout.line(JSON.stringify({ status: result.status, truncated: result.truncated, text }, null, 2));
  else if (result.status === "ok") stdout.line(stdout.isTerminal ? text.split("\n").map(visible).join("\n") : text);
  else for (const line of text.split("\n")) stderr.line(`thndrs: ${visible(line)}`);
  return result.status === "ok" ? EXIT.ok : EXIT.failed;
}

/** Calls one tool, by its own name or by the one the model knows. Exit 1 when the call fails. */
export async function callTool(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  const [name, tool, ...more] = words;
  if (name === undefined || tool === undefined || more.length > 0)
    throw new UserError("it is: thndrs mcp call NAME TOOL [--args JSON]");
  const input = parseArguments(context.flags.args);
  const place = await openMcpPlace(context);
  const server = findServer(place, name);
  const policy = policyOf(context, place);
  const wanted = { server: name, tool, input, policy };
  return withServers(context, place, [server], (running) => call(context, running, wanted));
}
