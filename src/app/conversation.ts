/**
 * One open conversation: turns over the parts that open.ts joined. Holds the message list and the life cycle of a turn;
 * the thinking is in agent/, the remembering in session/, the instructions in context/.
 */
import type { Budget } from "../agent/budget.ts";
import { type CompactionOutcome, Compactor, type CompactorParts, type EarlierSummary } from "../agent/compactor.ts";
import { runTurn, type TurnContext } from "../agent/loop.ts";
import type { SystemPrompt } from "../agent/prompt.ts";
import type { InputQueue } from "../agent/queue.ts";
import type { Toolbox } from "../agent/toolbox.ts";
import { UserError } from "../base/user-error.ts";
import type { ContextEngine } from "../context/engine.ts";
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { SessionLog } from "../session/log.ts";
import type { Skills } from "../skills/skills.ts";
import type { Effect, Emit, QueueKind, RunEvent, SourceInfo, TurnOutcome } from "../types/event.ts";
import type { Message } from "../types/message.ts";
import type { ExternalAgent } from "./external-agent.ts";
import { selfKnowledgeUpdate } from "./inventory.ts";
import type { ContextLedger } from "./ledger.ts";
import { noteLosses } from "./losses.ts";
import { wholeTexts } from "./lost-texts.ts";
import type { PermitGate } from "./permit.ts";
import { externalMetadata, promptMetadata } from "./prompt-metadata.ts";
import type { Preview, RunTotals, Runtime } from "./runtime.ts";
import { takeSteering } from "./steering.ts";
import type { createTotals } from "./totals.ts";
import { beginTurnLedger, type TurnLedger } from "./turn-ledger.ts";

export type ConversationParts = {
  readonly sessionId: string;
  readonly sessionPath?: string;
  readonly model: string;
  readonly workspace: string;
  readonly cwd: string;
  readonly provider: Provider;
  readonly context: ContextEngine;
  readonly toolbox: Toolbox;
  readonly gate: PermitGate;
  readonly queue: InputQueue;
  readonly totals: ReturnType<typeof createTotals>;
  readonly calls: TurnContext["calls"];
  readonly emit: Emit;
  readonly subscribe: Runtime["subscribe"];
  /** Opens the log on the first turn (a start without a prompt leaves no file behind); undefined when ephemeral. */
  readonly openLog?: (title: string) => Promise<SessionLog>;
  readonly logFailure: () => string | undefined;
  readonly systemPrompt: (knowledge: string) => SystemPrompt;
  /** The self-knowledge snapshot now (C9.1). */
  readonly knowledge: () => string;
  readonly skills: Pick<Skills, "available" | "turn" | "steer" | "forget">;
  readonly diagnostics: () => readonly string[];
  /** What every request of this run carries besides system, tools and messages. */
  readonly request: Pick<ProviderRequest, "model" | "reasoningEffort" | "maxOutputTokens" | "outputSchema">;
  readonly limit: TurnContext["limit"];
  /** What a summary costs is told here: no `request_started` tells of it. */
  readonly summaries: { begin(): void; drop(): void };
  readonly checkFinal?: TurnContext["checkFinal"];
  /** Whether the instruction chain is read when the conversation opens rather than at its first turn. */
  readonly discoverAtOnce: boolean;
  readonly budget: Budget;
  readonly compaction: Pick<CompactorParts, "mode" | "review" | "keepRecentTokens">;
  /** The conversation a resumed session had, and the seq of the record each message began with. */
  readonly history: readonly Message[];
  readonly seqs: readonly number[];
  readonly turns: number;
  /** A summary that waited for its review when the session ended. */
  readonly pending?: EarlierSummary | undefined;
  /** Work before a turn's first request that may wait until then (MCP servers …); ends early when the turn is cancelled. */
  readonly ready: (turnId: string, signal: AbortSignal) => Promise<void>;
  /** Everything in the context now. */
  readonly ledger: () => ContextLedger;
  /** Ends children, writes what is owed. Called once. */
  readonly release: () => Promise<void>;
  readonly today: () => string;
  /** The agent that drives the next turn in place of a model (ACP). It has instructions, tools and skills of its own. */
  readonly external?: () => ExternalAgent | undefined;
};

