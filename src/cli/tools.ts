/**
 * `thndrs tools [--json]`: the built-in tools a run here would offer, for a person or exactly as a provider gets them. Refuses:
 * running them, starting MCP servers (`thndrs mcp tools`).
 */
import { createPolicy } from "../agent/policy.ts";
import { missingTools } from "../app/tool-settings.ts";
import { createToolbox, demandTools } from "../app/toolbox.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { effectOf } from "../tools/registry.ts";
import type { ToolSpec } from "../types/message.ts";
import { visible } from "../ui/sanitize.ts";
import { type CommandContext, environmentOf } from "./command.ts";
import { firstSentence } from "./table.ts";

/** Prints the catalog. @throws UserError for a broken configuration, and for a flag that names no tool. */
export async function runTools(context: CommandContext): Promise<ExitCode> {
  if (context.words.length > 0) throw new UserError("thndrs tools takes no words");
  const { stdout, stderr } = context.output;
  const { env, flags, cwd } = context;
  const { root } = await openWorkspace(cwd);
  const { specs, notes } = offeredTools(context, await loadConfig({ env, flags, cwd, workspaceRoot: root }));
  for (const note of notes) stderr.line(`thndrs: warning: ${visible(note)}`);
  if (context.flags.json) stdout.line(JSON.stringify(specs, null, 2));
  else if (stdout.isTerminal) stdout.write(table(specs, stdout.columns));
  else for (const spec of specs) stdout.line(`${spec.name}\t${effectOf(spec.name)}\t${inputsOf(spec)}\t${purpose(spec)}`);
  await stdout.flush();
  return EXIT.ok;
}

type Offered = { readonly specs: readonly ToolSpec[]; readonly notes: readonly string[] };

/** What is left of the catalog under this configuration and these flags, and why something is missing. */
export function offeredTools({ env, flags }: CommandContext, loaded: LoadedConfig): Offered {
  const { allowTool = [], denyTool = [] } = flags;
  demandTools("--allow-tool", allowTool);
  demandTools("--deny-tool", denyTool);
  const missing = missingTools(loaded, environmentOf(env));
  const policy = createPolicy(loaded.config.authority, allowTool, denyTool);
  const toolbox = createToolbox(
    () => policy,
    () => [],
    missing.names,
  );
  return { specs: toolbox.specs(), notes: [...loaded.diagnostics, ...missing.diagnostics].map(({ message }) => message) };
}

function table(specs: readonly ToolSpec[], columns: number): string {
  const width = Math.max(...specs.map((spec) => spec.name.length));
  const indent = " ".repeat(width + 9);
  const room = Math.max(20, columns - indent.length);
  const rows = specs.flatMap((spec) => {
    const [first = "", ...more] = [...wrap(purpose(spec), room), ...wrap(inputsOf(spec), room)];
    return [
      `${spec.name.padEnd(width)}  ${(effectOf(spec.name) ?? "").padEnd(5)}  ${first}`,
      ...more.map((line) => indent + line),
    ];
  });
  return `${rows.join("\n")}\n`;
}

/** The first sentence, without the name it begins with. */
function purpose(spec: ToolSpec): string {
  return firstSentence(spec.description).slice(spec.name.length).trim();
}

/** Field names, required ones marked as in the specification: `pattern* path glob`. */
function inputsOf(spec: ToolSpec): string {
  const { properties, required } = spec.parameters;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return names.map((name) => (needed.includes(name) ? `${name}*` : name)).join(" ");
}

function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
