/** What the built-in tools are told of the configuration. Refuses: reading it. */
import type { LoadedConfig } from "../config/load.ts";
import type { ToolSettings } from "../tools/tool.ts";
import type { ChosenModel } from "./model.ts";

/** `env` answers for the keys of search backends; `chosen` names the variables that hold providers' keys. */
export function toolSettings(loaded: LoadedConfig, chosen: ChosenModel, env: Readonly<Record<string, string>>): ToolSettings {
  const { shell, web } = loaded.config;
  return {
    shellTimeoutMs: shell.timeoutMs,
    shellMaxTimeoutMs: shell.maxTimeoutMs,
    shellEnvAllow: shell.envAllow,
    credentialNames: chosen.keyVariables,
    webAllowHosts: web.allowHosts,
    webSearch: web.search,
    ...(web.searchUrl !== undefined && { webSearchUrl: web.searchUrl }),
    credential: (name) => env[name],
  };
}
