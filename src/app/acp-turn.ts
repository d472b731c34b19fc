/**
 * Turns that an external agent drives (`--model acp:NAME`): prompts, cancel told apart from the end (X01, X03), what it may
 * ask of us meanwhile. Takes the loop's TurnContext, so that a turn looks the same from outside. Refuses: the agent's process
 * and session (acp-outer.ts), protocol details (acp/), rendering.
 */
import { createTerminals, type Terminals } from "../acp/terminals.ts";
import { AgentUpdates, type Answer } from "../acp/updates.ts";
import { bounded } from "../acp/wait.ts";
import type { CallsContext } from "../agent/calls.ts";
import type { TurnContext } from "../agent/loop.ts";
import type { Stop } from "../agent/response.ts";
import { childEnvironment } from "../base/child-env.ts";
import { field } from "../base/json.ts";
import { sayDuration } from "../base/text.ts";
import type { TurnOutcome } from "../types/event.ts";
import { createAcpHost, type HostParts } from "./acp-host.ts";
import { OuterAgent, type OuterParts, type OuterSession } from "./acp-outer.ts";

export type AcpTurnParts = Omit<HostParts, "childEnv"> &
  Omit<OuterParts, "childEnv"> & {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly credentialNames: readonly string[];
    readonly envAllow: readonly string[];
    readonly redactArguments: CallsContext["redactArguments"];
  };

export type AcpTurns = {
  run(context: TurnContext): Promise<TurnOutcome>;
  /** Ends the agent and its terminals. */
  close(): Promise<void>;
};

/** After a cancel the agent may take this long to end its turn; then it is ended (X03). */
const CANCEL_MS = 5000;

type Active = { readonly turnId: string; readonly signal: AbortSignal; readonly updates: AgentUpdates };

class AcpAgent implements AcpTurns {
  readonly #parts: AcpTurnParts;
  readonly #terminals: Terminals;
  readonly #outer: OuterAgent;
  #active: Active | undefined;
  #cost: number | undefined;
  /** What a command that outlives its turn is recorded under. */
  #lastTurn = "turn-1";

  constructor(parts: AcpTurnParts) {
    this.#parts = parts;
    const { env, envAllow, credentialNames } = parts;
    const full = { ...parts, childEnv: () => childEnvironment(env, { allow: envAllow, credentialNames }) };
    this.#terminals = createTerminals(parts.processes, (id, effect) => {
      parts.emit({ type: "effect", turnId: this.#lastTurn, callId: id, effect });
    });
    const host = {
      ...createAcpHost(full, this.#terminals, () => this.#active),
      // Nothing is shown of sessions we did not ask for, nor of the history that a load plays back.
      update: (params: unknown) => {
        if (field(params, "sessionId") === this.#outer.sessionId) this.#active?.updates.take(field(params, "update"));
      },
    };
    this.#outer = new OuterAgent(full, host, this.#terminals);
  }

  close(): Promise<void> {
    return this.#outer.end();
  }

  /** Prompts and, while steering comes in or the answer has to be repaired, prompts again. */
  async run(context: TurnContext): Promise<TurnOutcome> {
    let texts: readonly string[] = lastWords(context);
    let repaired = false;
    this.#lastTurn = context.turnId;
    for (let requests = 0; ; ) {
      const stop = context.signal.aborted ? undefined : context.limit(requests);
      if (stop) return this.#fail(context, stop, "limit", undefined, requests);
      texts = [...texts, ...(await context.takeSteering()).map((message) => message.text)];
      requests += 1;
      context.emit({ type: "request_started", turnId: context.turnId, request: requests });
      const end = await this.#prompt(texts, context);
      if (end.kind === "cancelled") return this.#cancelled(context, end.answer, requests);
      if (end.kind === "failed") return this.#fail(context, end.stop, "failed", end.answer, requests);
      const { last } = end.answer;
      if (last.trim() === "") {
        return this.#fail(context, { class: "empty_answer", message: "the agent gave no answer" }, "failed", undefined, requests);
      }
      const more = context.steeringWaits();
      const wrong = more ? undefined : context.checkFinal?.(last);
      const final = !more && wrong === undefined;
      context.messages.push({ role: "assistant", text: end.answer.all, calls: [] });
      context.emit({ type: "assistant_finished", turnId: context.turnId, text: end.answer.open, calls: [], final });
      if (final) return { status: "ok", text: last, requests };
      if (wrong !== undefined && repaired) {
        const message = `the answer does not fit the output schema: ${wrong}`;
        return this.#fail(context, { class: "invalid_output", message }, "failed", { all: "", last, open: "" }, requests);
      }
      repaired ||= wrong !== undefined;
      texts = wrong === undefined ? [] : [REPAIR(wrong)];
    }
  }

  #fail(
    context: TurnContext,
    stop: Stop,
    status: TurnOutcome["status"],
    answer: Answer | undefined,
    requests: number,
  ): TurnOutcome {
    this.#keepPartial(context, answer);
    context.emit({ type: "failed", turnId: context.turnId, error: stop.message, failure: stop.class });
    return { status, text: answer?.last ?? "", error: stop, requests };
  }

  #cancelled(context: TurnContext, answer: Answer | undefined, requests: number): TurnOutcome {
    const text = answer?.last ?? "";
    this.#keepPartial(context, answer);
    const reason = typeof context.signal.reason === "string" ? context.signal.reason : "user";
    context.emit({ type: "cancelled", turnId: context.turnId, reason });
    if (reason === "timeout") {
      return { status: "timeout", text, error: { class: "timeout", message: "the time limit was reached" }, requests };
    }
    return { status: "cancelled", text, error: { class: "cancelled", message: `cancelled (${reason})` }, requests };
  }

