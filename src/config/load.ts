/**
 * Flags over THNDRS_ variables over the project's file over the user's file over defaults (cli.md, Configuration). Refuses:
 * presets, credentials, writing. Without a file it loads no TOML parser.
 */
import { realpath } from "../base/async-fs.ts";
import { contentHash } from "../base/hash.ts";
import { nearestWord } from "../base/nearest.ts";
import { UserError } from "../base/user-error.ts";
import { variablePrefix } from "../base/variable-name.ts";
import type { Diagnostic } from "../types/event.ts";
import { buildConfig, type Setting } from "./build.ts";
import type { Environment } from "./env.ts";
import { configPaths, findHomes, type Homes } from "./homes.ts";
import { FLAG_KEYS, formatKey, isOtherVariable, type KeySpec, keys, variableOf } from "./keys.ts";
import type { Config } from "./schema.ts";
import { decodeSettings, MAX_CONFIG_BYTES, readSettingsFile } from "./settings-file.ts";
import type { Declared } from "./toml.ts";
import type { TrustState } from "./trust.ts";
import { readText, readValue } from "./values.ts";

/** The flags that are configuration. cli/'s `Flags` fits. */
export type ConfigFlags = {
  readonly model?: string;
  readonly reasoningEffort?: string;
  readonly authority?: string;
  readonly sessionDir?: string;
  readonly skillDir?: readonly string[];
  readonly noContext?: boolean;
  readonly noMcp?: boolean;
  /** Trusts the project's file for this run. */
  readonly trustProject?: boolean;
};

type ConfigRequest = {
  readonly env: Environment;
  readonly flags: ConfigFlags;
  /** Absolute. Relative paths in flags and variables start here. */
  readonly cwd: string;
  /** Absolute (context.md C1). */
  readonly workspaceRoot: string;
};

export type LoadedConfig = {
  readonly config: Config;
  /** What was ignored, and why. Errors are thrown, not listed. */
  readonly diagnostics: readonly Diagnostic[];
  /** Every key that is not a default, with where it came from. */
  readonly settings: readonly Setting[];
  readonly homes: Homes;
  /** The project's file when some of its keys wait for trust: what the REPL asks about. */
  readonly untrusted?: {
    readonly path: string;
    readonly bytes: Uint8Array;
    readonly keys: readonly string[];
    readonly state: TrustState;
  };
};

type SettingsFile = { readonly path: string; readonly bytes: Uint8Array; readonly declared: readonly Declared[] };

/** A file that cannot be looked for is none: whoever runs a container as another user sets everything in the environment. */
function sayClosed(path: string, closed: string, advice: string): Diagnostic {
  const message = `${closed} cannot be entered (permission denied), so ${path} is not looked for.${advice}`;
  return { severity: "warning", code: "config_unreachable", message, path: closed };
}

const OTHER_HOME =
  " Set THNDRS_HOME (or XDG_CONFIG_HOME and XDG_STATE_HOME) to a directory of this user to keep settings, keys and history there.";

async function readConfigFile(
  path: string | undefined,
  homes: Homes,
  diagnostics: Diagnostic[],
  advice = "",
): Promise<SettingsFile | undefined> {
  if (path === undefined) return undefined;
  const read = readSettingsFile(path, MAX_CONFIG_BYTES);
  if (read.kind === "absent") return undefined;
  if (read.kind === "unreadable" && read.closed !== undefined) {
    diagnostics.push(sayClosed(path, read.closed, advice));
    return undefined;
  }
  if (read.kind === "unreadable") throw new UserError(`${path}: cannot be read: ${read.reason}`);
  const text = decodeSettings(path, read.bytes);
  // Lazy door: the TOML parser is only needed by those who have a file.
  const { parseConfigFile } = await import("./toml.ts");
  return { path, bytes: read.bytes, declared: parseConfigFile(path, text, homes.user) };
}

function settingsOf(file: SettingsFile, declared: readonly Declared[], origin: "user" | "project"): readonly Setting[] {
  return declared.map(({ path, value, line }) => ({
    key: formatKey(path),
    path,
    value,
    origin,
    from: file.path,
    ...(line === undefined ? {} : { line }),
  }));
}

/** Variables that the configuration itself names: keys of providers, what is written as `${NAME}`. */
function namedVariables(winners: ReadonlyMap<string, Setting>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { path, value } of winners.values()) {
    if (path[path.length - 1] === "api_key_env") names.add(String(value));
    for (const [, name = ""] of (JSON.stringify(value) ?? "").matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)) names.add(name);
  }
  return names;
}

function readVariables(env: Environment, cwd: string, homes: Homes, winners: ReadonlyMap<string, Setting>): readonly Setting[] {
  // Most environments hold none: then the table of keys is not gone through.
  if (!Object.keys(env).some((name) => name.startsWith("THNDRS_"))) return [];
  const names = new Map<string, KeySpec>();
  for (const spec of keys()) {
    const name = variableOf(spec);
    if (name) names.set(name, spec);
  }
  const settings: Setting[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("THNDRS_") || text === undefined || text.trim() === "" || isOtherVariable(name)) continue;
    const spec = names.get(name);
    if (!spec && namedVariables(winners).has(name)) continue;
    if (!spec) {
      const near = nearestWord(name, [...names.keys(), "THNDRS_HOME"]);
      const hint = near ? `; did you mean ${near}?` : '; "thndrs help configuration" lists the variables';
      throw new UserError(`environment: unknown variable ${name}${hint}`);
    }
    const read = readText(spec.type, text, { base: cwd, ...(homes.user ? { home: homes.user } : {}) });
    if (!read.ok) throw new UserError(`environment: ${name} must be ${read.expected}`);
    settings.push({ key: spec.name, path: spec.name.split("."), value: read.value, origin: "environment", from: `$${name}` });
  }
  return settings;
}

