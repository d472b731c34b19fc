/**
 * Builds a runtime: workspace, configuration, model, tools, instructions, log. Joins the rooms and holds no logic of its
 * own. Refuses: anything a turn does (conversation.ts).
 */
import { resolve } from "node:path";
import { createPolicy, type ToolPolicy } from "../agent/policy.ts";
import { buildSystemPrompt } from "../agent/prompt.ts";
import { createQueue } from "../agent/queue.ts";
import type { Toolbox } from "../agent/toolbox.ts";
import { ownFileProblem, writeOwnFile } from "../base/files.ts";
import type { ProcessOwner } from "../base/process.ts";
import { redact, redactValue } from "../base/redact.ts";
import { UserError } from "../base/user-error.ts";
import { openWorkspace, placesOf, type Workspace } from "../base/workspace.ts";
import { type Credentials, createCredentials } from "../config/credentials.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { referencedValues } from "../config/secrets.ts";
import type { ContextEngine } from "../context/engine.ts";
import type { Skills } from "../skills/skills.ts";
import { createBackgroundProcesses } from "../tools/background.ts";
import type { Authority } from "../types/settings.ts";
import { createActiveModel } from "./active-model.ts";
import { type AnswerSchema, loadAnswerSchema } from "./answer-schema.ts";
import { type Bus, createBus } from "./bus.ts";
import { openContextDesk } from "./context-desk.ts";
import { type Controls, createControls } from "./controls.ts";
import { Conversation } from "./conversation.ts";
import { openEngine } from "./engine.ts";
import { createExternalAgents } from "./external-agent.ts";
import { inventoryLines, type RunFacts, selfKnowledge, selfKnowledgeElement } from "./inventory.ts";
import { createLimits } from "./limits.ts";
import { openOutside } from "./mcp.ts";
import { type ChosenModel, openModel } from "./model.ts";
import { type AskApproval, createPermitGate } from "./permit.ts";
import type { Runtime } from "./runtime.ts";
import { type OpenedSession, openSession } from "./session.ts";
import { demandSkillDirs, openSkills, skillFacts, skillNotices, withSkills } from "./skills.ts";
import { today } from "./today.ts";
import { missingTools, toolSettings } from "./tool-settings.ts";
import { createToolbox, demandTools, type WrapTool } from "./toolbox.ts";
import { createTotals } from "./totals.ts";
import { version } from "./version.ts";

/** The flags a runtime looks at; cli/'s `Flags` fits. */
export type RunFlags = {
  readonly model?: string | undefined;
  readonly reasoningEffort?: string;
  readonly sessionDir?: string;
  readonly ephemeral?: boolean;
  readonly maxTurns?: number;
  readonly maxCost?: number;
  readonly authority?: string;
  readonly allowTool?: readonly string[];
  readonly denyTool?: readonly string[];
  readonly pin?: readonly string[];
  readonly noContext?: boolean;
  readonly noMcp?: boolean;
  readonly skillDir?: readonly string[];
  readonly outputSchema?: string;
  readonly trustProject?: boolean;
};

export type OpenOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** Real path. */
  readonly cwd: string;
  readonly processes: ProcessOwner;
  readonly rendererMode: RunFacts["rendererMode"];
  readonly flags: RunFlags;
  /** `--replay FILE`, relative to `cwd`. */
  readonly replayFile?: string;
  /** Absolute path for `--record`. */
  readonly recordFile?: string;
  /** Absolute path for `--capture`. */
  readonly captureFile?: string;
  /** A session id, a unique prefix, or `latest`. */
  readonly resume?: string;
  readonly ask?: AskApproval;
  /** The id of a new session, where somebody was promised one. */
  readonly sessionId?: string;
  /** The authority now, where it may change between requests; never more than the configuration gives. */
  readonly authority?: () => Authority;
  /** Puts something round the built-in tools when they are first called. */
  readonly wrapTool?: WrapTool;
  /** What is added to the configuration once it is read. */
  readonly extend?: (loaded: LoadedConfig) => LoadedConfig;
};

export type OpenedRuntime = {
  readonly runtime: Runtime;
  /** For the REPL. */
  readonly controls: Controls;
  /** The startup display (C14). */
  readonly inventory: () => readonly string[];
  readonly redact: (text: string) => string;
  /** A function that writes its text to an absolute path, whole or not at all. @throws UserError when that cannot go well. */
  readonly writer: (path: string) => (text: string) => Promise<void>;
};

function writer(path: string, mode = 0o644): (text: string) => Promise<void> {
  const problem = ownFileProblem(path);
  if (problem !== undefined) throw new UserError(`${path} cannot be written: ${problem.message}`);
  return async (text) => {
    const written = await writeOwnFile(path, text, mode);
    if (!written.ok) throw new UserError(`${path}: ${written.message}`);
  };
}

