/**
 * Keeps a conversation inside the model's window: trims, then summarises, with a guard against going round in circles
 * (integrations.md, Compaction; P16, P17). Owns which messages are still word for word. Refuses: knowing the log, the
 * instruction engine or the UI; it is handed functions.
 */
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { Emit } from "../types/event.ts";
import type { Message, Usage } from "../types/message.ts";
import type { Budget } from "./budget.ts";
import {
  type Cut,
  factsOf,
  findCut,
  needsReview,
  objectiveOf,
  protectedFacts,
  summaryRequest,
  summaryText,
  trimResults,
} from "./compaction.ts";
import type { Stop } from "./loop.ts";
import { collectResponse } from "./response.ts";

export type CompactorParts = {
  readonly provider: Provider;
  readonly request: () => Omit<ProviderRequest, "messages">;
  readonly budget: Budget;
  readonly mode: "off" | "manual" | "auto";
  readonly review: "never" | "auto" | "always";
  readonly keepRecentTokens: number;
  /** `provider/id`, for the record. */
  readonly model: string;
  readonly emit: Emit;
  /** Seq of the last record in the log; -1 without one. */
  readonly lastSeq: () => number;
  /** Instruction text to deliver again after a compaction (C11); "" when there is none. */
  readonly redeliver: (retained: readonly Message[]) => Promise<string>;
};

export type CompactionOutcome =
  | {
      readonly done: true;
      readonly beforeTokens: number;
      readonly afterTokens: number;
      readonly pending: boolean;
      readonly handle: string;
    }
  | { readonly done: false; readonly message: string };

type Pending = { readonly handle: string; readonly cut: Cut; readonly summary: string };

/** Tries in a row that do not shrink the conversation before the run stops. */
const MAX_TRIES = 2;

/** A summary takes at most this share of the input that fits. */
const SUMMARY_SHARE = 0.2;

/** The newest messages that stay take at most this share, whatever `keep_recent_tokens` says. */
const RECENT_SHARE = 0.45;

const SUMMARY_SYSTEM = "You summarise a working session. Answer with the summary alone.";

export class Compactor {
  readonly #parts: CompactorParts;
  readonly #messages: Message[];
  /** Parallel to the messages: the seq of the record each one began with. */
  #seqs: number[];
  #requestSeq = 0;
  #coveredStart: number | undefined;
  #pending: Pending | undefined;
  #fruitless = 0;
  #lastBytes = 0;

  constructor(parts: CompactorParts, messages: Message[], seqs: readonly number[]) {
    this.#parts = parts;
    this.#messages = messages;
    this.#seqs = [...seqs];
  }

  get pending(): { readonly handle: string; readonly summary: string } | undefined {
    return this.#pending;
  }

  /** The user message just appended stands in the log as record `seq`. */
  noteUser(seq: number): void {
    this.#align();
    this.#seqs[this.#messages.length - 1] = seq;
  }

  /** A request is about to leave: what is appended from now on begins with the next record. */
  noteRequest(): void {
    this.#align();
    this.#requestSeq = this.#parts.lastSeq() + 1;
    this.#lastBytes = this.#fixed() + this.#bytes(this.#messages);
  }

  noteUsage(usage: Usage): void {
    this.#parts.budget.learn(this.#lastBytes, usage);
  }

  /** Estimated tokens of the next request. */
  used(): number {
    return this.#parts.budget.measure(this.#fixed(), this.#messages);
  }

