/**
 * One turn: ask, run calls, ask again, until the model stops, a limit, a cancel or a failure (loop-and-providers.md, Loop).
 * Takes functions; knows no UI, no disk, no configuration. Messages are only ever appended.
 */
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { Emit, FailureClass, TurnOutcome } from "../types/event.ts";
import type { Message, ToolCall } from "../types/message.ts";
import { parseArguments } from "./arguments.ts";
import { type CallsContext, runCalls } from "./calls.ts";
import { createProgress, REPEAT_FAILURE, REPEAT_NOTICE } from "./progress.ts";
import { collectResponse, type Response, type Stop } from "./response.ts";

export type TurnContext = {
  readonly turnId: string;
  readonly provider: Provider;
  /** The conversation so far, the turn's user message included; the loop appends to it. */
  readonly messages: Message[];
  /** Everything of the next request but its messages (the catalog may change between requests). */
  readonly request: () => Omit<ProviderRequest, "messages">;
  readonly calls: Omit<CallsContext, "turnId" | "signal" | "emit">;
  /** Whether input waits for the next request of this turn. */
  readonly steeringWaits: () => boolean;
  /** Takes that input, oldest first, as the user's messages. */
  readonly takeSteering: () => Promise<readonly Message[]>;
  /** Asked before each request with the number of requests this turn has made; an answer ends the turn. */
  readonly limit: (requests: number) => Stop | undefined;
  /** Makes room before a request that would not fit; an answer ends the turn. */
  readonly beforeRequest?: () => Promise<Stop | undefined>;
  /** Checks a final answer; an answer is what is wrong with it (one repair request, then a failure). */
  readonly checkFinal?: (text: string) => string | undefined;
  /** Makes room after `context_overflow`; true when the request is worth one more try. */
  readonly makeRoom?: () => Promise<boolean>;
  readonly emit: Emit;
  readonly signal: AbortSignal;
};

const CONTINUE = "Your answer was cut at the output limit. Continue exactly where it stopped, without repeating anything.";

type Next = { readonly done: false } | { readonly done: true; readonly outcome: Omit<TurnOutcome, "requests"> };

const GO_ON: Next = { done: false };

/** State of one turn; a class because every step reads and moves several of its counters. */
class Turn {
  readonly #context: TurnContext;
  readonly #progress = createProgress();
  #requests = 0;
  #continued = false;
  #repaired = false;
  #madeRoom = false;
  /** Text of an answer that went on after the output limit. */
  #head = "";

  constructor(context: TurnContext) {
    this.#context = context;
  }

