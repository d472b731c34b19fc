/**
 * `thndrs mcp list|status|trust|revoke|test|tools|call|add|remove|login`: the MCP servers of this workspace. Refuses: starting
 * a server of an untrusted file.
 */
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import type { ListedServer } from "../mcp/plans.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { callTool, testServer } from "./mcp-call.ts";
import { addServer, removeServer } from "./mcp-edit.ts";
import { findServer, type McpPlace, openMcpPlace, policyOf, withServers } from "./mcp-open.ts";
import { revokeServers, trustServers } from "./mcp-trust.ts";
import { firstSentence, renderTable } from "./table.ts";

/** Warnings about files and servers, for commands whose stdout is the list. */
function warn(context: CommandContext, place: McpPlace): void {
  for (const { severity, message } of [...place.loaded.diagnostics, ...place.plans.diagnostics]) {
    if (severity !== "info") context.output.stderr.line(`thndrs: ${severity}: ${visible(message)}`);
  }
}

function show(context: CommandContext, heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const { stdout } = context.output;
  const table = renderTable(heading, rows, { aligned: stdout.isTerminal, columns: stdout.columns });
  for (const line of rows.length > 0 ? table : ["no MCP server is configured (thndrs help mcp)"]) stdout.line(line);
}

async function list(context: CommandContext): Promise<ExitCode> {
  const place = await openMcpPlace(context);
  const { listed } = place.plans;
  if (context.flags.json) {
    const plain = listed.map(({ name, state, target, from }) => ({ name, state, target, from }));
    context.output.stdout.line(JSON.stringify(plain, null, 2));
  } else {
    const rows = listed.map(({ name, state, target, from }) => [name, state, target, from]);
    show(context, ["NAME", "STATE", "WHAT", "FROM"], rows);
  }
  warn(context, place);
  return EXIT.ok;
}

/** Starts everything that may be started and says how that went. Exit 1 when a server failed. */
async function status(context: CommandContext): Promise<ExitCode> {
  const place = await openMcpPlace(context);
  const { listed } = place.plans;
  const code = await withServers(
    context,
    place,
    listed.filter((server) => server.plan),
    async ({ servers, hide }) => {
      const byName = new Map(servers.status().map((server) => [server.name, server]));
      const found = listed.map((server) => {
        const running = byName.get(server.name);
        return {
          name: server.name,
          state: running?.state ?? server.state,
          tools: running?.tools.length ?? 0,
          reason: hide(running?.reason ?? ""),
        };
      });
      if (context.flags.json) context.output.stdout.line(JSON.stringify(found, null, 2));
      else {
        const rows = found.map(({ name, state, tools, reason }) => [name, state, state === "ready" ? `${tools} tools` : reason]);
        show(context, ["NAME", "STATE", "WHAT"], rows);
      }
      return found.some((server) => ["failed", "starting", "ended"].includes(server.state)) ? EXIT.failed : EXIT.ok;
    },
  );
  warn(context, place);
  return code;
}

async function tools(context: CommandContext, names: readonly string[]): Promise<ExitCode> {
  const place = await openMcpPlace(context);
  const policy = policyOf(context, place);
  const chosen: readonly ListedServer[] =
    names.length > 0 ? names.map((name) => findServer(place, name)) : place.plans.listed.filter((server) => server.plan);
  return withServers(context, place, chosen, async ({ servers, diagnostics, hide }) => {
    const entries = servers.entries().filter((entry) => policy.offers(entry));
    if (context.flags.json)
      context.output.stdout.line(
        hide(
          JSON.stringify(
            entries.map((entry) => entry.spec),
            null,
            2,
          ),
        ),
      );
    else
      for (const { spec } of entries)
        context.output.stdout.line(`${visible(spec.name)}\t${visible(hide(firstSentence(spec.description)))}`);
    for (const { severity, message } of diagnostics) {
      if (severity !== "info" || context.flags.verbose)
        context.output.stderr.line(`thndrs: ${severity}: ${visible(hide(message))}`);
    }
    return servers.status().some((server) => server.state !== "ready") ? EXIT.failed : EXIT.ok;
  });
}

function one(words: readonly string[], usage: string): string {
  const [word, ...more] = words;
  if (word === undefined || more.length > 0) throw new UserError(`it is: thndrs mcp ${usage}`);
  return word;
}

function none(words: readonly string[], usage: string): void {
  if (words.length > 0) throw new UserError(`it is: thndrs mcp ${usage}`);
}

/** @throws UserError: exit 2 for usage and configuration, exit 3 where trust is missing or nobody could be asked */
export async function runMcp(context: CommandContext): Promise<ExitCode> {
  const [verb, ...words] = context.words;
  switch (verb) {
    case "list":
    case undefined:
      none(words, "list");
      return list(context);
    case "status":
      none(words, "status");
      return status(context);
    case "trust":
      none(words, "trust [--yes]");
      return trustServers(context);
    case "revoke":
      none(words, "revoke");
      return revokeServers(context);
    case "test":
      return testServer(context, one(words, "test NAME"));
    case "tools":
      return tools(context, words);
    case "call":
      return callTool(context, words);
    case "add":
      return addServer(context, one(words, "add NAME --command PROGRAM [--arg ARG]… [--env NAME=VALUE]… | add NAME --url URL"));
    case "remove":
      return removeServer(context, one(words, "remove NAME [--project]"));
    case "login":
      // Lazy door: the protocol's package, which a list does not need.
      return (await import("./mcp-login.ts")).loginTo(context, one(words, "login NAME"));
    default:
      throw new UserError(`unknown word "${verb}"; it is: thndrs mcp list|status|trust|revoke|test|tools|call|add|remove|login`);
  }
}
