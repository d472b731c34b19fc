/**
 * The configuration as text: every key with its value and where it came from (`config show`). Refuses: redaction and
 * terminal safety (the caller's), presets.
 */
import { formatDuration } from "../base/duration.ts";
import type { Setting } from "./build.ts";
import { findKey, type KeySpec, type KeyType, keys } from "./keys.ts";
import type { Origin } from "./schema.ts";

export type ShownKey = {
  /** As TOML writes it. */
  readonly key: string;
  /** As TOML writes it; undefined: not set. */
  readonly value: string | undefined;
  readonly origin: Origin;
  /** File, variable or flag; undefined for a default. */
  readonly from?: string;
  readonly line?: number;
};

function list(items: readonly string[]): string {
  return `[${items.map((item) => JSON.stringify(item)).join(", ")}]`;
}

function table(entries: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(entries).map(
    ([name, value]) => `${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)} = ${JSON.stringify(value)}`,
  );
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

function price(value: Readonly<Record<string, unknown>>): string {
  return table(
    Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`), part]),
    ),
  );
}

/** A value as TOML writes it, in the form the file would use. */
export function formatValue(type: KeyType, value: unknown): string {
  if (type.kind === "duration" && typeof value === "number") return JSON.stringify(formatDuration(value));
  if (Array.isArray(value)) return list(value.map(String));
  if (typeof value === "object" && value !== null) {
    const entries = value as Readonly<Record<string, unknown>>;
    return type.kind === "price" ? price(entries) : table(entries);
  }
  return JSON.stringify(value);
}

function fallbackOf(spec: KeySpec): string | undefined {
  if (spec.fallback === undefined) return undefined;
  if (spec.type.kind === "integer" || spec.type.kind === "boolean" || spec.fallback === "[]") return spec.fallback;
  return spec.type.kind === "texts" ? list(spec.fallback.split(", ")) : JSON.stringify(spec.fallback);
}

function show(setting: Setting, spec: KeySpec): ShownKey {
  return {
    key: setting.key,
    value: formatValue(spec.type, setting.value),
    origin: setting.origin,
    from: setting.from,
    ...(setting.line === undefined ? {} : { line: setting.line }),
  };
}

/** Every key in table order, defaults that lie in the workspace with its path; keys with a name the user chose once for each name that is set. */
export function showKeys(settings: readonly Setting[], workspaceRoot: string): readonly ShownKey[] {
  return keys().flatMap((spec): ShownKey[] => {
    const set = settings.filter((setting) => findKey(setting.path) === spec).map((setting) => show(setting, spec));
    if (set.length > 0 || spec.name.includes("*")) return set;
    return [{ key: spec.name, value: fallbackOf(spec)?.replace("<workspace>", workspaceRoot), origin: "default" }];
  });
}

/** A new configuration file: every key a user might want, commented out, with its default. */
export function templateText(): string {
  const lines = [
    "# thndrs configuration. Every key, with its default; remove the # to set one, and write a value where there is a …",
    '# "thndrs config show" prints what counts here, and why. Keys and tokens never go into this file: "thndrs login".',
    "",
  ];
  let table = "";
  for (const spec of keys()) {
    if (spec.name.includes("*")) continue;
    const parts = spec.name.split(".");
    const name = parts.at(-1) ?? "";
    const here = parts.slice(0, -1).join(".");
    if (here !== table) {
      lines.push("", `# [${here}]`);
      table = here;
    }
    // A key without a default, or whose default depends on the place, is shown by what it is: its line is no line to uncomment.
    const fallback = fallbackOf(spec);
    const plain = fallback !== undefined && !fallback.includes("<");
    const about = plain || fallback === undefined ? spec.about : `${spec.about} (default: ${JSON.parse(fallback)})`;
    lines.push(`# ${name} = ${plain ? fallback : "…"}  # ${about}`);
  }
  lines.push(
    "",
    "# [providers.NAME]   wire, base_url, api_key_env, headers, query, models",
    '# [models."PROVIDER/ID"]   context_window, max_output, price',
  );
  lines.push(
    "# [mcp.servers.NAME]   command, args, env, cwd, or url, headers; enabled, timeout_secs, tools",
    "# [acp.agents.NAME]   command, args, env, timeout_secs",
    "",
  );
  return lines.join("\n");
}