type Joined = {
  readonly options: OpenOptions;
  readonly workspace: Workspace;
  readonly loaded: LoadedConfig;
  readonly credentials: Credentials;
  readonly chosen: ChosenModel;
  readonly session: OpenedSession;
  readonly skills: Skills;
  readonly schema: AnswerSchema | undefined;
  readonly bus: Bus;
  /** Opens another model (`/model`). */
  readonly openOther: (name: string) => Promise<ChosenModel>;
  /** Reads the configuration anew. */
  readonly reload: () => Promise<LoadedConfig>;
  /** Secret values of outside tools, once there are any. */
  readonly hidden: { values: () => readonly string[] };
};

function factsOf(
  joined: Joined,
  chosen: ChosenModel,
  authority: Authority,
  toolbox: Toolbox,
  engine: ContextEngine,
  mcpServers: readonly string[],
): RunFacts {
  const { options, workspace, loaded, session, bus } = joined;
  return {
    version,
    workspace: workspace.root,
    rendererMode: options.rendererMode,
    provider: chosen.provider.name,
    model: chosen.modelId,
    search: loaded.config.web.search,
    authority,
    tools: toolbox.specs().map((spec) => spec.name),
    skills: skillFacts(joined.skills),
    mcpServers,
    contextEnabled: loaded.config.context.enabled && !options.flags.noContext,
    sources: engine.sources(),
    diagnostics: bus.diagnostics,
    sessionDir: session.dir,
  };
}

async function assemble(joined: Joined): Promise<OpenedRuntime> {
  const { options, workspace, loaded, credentials, chosen, session, schema, bus } = joined;
  const { flags, env, processes } = options;
  const { emit } = bus;
  const hide = (text: string): string => redact(text, { exact: [...credentials.knownValues(), ...joined.hidden.values()] });
  const active = createActiveModel(chosen, loaded.config.compaction.threshold, loaded.config.models);
  bus.taps.push(session.record);
  for (const diagnostic of loaded.diagnostics) emit({ type: "diagnostic", diagnostic });
  const outside = openOutside({
    loaded,
    reload: joined.reload,
    env,
    root: workspace.root,
    processes,
    credentials,
    off: flags.noMcp === true || loaded.config.authority === "read-only" || chosen.agent !== undefined,
    trustProject: flags.trustProject === true,
    watch: options.rendererMode !== "print",
    emit,
  });
  joined.hidden.values = outside.secrets;
  const authority = (): Authority => options.authority?.() ?? loaded.config.authority;
  const places = (path: string): readonly string[] => placesOf(workspace.root, path);
  const policyOf = (level: Authority): ToolPolicy => createPolicy(level, flags.allowTool ?? [], flags.denyTool ?? [], places);
  const policies = { "read-only": policyOf("read-only"), "workspace-write": policyOf("workspace-write") };
  const missing = missingTools(loaded, env);
  const toolbox = withSkills(
    createToolbox(
      () => policies[authority()],
      () => outside.entries(),
      missing.names,
      options.wrapTool,
    ),
    joined.skills,
  );
  for (const diagnostic of [...missing.diagnostics, ...skillNotices(joined.skills)]) emit({ type: "diagnostic", diagnostic });
  const engine = openEngine(
    options,
    workspace,
    loaded,
    () => ({ chosen: active.chosen, toolbox, outside, skills: joined.skills, sessionId: session.id }),
    emit,
  );
  const desk = await openContextDesk({
    engine,
    bus,
    root: workspace.root,
    redact: hide,
    session,
    active,
    skills: joined.skills,
    pins: flags.pin ?? [],
    harness: () => harness,
    conversation: () => runtime,
  });
  const totals = createTotals();
  bus.taps.push(totals.event);
  const gate = createPermitGate(policies["workspace-write"], loaded.config.approval, options.ask, emit);
  const queue = createQueue(emit, () => session.failure() === undefined);
  const background = createBackgroundProcesses({
    processes,
    onEffect: (effect, callId) => emit({ type: "effect", turnId: runtime.turnId, callId, effect }),
  });
  const limits = createLimits({
    maxTurns: flags.maxTurns,
    maxCostUsd: flags.maxCost,
    get price() {
      return active.chosen.info.price;
    },
    requestBytes: () => harness.prompt + harness.tools + runtime.bytes(),
  });
  bus.taps.push(limits.event);
  const configured = loaded.config.models[chosen.name];
  const facts = (): RunFacts => factsOf(joined, active.chosen, authority(), toolbox, engine, outside.names());
  let harness = { prompt: 0, tools: 0 };
  const redactArguments = (value: Readonly<Record<string, unknown>>) => redactValue(value, hide);
  const agents = createExternalAgents({
    loaded,
    workspace,
    processes,
    env,
    credentialNames: chosen.keyVariables,
    toolbox,
    gate,
    ask: options.ask,
    emit,
    redact: hide,
    redactArguments,
    localSessionId: session.id,
    logPath: session.history.length > 0 ? session.path : undefined,
    noMcp: flags.noMcp === true,
    trustProject: flags.trustProject === true,
  });
  const runtime = new Conversation({
    sessionId: session.id,
    ...(session.path !== undefined && { sessionPath: session.path }),
    get model() {
      return active.chosen.name;
    },
    workspace: workspace.root,
    cwd: workspace.cwd,
    provider: active.provider,
    context: engine,
    toolbox,
    gate,
    queue,
    totals,
    calls: {
      toolbox,
      tool: { workspace, env, settings: toolSettings(loaded, chosen, env, session.dir), background },
      permit: (name, input, entry, signal) => gate.check(name, input, entry, signal),
      redact: hide,
      redactArguments,
      touched: async (paths, turnId, batch) => {
        const { text, sources } = await engine.touched(paths, batch);
        if (sources.length > 0) emit({ type: "context", turnId, sources });
        return text;
      },
      now: () => performance.now(),
    },
    emit,
    subscribe: bus.subscribe,
    ...(session.open && { openLog: session.open }),
    logFailure: session.failure,
    systemPrompt: (knowledge) => {
      const prompt = buildSystemPrompt({
        workspace: workspace.root,
        cwd: workspace.cwd,
        date: today(),
        platform: `${process.platform} ${process.arch}`,
        model: active.chosen.name,
        nonInteractive: options.rendererMode === "print",
        skills: joined.skills.available(),
        selfKnowledge: selfKnowledgeElement(knowledge),
      });
      harness = { prompt: Buffer.byteLength(prompt.text), tools: Buffer.byteLength(JSON.stringify(toolbox.specs())) };
      return prompt;
    },
    knowledge: () => selfKnowledge(facts()),
    skills: joined.skills,
    diagnostics: () => bus.diagnostics.map((diagnostic) => diagnostic.message),
    request: {
      model: chosen.modelId,
      ...(loaded.config.reasoningEffort && { reasoningEffort: loaded.config.reasoningEffort }),
      ...(configured?.maxOutput !== undefined && { maxOutputTokens: configured.maxOutput }),
      ...(schema && { outputSchema: schema.schema }),
    },
    limit: limits.check,
    ...(schema && { checkFinal: schema.check }),
    budget: active.budget,
    compaction: { ...loaded.config.compaction, ...(options.rendererMode === "print" && { review: "never" as const }) },
    history: session.history,
    seqs: session.seqs,
    turns: session.turns,
    ready: (turnId, signal) => outside.ready(turnId, signal),
    ledger: desk.context.ledger,
    release: async () => {
      await Promise.all([background.reapAll(), outside.close(), agents.close()]);
      try {
        await active.close();
      } finally {
        session.close();
      }
    },
    today,
    external: () => active.chosen.agent && agents.of(active.chosen.agent),
  });
  joined.skills.watch((hash) => runtime.messages.some((message) => message.text.includes(hash)));
  const controls = createControls({
    conversation: runtime,
    mcp: outside.status,
    skills: joined.skills,
    active,
    openOther: joined.openOther,
    loaded,
    cwd: workspace.cwd,
    sessionDir: session.dir,
    queue,
    background,
    tools: () => toolbox.specs().map((spec) => spec.name),
    engine,
    ...desk,
  });
  return { runtime, controls, inventory: () => inventoryLines(facts()), redact: hide, writer };
}

