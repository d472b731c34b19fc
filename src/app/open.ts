/**
 * Opens what a conversation needs: workspace, configuration, model, skills, session; assemble.ts joins it. Refuses: anything
 * a turn does (conversation.ts).
 */
import { resolve } from "node:path";
import { ownFileProblem, writeOwnFile } from "../base/files.ts";
import { redact } from "../base/redact.ts";
import { UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { createCredentials } from "../config/credentials.ts";
import { findHomes } from "../config/homes.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { ownFiles } from "../config/own-files.ts";
import { referencedValues } from "../config/secrets.ts";
import { resolveProviders } from "../provider/presets.ts";
import { addressSecrets } from "../provider/secrets.ts";
import { leadsToLog } from "../session/ids.ts";
import { demandKeptFlags } from "./agent-flags.ts";
import { loadAnswerSchema } from "./answer-schema.ts";
import { type Assembled, assemble, type Joined } from "./assemble.ts";
import { type Bus, createBus } from "./bus.ts";
import type { Extras } from "./extras.ts";
import { type ChosenModel, openModel } from "./model.ts";
import type { OpenOptions } from "./open-options.ts";
import { type OpenedSession, openSession } from "./session.ts";
import { demandSkillDirs, openSkills } from "./skills.ts";
import { demandTools } from "./toolbox.ts";

export type { OpenOptions, RunFlags } from "./open-options.ts";

/** `controls` are for the REPL, `inventory` is the startup display (C14). */
export type OpenedRuntime = Assembled & {
  /** A function that writes its text to an absolute path, whole or not at all. @throws UserError when that cannot go well. */
  readonly writer: (path: string) => (text: string) => Promise<void>;
};

function writer(path: string): (text: string) => Promise<void> {
  if (leadsToLog(path)) throw new UserError(`${path} is the log of a session: choose another file`);
  const problem = ownFileProblem(path);
  if (problem !== undefined) throw new UserError(`${path} cannot be written: ${problem.message}`);
  return async (text) => {
    const written = await writeOwnFile(path, text, 0o644);
    if (!written.ok) throw new UserError(`${path}: ${written.message}`);
  };
}

async function extrasOf({ recordFile, captureFile }: OpenOptions, hide: (text: string) => string, bus: Bus): Promise<Extras> {
  if (recordFile === undefined && captureFile === undefined) return { settle: async () => undefined };
  // Lazy door: for the few runs that ask for it.
  const { openExtras } = await import("./extras.ts");
  const warn = (message: string): void =>
    bus.emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "file_lost", message } });
  return openExtras({ recordFile, captureFile, redact: hide, warn });
}

/** The model was chosen for this very run. */
function isNamed({ replayFile }: OpenOptions, { config }: LoadedConfig): boolean {
  return replayFile !== undefined || config.origins.model === "flag" || config.origins.model === "environment";
}

/** A session goes on with the model of the configuration; whoever chose another one for it should know. */
function tellOtherModel({ id, lastModel }: OpenedSession, { name }: ChosenModel, bus: Bus): void {
  // An agent is a provider and a model in one: `acp:NAME`.
  const last = lastModel?.replace(/^acp\/(?=acp:)/, "") ?? "";
  if (last === "" || last === name || last.startsWith("replay/")) return;
  const message = `session ${id} was last used with ${last}; this run uses ${name} (--model or /model ${last} goes on with that one)`;
  bus.emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "session_model", message } });
}

/**
 * Opens a conversation.
 * @throws UserError (exit 2) when the configuration, the model or the session to resume is not there.
 */
export async function openRuntime(options: OpenOptions): Promise<OpenedRuntime> {
  const { env, cwd, flags } = options;
  const workspace = await openWorkspace(cwd, ownFiles(findHomes(env, cwd)));
  const { model: _, ...rest } = flags;
  const configFlags = { ...rest, ...(flags.model !== undefined && { model: flags.model }) };
  const extend = options.extend ?? ((read: LoadedConfig) => read);
  const reload = async (): Promise<LoadedConfig> =>
    extend(await loadConfig({ env, flags: configFlags, cwd, workspaceRoot: workspace.root }));
  const loaded = await reload();
  demandTools("--allow-tool", flags.allowTool ?? []);
  demandTools("--deny-tool", flags.denyTool ?? []);
  demandSkillDirs(cwd, flags.skillDir ?? []);
  const openingSkills = openSkills({
    loaded,
    root: workspace.root,
    cwd,
    given: flags.skillDir ?? [],
    trustAll: flags.trustProject === true,
  });
  const addresses = Object.values(resolveProviders(env, loaded.config.providers)).flatMap(({ baseUrl }) =>
    addressSecrets(baseUrl),
  );
  const referenced = [...referencedValues(loaded.settings, env), ...addresses];
  const giveUp = options.signal && { signal: options.signal };
  const credentials = createCredentials({ env, configHome: loaded.homes.config, referenced, ...giveUp });
  const hidden: Joined["hidden"] = { values: () => [] };
  const bus = createBus();
  const hide = (text: string): string => redact(text, { exact: [...credentials.knownValues(), ...hidden.values()] });
  const { settle: settleExtras, ...extras } = await extrasOf(options, hide, bus);
  const demandAgentFlags = (agent: string): void => demandKeptFlags(agent, options);
  const shared = { ...giveUp, env, credentials, maxCost: flags.maxCost, cwd, demandAgentFlags, ...extras };
  const chosen = await openModel({ ...shared, loaded, replayFile: options.replayFile });
  const openOther: Joined["openOther"] = (name, given) => {
    const signals = [options.signal, given].filter((signal) => signal !== undefined);
    const config = { ...loaded.config, model: name };
    return openModel({ ...shared, signal: AbortSignal.any(signals), loaded: { ...loaded, config }, replayFile: undefined });
  };
  const schema =
    flags.outputSchema === undefined ? undefined : await loadAnswerSchema(resolve(cwd, flags.outputSchema), flags.outputSchema);
  const session = await openSession({
    workspace,
    loaded,
    ephemeral: flags.ephemeral ?? false,
    resume: options.resume,
    givenDir: flags.sessionDir,
    ...(options.sessionId !== undefined && { id: options.sessionId }),
    provider: chosen.provider.name,
    model: chosen.name,
    redact: hide,
    emit: bus.emit,
  });
  if (!isNamed(options, loaded)) tellOtherModel(session, chosen, bus);
  const skills = await openingSkills;
  const opened = { options, workspace, loaded, credentials, chosen, session, skills, schema, bus, openOther, reload, hidden };
  try {
    return { ...(await assemble({ ...opened, settleExtras })), writer };
  } catch (error) {
    // Its lock: who cannot go on with a session now may be able to later.
    session.close();
    throw error;
  }
}
