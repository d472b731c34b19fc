/** What Tab offers in the REPL: commands and their arguments, `$skill` names, files below the current directory. Refuses: matching. */
import { relative } from "node:path";
import { type CompletionTarget, workspacePaths } from "./completion.ts";
import type { Repl } from "./repl.ts";
import { SLASH_COMMANDS } from "./slash.ts";
import { skillNames } from "./slash-skills.ts";

/** A name with white space or control characters cannot be written as `@path`. */
const UNWRITABLE = /[\s\x00-\x1f\x7f-\x9f]/;

/** Paths relative to the current directory, without hidden and ignored ones. */
async function pathsBelow(workspace: string, cwd: string, signal: AbortSignal): Promise<readonly string[]> {
  const base = relative(workspace, cwd).replaceAll("\\", "/");
  const found = await workspacePaths(workspace, base, signal);
  const own = base === "" ? found : found.flatMap((path) => (path.startsWith(`${base}/`) ? [path.slice(base.length + 1)] : []));
  return own.filter((path) => path !== "" && !UNWRITABLE.test(path));
}

/** All candidates of a target. */
export async function candidatesFor(repl: Repl, target: CompletionTarget, signal: AbortSignal): Promise<readonly string[]> {
  if (target.kind === "command") return SLASH_COMMANDS.map((command) => command.name);
  if (target.kind === "path") return pathsBelow(repl.runtime.workspace, repl.controls.cwd, signal);
  if (target.kind === "skill") return skillNames(repl);
  const command = SLASH_COMMANDS.find((known) => known.name === target.before[0]);
  return (await command?.complete?.(repl, target.before)) ?? [];
}
