/**
 * The standard `.mcp.json`: `{"mcpServers": {"NAME": {"command", "args", "env", "cwd"} | {"url", "headers"}}}`. Parsed by hand
 * because zod is slow to load and this runs before the first request. Refuses: trust, expanding variables.
 */
import { LONGEST_TIMER } from "../base/clock.ts";
import { isObject } from "../base/json.ts";
import type { McpServerSettings } from "../config/schema.ts";
import type { Diagnostic } from "../types/event.ts";

export type FileServer = {
  readonly settings: McpServerSettings;
  /** Declared as the older SSE transport. */
  readonly sse: boolean;
};

export type ParsedServerFile = { readonly servers: readonly FileServer[]; readonly diagnostics: readonly Diagnostic[] };

const DEFAULT_TIMEOUT_MS = 20_000;
/** More than anybody configures. */
const MAX_SERVERS = 100;
const KNOWN = new Set([
  "type",
  "transport",
  "command",
  "args",
  "env",
  "cwd",
  "url",
  "headers",
  "enabled",
  "disabled",
  "timeout_secs",
  "tools",
  "description",
]);

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Numbers and booleans are written as text; anything else is no value. */
function texts(value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined) return {};
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value);
  if (!entries.every(([, item]) => ["string", "number", "boolean"].includes(typeof item))) return undefined;
  return Object.fromEntries(entries.map(([name, item]) => [name, String(item)]));
}

/** A number beyond what a timer can hold means "no limit". */
function timerMs(seconds: number): number {
  return Math.min(LONGEST_TIMER, Math.max(1, Math.round(seconds * 1000)));
}

/** One server, or what is wrong with it. */
function readServer(name: string, raw: unknown): FileServer | string {
  if (!isObject(raw)) return "it is not an object";
  const { command, args, cwd, url, tools, enabled, disabled, timeout_secs: seconds } = raw;
  const env = texts(raw.env);
  const headers = texts(raw.headers);
  if ((typeof command === "string" && command !== "") === (typeof url === "string" && url !== "")) {
    return 'it needs either "command" or "url"';
  }
  if (args !== undefined && !isTexts(args)) return '"args" must be a list of texts';
  if (!env) return '"env" must be an object of texts';
  if (!headers) return '"headers" must be an object of texts';
  if (cwd !== undefined && typeof cwd !== "string") return '"cwd" must be a text';
  if (tools !== undefined && !isTexts(tools)) return '"tools" must be a list of texts';
  if (seconds !== undefined && (typeof seconds !== "number" || !(seconds > 0))) return '"timeout_secs" must be a number over 0';
  const type = raw.type ?? raw.transport;
  return {
    settings: {
      name,
      ...(typeof command === "string" && command !== "" && { command }),
      args: args ?? [],
      env,
      ...(cwd !== undefined && { cwd }),
      ...(typeof url === "string" && url !== "" && { url }),
      headers,
      enabled: enabled !== false && disabled !== true,
      timeoutMs: typeof seconds === "number" ? timerMs(seconds) : DEFAULT_TIMEOUT_MS,
      ...(tools && { tools }),
    },
    sse: type === "sse",
  };
}

/** Never throws: a broken file has no servers, a broken server is left out, and both are said. */
export function parseServerFile(path: string, bytes: Uint8Array): ParsedServerFile {
  const diagnostics: Diagnostic[] = [];
  const warn = (message: string): void => {
    diagnostics.push({ severity: "warning", code: "mcp.file", message: `${path}: ${message}`, path });
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    warn(`it is not valid JSON (${error instanceof Error ? error.message : String(error)})`);
    return { servers: [], diagnostics };
  }
  const table = isObject(parsed) ? parsed.mcpServers : undefined;
  if (!isObject(table)) {
    warn('it has no "mcpServers" object');
    return { servers: [], diagnostics };
  }
  const servers: FileServer[] = [];
  for (const [name, raw] of Object.entries(table).slice(0, MAX_SERVERS)) {
    const server = readServer(name, raw);
    if (typeof server === "string") {
      warn(`MCP server ${name} is left out: ${server}`);
      continue;
    }
    const unknown = isObject(raw) ? Object.keys(raw).filter((key) => !KNOWN.has(key)) : [];
    if (unknown.length > 0) warn(`MCP server ${name}: unknown keys ${unknown.slice(0, 5).join(", ")} are ignored`);
    servers.push(server);
  }
  return { servers, diagnostics };
}
