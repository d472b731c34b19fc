/**
 * Which MCP servers this workspace has: the configuration's, and those of a trusted `.mcp.json`. Variables are expanded here,
 * and whatever is left out is said. Knows no protocol. Refuses: starting anything, reading an untrusted file as more than names.
 */
import { isAbsolute, join, resolve } from "node:path";
import { contentHash } from "../base/hash.ts";
import { redact } from "../base/redact.ts";
import { looksSecret } from "../base/secret-names.ts";
import { cutChars } from "../base/text.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { McpServerSettings } from "../config/schema.ts";
import { readSettingsFile } from "../config/settings-file.ts";
import { openTrust, type TrustState } from "../config/trust.ts";
import type { Diagnostic } from "../types/event.ts";
import { type FileServer, parseServerFile } from "./server-file.ts";

export type StdioPlan = {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** Declared variables, expanded. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute; the workspace root when nothing else is configured. */
  readonly cwd: string;
};

export type HttpPlan = {
  readonly kind: "http";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** True for a server declared as the older SSE transport. */
  readonly sse: boolean;
};

export type ServerPlan = {
  readonly name: string;
  readonly transport: StdioPlan | HttpPlan;
  /** Milliseconds: for one call, and for connecting. */
  readonly timeoutMs: number;
  /** Only these of its tools, by their original names. */
  readonly tools?: readonly string[];
  /** The file that declares it. */
  readonly from: string;
  /** Values that must not be shown: what secret-looking variables and headers were expanded to. */
  readonly secrets: readonly string[];
};

export type ListedServer = {
  readonly name: string;
  readonly from: string;
  /** `command args…` or the address, as written: not expanded, and without the secrets somebody wrote into it. */
  readonly target: string;
  readonly state: "configured" | "disabled" | "untrusted" | "incomplete";
  readonly plan?: ServerPlan;
};

export type Plans = {
  readonly listed: readonly ListedServer[];
  readonly diagnostics: readonly Diagnostic[];
  /** The files that have a say, for `mcp_config_changed`. */
  readonly files: readonly { readonly path: string; readonly hash: string }[];
};

export type PlanRequest = {
  readonly loaded: Pick<LoadedConfig, "config" | "settings" | "homes">;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Real path. */
  readonly root: string;
  /** `--trust-project`. */
  readonly trustProject: boolean;
};

/** A server whose texts are what they say, whatever they look like: an editor has no templates. */
export type LiteralServer = McpServerSettings & { readonly literal: true; readonly sse: boolean };

function isLiteral(settings: McpServerSettings): settings is LiteralServer {
  return "literal" in settings && settings.literal === true;
}

/** Shorter values would black out ordinary words. */
const MIN_SECRET_CHARS = 8;

/** What one server's texts were made of. */
type Expansion = {
  readonly env: PlanRequest["env"];
  readonly missing: Set<string>;
  /** Values of variables whose names say that they are secrets. */
  readonly secrets: Set<string>;
};

/** `${NAME}` and `${NAME:-default}`; a variable without a value and default is noted in `missing`. */
function expand(text: string, { env, missing, secrets }: Expansion): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const value = env[name];
    if (value !== undefined && value !== "") {
      if (looksSecret(name) && value.length >= MIN_SECRET_CHARS) secrets.add(value);
      return value;
    }
    if (fallback === undefined) missing.add(name);
    return fallback ?? "";
  });
}

const REFERENCE = /\$\{/;

/** Values under secret-looking names, and whatever came from a variable. Short ones would black out ordinary words. */
function secretsOf(written: Readonly<Record<string, string>>, expanded: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(expanded).flatMap(([name, value]) => {
    const secret = looksSecret(name) || /^(?:proxy-)?authorization$|cookie|api-?key|token|secret/i.test(name);
    if (!secret && !REFERENCE.test(written[name] ?? "")) return [];
    const bare = value.replace(/^(?:Bearer|Basic|Token)\s+/i, "").trim();
    return bare.length >= MIN_SECRET_CHARS ? [bare] : [];
  });
}

function targetOf(settings: McpServerSettings): string {
  return redact(settings.url ?? [settings.command ?? "", ...settings.args].join(" "));
}

function plan(
  server: FileServer,
  from: string,
  request: PlanRequest,
): { readonly plan: ServerPlan } | { readonly missing: readonly string[] } | { readonly problem: string } {
  const { settings } = server;
  const { env, root } = request;
  const into: Expansion = { env, missing: new Set(), secrets: new Set() };
  const literal = isLiteral(settings);
  const grow = (text: string): string => (literal ? text : expand(text, into));
  const growAll = (map: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, grow(value)]));
  const transport = (): StdioPlan | HttpPlan => {
    if (settings.url !== undefined) {
      return { kind: "http", url: grow(settings.url), headers: growAll(settings.headers), sse: server.sse };
    }
    const cwd = settings.cwd === undefined ? root : grow(settings.cwd);
    return {
      kind: "stdio",
      command: grow(settings.command ?? ""),
      args: settings.args.map(grow),
      env: growAll(settings.env),
      cwd: isAbsolute(cwd) ? cwd : resolve(root, cwd),
    };
  };
  const made = transport();
  if (into.missing.size > 0) return { missing: [...into.missing] };
  if (made.kind === "http" && !/^https?:$/.test(URL.parse(made.url)?.protocol ?? "")) {
    return { problem: `"${cutChars(targetOf(settings), 100)}" is not an http or https address` };
  }
  const declared = made.kind === "http" ? secretsOf(settings.headers, made.headers) : secretsOf(settings.env, made.env);
  return {
    plan: {
      name: settings.name,
      transport: made,
      timeoutMs: settings.timeoutMs,
      ...(settings.tools && { tools: settings.tools }),
      from,
      secrets: [...new Set([...declared, ...into.secrets])],
    },
  };
}

