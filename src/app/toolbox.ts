/** The tools of one run: the built-in registry narrowed by policy, outside tools appended (seed: Tools). */

import type { ToolPolicy } from "../agent/policy.ts";
import type { Toolbox, ToolEntry } from "../agent/toolbox.ts";
import { effectOf, loadTool, toolSpecs } from "../tools/registry.ts";

function builtin(spec: ToolEntry["spec"]): ToolEntry {
  const effect = effectOf(spec.name) ?? "shell";
  return {
    spec,
    effect,
    parallel: effect === "read" || effect === "net",
    load: async () => {
      const tool = await loadTool(spec.name);
      if (!tool) throw new Error(`tool ${spec.name} is in the catalog but has no executor`);
      return tool;
    },
  };
}

/**
 * `outside` is asked before every request, so a changed tool list takes effect at the next one. `missing`: built-in tools that
 * have nothing to work with in this run.
 */
export function createToolbox(policy: ToolPolicy, outside: () => readonly ToolEntry[], missing: readonly string[] = []): Toolbox {
  const builtins = toolSpecs((name) => !missing.includes(name))
    .map(builtin)
    .filter((entry) => policy.offers(entry));
  let seen: readonly ToolEntry[] | undefined;
  let specs: readonly ToolEntry["spec"][] = [];
  let byName = new Map<string, ToolEntry>();
  const refresh = (): void => {
    const extra = outside();
    if (seen === extra) return;
    seen = extra;
    const entries = [...builtins, ...extra.filter((entry) => policy.offers(entry))];
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
  };
}
