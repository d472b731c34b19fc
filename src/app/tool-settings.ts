/** What the built-in tools are told of the configuration. Refuses: reading it. */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { LoadedConfig } from "../config/load.ts";
import { isSessionFile } from "../session/ids.ts";
import type { ToolSettings } from "../tools/tool.ts";
import type { Diagnostic } from "../types/event.ts";
import type { ChosenModel } from "./model.ts";

function realOf(directory: string): string | undefined {
  try {
    return realpathSync(directory);
  } catch {
    return undefined;
  }
}

/**
 * `env` answers for the keys of search backends; `chosen` names the variables that hold providers' keys; `logDir` is where
 * session logs are kept.
 */
export function toolSettings(
  loaded: LoadedConfig,
  chosen: ChosenModel,
  env: Readonly<Record<string, string>>,
  logDir: string | undefined,
): ToolSettings {
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
    keepsLog: (path) => logDir !== undefined && isSessionFile(basename(path)) && dirname(path) === realOf(logDir),
  };
}

/** Built-in tools that have nothing to work with in this run, and what a person should know of that. */
export function missingTools(
  loaded: LoadedConfig,
  env: Readonly<Record<string, string>>,
): { readonly names: readonly string[]; readonly diagnostics: readonly Diagnostic[] } {
  const { web } = loaded.config;
  if (web.search === "none") return { names: ["web_search"], diagnostics: [] };
  const variable = web.search === "brave" ? "BRAVE_API_KEY" : web.search === "exa" ? "EXA_API_KEY" : undefined;
  if (variable === undefined || env[variable]) return { names: [], diagnostics: [] };
  const message = `web.search is ${web.search}, but ${variable} is not set: there is no web search in this run`;
  return { names: ["web_search"], diagnostics: [{ severity: "warning", code: "web.search", message }] };
}