  /** Before each request: makes room when it would pass the threshold. An answer ends the turn. */
  async beforeRequest(turnId: string, signal: AbortSignal): Promise<Stop | undefined> {
    const { budget, mode } = this.#parts;
    if (mode !== "auto" || this.used() <= budget.threshold) return undefined;
    if (this.#trim()) return undefined;
    const outcome = await this.#summarise(turnId, "automatic", "", signal);
    if (signal.aborted || !budget.known || this.used() <= budget.available) return undefined;
    if (outcome.done && outcome.pending) {
      return {
        class: "context_overflow",
        message: "the conversation is full and its summary waits for a review: /context review approve or reject",
      };
    }
    return this.#overflow(outcome.done ? "its summary did not make enough room" : outcome.message);
  }

  /** After a provider's `context_overflow`; true when the request is worth one more try. */
  async makeRoom(turnId: string, signal: AbortSignal): Promise<boolean> {
    if (this.#parts.mode === "off") return false;
    const before = this.#bytes(this.#messages);
    this.#parts.budget.overflowed(before + this.#fixed());
    // The provider counts differently from us: aim well below what just failed.
    this.#align();
    const trimmed = trimResults(this.#messages, before * 0.5, () => this.#handle(this.#messages.length));
    this.#replace(trimmed.messages, this.#seqs);
    const enough = (): boolean => this.#bytes(this.#messages) < before * 0.7;
    if (!enough()) await this.#summarise(turnId, "automatic", "", signal, before * 0.3);
    return this.#bytes(this.#messages) < before * 0.9;
  }

  /** `/compact [guidance]`. */
  compact(turnId: string, guidance: string, signal: AbortSignal): Promise<CompactionOutcome> {
    return this.#summarise(turnId, "manual", guidance, signal);
  }

  /** Settles a pending summary. False when none is pending. */
  async settle(review: "approved" | "rejected"): Promise<boolean> {
    const pending = this.#pending;
    if (!pending) return false;
    this.#pending = undefined;
    this.#parts.emit({ type: "compaction_review", recoveryHandle: pending.handle, review });
    if (review === "approved") await this.#apply(pending.cut, pending.summary);
    return true;
  }

  #fixed(): number {
    return this.#parts.budget.fixed(this.#parts.request());
  }

  #bytes(messages: readonly Message[]): number {
    return this.#parts.budget.bytes(messages);
  }

  #align(): void {
    while (this.#seqs.length < this.#messages.length) this.#seqs.push(this.#requestSeq);
  }

  #handle(until: number): string {
    this.#align();
    const start = this.#coveredStart ?? this.#seqs[0] ?? 0;
    return `records ${start}-${(this.#seqs[until] ?? this.#parts.lastSeq() + 1) - 1}`;
  }

  /** In place: the loop and the conversation hold the same list. */
  #replace(messages: readonly Message[], seqs: readonly number[]): void {
    if (messages === this.#messages) return;
    const kept = [...seqs];
    this.#messages.splice(0, this.#messages.length, ...messages);
    this.#seqs = kept;
  }

  /** Old, large tool results first; true when that was enough. */
  #trim(): boolean {
    const { budget, emit } = this.#parts;
    const used = this.used();
    const wanted = (used - budget.target) * budget.bytesPerToken();
    this.#align();
    const trimmed = trimResults(this.#messages, wanted, () => this.#handle(this.#messages.length));
    if (trimmed.count === 0) return false;
    this.#replace(trimmed.messages, this.#seqs);
    const message = `${trimmed.count} older tool result${trimmed.count === 1 ? "" : "s"} left out of the context to save room`;
    emit({ type: "diagnostic", diagnostic: { severity: "info", code: "context_trimmed", message } });
    return this.used() <= budget.threshold;
  }

