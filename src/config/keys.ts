/**
 * The one table of configuration keys. Parsing, error messages, `config show` and the documentation test are derived from
 * it. Refuses: reading values (values.ts), layering them (load.ts).
 */

import { MARKER_VARIABLE } from "../base/child-env.ts";
import { once } from "../base/once.ts";
import { cutChars } from "../base/text.ts";

export type KeyType =
  | { readonly kind: "text" }
  /** `provider/id` (or `acp:NAME`). */
  | { readonly kind: "model" }
  | { readonly kind: "choice"; readonly of: readonly string[]; readonly aliases?: Readonly<Record<string, string>> }
  | { readonly kind: "integer"; readonly min: number; readonly max?: number }
  | { readonly kind: "boolean" }
  /** Seconds, or text such as "90s"; kept as milliseconds. `min` is milliseconds. */
  | { readonly kind: "duration"; readonly min: number }
  /** 0.92, 92 or "92%"; kept as 0–1. */
  | { readonly kind: "fraction" }
  /** `empty`: each of them may be "". */
  | { readonly kind: "texts"; readonly empty?: true }
  /** Relative to the declaring file; kept absolute. */
  | { readonly kind: "path" }
  | { readonly kind: "paths" }
  | { readonly kind: "url" }
  /** Name of an environment variable. */
  | { readonly kind: "variable" }
  /** Text by name; secrets only as `${NAME}`. */
  | { readonly kind: "map" }
  | { readonly kind: "price" };

/** What a project file may do with a key (cli.md): always, only with values inside the workspace, when trusted, never. */
type ProjectRight = "harmless" | "inside" | "trusted" | "never";

export type KeySpec = {
  /** Dotted path; `*` stands for a name the user chooses. */
  readonly name: string;
  readonly type: KeyType;
  readonly project: ProjectRight;
  /** The value when nobody sets it, as a person would write it; undefined: unset. */
  readonly fallback?: string;
  readonly about: string;
};

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
const text: KeyType = { kind: "text" };
const map: KeyType = { kind: "map" };
const texts: KeyType = { kind: "texts" };
const args: KeyType = { kind: "texts", empty: true };
const seconds = (min: number): KeyType => ({ kind: "duration", min });
const count = (min: number): KeyType => ({ kind: "integer", min });
const choice = (...of: readonly string[]): KeyType => ({ kind: "choice", of });

const key = (name: string, type: KeyType, project: ProjectRight, about: string, fallback?: string): KeySpec =>
  fallback === undefined ? { name, type, project, about } : { name, type, project, about, fallback };

const WIRES: KeyType = {
  kind: "choice",
  of: ["openai-chat", "openai-responses", "anthropic"],
  aliases: { chat: "openai-chat", responses: "openai-responses" },
};

/** Types of the keys that a flag sets too: with flags and without files a run asks for nothing else of the table. */
export const FLAG_KEYS = {
  model: { kind: "model" },
  reasoning_effort: { kind: "choice", of: EFFORTS },
  authority: { kind: "choice", of: ["read-only", "workspace-write"] },
  session_dir: { kind: "path" },
  skill_dirs: { kind: "paths" },
} as const satisfies Readonly<Record<string, KeyType>>;

