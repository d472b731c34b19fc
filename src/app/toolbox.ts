/** The tools of one run: the built-in registry narrowed by policy, outside tools appended (seed: Tools). */

import { parsePattern, type ToolPolicy } from "../agent/policy.ts";
import type { Toolbox, ToolEntry } from "../agent/toolbox.ts";
import { nearestWord } from "../base/nearest.ts";
import { UserError } from "../base/user-error.ts";
import { effectOf, loadTool, toolNames, toolSpecs } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";

/** Puts something round a built-in tool once it is loaded. */
export type WrapTool = (tool: Tool) => Tool;

function builtin(spec: ToolEntry["spec"], wrap: WrapTool | undefined): ToolEntry {
  const effect = effectOf(spec.name) ?? "shell";
  return {
    spec,
    effect,
    parallel: effect === "read" || effect === "net",
    load: async () => {
      const tool = await loadTool(spec.name);
      if (!tool) throw new Error(`tool ${spec.name} is in the catalog but has no executor`);
      return wrap ? wrap(tool) : tool;
    },
  };
}

/**
 * A misspelled `--deny-tool` would deny nothing without a word. Names of outside tools (`mcp__…`) and wildcards are not known yet.
 * @throws UserError that names the nearest tool.
 */
export function demandTools(flag: string, patterns: readonly string[]): void {
  for (const { name } of patterns.map(parsePattern)) {
    if (/[*?]/.test(name) || name.startsWith("mcp__") || toolNames().includes(name)) continue;
    const near = nearestWord(name, toolNames());
    throw new UserError(
      `${flag}: there is no tool ${name}${near ? `; did you mean ${near}?` : ""}\nThe tools are ${toolNames().join(", ")}; those of MCP servers begin with mcp__.`,
    );
  }
}

/**
 * `policy` and `outside` are asked before every request, so a changed authority or tool list takes effect at the next one.
 * `missing`: built-in tools that have nothing to work with in this run.
 */
export function createToolbox(
  policy: () => ToolPolicy,
  outside: () => readonly ToolEntry[],
  missing: readonly string[] = [],
  wrap?: WrapTool,
): Toolbox {
  const builtins = toolSpecs((name) => !missing.includes(name)).map((spec) => builtin(spec, wrap));
  let seen: { readonly policy: ToolPolicy; readonly extra: readonly ToolEntry[] } | undefined;
  let specs: readonly ToolEntry["spec"][] = [];
  let byName = new Map<string, ToolEntry>();
  const refresh = (): void => {
    const now = { policy: policy(), extra: outside() };
    if (seen?.policy === now.policy && seen.extra === now.extra) return;
    seen = now;
    const entries = [...builtins, ...now.extra].filter((entry) => now.policy.offers(entry));
    specs = entries.map((entry) => entry.spec);
    byName = new Map(entries.map((entry) => [entry.spec.name, entry]));
  };
  return {
    specs() {
      refresh();
      return specs;
    },
    find(name) {
      refresh();
      return byName.get(name);
    },
    withheld(name) {
      refresh();
      return !byName.has(name) && [...builtins, ...outside()].some((entry) => entry.spec.name === name);
    },
  };
}
