/** The context engine of a run: what the configuration and the facts of the run tell it. */
import type { Toolbox } from "../agent/toolbox.ts";
import type { Workspace } from "../base/workspace.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type ContextEngine, openContext } from "../context/engine.ts";
import type { Skills } from "../skills/skills.ts";
import type { Emit } from "../types/event.ts";
import type { OutsideTools } from "./mcp.ts";
import type { ChosenModel } from "./model.ts";
import type { OpenOptions } from "./open-options.ts";
import { today } from "./today.ts";

export type TemplateInput = {
  readonly chosen: ChosenModel;
  readonly toolbox: Toolbox;
  readonly outside: OutsideTools;
  readonly skills: Skills;
  readonly sessionId: string;
};

/** Discovery starts when the engine is started. */
export function openEngine(
  options: OpenOptions,
  workspace: Workspace,
  loaded: LoadedConfig,
  facts: () => TemplateInput,
  emit: Emit,
): ContextEngine {
  const { settings, homes } = { settings: loaded.config.context, homes: loaded.homes };
  return openContext({
    root: workspace.root,
    cwd: workspace.cwd,
    ...(homes.config !== undefined && { configHome: homes.config }),
    ...(homes.user !== undefined && { home: homes.user }),
    settings: options.flags.noContext ? { ...settings, enabled: false } : settings,
    facts: () => {
      const now = facts();
      return {
        model_name: now.chosen.modelId,
        model_id: now.chosen.provider.name,
        session_id: now.sessionId,
        current_date: today(),
        is_non_interactive: options.rendererMode === "print",
        supports_vision: now.chosen.info.vision ?? false,
        available_tools: now.toolbox.specs().map((spec) => spec.name),
        available_mcp_servers: [...now.outside.declared()],
        available_skills: now.skills.available().map((skill) => skill.name),
      };
    },
    diagnose: (diagnostic) => emit({ type: "diagnostic", diagnostic }),
  });
}
