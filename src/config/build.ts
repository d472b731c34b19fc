/**
 * The winning settings → one frozen Config, defaults filled in. Refuses: reading files, precedence.
 */

import { UserError } from "../base/user-error.ts";
import type { Diagnostic } from "../types/event.ts";
import type { Environment } from "./env.ts";
import type { AcpAgentSettings, Config, McpServerSettings, Origin, ProviderOverride } from "./schema.ts";

/** One key with its winning value. `key` is written as TOML writes it. */
export type Setting = {
  readonly key: string;
  readonly path: readonly string[];
  readonly value: unknown;
  readonly origin: Exclude<Origin, "default">;
  /** The variable, flag or file it came from. */
  readonly from: string;
  readonly line?: number;
};

type Winners = ReadonlyMap<string, Setting>;

type Group = {
  readonly name: string;
  readonly at: string;
  get<T>(key: string): T | undefined;
  setting(key: string): Setting | undefined;
};

const CONTEXT_NAMES = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"] as const;

/** `file:line` or the variable's name, for errors. */
function placeOf(setting: Setting): string {
  return setting.line === undefined ? setting.from : `${setting.from}:${setting.line}`;
}

function lies(path: readonly string[], below: readonly string[]): boolean {
  for (let at = 0; at < below.length; at++) if (path[at] !== below[at]) return false;
  return true;
}

/** The settings below `prefix`, one group for each name the user chose. */
function groupsOf(winners: Winners, prefix: readonly string[]): readonly Group[] {
  const byName = new Map<string, Map<string, Setting>>();
  for (const setting of winners.values()) {
    if (!lies(setting.path, prefix)) continue;
    const name = setting.path[prefix.length];
    const key = setting.path[prefix.length + 1];
    if (name === undefined || key === undefined) continue;
    const group = byName.get(name) ?? new Map<string, Setting>();
    byName.set(name, group.set(key, setting));
  }
  return [...byName].map(([name, settings]) => ({
    name,
    at: [...settings.values()].map(placeOf)[0] ?? "",
    get: <T>(key: string) => settings.get(key)?.value as T | undefined,
    setting: (key: string) => settings.get(key),
  }));
}

/** `${NAME}` → the variable's value; undefined (and one diagnostic) when it is not set. */
function expand(value: string, env: Environment, where: string, diagnostics: Diagnostic[]): string | undefined {
  const missing: string[] = [];
  const text = value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    const found = env[name];
    if (found === undefined || found === "") missing.push(name);
    return found ?? "";
  });
  if (missing.length === 0) return text;
  const message = `${where} is left out: ${missing.map((name) => `$${name}`).join(", ")} is not set`;
  diagnostics.push({ severity: "warning", code: "config.missing_variable", message });
  return undefined;
}

function expandMap(
  group: Group,
  key: string,
  env: Environment,
  diagnostics: Diagnostic[],
): Readonly<Record<string, string>> | undefined {
  const map = group.get<Record<string, string>>(key);
  if (!map) return undefined;
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(map)) {
    const text = expand(value, env, `providers.${group.name}.${key}.${name}`, diagnostics);
    if (text !== undefined) out[name] = text;
  }
  return out;
}

function buildProvider(group: Group, env: Environment, diagnostics: Diagnostic[]): ProviderOverride {
  const wire = group.get<NonNullable<ProviderOverride["wire"]>>("wire");
  const baseUrl = group.get<string>("base_url");
  const apiKeyEnv = group.get<string>("api_key_env");
  const headers = expandMap(group, "headers", env, diagnostics);
  const query = expandMap(group, "query", env, diagnostics);
  const models = group.get<readonly string[]>("models");
  const fromProject = group.setting("base_url")?.origin === "project";
  const foreign = fromProject && group.setting("api_key_env")?.origin !== "project";
  return {
    name: group.name,
    ...(wire ? { wire } : {}),
    ...(baseUrl ? { baseUrl } : {}),
    ...(apiKeyEnv && !foreign ? { apiKeyEnv } : {}),
    ...(headers ? { headers } : {}),
    ...(query ? { query } : {}),
    ...(models ? { models } : {}),
    ...(models?.[0] ? { defaultModel: models[0] } : {}),
    ...(foreign ? { withoutCredential: true as const } : {}),
    ...(fromProject && !foreign ? { withoutStored: true as const } : {}),
  };
}

function buildServer(group: Group): McpServerSettings {
  const command = group.get<string>("command");
  const url = group.get<string>("url");
  const cwd = group.get<string>("cwd");
  const tools = group.get<readonly string[]>("tools");
  if ((command === undefined) === (url === undefined)) {
    throw new UserError(`${group.at}: [mcp.servers.${group.name}] needs either "command" or "url"${command ? ", not both" : ""}`);
  }
  return {
    name: group.name,
    ...(command ? { command } : {}),
    args: group.get<readonly string[]>("args") ?? [],
    env: group.get<Record<string, string>>("env") ?? {},
    ...(cwd ? { cwd } : {}),
    ...(url ? { url } : {}),
    headers: group.get<Record<string, string>>("headers") ?? {},
    enabled: group.get<boolean>("enabled") ?? true,
    timeoutMs: group.get<number>("timeout_secs") ?? 20_000,
    ...(tools ? { tools } : {}),
  };
}

