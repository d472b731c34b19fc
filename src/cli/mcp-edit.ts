/**
 * `thndrs mcp add|remove NAME`: one `[mcp.servers.NAME]` table in the user's configuration, or in the project's with
 * --project. Everything else in the file stays as it is, byte for byte. Refuses: keeping a secret in a file.
 */
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { createCredentials } from "../config/credentials.ts";
import { configPaths, findHomes } from "../config/homes.ts";
import { nameKey } from "../config/keys.ts";
import { updateSettingsFile } from "../config/private-file.ts";
import { decodeSettings, type FileRead, MAX_CONFIG_BYTES, readSettingsFile } from "../config/settings-file.ts";
import { parseConfigFile } from "../config/toml.ts";
import { loginName } from "../mcp/login-store.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";

type ConfigFile = { readonly path: string; readonly home: string | undefined };

async function configFile(context: CommandContext): Promise<ConfigFile> {
  const { env, cwd, flags } = context;
  const { root } = await openWorkspace(cwd);
  const homes = findHomes(env, cwd);
  const paths = configPaths(homes, root);
  const path = flags.project ? paths.project : paths.user;
  if (path === undefined) throw new UserError("there is no place for a user configuration: set HOME or THNDRS_HOME");
  return { path, home: homes.user };
}

/** Lets `change` make a new text of the file's; one process at a time. A mode the user gave the file stays. */
async function edit(context: CommandContext, { path }: ConfigFile, change: (text: string) => string): Promise<void> {
  const found = readSettingsFile(path, MAX_CONFIG_BYTES);
  if (found.kind === "unreadable") throw new UserError(`${path}: cannot be read: ${found.reason}`);
  const mode = found.kind === "bytes" ? found.mode : context.flags.project ? 0o644 : 0o600;
  const changed = (read: Exclude<FileRead, { kind: "unreadable" }>): string => {
    if (read.kind === "absent") return change("");
    const text = decodeSettings(path, read.bytes);
    const bom = read.bytes[0] === 0xef && read.bytes[1] === 0xbb && read.bytes[2] === 0xbf ? "\ufeff" : "";
    return bom + change(text);
  };
  await updateSettingsFile(path, mode, changed, context.signal);
}

/** What the file declares, one line of text a key; throws where it is broken. */
function declared(file: ConfigFile, text: string): ReadonlyMap<string, string> {
  return new Map(parseConfigFile(file.path, text, file.home).map(({ path, value }) => [path.join("\0"), JSON.stringify(value)]));
}

/**
 * The same of a text that was made of one that is right: what is wrong with it is none of the user's doing, unless the `added`
 * part is wrong by itself.
 */
function declaredNow(file: ConfigFile, text: string, problem: string, added = ""): ReadonlyMap<string, string> {
  try {
    return declared(file, text);
  } catch (error) {
    let reason: unknown = new UserError(problem);
    try {
      declared(file, added);
    } catch {
      reason = error;
    }
    throw reason;
  }
}

const prefixOf = (name: string): string => `mcp\0servers\0${name}\0`;

function isOf(key: string, name: string): boolean {
  return key.startsWith(prefixOf(name));
}

/** `NAME=VALUE` words → an inline table. */
function inlineTable(words: readonly string[], flag: string): string {
  const pairs = words.map((word) => {
    const at = word.indexOf("=");
    if (at <= 0) throw new UserError(`${flag} "${word.slice(0, 40)}" must be NAME=VALUE`);
    return `${nameKey([word.slice(0, at)])} = ${JSON.stringify(word.slice(at + 1))}`;
  });
  return `{ ${pairs.join(", ")} }`;
}

function tableText(context: CommandContext, name: string): string {
  const { command, arg = [], env = [], header = [], url } = context.flags;
  if ((command === undefined) === (url === undefined)) throw new UserError("give either --command PROGRAM or --url URL");
  if (url !== undefined && arg.length + env.length > 0) throw new UserError("--arg and --env go with --command, not with --url");
  if (command !== undefined && header.length > 0) throw new UserError("--header goes with --url, not with --command");
  return [
    `[${nameKey(["mcp", "servers", name])}]`,
    ...(command === undefined ? [] : [`command = ${JSON.stringify(command)}`]),
    ...(arg.length === 0 ? [] : [`args = ${JSON.stringify(arg)}`]),
    ...(env.length === 0 ? [] : [`env = ${inlineTable(env, "--env")}`]),
    ...(url === undefined ? [] : [`url = ${JSON.stringify(url)}`]),
    ...(header.length === 0 ? [] : [`headers = ${inlineTable(header, "--header")}`]),
    "",
  ].join("\n");
}