const NOTHING_DUE = { head: "", sources: [], activated: [] } as const;

export class Conversation implements Runtime {
  readonly #parts: ConversationParts;
  readonly #messages: Message[];
  #turns: number;
  #log: SessionLog | undefined;
  #chain: Promise<{ readonly text: string; readonly sources: readonly SourceInfo[] }> | undefined;
  readonly #discovered: Promise<void>;
  #system: SystemPrompt | undefined;
  #knowledge = "";
  #active: AbortController | undefined;
  #ledger: TurnLedger | undefined;
  #closed: Promise<void> | undefined;
  readonly #compactor: Compactor;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#messages = [...parts.history];
    this.#turns = parts.turns;
    this.#compactor = this.#createCompactor();
    // Where somebody looks at the inventory before the first prompt; else the first turn reads the chain itself, once.
    if (parts.discoverAtOnce) this.#chain = parts.context.start();
    this.#discovered = Promise.resolve(this.#chain).then(() => undefined);
    this.#discovered.catch(() => undefined);
  }

  get sessionId(): string {
    return this.#parts.sessionId;
  }
  get sessionPath(): string | undefined {
    return this.#parts.sessionPath;
  }
  get model(): string {
    return this.#parts.model;
  }
  get workspace(): string {
    return this.#parts.workspace;
  }
  get logFailure(): string | undefined {
    return this.#parts.logFailure();
  }
  subscribe(listener: (event: RunEvent) => void): () => void {
    return this.#parts.subscribe(listener);
  }
  totals(): RunTotals {
    return this.#parts.totals.read();
  }
  queue(kind: QueueKind, text: string): boolean {
    return this.#parts.queue.add(kind, text);
  }
  /** UTF-8 size of the conversation. */
  bytes(): number {
    return this.#parts.budget.bytes(this.#messages);
  }
  /** Resolves when the instructions that apply from the start are known. */
  discovered(): Promise<void> {
    return this.#discovered;
  }
  /** The conversation so far; not to be changed. */
  get messages(): readonly Message[] {
    return this.#messages;
  }
  /** Records a new title; false while there is no log. */
  retitle(title: string): boolean {
    if (!this.#log?.healthy) return false;
    this.#parts.emit({ type: "session_renamed", title });
    return true;
  }
  /** The turn that is running, or the last one. */
  get turnId(): string {
    return `turn-${this.#turns}`;
  }
  /** Whether a turn, or the making of a summary, is under way. */
  get running(): boolean {
    return this.#active !== undefined;
  }
  cancel(reason: string): void {
    this.#active?.abort(reason);
  }

  /** A summary that waits for `reviewCompaction`. */
  get pendingCompaction(): { readonly handle: string; readonly summary: string } | undefined {
    return this.#compactor.pending;
  }
  /** `/compact [guidance]`; only between turns. */
  async compact(guidance: string, signal?: AbortSignal): Promise<CompactionOutcome> {
    if (this.#active) return { done: false, message: "a turn is running: compact when it is done, or cancel it" };
    const controller = new AbortController();
    this.#active = controller;
    try {
      const active = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
      return await this.#compactor.compact(this.turnId, guidance, active);
    } finally {
      this.#active = undefined;
    }
  }
  /** False when no summary waits. */
  reviewCompaction(review: "approved" | "rejected"): Promise<boolean> {
    return this.#compactor.settle(review);
  }

  /** What the next request would hold if `text` were submitted; nothing is sent or logged. */
  async preview(text: string): Promise<Preview> {
    if (this.#parts.external?.()) return { system: "", tools: [], messages: [{ role: "user", text }] };
    await this.#parts.ready(this.turnId, new AbortController().signal);
    const { head } = await this.#deliver(text);
    const system = this.#systemPrompt();
    return {
      system: system.text,
      tools: this.#parts.toolbox.specs(),
      messages: [...this.#messages, { role: "user", text: head + text }],
    };
  }

  async submit(text: string, signal?: AbortSignal): Promise<TurnOutcome> {
    // It would be paid for, and neither shown nor recorded.
    if (this.#closed) throw new UserError("this conversation is closed");
    const { emit, gate, queue } = this.#parts;
    const turnId = `turn-${++this.#turns}`;
    const controller = new AbortController();
    this.#active = controller;
    gate.reset();
    try {
      const ended = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
      // Later turns find the connection of the one before.
      if (this.#turns === this.#parts.turns + 1) this.#parts.provider.connect?.();
      this.#log ??= await this.#parts.openLog?.(text);
      // First of all, so that what is recorded of this turn's tools is what is sent.
      const external = this.#parts.external?.();
      if (!external) await this.#parts.ready(turnId, ended);
      const { head, sources, activated } = external ? NOTHING_DUE : await this.#deliver(text);
      if (sources.length > 0 || this.#turns === 1) emit({ type: "context", turnId, sources });
      emit(external ? externalMetadata(this.#parts, turnId) : promptMetadata(this.#parts, turnId, this.#systemPrompt()));
      emit({ type: "turn_started", turnId, text });
      const userSeq = this.#log?.lastSeq ?? -1;
      for (const effect of activated) emit({ type: "effect", turnId, callId: "", effect });
      this.#messages.push({ role: "user", text: head + text });
      this.#compactor.noteUser(userSeq);
      this.#ledger?.drop();
      this.#ledger = external || !this.#log?.healthy ? undefined : this.#beginLedger(turnId);
      const turn = this.#turn(turnId, ended);
      const outcome = await (external ? external.run(turn) : runTurn(turn));
      if (outcome.status === "cancelled") queue.cancelSteering();
      // A turn that ended badly has said its last word already.
      await this.#ledger?.finish(outcome.status === "ok");
      const stop = outcome.status === "failed" && outcome.error ? gate.stopped(outcome.error) : undefined;
      return stop ? { ...outcome, status: "policy", error: stop } : outcome;
    } catch (error) {
      this.#ledger?.drop();
      throw error;
    } finally {
      this.#active = undefined;
      emit({ type: "turn_finished", turnId });
    }
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#ledger?.settle();
      this.#parts.context.close();
      this.#parts.queue.cancelAll();
      await this.#parts.release();
    })();
    return this.#closed;
  }

  /** Text due at the head of this user message: the chain once, then changes, mentions and pins, then skills. */
  async #deliver(text: string): Promise<{ head: string; sources: readonly SourceInfo[]; activated: readonly Effect[] }> {
    const chain = await this.#chain;
    this.#chain = undefined;
    const turn = await this.#parts.context.turn(text);
    const skills = await this.#parts.skills.turn(text);
    for (const diagnostic of skills.diagnostics) this.#parts.emit({ type: "diagnostic", diagnostic });
    const parts = [chain?.text ?? "", turn.text, this.#knowledgeUpdate(), skills.text].filter((part) => part !== "");
    return {
      head: parts.map((part) => `${part}\n\n`).join(""),
      sources: [...(chain?.sources ?? []), ...turn.sources],
      activated: skills.effects,
    };
  }

  #knowledgeUpdate(): string {
    if (!this.#system) return "";
    const now = this.#parts.knowledge();
    if (now === this.#knowledge) return "";
    this.#knowledge = now;
    return selfKnowledgeUpdate(now);
  }

  #systemPrompt(): SystemPrompt {
    if (!this.#system) {
      this.#knowledge = this.#parts.knowledge();
      this.#system = this.#parts.systemPrompt(this.#knowledge);
    }
    return this.#system;
  }

  #turn(turnId: string, signal: AbortSignal): TurnContext {
    const { provider, toolbox, calls, queue, limit, checkFinal, emit, gate, request, sessionId } = this.#parts;
    const system = this.#systemPrompt().text;
    return {
      turnId,
      provider,
      messages: this.#messages,
      request: () => ({ ...request, system, tools: toolbox.specs(), sessionId }),
      calls,
      steeringWaits: () => queue.steeringWaits(),
      takeSteering: () => this.#takeSteering(turnId),
      limit,
      beforeRequest: () => this.#noteLosses(turnId, () => this.#compactor.beforeRequest(turnId, signal)),
      makeRoom: () => this.#noteLosses(turnId, () => this.#compactor.makeRoom(turnId, signal)),
      ...(checkFinal && { checkFinal }),
      emit: (event) => {
        if (event.type === "request_started") this.#compactor.noteRequest();
        else if (event.type === "usage") this.#compactor.noteUsage(event.usage);
        const stop = event.type === "failed" ? gate.stopped({ class: event.failure, message: event.error }) : undefined;
        emit(stop ? { type: "failed", turnId, error: stop.message, failure: stop.class } : event);
      },
      signal,
    };
  }

  #takeSteering(turnId: string): Promise<readonly Message[]> {
    const { queue, skills, external, emit } = this.#parts;
    return takeSteering(turnId, {
      queue,
      skills: external?.() ? undefined : skills,
      emit,
      lastSeq: () => (this.#log?.healthy ? this.#log.lastSeq : undefined),
      onMessage: (message, seq) => this.#compactor.noteSteering(message, seq),
    });
  }

  #beginLedger(turnId: string): TurnLedger {
    const { ledger, context, emit } = this.#parts;
    return beginTurnLedger({ turnId, ledger, emit, indexed: () => context.indexed() });
  }

  #noteLosses<T>(turnId: string, makeRoom: () => Promise<T>): Promise<T> {
    const { context, emit, workspace } = this.#parts;
    const losses = {
      messages: this.#messages,
      workspace,
      context,
      fits: () => this.#compactor.fits(),
      onSources: (sources: readonly SourceInfo[]) => emit({ type: "context", turnId, sources }),
    };
    return noteLosses(losses, makeRoom);
  }

  #createCompactor(): Compactor {
    const { provider, budget, compaction, emit, request, toolbox, sessionId, context, skills, limit, summaries } = this.#parts;
    const conversation = this.#parts;
    const parts: CompactorParts = {
      ...compaction,
      provider,
      budget,
      get model() {
        return conversation.model;
      },
      emit: (event) => {
        // What instructions stood in the conversation that is summarised.
        const held = event.type === "compaction" ? context.sources().filter((source) => source.state === "visible") : [];
        emit(event.type === "compaction" ? { ...event, sourceHashes: held.map((source) => source.contentHash) } : event);
      },
      request: () => ({ ...request, system: this.#systemPrompt().text, tools: toolbox.specs(), sessionId }),
      lastSeq: () => this.#log?.lastSeq ?? -1,
      // A summary is no request of the turn: only what was spent counts.
      spending: { begin: () => summaries.begin(), drop: () => summaries.drop(), limit: () => limit(0) },
      redeliver: async (retained) => {
        // What a resumed conversation was to get with its next prompt comes with the summary.
        await this.#chain;
        this.#chain = undefined;
        const { text, sources } = await context.compacted(wholeTexts(retained, this.workspace));
        if (sources.length > 0) emit({ type: "context", turnId: this.turnId, sources });
        return [text, skills.forget()].filter((part) => part !== "").join("\n\n");
      },
    };
    return new Compactor(parts, this.#messages, this.#parts.seqs, this.#parts.pending);
  }
}
