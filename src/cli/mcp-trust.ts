/** `thndrs mcp trust|revoke`: the workspace's `.mcp.json` alone, where `thndrs trust` is about everything. Refuses: more. */
import { resolve } from "node:path";
import { EXIT, type ExitCode } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { findHomes } from "../config/homes.ts";
import { openTrust } from "../config/trust.ts";
import { serverFilePath } from "../mcp/plans.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { grant } from "./trust.ts";

/** Shows the servers and asks. */
export async function trustServers(context: CommandContext): Promise<ExitCode> {
  const { root } = await openWorkspace(context.cwd);
  return grant(context, openTrust(findHomes(context.env, context.cwd).config, context.signal), root, "mcp");
}

export async function revokeServers(context: CommandContext): Promise<ExitCode> {
  const { root } = await openWorkspace(context.cwd);
  const path = serverFilePath(root);
  const store = openTrust(findHomes(context.env, context.cwd).config, context.signal);
  const removed = await store.remove((trusted) => trusted === resolve(path));
  const { stdout } = context.output;
  if (context.flags.json) stdout.line(JSON.stringify({ revoked: removed.map((entry) => entry.path) }));
  else stdout.line(removed.length > 0 ? `no longer trusted: ${visible(path)}` : `${visible(path)} was not trusted`);
  return EXIT.ok;
}
