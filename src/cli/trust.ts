/**
 * `thndrs trust [--list|--revoke]`: the user's word, given outside any run, that this workspace's files may configure
 * thndrs as they are now. Shows what they ask for first. Refuses: to be given from inside a run.
 */
import { basename, relative } from "node:path";
import { MARKER_VARIABLE } from "../base/child-env.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { findHomes } from "../config/homes.ts";
import { formatKey } from "../config/keys.ts";
import { decodeSettings, readSettingsFile } from "../config/settings-file.ts";
import { formatValue } from "../config/show.ts";
import { parseConfigFile } from "../config/toml.ts";
import { openTrust, type TrustStore } from "../config/trust.ts";
import { findTrustFiles, type TrustFile } from "../config/trust-files.ts";
import { parseServerFile } from "../mcp/server-file.ts";
import { referenceFiles } from "../skills/content.ts";
import { SKILL_FILE } from "../skills/skill.ts";
import type { OutputStream } from "../ui/output.ts";
import { visible } from "../ui/sanitize.ts";
import { stdinKind } from "../ui/stdin.ts";
import type { CommandContext } from "./command.ts";
import { askYes } from "./confirm.ts";

async function list(context: CommandContext, store: TrustStore): Promise<ExitCode> {
  const entries = await Promise.all(
    (await store.list()).map(async (entry) => {
      const read = readSettingsFile(entry.path);
      const state = read.kind === "bytes" ? await store.state(entry.path, read.bytes) : "gone";
      return { path: entry.path, state, since: entry.time };
    }),
  );
  const { stdout } = context.output;
  if (context.flags.json) stdout.line(JSON.stringify(entries, null, 2));
  else if (entries.length === 0) stdout.line("nothing is trusted");
  else
    for (const entry of entries)
      stdout.line(`${entry.state.padEnd(8)} ${visible(entry.path)}  since ${visible(entry.since.slice(0, 10))}`);
  return EXIT.ok;
}

async function revoke(context: CommandContext, store: TrustStore, root: string): Promise<ExitCode> {
  const removed = await store.remove((path) => path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`));
  const { stdout } = context.output;
  if (context.flags.json) stdout.line(JSON.stringify({ revoked: removed.map((entry) => entry.path) }));
  else if (removed.length === 0) stdout.line(`nothing below ${visible(root)} was trusted`);
  else for (const entry of removed) stdout.line(`no longer trusted: ${visible(entry.path)}`);
  return EXIT.ok;
}

/** A skill is trusted together with the files it declares: each is delivered only as it was trusted. */
async function withReferences(files: readonly TrustFile[]): Promise<readonly TrustFile[]> {
  const skills = files.filter((file) => file.kind === "skill");
  const references = await Promise.all(skills.map((file) => referenceFiles(file.path, file.bytes)));
  const more = new Map(references.flat().map((file) => [file.path, { ...file, kind: "skill" as const }]));
  for (const { path } of files) more.delete(path);
  return [...files, ...more.values()];
}

/** The lines a person should read before saying yes. */
function describe(context: CommandContext, file: TrustFile, root: string): readonly string[] {
  const name = visible(relative(root, file.path));
  if (file.kind === "skill") {
    return [
      basename(file.path) === SKILL_FILE ? `${name}: a skill, instructions the model may load` : `${name}: goes with a skill`,
    ];
  }
  if (file.kind === "mcp")
    return [`${name}: MCP servers, programs that are started and addresses that are connected to`, ...mcpLines(file)];
  const text = decodeSettings(file.path, file.bytes);
  // Straight from the bytes that would be trusted, not from what counts now: a variable may hide a key today.
  const declared = parseConfigFile(file.path, text, findHomes(context.env, context.cwd).user);
  const shown = declared.map(({ path, spec, value }) => {
    const never = spec.project === "never" ? "  (never counts in a project)" : "";
    return `    ${visible(`${formatKey(path)} = ${formatValue(spec.type, value)}`)}${never}`;
  });
  return [`${name}: configuration`, ...shown];
}

/** What each server would be, and what is wrong with the others. Nothing is hidden: whoever agrees has to see all of it. */
function mcpLines(file: TrustFile): readonly string[] {
  const { servers, diagnostics } = parseServerFile(file.path, file.bytes);
  const lines = servers.flatMap(({ settings }) => {
    const { name, command, args, url, cwd, env, headers, enabled } = settings;
    return [
      `${name}: ${[url ?? command, ...args].join(" ")}${enabled ? "" : " (not enabled)"}`,
      ...(cwd === undefined ? [] : [`    cwd ${cwd}`]),
      ...Object.entries(env).map(([key, value]) => `    env ${key}=${value}`),
      ...Object.entries(headers).map(([key, value]) => `    header ${key}: ${value}`),
    ];
  });
  return [...lines, ...diagnostics.map(({ message }) => message)].map((line) => `    ${visible(line)}`);
}

/** The person's word; an exit code where it was not given. */
async function confirm(context: CommandContext, stream: OutputStream): Promise<"yes" | ExitCode> {
  if (context.flags.yes) return "yes";
  if (stdinKind() !== "terminal" || !stream.isTerminal) {
    throw new UserError('"thndrs trust" asks on a terminal; without one, read the list above and give --yes', EXIT.policy);
  }
  return askYes(context, stream, "Trust these files as they are now?");
}

/** Asks about everything in the workspace that waits for trust, or only about files of one kind. */
export async function grant(
  context: CommandContext,
  store: TrustStore,
  root: string,
  kind?: TrustFile["kind"],
): Promise<ExitCode> {
  if (context.env[MARKER_VARIABLE]) throw new UserError("trust is given by a person, not by a command of a run", EXIT.policy);
  const { stdout, stderr } = context.output;
  // With --json stdout holds the document alone; what is asked about goes where a person reads it.
  const telling = context.flags.json ? stderr : stdout;
  const files = await withReferences((await findTrustFiles(root)).filter((file) => kind === undefined || file.kind === kind));
  const waiting: TrustFile[] = [];
  for (const file of files) if ((await store.state(file.path, file.bytes)) !== "trusted") waiting.push(file);
  if (waiting.length === 0) {
    telling.line(files.length === 0 ? `nothing in ${visible(root)} asks for trust` : "already trusted as it is now");
    if (context.flags.json) stdout.line(JSON.stringify({ trusted: [] }));
    return EXIT.ok;
  }
  for (const file of waiting) for (const line of describe(context, file, root)) telling.line(line);
  await telling.flush();
  const word = await confirm(context, telling);
  if (word !== "yes") {
    telling.line("nothing was trusted");
    return word;
  }
  await store.add(waiting);
  if (context.flags.json) stdout.line(JSON.stringify({ trusted: waiting.map((file) => file.path) }));
  telling.line(
    `trusted: ${waiting.map((file) => visible(relative(root, file.path))).join(", ")} (until the next edit; take it back with "thndrs trust --revoke")`,
  );
  return EXIT.ok;
}

/** @throws UserError: exit 2 for usage and a broken file, exit 3 where nobody could be asked. */
export async function runTrust(context: CommandContext): Promise<ExitCode> {
  const { flags, words, env, cwd } = context;
  if (words.length > 0) throw new UserError("thndrs trust takes no words: it is about the workspace you are in (or --cwd DIR)");
  if (flags.list && flags.revoke) throw new UserError("--list and --revoke do not go together");
  const store = openTrust(findHomes(env, cwd).config, context.signal);
  if (flags.list) return list(context, store);
  const { root } = await openWorkspace(cwd);
  return flags.revoke ? revoke(context, store, root) : grant(context, store, root);
}