/** Writes the table at the end of the file. @throws UserError when there is one of that name, or a value may not be kept */
export async function addServer(context: CommandContext, name: string): Promise<ExitCode> {
  if (name.trim() === "" || name.length > 64) throw new UserError("a server's name has 1 to 64 characters");
  const table = tableText(context, name);
  const file = await configFile(context);
  await edit(context, file, (old) => {
    if ([...declared(file, old).keys()].some((key) => isOf(key, name))) {
      throw new UserError(`${file.path} has an MCP server "${name}" already; remove it first: thndrs mcp remove ${name}`);
    }
    const gap = old === "" ? "" : old.endsWith("\n") ? "\n" : "\n\n";
    const added = gap + table;
    const text = old + (old.includes("\r\n") ? added.replaceAll("\n", "\r\n") : added);
    const problem = `${file.path}: [mcp.servers.${name}] cannot be added safely; add it yourself:\n${table.trimEnd()}`;
    declaredNow(file, text, problem, table);
    return text;
  });
  const { stdout } = context.output;
  stdout.line(`added to ${visible(file.path)}:`);
  for (const line of table.trimEnd().split("\n")) stdout.line(visible(`    ${line}`));
  stdout.line(
    visible(context.flags.project ? 'trust the project ("thndrs trust") to use it' : `try it: thndrs mcp test ${name}`),
  );
  return EXIT.ok;
}

/** The text without the tables of one server: from their headers to the next header, or to the comment right above that. */
function withoutTables(text: string, name: string): string {
  const words = [nameKey(["mcp", "servers", name]), `mcp.servers.${JSON.stringify(name)}`, `mcp.servers.'${name}'`];
  const kept: string[] = [];
  let inside = false;
  /** Comments that nothing has followed yet: whose they are, the next line tells. */
  let above: string[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    if (inside && /^\s*#/.test(line)) {
      above.push(line);
      continue;
    }
    const comments = above;
    above = [];
    const header = /^\s*\[\s*([^[\]]+?)\s*\]\s*(?:#.*)?\r?\n?$/.exec(line)?.[1]?.replace(/\s*\.\s*/g, ".");
    if (header !== undefined) inside = words.some((word) => header === word || header.startsWith(`${word}.`));
    else if (/^\s*\[\[/.test(line)) inside = false;
    if (!inside) kept.push(...comments, line);
  }
  return [...kept, ...above].join("");
}

/** @throws UserError when there is none, or the file writes it in a way that cannot be taken out safely */
export async function removeServer(context: CommandContext, name: string): Promise<ExitCode> {
  const file = await configFile(context);
  await edit(context, file, (old) => {
    const before = declared(file, old);
    if (![...before.keys()].some((key) => isOf(key, name))) throw new UserError(`${file.path} has no MCP server "${name}"`);
    const text = withoutTables(old, name).replace(/(?:\r?\n){3,}$/, old.includes("\r\n") ? "\r\n" : "\n");
    const problem = `${file.path}: [mcp.servers.${name}] cannot be taken out safely; remove it yourself`;
    const after = declaredNow(file, text, problem);
    const wanted = [...before].filter(([key]) => !isOf(key, name));
    const same = after.size === wanted.length && wanted.every(([key, value]) => after.get(key) === value);
    if (!same) throw new UserError(problem);
    return text;
  });
  const { env, cwd, signal } = context;
  const credentials = createCredentials({ env, configHome: findHomes(env, cwd).config, signal });
  const forgotten = await credentials.remove(loginName(name));
  context.output.stdout.line(visible(`removed from ${file.path}: ${name}${forgotten ? ", and its login" : ""}`));
  return EXIT.ok;
}