function buildAgent(group: Group): AcpAgentSettings {
  const command = group.get<string>("command");
  if (command === undefined) throw new UserError(`${group.at}: [acp.agents.${group.name}] needs "command"`);
  return {
    name: group.name,
    command,
    args: group.get<readonly string[]>("args") ?? [],
    env: group.get<Record<string, string>>("env") ?? {},
    timeoutMs: group.get<number>("timeout_secs") ?? 60_000,
  };
}

function buildModels(winners: Winners): Config["models"] {
  const models: Record<string, Config["models"][string]> = {};
  for (const group of groupsOf(winners, ["models"])) {
    const contextWindow = group.get<number>("context_window");
    const maxOutput = group.get<number>("max_output");
    const price = group.get<{ input: number; output: number }>("price");
    models[group.name] = {
      ...(contextWindow ? { contextWindow } : {}),
      ...(maxOutput ? { maxOutput } : {}),
      ...(price ? { price } : {}),
    };
  }
  return models;
}

function byName<T extends { readonly name: string }>(items: readonly T[]): Readonly<Record<string, T>> {
  return Object.fromEntries(items.map((item) => [item.name, item]));
}

function buildWeb(winners: Winners, get: <T>(key: string) => T | undefined): Config["web"] {
  const search = get<Config["web"]["search"]>("web.search") ?? "duckduckgo";
  const searchUrl = get<string>("web.search_url");
  const chosen = winners.get("web.search");
  if (search === "searxng" && !searchUrl && chosen) {
    throw new UserError(`${placeOf(chosen)}: web.search = "searxng" needs web.search_url, the address of the instance`);
  }
  return { search, ...(searchUrl ? { searchUrl } : {}), allowHosts: get<readonly string[]>("web.allow_hosts") ?? [] };
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
}

type BuildInput = {
  readonly winners: Winners;
  readonly env: Environment;
  readonly files: Config["files"];
  readonly noContext: boolean;
  readonly noMcp: boolean;
};

const MAX_CHARS = 20_000;

/**
 * @throws UserError (exit 2) for settings that are valid one by one but mean nothing together.
 */
export function buildConfig(input: BuildInput, diagnostics: Diagnostic[]): Config {
  const { winners } = input;
  const get = <T>(key: string): T | undefined => winners.get(key)?.value as T | undefined;
  const model = get<string>("model");
  const reasoningEffort = get<NonNullable<Config["reasoningEffort"]>>("reasoning_effort");
  const sessionDir = get<string>("session_dir");
  const longest = get<number>("shell.max_timeout");
  // A default gives way to what was written; of two that were, the time-out does not.
  const timeoutMs = get<number>("shell.timeout") ?? Math.min(120_000, longest ?? 120_000);
  const maxTimeoutMs = Math.max(timeoutMs, longest ?? 600_000);
  const servers = input.noMcp ? [] : groupsOf(winners, ["mcp", "servers"]).map(buildServer);
  return freeze({
    ...(model ? { model } : {}),
    ...(reasoningEffort ? { reasoningEffort } : {}),
    providers: byName(groupsOf(winners, ["providers"]).map((group) => buildProvider(group, input.env, diagnostics))),
    models: buildModels(winners),
    context: {
      enabled: !input.noContext,
      filenames: get<readonly string[]>("context.filenames") ?? [...CONTEXT_NAMES],
      maxChars: get<number>("context.max_chars") ?? MAX_CHARS,
      ownMaxChars:
        (winners.get("context.max_chars")?.origin === "project" ? undefined : get<number>("context.max_chars")) ?? MAX_CHARS,
      maxDiscoveredChars: get<number>("context.max_discovered_chars") ?? 8_000,
      maxTotalChars: get<number>("context.max_total_chars") ?? 100_000,
      ancestors: get<boolean>("context.ancestors") ?? true,
      scan: get<Config["context"]["scan"]>("context.scan") ?? "block",
    },
    shell: { timeoutMs, maxTimeoutMs, envAllow: get<readonly string[]>("shell.env_allow") ?? [] },
    web: buildWeb(winners, get),
    ...(sessionDir ? { sessionDir } : {}),
    authority: get<Config["authority"]>("authority") ?? "workspace-write",
    approval: get<Config["approval"]>("approval") ?? "never",
    stallTimeoutMs: get<number>("stall_timeout") ?? 120_000,
    retry: {
      maxTries: get<number>("retry.max_tries") ?? 8,
      capMs: get<number>("retry.cap") ?? 60_000,
      maxRetryAfterMs: get<number>("retry.max_retry_after") ?? 300_000,
    },
    compaction: {
      mode: get<Config["compaction"]["mode"]>("compaction.mode") ?? "auto",
      review: get<Config["compaction"]["review"]>("compaction.review") ?? "auto",
      threshold: get<number>("compaction.threshold") ?? 0.92,
      keepRecentTokens: get<number>("compaction.keep_recent_tokens") ?? 20_000,
    },
    skillDirs: get<readonly string[]>("skill_dirs") ?? [],
    mcp: { startTimeoutMs: get<number>("mcp.start_timeout") ?? 5_000, servers: byName(servers) },
    acp: {
      permissions: get<"reject" | "allow">("acp.permissions") ?? "reject",
      agents: byName(groupsOf(winners, ["acp", "agents"]).map(buildAgent)),
    },
    origins: Object.fromEntries([...winners.values()].map((setting) => [setting.key, setting.origin])),
    files: input.files,
  });
}