  #keepBytes(): number {
    const { budget, keepRecentTokens } = this.#parts;
    const room = Math.max(0, budget.available - budget.tokens(this.#fixed()));
    return Math.min(keepRecentTokens, Math.floor(room * RECENT_SHARE)) * budget.bytesPerToken();
  }

  async #summarise(
    turnId: string,
    trigger: "manual" | "automatic",
    guidance: string,
    signal: AbortSignal,
    keepBytes = this.#keepBytes(),
  ): Promise<CompactionOutcome> {
    const { budget, emit, model, lastSeq, review } = this.#parts;
    if (this.#pending) return { done: false, message: "a summary already waits for a review" };
    if (trigger === "automatic" && this.#fruitless >= MAX_TRIES)
      return { done: false, message: "earlier summaries did not make room" };
    this.#align();
    const cut = findCut(this.#messages, keepBytes);
    if (!cut) return { done: false, message: "there is nothing older to summarise" };
    const covered = this.#messages.slice(0, cut.index);
    const beforeTokens = this.used();
    const written = await this.#ask(turnId, covered, guidance, signal);
    if (!written.ok) {
      this.#fruitless += 1;
      return { done: false, message: written.message };
    }
    const handle = this.#handle(cut.index);
    const former = covered[0]?.text ?? "";
    const summary = summaryText({
      objective: objectiveOf(this.#messages),
      summary: written.text,
      facts: protectedFacts(covered, factsOf(former)),
      ...(cut.current !== undefined && { current: cut.current }),
      handle,
    });
    const start = this.#coveredStart ?? this.#seqs[0] ?? 0;
    const end = Math.max(start, (this.#seqs[cut.index] ?? lastSeq() + 1) - 1);
    const pending = review === "always" || (review === "auto" && needsReview(covered));
    const after = this.#bytes([{ role: "user", text: summary }, ...this.#messages.slice(cut.index)]) + this.#fixed();
    const afterTokens = budget.tokens(after);
    if (afterTokens >= beforeTokens) {
      this.#fruitless += 1;
      return { done: false, message: "the summary is not smaller than what it replaces" };
    }
    this.#fruitless = 0;
    emit({
      type: "compaction",
      summary,
      coveredStartSeq: start,
      coveredEndSeq: end,
      sourceHashes: [],
      trigger,
      review: pending ? "pending" : "not_required",
      recoveryHandle: handle,
      model,
      ...(written.usage && { usage: written.usage }),
      beforeTokens,
      afterTokens,
    });
    this.#coveredStart = start;
    if (pending) this.#pending = { handle, cut, summary };
    else await this.#apply(cut, summary);
    return { done: true, beforeTokens, afterTokens, pending, handle };
  }

  async #apply(cut: Cut, summary: string): Promise<void> {
    this.#align();
    const retained = this.#messages.slice(cut.index);
    const instructions = await this.#parts.redeliver(retained);
    const text = instructions === "" ? summary : `${instructions}\n\n${summary}`;
    this.#replace([{ role: "user", text }, ...retained], [this.#parts.lastSeq(), ...this.#seqs.slice(cut.index)]);
  }

  /** Asks the model for the summary; the request always fits. */
  async #ask(
    turnId: string,
    covered: readonly Message[],
    guidance: string,
    signal: AbortSignal,
  ): Promise<
    { readonly ok: true; readonly text: string; readonly usage?: Usage } | { readonly ok: false; readonly message: string }
  > {
    const { budget, provider } = this.#parts;
    const room = (budget.available - budget.tokens(Buffer.byteLength(SUMMARY_SYSTEM))) * budget.bytesPerToken() * 0.85;
    const text = summaryRequest(covered, guidance, room);
    const { model, sessionId } = this.#parts.request();
    const request: ProviderRequest = { model, sessionId, system: SUMMARY_SYSTEM, tools: [], messages: [{ role: "user", text }] };
    const response = await collectResponse(provider, request, turnId, () => undefined, signal);
    if (response.usage) this.#parts.emit({ type: "usage", turnId, usage: response.usage });
    if (response.end.type === "failure") return { ok: false, message: `the summary could not be made: ${response.end.message}` };
    if (response.text.trim() === "") return { ok: false, message: "the model gave an empty summary" };
    const limit = Math.floor(budget.available * SUMMARY_SHARE * budget.bytesPerToken());
    const words = response.text.length <= limit ? response.text : `${response.text.slice(0, limit).toWellFormed()}\n[… cut]`;
    return { ok: true, text: words, ...(response.usage && { usage: response.usage }) };
  }

  #overflow(reason: string): Stop {
    const { budget } = this.#parts;
    const fixed = budget.tokens(this.#fixed());
    return {
      class: "context_overflow",
      message: `the conversation does not fit the model any more (${reason}): about ${this.used()} of ${budget.available} tokens, ${fixed} of them fixed (system prompt and tools); start a new session, or use a model with a larger window`,
    };
  }
}
