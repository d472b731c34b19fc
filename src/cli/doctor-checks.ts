/** The single questions of `thndrs doctor`. Refuses: putting the answers into words for a person (doctor-text.ts). */
import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { addressProblem } from "../app/model.ts";
import { needsKey } from "../app/provider-key.ts";
import { commit, version } from "../app/version.ts";
import { detectEngines, engineEnvironment } from "../base/engines.ts";
import { runProcess } from "../base/process.ts";
import { redact } from "../base/redact.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { probeLocal } from "../provider/listing.ts";
import { chooseModel } from "../provider/select.ts";
import { stdinKind } from "../ui/stdin.ts";
import type { CommandContext } from "./command.ts";
import type { Endpoints } from "./endpoints.ts";
import { askEndpoint } from "./models.ts";

export type EngineCheck = { readonly path: string | null; readonly version: string | null };

/** The report of `doctor --json`. */
export type Checked = {
  readonly version: string;
  readonly commit: string;
  readonly bun: string;
  readonly platform: string;
  readonly workspace: string;
  /** `problem`: a file cannot be used; what stands here is what is left without any. */
  readonly config: { readonly files: Config["files"]; readonly origins: Config["origins"]; readonly problem?: string };
  readonly model: string | null;
  readonly credentials: readonly { readonly provider: string; readonly source: string | null }[];
  readonly tools: { readonly rg: EngineCheck; readonly fd: EngineCheck };
  readonly session: { readonly path: string; readonly writable: boolean; readonly reason: string | null };
  readonly terminal: Readonly<Record<string, string | number | boolean | null>>;
  readonly reach?: readonly Reach[];
  readonly warnings: readonly string[];
  readonly blocking_issues: readonly string[];
};

export type Reach = {
  readonly provider: string;
  readonly url: string;
  readonly ok: boolean;
  readonly models: number | null;
  readonly reason: string | null;
};

export function describeBuild(): Pick<Checked, "version" | "commit" | "bun" | "platform"> {
  return { version, commit, bun: Bun.version, platform: `${process.platform} ${process.arch}` };
}

export function describeTerminal(context: CommandContext): Checked["terminal"] {
  const { stdout, stderr } = context.output;
  return {
    stdin: stdinKind(),
    stdout: stdout.isTerminal,
    stderr: stderr.isTerminal,
    columns: stdout.isTerminal ? stdout.columns : null,
    color: stdout.color,
    term: context.env.TERM ?? null,
    no_color: Boolean(context.env.NO_COLOR),
  };
}

/** Of what a program says about its version. */
const MAX_VERSION_CHARS = 16_384;

async function versionOf(path: string | undefined, cwd: string, signal: AbortSignal): Promise<EngineCheck> {
  if (path === undefined) return { path: null, version: null };
  let text = "";
  const ended = await runProcess({
    argv: [path, "--version"],
    cwd,
    env: engineEnvironment(),
    timeoutMs: 5_000,
    signal,
    onStdout(chunk, stop) {
      // What is called rg may print without end.
      if (text.length > MAX_VERSION_CHARS) stop();
      else text += Buffer.from(chunk).toString("utf8");
    },
    descendants: "none",
  });
  const found = /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? null;
  return { path, version: ended.started ? found : null };
}

export async function checkEngines(
  context: CommandContext,
  root: string,
): Promise<{ readonly tools: Checked["tools"]; readonly warnings: readonly string[] }> {
  const engines = detectEngines(context.env.PATH, root);
  const [rg, fd] = await Promise.all([versionOf(engines.rg, root, context.signal), versionOf(engines.fd, root, context.signal)]);
  const missing = (name: string): string =>
    engines.inside?.includes(name) ? "lies inside the workspace, whose programs are not run" : "is not on PATH";
  const warnings = [
    ...(rg.path === null ? [`ripgrep (rg) ${missing("rg")}: searches use the slower built-in engine`] : []),
    ...(fd.path === null ? [`fd ${missing("fd")}: files are found with find or the built-in walker`] : []),
  ];
  return { tools: { rg, fd }, warnings };
}

/** Whether the sessions directory could be written, judged at the deepest part of it that exists. */
export async function checkSessions(loaded: LoadedConfig, root: string): Promise<Checked["session"]> {
  const path = loaded.config.sessionDir ?? join(root, ".thndrs", "sessions");
  for (let here = path; ; here = dirname(here)) {
    try {
      await access(here, constants.W_OK | constants.X_OK);
      return { path, writable: true, reason: null };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
      if (code === "ENOENT" && dirname(here) !== here) continue;
      return { path, writable: false, reason: code === "EACCES" ? `no permission to write ${here}` : `${here}: ${code}` };
    }
  }
}

/** Which model a prompt would go to, and what stands in the way. */
export async function checkModel(
  context: CommandContext,
  endpoints: Endpoints,
  broken: boolean,
): Promise<{ readonly name: string | null; readonly blocking: readonly string[] }> {
  const model = endpoints.loaded.config.model ?? (broken ? context.flags.model : undefined);
  if (model?.startsWith("acp:")) {
    const known = Object.hasOwn(endpoints.loaded.config.acp.agents, model.slice("acp:".length));
    return { name: model, blocking: known || broken ? [] : [`no agent ${model} is configured under [acp.agents]`] };
  }
  const able = new Set<string>();
  for (const settings of Object.values(endpoints.providers)) if (await endpoints.sourceOf(settings)) able.add(settings.name);
  const choice = chooseModel({ model, providers: endpoints.providers, hasCredential: (settings) => able.has(settings.name) });
  // A broken configuration is the thing to repair first; what follows from it is noise.
  if (!choice.ok) return { name: model ?? null, blocking: broken ? [] : [choice.message] };
  if ("replay" in choice) {
    const there = existsSync(resolve(context.cwd, choice.replay));
    return { name: `replay/${choice.replay}`, blocking: there ? [] : [`there is no recording ${choice.replay}`] };
  }
  const { provider } = choice;
  const name = `${provider.name}/${choice.model}`;
  const problem = addressProblem(provider);
  if (problem !== undefined) return { name, blocking: [problem] };
  const keyed = able.has(provider.name) || !needsKey(provider, endpoints.loaded);
  return {
    name,
    blocking: keyed ? [] : [`no key for ${provider.name}: set ${provider.apiKeyEnv}, or run: thndrs login ${provider.name}`],
  };
}

/** Asks every provider that has a key or is configured, and looks for local servers at their usual ports. */
export async function checkReach(endpoints: Endpoints, signal: AbortSignal): Promise<readonly Reach[]> {
  const asked = Object.values(endpoints.providers).map(async (settings): Promise<Reach | undefined> => {
    if (settings.baseUrl === undefined) return undefined;
    const configured = endpoints.loaded.config.providers[settings.name] !== undefined;
    // A user name, a password, a key in the query: an address can hold all of them.
    const url = redact(settings.baseUrl, { exact: endpoints.credentials.knownValues() });
    const about = { provider: settings.name, url };
    if (settings.local && !endpoints.isNamed(settings)) {
      const models = await probeLocal(settings, signal);
      return { ...about, ok: models !== undefined, models: models?.length ?? null, reason: models ? null : "nothing answers" };
    }
    if (!configured && !settings.local && (await endpoints.sourceOf(settings)) === undefined) return undefined;
    const served = await askEndpoint(endpoints, settings, signal);
    return {
      ...about,
      ok: served.ok,
      models: served.ok ? served.models.length : null,
      reason: served.ok ? null : served.message,
    };
  });
  return (await Promise.all(asked)).filter((reach) => reach !== undefined);
}
