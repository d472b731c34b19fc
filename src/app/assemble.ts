/**
 * Joins what open.ts opened into one conversation: tools, instructions, policy, limits, recorder. A composition root: it
 * hands parts to parts and decides nothing. Refuses: opening them.
 */
import { createPolicy, type ToolPolicy } from "../agent/policy.ts";
import { buildSystemPrompt, type SystemPrompt } from "../agent/prompt.ts";
import { createQueue } from "../agent/queue.ts";
import type { Toolbox } from "../agent/toolbox.ts";
import type { ProcessOwner } from "../base/process.ts";
import { redact, redactValue } from "../base/redact.ts";
import { placesOf, type Workspace } from "../base/workspace.ts";
import type { Credentials } from "../config/credentials.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { ContextEngine } from "../context/engine.ts";
import type { Skills } from "../skills/skills.ts";
import { createBackgroundProcesses } from "../tools/background.ts";
import { createSeenFiles } from "../tools/seen-files.ts";
import type { Message } from "../types/message.ts";
import type { Authority } from "../types/settings.ts";
import { createActiveModel } from "./active-model.ts";
import type { AnswerSchema } from "./answer-schema.ts";
import type { Bus } from "./bus.ts";
import { openContextDesk } from "./context-desk.ts";
import { type Controls, createControls } from "./controls.ts";
import { Conversation } from "./conversation.ts";
import { openEngine } from "./engine.ts";
import { createExternalAgents } from "./external-agent.ts";
import { hideEffects } from "./hidden-effects.ts";
import { inventoryLines, type RunFacts, selfKnowledge, selfKnowledgeElement } from "./inventory.ts";
import type { LedgerInput } from "./ledger.ts";
import { createLimits } from "./limits.ts";
import { type OutsideTools, openOutside } from "./mcp.ts";
import type { ChosenModel } from "./model.ts";
import type { OpenOptions } from "./open-options.ts";
import { createPermitGate } from "./permit.ts";
import type { Runtime } from "./runtime.ts";
import type { OpenedSession } from "./session.ts";
import { skillFacts, skillNotices, withSkills } from "./skills.ts";
import { today } from "./today.ts";
import { missingTools, toolSettings } from "./tool-settings.ts";
import { createToolbox } from "./toolbox.ts";
import { createTotals } from "./totals.ts";
import { version } from "./version.ts";
import { createWarmUp } from "./warm-up.ts";

/** Everything that open.ts opened. */
export type Joined = {
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
  readonly openOther: (name: string, signal?: AbortSignal) => Promise<ChosenModel>;
  /** Reads the configuration anew. */
  readonly reload: () => Promise<LoadedConfig>;
  /** Secret values of outside tools, once there are any. */
  readonly hidden: { values: () => readonly string[] };
  /** Writes what was asked for beside the log (a recording). @throws UserError when that cannot be written */
  readonly settleExtras: () => Promise<void>;
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
  const tools = toolbox.specs().map((spec) => spec.name);
  return {
    version,
    workspace: workspace.root,
    rendererMode: options.rendererMode,
    provider: chosen.provider.name,
    model: chosen.modelId,
    // Chosen is not enough: its key may be missing, or the tool denied.
    search: tools.includes("web_search") ? loaded.config.web.search : "none",
    authority,
    tools,
    skills: skillFacts(joined.skills),
    mcpServers,
    contextEnabled: loaded.config.context.enabled && !options.flags.noContext,
    sources: engine.sources(),
    diagnostics: bus.diagnostics,
    sessionDir: session.dir,
  };
}

type JoinedTools = {
  readonly outside: OutsideTools;
  readonly toolbox: Toolbox;
  readonly authority: () => Authority;
  /** The policy of the widest authority: what a call is checked against. */
  readonly policy: ToolPolicy;
};

/** Built-in tools under the policy, outside tools, skills. */
function joinTools(
  { options, workspace, loaded, credentials, chosen, skills, bus, reload }: Joined,
  processes: ProcessOwner,
): JoinedTools {
  const { flags, env } = options;
  const { emit } = bus;
  const outside = openOutside({
    loaded,
    reload,
    env,
    root: workspace.root,
    processes,
    credentials,
    off: flags.noMcp === true || loaded.config.authority === "read-only" || chosen.agent !== undefined,
    trustProject: flags.trustProject === true,
    watch: options.rendererMode !== "print",
    after: options.after,
    emit,
  });
  const authority = (): Authority => options.authority?.() ?? loaded.config.authority;
  const places = (path: string): readonly string[] => placesOf(workspace.root, path);
  const policyOf = (level: Authority): ToolPolicy => createPolicy(level, flags.allowTool ?? [], flags.denyTool ?? [], places);
  const policies = { "read-only": policyOf("read-only"), "workspace-write": policyOf("workspace-write") };
  const missing = missingTools(loaded, env);
  const builtin = createToolbox(
    () => policies[authority()],
    () => outside.entries(),
    missing.names,
    options.wrapTool,
  );
  for (const diagnostic of [...missing.diagnostics, ...skillNotices(skills)]) emit({ type: "diagnostic", diagnostic });
  return { outside, toolbox: withSkills(builtin, skills), authority, policy: policies["workspace-write"] };
}

function resultsIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
}

function promptOf({ options, workspace, skills }: Joined, model: string, knowledge: string): SystemPrompt {
  return buildSystemPrompt({
    workspace: workspace.root,
    cwd: workspace.cwd,
    date: today(),
    platform: `${process.platform} ${process.arch}`,
    model,
    nonInteractive: options.rendererMode === "print",
    skills: skills.available(),
    selfKnowledge: selfKnowledgeElement(knowledge),
  });
}

export type Assembled = {
  readonly runtime: Runtime;
  readonly controls: Controls;
  readonly inventory: () => readonly string[];
  readonly redact: (text: string) => string;
};

/** Joins the opened parts. @throws UserError when a `--pin` cannot be honoured. */
export async function assemble(joined: Joined): Promise<Assembled> {
  const { options, workspace, loaded, credentials, chosen, session, schema, bus } = joined;
  const { flags, env } = options;
  // This conversation's own: where there are several, closing one ends nothing of the others.
  const processes = options.processes.section();
  const hide = (text: string): string => redact(text, { exact: [...credentials.knownValues(), ...joined.hidden.values()] });
  const emit = hideEffects(bus.emit, hide);
  const { compaction, models } = loaded.config;
  const active = createActiveModel(chosen, compaction.threshold, models, () => runtime.running, emit);
  bus.taps.push(session.record, createWarmUp());
  for (const diagnostic of loaded.diagnostics) emit({ type: "diagnostic", diagnostic });
  const { outside, toolbox, authority, policy } = joinTools(joined, processes);
  joined.hidden.values = outside.secrets;
  const engine = openEngine(
    options,
    workspace,
    loaded,
    () => ({ chosen: active.chosen, toolbox, outside, skills: joined.skills, sessionId: session.id }),
    emit,
  );
  let promptBytes: number | undefined;
  /** Tools come and go between requests, the prompt stays; before there is one nothing is sent. */
  const harness = (): LedgerInput["harness"] =>
    promptBytes === undefined
      ? { prompt: 0, tools: 0 }
      : { prompt: promptBytes, tools: active.budget.fixed({ system: "", tools: toolbox.specs() }) };
  const desk = await openContextDesk({
    engine,
    bus,
    root: workspace.root,
    redact: hide,
    session,
    active,
    skills: joined.skills,
    pins: flags.pin ?? [],
    harness,
    conversation: () => runtime,
  });
  const totals = createTotals();
  bus.taps.push(totals.event);
  const gate = createPermitGate(policy, loaded.config.approval, options.ask, emit);
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
    requestBytes: () => {
      const { prompt, tools } = harness();
      return prompt + tools + runtime.bytes();
    },
  });
  bus.taps.push(limits.event);
  const configured = loaded.config.models[chosen.name];
  const facts = (): RunFacts => factsOf(joined, active.chosen, authority(), toolbox, engine, outside.names());
  const redactArguments = (value: Readonly<Record<string, unknown>>) => redactValue(value, hide);
  const settings = toolSettings(loaded, chosen, env, session.dir);
  const agents = createExternalAgents({
    loaded,
    authority,
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
    keepsLog: (path) => settings.keepsLog?.(path) === true,
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
      tool: { workspace, env, settings, background, seen: createSeenFiles(() => resultsIn(session.history)) },
      permit: (name, input, entry, signal) => gate.check(name, input, entry, signal),
      hides: policy.hides,
      withhold: gate.withhold,
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
      const prompt = promptOf(joined, active.chosen.name, knowledge);
      promptBytes = Buffer.byteLength(prompt.text);
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
    summaries: limits,
    ...(schema && { checkFinal: schema.check }),
    discoverAtOnce: options.rendererMode !== "print",
    budget: active.budget,
    // An editor has no way to answer either: its conversation would fill up and stand still.
    compaction: { ...loaded.config.compaction, ...(options.rendererMode !== "direct-inline" && { review: "never" as const }) },
    history: session.history,
    seqs: session.seqs,
    turns: session.turns,
    // Only where a person can decide; else it goes on waiting in the log.
    ...(options.rendererMode === "direct-inline" && { pending: session.pending }),
    ready: (turnId, signal) => outside.ready(turnId, signal),
    ledger: desk.context.ledger,
    release: async () => {
      await Promise.all([background.reapAll(), outside.close(), agents.close()]);
      try {
        await joined.settleExtras();
      } finally {
        session.close();
      }
    },
    today,
    external: () => active.chosen.agent && agents.of(active.chosen.agent),
  });
  joined.skills.resumed(session.skills);
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
  return { runtime, controls, inventory: () => inventoryLines(facts()), redact: hide };
}