  async run(): Promise<TurnOutcome> {
    for (;;) {
      const next = await this.#step();
      if (next.done) return { ...next.outcome, requests: this.#requests };
    }
  }

  async #step(): Promise<Next> {
    const { turnId, messages, emit, signal } = this.#context;
    if (signal.aborted) return this.#cancelled("");
    const stop = this.#context.limit(this.#requests);
    if (stop) return this.#fail(stop, "limit");
    messages.push(...(await this.#context.takeSteering()));
    const full = await this.#context.beforeRequest?.();
    if (signal.aborted) return this.#cancelled("");
    // Making room may have cost something.
    const spent = this.#spent();
    if (spent) return this.#fail(spent, "limit");
    if (full) return this.#fail(full, "failed");
    this.#requests += 1;
    emit({ type: "request_started", turnId, request: this.#requests });
    const request = { ...this.#context.request(), messages };
    // An attempt that was paid for and failed counts before the next one does.
    const response = await collectResponse(this.#context.provider, request, turnId, emit, signal, () => this.#spent());
    if (response.stopped) return this.#stopped(response, response.stopped);
    if (response.usage) emit({ type: "usage", turnId, usage: response.usage });
    if (response.reasoning !== "") emit({ type: "reasoning_finished", turnId, text: response.reasoning });
    if (signal.aborted) return this.#cancelled(response.text);
    if (response.end.type === "failure") return this.#failedResponse(response, response.end);
    this.#madeRoom = false;
    return response.calls.length > 0 ? this.#runCalls(response) : this.#answered(response);
  }

  /** Whether what was spent meanwhile ends the turn; requests were counted before the one that is being made. */
  #spent(): Stop | undefined {
    return this.#context.limit(Math.max(0, this.#requests - 1));
  }

  #stopped(response: Response, stop: Stop): Next {
    this.#keepPartial(response.text);
    return this.#fail(stop, "limit", this.#head + response.text);
  }

  async #failedResponse(response: Response, failure: { readonly class: FailureClass; readonly message: string }): Promise<Next> {
    if (failure.class === "cancelled") return this.#cancelled(response.text);
    if (failure.class === "context_overflow" && !this.#madeRoom && this.#context.makeRoom) {
      this.#madeRoom = true;
      if (await this.#context.makeRoom()) return GO_ON;
      if (this.#context.signal.aborted) return this.#cancelled(response.text);
      const spent = this.#spent();
      if (spent) return this.#stopped(response, spent);
    }
    this.#keepPartial(response.text);
    return this.#fail({ class: failure.class, message: failure.message }, "failed", this.#head + response.text);
  }

  async #runCalls(response: Response): Promise<Next> {
    const { turnId, messages, emit, signal } = this.#context;
    const calls = response.calls;
    const cutCall = response.end.type === "stop" && response.end.reason === "length" ? cut(calls) : undefined;
    this.#append(response);
    emit({ type: "assistant_finished", turnId, text: response.text, calls, final: false });
    this.#newAnswer();
    const context: CallsContext = { ...this.#context.calls, turnId, emit, signal };
    const finished = await runCalls(calls, context, cutCall);
    let repeated = 0;
    for (const { call, result, message } of finished) {
      const times = this.#progress.note(call.name, call.arguments, result.stable ?? result.text);
      repeated = Math.max(repeated, times);
      messages.push(times < REPEAT_NOTICE ? message : { ...message, text: `${message.text}\n\n${repeatNotice(times)}` });
    }
    if (signal.aborted) return this.#cancelled("");
    if (repeated >= REPEAT_FAILURE) {
      const message = "no progress: the model makes the same calls with the same results over and over";
      return this.#fail({ class: "no_progress", message }, "failed");
    }
    return GO_ON;
  }

  #answered(response: Response): Next {
    const { turnId, messages, emit } = this.#context;
    const reason = response.end.type === "stop" ? response.end.reason : "end";
    const text = this.#head + response.text;
    if (reason === "refusal") {
      this.#keepPartial(response.text);
      return this.#fail({ class: "refusal", message: "the model refused to answer" }, "failed", text);
    }
    if (response.text.trim() === "" && this.#head === "") return this.#empty(response, reason);
    if (reason === "length") {
      this.#append(response);
      emit({ type: "assistant_finished", turnId, text: response.text, calls: [], final: false });
      if (this.#continued)
        return this.#fail({ class: "output_limit", message: "the answer passed the model's output limit twice" }, "failed", text);
      this.#continued = true;
      this.#head = text;
      messages.push({ role: "user", text: CONTINUE });
      return GO_ON;
    }
    this.#append(response);
    // Taken by the next step, behind the record of this answer.
    const more = this.#context.steeringWaits();
    const wrong = more ? undefined : this.#context.checkFinal?.(text);
    const final = !more && wrong === undefined;
    emit({ type: "assistant_finished", turnId, text: response.text, calls: [], final });
    if (final) return { done: true, outcome: { status: "ok", text } };
    this.#newAnswer();
    return wrong === undefined ? GO_ON : this.#repair(wrong, text);
  }

  #repair(wrong: string, text: string): Next {
    if (this.#repaired)
      return this.#fail(
        { class: "invalid_output", message: `the answer does not fit the output schema: ${wrong}` },
        "failed",
        text,
      );
    this.#repaired = true;
    this.#context.messages.push({
      role: "user",
      text: `That answer does not fit the required output schema: ${wrong}\nReply again with the corrected JSON only: no prose, no code fence.`,
    });
    return GO_ON;
  }

  #empty(response: Response, reason: string): Next {
    const why = response.reasoning === "" ? "" : ", only reasoning";
    const limit = reason === "length" ? "; it reached its output limit" : "";
    const unknown = response.end.type === "stop" ? response.end.unknown : undefined;
    const said = unknown === undefined ? "" : `; it ended with: ${unknown}`;
    return this.#fail({ class: "empty_answer", message: `the model gave no answer${why}${limit}${said}` }, "failed");
  }

  /** What follows stands for itself: nothing is glued to it, and it may be continued as often as the first. */
  #newAnswer(): void {
    this.#head = "";
    this.#continued = false;
  }

  #append(response: Response): void {
    this.#context.messages.push({
      role: "assistant",
      text: response.text,
      ...(response.reasoning !== "" && { reasoning: response.reasoning }),
      ...(response.carry && { carry: response.carry }),
      ...(response.calls.length > 0 && { from: this.#context.provider.name }),
      calls: response.calls,
    });
  }

  /** What there was of a cut answer stays in the conversation and in the log, marked. */
  #keepPartial(text: string): void {
    if (text === "") return;
    this.#context.messages.push({ role: "assistant", text, calls: [] });
    this.#context.emit({
      type: "assistant_finished",
      turnId: this.#context.turnId,
      text,
      calls: [],
      final: false,
      partial: true,
    });
  }

  #fail(stop: Stop, status: TurnOutcome["status"], text = ""): Next {
    this.#context.emit({ type: "failed", turnId: this.#context.turnId, error: stop.message, failure: stop.class });
    return { done: true, outcome: { status, text, error: stop } };
  }

  #cancelled(text: string): Next {
    this.#keepPartial(text);
    const { signal, emit, turnId } = this.#context;
    const reason = typeof signal.reason === "string" ? signal.reason : "user";
    emit({ type: "cancelled", turnId, reason });
    const timeout = reason === "timeout";
    const error: Stop = timeout
      ? { class: "timeout", message: "the time limit was reached" }
      : { class: "cancelled", message: `cancelled (${reason})` };
    return { done: true, outcome: { status: timeout ? "timeout" : "cancelled", text: this.#head + text, error } };
  }
}

/** The call that the output limit cut, if its arguments do not parse or had not begun; it is never run. */
function cut(calls: readonly ToolCall[]): string | undefined {
  const last = calls.at(-1);
  return last && (last.arguments.trim() === "" || !parseArguments(last.arguments).ok) ? last.id : undefined;
}

function repeatNotice(times: number): string {
  return `[notice: the same call with the same result, ${times} times in a row or in a round of calls. Do something else, or answer. At ${REPEAT_FAILURE} the run stops.]`;
}

/** Runs one turn to its end. Never throws for a foreseeable reason; emits exactly one `failed` or `cancelled` when it does not end well. */
export function runTurn(context: TurnContext): Promise<TurnOutcome> {
  return new Turn(context).run();
}