function readFlags(flags: ConfigFlags, cwd: string, homes: Homes): readonly Setting[] {
  const given: readonly (readonly [keyof typeof FLAG_KEYS, string, unknown])[] = [
    ["model", "--model", flags.model],
    ["reasoning_effort", "--reasoning-effort", flags.reasoningEffort],
    ["authority", "--authority", flags.authority],
    ["session_dir", "--session-dir", flags.sessionDir],
    ["skill_dirs", "--skill-dir", flags.skillDir],
  ];
  const settings: Setting[] = [];
  for (const [key, from, raw] of given) {
    if (raw === undefined) continue;
    const read = readValue(FLAG_KEYS[key], raw, { base: cwd, ...(homes.user ? { home: homes.user } : {}) });
    if (!read.ok) throw new UserError(`${from} must be ${read.expected}`);
    settings.push({ key, path: [key], value: read.value, origin: "flag", from });
  }
  return settings;
}

/** The keys that say where a named table's traffic or commands go: who sets one owns the whole table. */
const ENDPOINTS: ReadonlySet<string> = new Set(["base_url", "command", "url"]);

/** `["providers", "x"]`, `["mcp", "servers", "x"]` or `["acp", "agents", "x"]` for a key inside such a table. */
function tableOf(setting: Setting): string | undefined {
  const [first] = setting.path;
  const length = first === "providers" ? 2 : first === "mcp" || first === "acp" ? 3 : 0;
  return length > 0 && setting.path.length > length ? formatKey(setting.path.slice(0, length)) : undefined;
}

/**
 * Lays `layer` over `winners`. Keys win one by one, except that a layer which names a table's endpoint replaces what lower
 * layers said of that table: headers and variables meant for one address or program never reach another one. `skill_dirs`
 * adds up, the nearest first.
 */
function lay(winners: Map<string, Setting>, layer: readonly Setting[]): void {
  const owned = new Set<string>();
  for (const setting of layer) {
    const table = ENDPOINTS.has(setting.path[setting.path.length - 1] ?? "") ? tableOf(setting) : undefined;
    if (table) owned.add(table);
  }
  for (const [key, setting] of winners) {
    const table = tableOf(setting);
    if (table && owned.has(table)) winners.delete(key);
  }
  for (const setting of layer) {
    const below = winners.get(setting.key);
    const adds = setting.key === "skill_dirs" && Array.isArray(setting.value);
    const more = adds && Array.isArray(below?.value) ? below.value : [];
    // Only there: the words of a command may repeat.
    winners.set(setting.key, adds ? { ...setting, value: [...new Set([...setting.value, ...more])] } : setting);
  }
}

/** `OPENAI_BASE_URL` outranks a project's `providers.openai.base_url`: the whole of that table then counts for nothing. */
function withoutOverruled(settings: readonly Setting[], env: Environment): readonly Setting[] {
  const overruled = new Set<string>();
  for (const { path } of settings) {
    const [first, name, key] = path;
    if (first !== "providers" || name === undefined || key !== "base_url") continue;
    if (env[`${variablePrefix(name)}_BASE_URL`]?.trim()) overruled.add(name);
  }
  return settings.filter(({ path }) => path[0] !== "providers" || !overruled.has(path[1] ?? ""));
}

async function sameFile(left: string, right: string): Promise<boolean> {
  const [a, b] = await Promise.all([left, right].map((path) => realpath(path).catch(() => undefined)));
  return a !== undefined && a === b;
}

/**
 * Resolves the configuration of one run.
 * @throws UserError (exit 2) naming file, line, key and the nearest valid key.
 */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const { env, flags, cwd, workspaceRoot } = request;
  const homes = findHomes(env, cwd);
  const paths = configPaths(homes, workspaceRoot);
  const diagnostics: Diagnostic[] = [];
  const [user, found] = await Promise.all([
    readConfigFile(paths.user, homes, diagnostics, OTHER_HOME),
    readConfigFile(paths.project, homes, diagnostics),
  ]);
  const project = found && user && (await sameFile(user.path, found.path)) ? undefined : found;
  const winners = new Map<string, Setting>();
  const files: Config["files"][number][] = [];
  let untrusted: LoadedConfig["untrusted"];
  if (user) {
    lay(winners, settingsOf(user, user.declared, "user"));
    files.push({ path: user.path, source: "user", hash: contentHash(user.bytes), trusted: true });
  }
  if (project) {
    // Only now: whoever has no project file needs neither trust nor its rules.
    const { admitProject, trustOf } = await import("./project.ts");
    const state = flags.trustProject ? "trusted" : await trustOf(homes.config, project.path, project.bytes);
    const admitted = await admitProject(project.path, project.declared, state, workspaceRoot);
    diagnostics.push(...admitted.diagnostics);
    lay(winners, withoutOverruled(settingsOf(project, admitted.declared, "project"), env));
    files.push({ path: project.path, source: "project", hash: contentHash(project.bytes), trusted: state === "trusted" });
    if (admitted.waiting.length > 0) untrusted = { path: project.path, bytes: project.bytes, keys: admitted.waiting, state };
  }
  lay(winners, readVariables(env, cwd, homes, winners));
  lay(winners, readFlags(flags, cwd, homes));
  const input = { winners, env, files, noContext: flags.noContext === true, noMcp: flags.noMcp === true };
  const config = buildConfig(input, diagnostics);
  return { config, diagnostics, settings: [...winners.values()], homes, ...(untrusted ? { untrusted } : {}) };
}