/** Every key, in the order people see them; made when it is first asked for. */
export const keys = once((): readonly KeySpec[] => [
  key("model", FLAG_KEYS.model, "trusted", "model to use, PROVIDER/ID"),
  key("reasoning_effort", FLAG_KEYS.reasoning_effort, "trusted", "how much the model thinks before it answers"),
  key("authority", FLAG_KEYS.authority, "trusted", "which tools exist", "workspace-write"),
  key("approval", choice("never", "shell", "writes", "all"), "trusted", "what the REPL asks about first", "never"),
  key("session_dir", FLAG_KEYS.session_dir, "inside", "where sessions are kept", "<workspace>/.thndrs/sessions"),
  key("stall_timeout", seconds(1000), "trusted", "give up on a stream without an event for this long", "2m"),
  key("skill_dirs", FLAG_KEYS.skill_dirs, "inside", "more directories with skills; all files' values add up", "[]"),
  key(
    "context.filenames",
    texts,
    "trusted",
    "instruction file names, first match wins",
    "AGENTS.override.md, AGENTS.md, CLAUDE.md, GEMINI.md",
  ),
  key("context.max_chars", count(1), "harmless", "characters of one instruction file of the chain", "20000"),
  key("context.max_discovered_chars", count(1), "harmless", "characters of one nested instruction file", "8000"),
  key("context.max_total_chars", count(1), "harmless", "characters of all instruction text together", "100000"),
  key("context.ancestors", { kind: "boolean" }, "trusted", "read instruction files above the workspace", "true"),
  key("context.scan", choice("block", "warn", "off"), "never", "what a suspicious instruction file leads to", "block"),
  key("shell.timeout", seconds(1000), "trusted", "time for one command when the call names none", "2m"),
  key("shell.max_timeout", seconds(1000), "trusted", "longest time a call may ask for", "10m"),
  key("shell.env_allow", texts, "trusted", "variables commands get although they look like credentials", "[]"),
  key("web.search", choice("duckduckgo", "searxng", "brave", "exa", "none"), "trusted", "web search backend", "duckduckgo"),
  key("web.search_url", { kind: "url" }, "trusted", "address of the searxng instance"),
  key("web.allow_hosts", texts, "trusted", "private hosts the web tools may reach", "[]"),
  key("retry.max_tries", count(1), "trusted", "tries for one request", "8"),
  key("retry.cap", seconds(0), "trusted", "longest pause between two tries", "1m"),
  key("retry.max_retry_after", seconds(0), "trusted", "longest Retry-After that is waited for", "5m"),
  key("compaction.mode", choice("off", "manual", "auto"), "trusted", "when a long conversation is summarised", "auto"),
  key("compaction.review", choice("never", "auto", "always"), "trusted", "when a summary waits for approval", "auto"),
  key("compaction.threshold", { kind: "fraction" }, "trusted", "share of the window that starts it", "92%"),
  key("compaction.keep_recent_tokens", count(1), "trusted", "newest tokens kept word for word", "20000"),
  key("providers.*.wire", WIRES, "trusted", "wire format: openai-chat, openai-responses or anthropic"),
  key("providers.*.base_url", { kind: "url" }, "trusted", "address requests go to"),
  key("providers.*.api_key_env", { kind: "variable" }, "trusted", "variable that holds the key"),
  key("providers.*.headers", map, "trusted", "more request headers; $NAME in braces takes a variable"),
  key("providers.*.query", map, "trusted", "query parameters of every request"),
  key("providers.*.models", texts, "trusted", "model ids to offer; the first is the default"),
  key("models.*.context_window", count(1), "trusted", "tokens the model takes"),
  key("models.*.max_output", count(1), "trusted", "tokens it may answer"),
  key("models.*.price", { kind: "price" }, "trusted", "US dollars per million tokens: input, output, cache_read, cache_write"),
  key("mcp.start_timeout", seconds(0), "trusted", "how long the first request waits for servers", "5s"),
  key("mcp.servers.*.command", text, "trusted", "program of a stdio server"),
  key("mcp.servers.*.args", args, "trusted", "its arguments"),
  key("mcp.servers.*.env", map, "trusted", "its variables; $NAME in braces takes a variable"),
  key("mcp.servers.*.cwd", { kind: "path" }, "trusted", "its working directory"),
  key("mcp.servers.*.url", { kind: "url" }, "trusted", "address of an HTTP server"),
  key("mcp.servers.*.headers", map, "trusted", "its headers; $NAME in braces takes a variable"),
  key("mcp.servers.*.enabled", { kind: "boolean" }, "trusted", "whether it is started", "true"),
  key("mcp.servers.*.timeout_secs", seconds(1), "trusted", "time for one call", "20s"),
  key("mcp.servers.*.tools", texts, "trusted", "only these of its tools"),
  key(
    "acp.permissions",
    choice("reject", "allow"),
    "trusted",
    "what print mode answers an agent that asks for permission",
    "reject",
  ),
  key("acp.agents.*.command", text, "trusted", "program of an external agent (--model acp:NAME)"),
  key("acp.agents.*.args", args, "trusted", "its arguments"),
  key("acp.agents.*.env", map, "trusted", "its variables; $NAME in braces takes a variable"),
  key("acp.agents.*.timeout_secs", seconds(1), "trusted", "time for its answers to thndrs' own questions", "1m"),
]);

/** Variables that begin with THNDRS_ and are no configuration keys: ours, the installer's, and what children are marked with. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set([
  MARKER_VARIABLE,
  "THNDRS_HOME",
  // The installer's: whoever keeps them in a profile must still be able to start the program.
  "THNDRS_VERSION",
  "THNDRS_INSTALL_DIR",
  "THNDRS_RELEASES_URL",
]);

/** `context.max_chars` → `THNDRS_CONTEXT_MAX_CHARS`; keys with a name chosen by the user have no variable. */
export function variableOf(spec: KeySpec): string | undefined {
  return spec.name.includes("*") ? undefined : `THNDRS_${spec.name.replaceAll(".", "_").toUpperCase()}`;
}

/** True for a THNDRS_ variable that configures nothing but is expected. */
export function isOtherVariable(name: string): boolean {
  return OTHER_VARIABLES.has(name);
}

/** Made when a key is looked up: a start without settings looks up none. */
const parts = once(() => keys().map((spec) => ({ spec, parts: spec.name.split(".") })));

/** The key a path of table names leads to, if any. */
export function findKey(path: readonly string[]): KeySpec | undefined {
  const found = parts().find(
    ({ parts: words }) => words.length === path.length && words.every((part, index) => part === "*" || part === path[index]),
  );
  return found?.spec;
}

/** The valid next words below a table path; `*` where any name goes. Empty when the path is no table. */
export function childrenOf(path: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const { parts: words } of parts()) {
    if (words.length <= path.length) continue;
    if (!path.every((word, index) => words[index] === "*" || words[index] === word)) continue;
    found.add(words[path.length] ?? "");
  }
  return [...found];
}

/** A path for a message: `formatKey`, cut where a stranger made it long. */
export function nameKey(path: readonly string[]): string {
  const text = formatKey(path.slice(0, 8));
  return text.length > 120 ? `${cutChars(text, 120)}…` : text;
}

/** A path as TOML writes it: words that are not bare keys are quoted. */
export function formatKey(path: readonly string[]): string {
  return path.map((part) => (/^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part))).join(".");
}