  #keepPartial({ turnId, messages, emit }: TurnContext, answer: Answer | undefined): void {
    if (!answer || answer.all === "") return;
    messages.push({ role: "assistant", text: answer.all, calls: [] });
    if (answer.open !== "")
      emit({ type: "assistant_finished", turnId, text: answer.open, calls: [], final: false, partial: true });
  }

  async #prompt(texts: readonly string[], context: TurnContext): Promise<PromptEnd> {
    const { turnId, signal, emit } = context;
    const { redact, redactArguments } = this.#parts;
    const terminalText = (id: string): string | undefined => {
      try {
        return this.#terminals.output(id).output;
      } catch {
        return undefined;
      }
    };
    const sink = { turnId, emit, redact, redactArguments, terminalText, now: () => performance.now() };
    const updates = new AgentUpdates(sink, this.#cost);
    this.#active = undefined;
    const opened = await this.#outer.open(context);
    if (!opened.ok) return opened.stop ? { kind: "failed", stop: opened.stop } : { kind: "cancelled", answer: undefined };
    const { session } = opened;
    // Also over when the agent has answered or gone: what it asked for then has nobody to answer to.
    const over = new AbortController();
    this.#active = { turnId, signal: AbortSignal.any([signal, over.signal]), updates };
    try {
      const prompt = texts.map((text) => ({ type: "text", text }) as const);
      const asked = session.link.ask("session/prompt", { sessionId: session.id, prompt }, { timeoutMs: FOREVER_MS });
      const answer = await bounded(asked, { signal });
      if (answer === "late" || answer === "cancelled") {
        await this.#stop(session, asked);
        return { kind: "cancelled", answer: updates.finish("cancelled") };
      }
      const said = updates.finish("ended");
      if (answer.ok) return endOf(answer.value.stopReason, said);
      if (answer.reason === "gone") await this.#outer.end();
      return { kind: "failed", stop: { class: "protocol", message: this.#outer.says(answer.message) }, answer: said };
    } finally {
      over.abort("prompt over");
      this.#cost = updates.cost;
      this.#active = undefined;
      this.#outer.tellJunk(session.link);
    }
  }

  /** Tells the agent to stop and gives it a moment; an agent that does not is ended, its session kept. */
  async #stop(session: OuterSession, asked: Promise<unknown>): Promise<void> {
    session.link.cancel(session.id);
    const grace = Math.min(CANCEL_MS, this.#parts.agent.timeoutMs);
    const late = (await bounded(asked, { ms: grace })) === "late";
    if (!late && session.link.alive()) return;
    const how = late ? `did not stop within ${sayDuration(grace)} and was ended` : "ended when it was asked to stop";
    await this.#outer.end();
    this.#outer.warn("acp_agent_ended", `${how}; its session is kept for the next prompt`);
  }
}

type PromptEnd =
  | { readonly kind: "ended"; readonly answer: Answer }
  | { readonly kind: "cancelled"; readonly answer: Answer | undefined }
  | { readonly kind: "failed"; readonly stop: Stop; readonly answer?: Answer };

/** A prompt takes as long as it takes (the longest timer there is); the user and --timeout end it. */
const FOREVER_MS = 2 ** 31 - 1;

const REPAIR = (wrong: string): string =>
  `That answer does not fit the required output schema: ${wrong}\nReply again with the corrected JSON only: no prose, no code fence.`;

/** A `cancelled` nobody asked for is the agent's own: no cancel of ours (X01). */
function endOf(stopReason: string, answer: Answer): PromptEnd {
  const fail = (stop: Stop): PromptEnd => ({ kind: "failed", stop, answer });
  switch (stopReason) {
    case "end_turn":
      return { kind: "ended", answer };
    case "refusal":
      return fail({ class: "refusal", message: "the agent refused to go on" });
    case "max_tokens":
      return fail({ class: "output_limit", message: "the agent's answer passed its model's output limit" });
    case "max_turn_requests":
      return fail({ class: "max_turns", message: "the agent reached its own limit of requests in one turn" });
    case "cancelled":
      return fail({ class: "protocol", message: "the agent says that its turn was cancelled, but nobody here did" });
    default:
      return fail({ class: "protocol", message: `the agent ended its turn for an unknown reason (${stopReason})` });
  }
}

/** What the person said since the last answer. */
function lastWords({ messages }: TurnContext): string[] {
  const after = messages.findLastIndex((message) => message.role !== "user");
  return messages.slice(after + 1).map((message) => message.text);
}

export function createAcpTurns(parts: AcpTurnParts): AcpTurns {
  return new AcpAgent(parts);
}