function list(server: FileServer, from: string, request: PlanRequest, diagnostics: Diagnostic[]): ListedServer {
  const { settings } = server;
  const common = { name: settings.name, from, target: targetOf(settings) };
  if (!settings.enabled) return { ...common, state: "disabled" };
  const made = plan(server, from, request);
  if ("plan" in made) return { ...common, state: "configured", plan: made.plan };
  const why = "problem" in made ? made.problem : `${made.missing.map((name) => `$${name}`).join(", ")} is not set`;
  const message = `MCP server ${settings.name} is left out: ${why}`;
  diagnostics.push({ severity: "warning", code: "mcp.incomplete", message, path: from });
  return { ...common, state: "incomplete" };
}

/** Where `.mcp.json` lies. */
export function serverFilePath(root: string): string {
  return join(root, ".mcp.json");
}

/** A stranger's file: its names are shown only where they are plain words, because diagnostics reach the model, too. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,40}$/;
const MAX_SHOWN = 10;

function sayUntrusted(path: string, state: TrustState, names: readonly string[]): Diagnostic {
  const why = state === "changed" ? "has changed since it was trusted" : "is not trusted";
  const shown = names.filter((name) => PLAIN_NAME.test(name)).slice(0, MAX_SHOWN);
  const more = names.length - shown.length;
  const list = [...shown, ...(more > 0 ? [`${more}${shown.length > 0 ? " more" : ""}`] : [])].join(", ");
  const what = names.length === 0 ? "" : `; ignored: MCP servers ${list}`;
  const message = `${path} ${why}${what} (read it, then run "thndrs trust"; --trust-project trusts it for one run)`;
  return { severity: "warning", code: "mcp.untrusted", message, path };
}

type FileServers = { readonly servers: readonly FileServer[]; readonly trusted: boolean };

async function readServerFile(
  request: PlanRequest,
  diagnostics: Diagnostic[],
  files: { path: string; hash: string }[],
): Promise<FileServers> {
  const path = serverFilePath(request.root);
  const read = readSettingsFile(path);
  if (read.kind === "absent") return { servers: [], trusted: false };
  if (read.kind === "unreadable") {
    const message = `${path} cannot be read: ${read.reason}`;
    diagnostics.push({ severity: "warning", code: "mcp.file", message, path });
    return { servers: [], trusted: false };
  }
  files.push({ path, hash: contentHash(read.bytes) });
  const state = request.trustProject ? "trusted" : await openTrust(request.loaded.homes.config).state(path, read.bytes);
  const parsed = parseServerFile(path, read.bytes);
  if (state !== "trusted") {
    diagnostics.push(
      sayUntrusted(
        path,
        state,
        parsed.servers.map((server) => server.settings.name),
      ),
    );
    return { servers: parsed.servers, trusted: false };
  }
  diagnostics.push(...parsed.diagnostics);
  return { servers: parsed.servers, trusted: true };
}

/** The configuration file that declares a server, else where its values came from. */
function sourceOf(name: string, loaded: PlanRequest["loaded"]): string {
  const setting = loaded.settings.find(({ path }) => path[0] === "mcp" && path[1] === "servers" && path[2] === name);
  return setting?.from ?? "configuration";
}

/** Servers of the configuration win over a `.mcp.json` server of the same name. Never throws. */
export async function readPlans(request: PlanRequest): Promise<Plans> {
  const { config } = request.loaded;
  const diagnostics: Diagnostic[] = [];
  const files = config.files.map(({ path, hash }) => ({ path, hash }));
  const listed = Object.values(config.mcp.servers).map((settings) =>
    list({ settings, sse: isLiteral(settings) && settings.sse }, sourceOf(settings.name, request.loaded), request, diagnostics),
  );
  const taken = new Set(listed.map((server) => server.name));
  const fromFile = await readServerFile(request, diagnostics, files);
  const path = serverFilePath(request.root);
  for (const server of fromFile.servers) {
    const { name } = server.settings;
    if (taken.has(name)) {
      if (!fromFile.trusted) continue;
      const message = `MCP server ${name} of ${path} is left out: the configuration has one of that name`;
      diagnostics.push({ severity: "info", code: "mcp.duplicate", message, path });
    } else if (fromFile.trusted) listed.push(list(server, path, request, diagnostics));
    else listed.push({ name, from: path, target: targetOf(server.settings), state: "untrusted" });
  }
  return { listed, diagnostics, files };
}
