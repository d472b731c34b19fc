/**
 * The interactive door: what the REPL needs from configuration, providers and trust, put together (repl.md). Loaded only
 * when a person sits at a terminal. Refuses: what the REPL does with it (ui/repl.ts).
 */
import { join } from "node:path";
import { exitOf } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { findHomes } from "../config/homes.ts";
import { updatePrivateFile } from "../config/private-file.ts";
import { type FileRead, readSettingsFile } from "../config/settings-file.ts";
import { openTrust, trustHash } from "../config/trust.ts";
import { findTrustFiles } from "../config/trust-files.ts";
import { resolveProviders } from "../provider/presets.ts";
import { Repl } from "../ui/repl.ts";
import { visible } from "../ui/sanitize.ts";
import { calmMs, isPlainTerminal, reflowsLines } from "../ui/terminal-kind.ts";
import type { CommandContext } from "./command.ts";
import { openRun, type RunContext } from "./run.ts";

/** How long endpoints are waited for by `/model`. */
const LIST_MS = 6000;
/** Answers to the trust question that are remembered. */
const MAX_ASKED = 500;

function commandContext(context: RunContext): CommandContext {
  const { flags, output, env, cwd, controller } = context;
  return { words: [], flags: { ...flags, json: false }, output, env, cwd, signal: controller.signal };
}

/** What every endpoint with a key, and every local server that runs, serves: `provider/id`. */
async function listModels(context: RunContext, signal: AbortSignal): Promise<readonly string[]> {
  // Lazy doors: only `/model` asks.
  const [{ openEndpoints }, { askEndpoint }] = await Promise.all([import("./endpoints.ts"), import("./models.ts")]);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
  const endpoints = await openEndpoints(commandContext(context));
  const lists = await Promise.all(
    Object.values(endpoints.providers).map(async (settings) => {
      if (settings.baseUrl === undefined) return [];
      if (!settings.local && settings.apiKeyEnv !== undefined && !(await endpoints.sourceOf(settings))) return [];
      const served = await askEndpoint(endpoints, settings, limit);
      return served.ok ? served.models.map((info) => `${settings.name}/${info.id}`) : [];
    }),
  );
  return lists.flat();
}

/** The default models of providers whose key is in the environment. */
function knownModels(context: RunContext): readonly string[] {
  return Object.values(resolveProviders(context.env, {})).flatMap(({ name, apiKeyEnv, defaultModel }) =>
    defaultModel !== undefined && apiKeyEnv !== undefined && context.env[apiKeyEnv] ? [`${name}/${defaultModel}`] : [],
  );
}

function hashesOf(read: FileRead): readonly string[] {
  return read.kind === "bytes" ? new TextDecoder().decode(read.bytes).split("\n") : [];
}

/** Remembers what was asked about. Where that cannot be kept it is said, and asked again next time. */
async function rememberAsked(file: string, hashes: readonly string[], { output, controller }: RunContext): Promise<void> {
  const remembered = (read: FileRead): string => {
    const before = hashesOf(read).filter((line) => line !== "");
    return `${[...before, ...hashes].slice(-MAX_ASKED).join("\n")}\n`;
  };
  try {
    await updatePrivateFile(file, remembered, controller.signal);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    output.stderr.line(`thndrs: ${visible(error.message)}`);
  }
}

/**
 * Asks once per content whether the workspace's configuration is to be trusted, before anything of it counts. Skills are
 * asked about when they are used. An exit code when the program ends instead.
 */
async function askForTrust(context: RunContext): Promise<ExitCode | undefined> {
  const { env, cwd, flags, output } = context;
  const homes = findHomes(env, cwd);
  if (flags.trustProject || !output.stdout.isTerminal || isPlainTerminal(env) || homes.config === undefined) return undefined;
  const { root } = await openWorkspace(cwd);
  const store = openTrust(homes.config);
  const waiting: string[] = [];
  for (const file of await findTrustFiles(root)) {
    if (file.kind === "skill" || (await store.state(file.path, file.bytes)) === "trusted") continue;
    waiting.push(trustHash(Buffer.concat([Buffer.from(`${file.path}\0`), file.bytes])));
  }
  if (waiting.length === 0) return undefined;
  const asked = homes.state === undefined ? undefined : join(homes.state, "trust-asked");
  const before = asked === undefined ? [] : hashesOf(readSettingsFile(asked));
  if (waiting.every((hash) => before.includes(hash))) return undefined;
  const { runTrust } = await import("./trust.ts");
  const code = await runTrust(commandContext(context));
  // Whoever was cut off has answered nothing.
  if (context.controller.signal.aborted || code === EXIT.sighup) return code;
  if (asked !== undefined) await rememberAsked(asked, waiting, context);
  return undefined;
}

/** Runs the REPL to its end. @throws UserError when configuration, model or session are not there. */
export async function runRepl(context: RunContext): Promise<ExitCode> {
  const { flags, env, output, controller, words } = context;
  const cutOff = await askForTrust(context);
  if (cutOff !== undefined) return cutOff;
  if (controller.signal.aborted) return exitOf(controller.signal.reason) ?? EXIT.internal;
  const { continue: latest, resume, ...rest } = flags;
  let cwd = context.cwd;
  const wanted = resume ?? (latest ? "latest" : undefined);
  const repl = new Repl({
    output,
    env,
    signal: controller.signal,
    open: async (change, ask, after) => {
      const there = change.cwd ?? cwd;
      const changed = { ...rest, ...(change.resume !== undefined && { resume: change.resume }) };
      const opened = await openRun({ ...context, cwd: there, flags: changed }, "direct-inline", { ask, after });
      // Only where a conversation is: the next one may begin elsewhere.
      cwd = there;
      return opened;
    },
    listModels: (signal) => listModels({ ...context, cwd }, signal),
    knownModels: () => knownModels(context),
    firstPrompt: words.join(" "),
    first: wanted === undefined ? {} : { resume: wanted },
    plain: isPlainTerminal(env),
    reflows: reflowsLines(env),
    calmMs: calmMs(env),
    exitCodeOf: exitOf,
  });
  return repl.run();
}