/**
 * Opens a conversation.
 * @throws UserError (exit 2) when the configuration, the model or the session to resume is not there.
 */
export async function openRuntime(options: OpenOptions): Promise<OpenedRuntime> {
  const { env, cwd, flags } = options;
  const workspace = await openWorkspace(cwd);
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
  const referenced = referencedValues(loaded.settings, env);
  const credentials = createCredentials({ env, configHome: loaded.homes.config, referenced });
  const hidden: Joined["hidden"] = { values: () => [] };
  const bus = createBus();
  const record = options.recordFile === undefined ? undefined : writer(options.recordFile);
  const hide = (text: string): string => redact(text, { exact: credentials.knownValues() });
  const capture = options.captureFile === undefined ? {} : { capture: writer(options.captureFile, 0o600), redact: hide };
  const shared = { env, credentials, maxCost: flags.maxCost, cwd, record, ...capture };
  const chosen = await openModel({ ...shared, loaded, replayFile: options.replayFile });
  const openOther = (name: string): Promise<ChosenModel> =>
    openModel({ ...shared, loaded: { ...loaded, config: { ...loaded.config, model: name } }, replayFile: undefined });
  const schema =
    flags.outputSchema === undefined ? undefined : await loadAnswerSchema(resolve(cwd, flags.outputSchema), flags.outputSchema);
  const session = await openSession({
    workspace,
    loaded,
    ephemeral: flags.ephemeral ?? false,
    resume: options.resume,
    ...(options.sessionId !== undefined && { id: options.sessionId }),
    provider: chosen.provider.name,
    model: chosen.name,
    redact: (text) => redact(text, { exact: [...credentials.knownValues(), ...hidden.values()] }),
    emit: bus.emit,
  });
  const skills = await openingSkills;
  return assemble({ options, workspace, loaded, credentials, chosen, session, skills, schema, bus, openOther, reload, hidden });
}
