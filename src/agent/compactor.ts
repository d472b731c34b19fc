/**
 * Keeps a conversation inside the model's window: trims, then summarises, with a guard against going round in circles
 * (integrations.md, Compaction; P16, P17). Owns which messages are still word for word. Refuses: knowing the log, the
 * instruction engine or the UI; it is handed functions.
 */
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { Emit } from "../types/event.ts";
import type { Message, Usage } from "../types/message.ts";
import type { Budget } from "./budget.ts";
import { type Cut, findCut, shortenResults, type Trimmed, trimResults } from "./compaction.ts";
import { factsOf, needsReview, plainUserText, protectedFacts, withoutInstructions } from "./facts.ts";
import type { Stop } from "./response.ts";
import { formerSummary, objectiveOf, summaryText } from "./summary.ts";
import { type Spending, writeSummary } from "./summary-writer.ts";

const OFF = 'nothing is summarised in this run: compaction.mode is "off"; "manual" leaves it to /compact';

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
  readonly spending?: Spending;
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

/** A summary of an earlier run that nobody has reviewed yet. */
export type EarlierSummary = Omit<Pending, "cut"> & {
  /** The last record it stands for. */
  readonly coveredEndSeq: number;
};

/** Summaries in a row that made no room worth having before none is tried any more; requests for one that fail within a turn. */
const MAX_TRIES = 2;

/** A summary that is followed by the next one before this many requests were made was not worth it. */
const WORTH_REQUESTS = 2;

/** Shares of the room a conversation has (window without answer, system prompt, tools and instructions) after a compaction. */
const SHARE = { summary: 0.25, facts: 0.15, request: 0.12, recent: 0.35 } as const;

/** Even a hopelessly small room is shared out as if it were this many bytes. */
const LEAST_ROOM = 2_000;

export class Compactor {
  readonly #parts: CompactorParts;
  readonly #messages: Message[];
  /** Parallel to the messages: the seq of the record each one began with. */
  #seqs: number[];
  /** Where the user's messages are recorded. */
  readonly #recorded = new WeakMap<Message, number>();
  #requestSeq = 0;
  #pending: Pending | undefined;
  #fruitless = 0;
  /** Requests of one turn for a summary that came to nothing. They say nothing of the conversation: the next turn asks again. */
  #failed: { readonly turnId: string; readonly count: number; readonly message: string } | undefined;
  #requestsSince = WORTH_REQUESTS;
  #lastBytes = 0;
  /** The user message of the running (or last) turn. */
  #request: { readonly message: Message | undefined; readonly text: string } | undefined;

  constructor(parts: CompactorParts, messages: Message[], seqs: readonly number[], pending?: EarlierSummary) {
    this.#parts = parts;
    this.#messages = messages;
    this.#seqs = [...seqs];
    if (pending) this.#pending = { ...pending, cut: { index: this.#after(pending.coveredEndSeq) } };
  }

  get pending(): { readonly handle: string; readonly summary: string } | undefined {
    return this.#pending;
  }

  /** The user message just appended stands in the log as record `seq`. */
  noteUser(seq: number): void {
    const message = this.#messages.at(-1);
    if (message) this.#recorded.set(message, seq);
    this.#align();
    this.#request = { message, text: message?.role === "user" ? plainUserText(message.text) : "" };
  }

  /** A message that the running turn takes up stands in the log as record `seq`. */
  noteSteering(message: Message, seq: number): void {
    this.#recorded.set(message, seq);
  }

  /** A request is about to leave: what is appended from now on begins with the next record. */
  noteRequest(): void {
    this.#align();
    this.#requestSeq = this.#parts.lastSeq() + 1;
    this.#requestsSince += 1;
    this.#lastBytes = this.#fixed() + this.#bytes(this.#messages);
  }

  noteUsage(usage: Usage): void {
    this.#parts.budget.learn(this.#lastBytes, usage);
  }

  /** Estimated tokens of the next request. */
  used(): number {
    return this.#parts.budget.measure(this.#fixed(), this.#messages);
  }

  /** Whether the next request fits the model, as far as that is known. */
  fits(): boolean {
    const { budget } = this.#parts;
    return !budget.known || this.used() <= budget.available;
  }

  /** Before each request: makes room when it would pass the threshold. An answer ends the turn. */
  async beforeRequest(turnId: string, signal: AbortSignal): Promise<Stop | undefined> {
    const { budget, mode } = this.#parts;
    if (mode !== "auto" || this.used() <= budget.threshold) return undefined;
    if (this.#trim()) return undefined;
    const outcome = await this.#summarise(turnId, "automatic", "", signal);
    if (signal.aborted || this.used() <= budget.available) return undefined;
    this.#replaceTrimmed(shortenResults(this.#messages, (this.used() - budget.target) * budget.bytesPerToken()), "shortened");
    if (this.fits()) return undefined;
    if (this.#pending) {
      return {
        class: "context_overflow",
        message: "the conversation is full and its summary waits for a review: /context review approve or reject",
      };
    }
    if (outcome.done) return this.#overflow("its summary did not make enough room");
    return this.#overflow(this.#failed ? `${outcome.message}; the next prompt asks for one again` : outcome.message);
  }

  /** After a provider's `context_overflow`; true when the request is worth one more try. */
  async makeRoom(turnId: string, signal: AbortSignal): Promise<boolean> {
    if (this.#parts.mode === "off") return false;
    const before = this.#bytes(this.#messages);
    this.#parts.budget.overflowed(before + this.#fixed());
    // The provider counts differently from us: aim well below what just failed.
    this.#replaceTrimmed(trimResults(this.#messages, before * 0.5, this.#handles()), "left out");
    const after = (): number => this.#bytes(this.#messages);
    if (after() >= before * 0.7) await this.#summarise(turnId, "automatic", "", signal, before * 0.3);
    if (after() >= before * 0.9) this.#replaceTrimmed(shortenResults(this.#messages, before * 0.4), "shortened");
    return after() < before * 0.9;
  }

  /** `/compact [guidance]`. */
  async compact(turnId: string, guidance: string, signal: AbortSignal): Promise<CompactionOutcome> {
    if (this.#parts.mode === "off") return { done: false, message: OFF };
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

  /**
   * What was appended since the last look began with the last request. User's messages at the end are steering, or the loop's own
   * and in no record: those begin where the next one does.
   */
  #align(): void {
    const known = this.#seqs.length;
    let next = this.#parts.lastSeq() + 1;
    let atEnd = true;
    for (let index = this.#messages.length - 1; index >= known; index--) {
      const message = this.#messages[index];
      atEnd &&= message?.role === "user";
      next = (message && this.#recorded.get(message)) ?? (atEnd ? next : this.#requestSeq);
      this.#seqs[index] = next;
    }
  }

  /** Index of the first message that began behind record `seq`. */
  #after(seq: number): number {
    const index = this.#seqs.findIndex((begun) => begun > seq);
    return index === -1 ? this.#messages.length : index;
  }

  /** The records behind the messages before index `until`. */
  #handle(until: number): string {
    this.#align();
    const start = this.#seqs[0] ?? 0;
    return `records ${start}-${Math.max(start, (this.#seqs[until] ?? this.#parts.lastSeq() + 1) - 1)}`;
  }

  /** Where the full text of a message can be looked up. */
  #handles(): (message: Message) => string {
    this.#align();
    const places = new Map(this.#messages.map((message, index) => [message, this.#seqs[index] ?? 0]));
    const starts = [...new Set(this.#seqs)].sort((one, other) => one - other);
    return (message) => {
      const start = places.get(message) ?? 0;
      const next = starts.find((seq) => seq > start) ?? this.#parts.lastSeq() + 1;
      return `records ${start}-${Math.max(start, next - 1)}`;
    };
  }

  /** In place: the loop and the conversation hold the same list. */
  #replace(messages: readonly Message[], seqs: readonly number[]): void {
    if (messages === this.#messages) return;
    const kept = [...seqs];
    this.#messages.splice(0, this.#messages.length, ...messages);
    this.#seqs = kept;
  }

  #replaceTrimmed(trimmed: Trimmed, what: string): void {
    if (trimmed.count === 0) return;
    this.#align();
    this.#replace(trimmed.messages, this.#seqs);
    const message = `${trimmed.count} tool result${trimmed.count === 1 ? "" : "s"} ${what} to save room in the context`;
    this.#parts.emit({ type: "diagnostic", diagnostic: { severity: "info", code: "context_trimmed", message } });
  }

  /** Old, large tool results first; true when that was enough. */
  #trim(): boolean {
    const { budget } = this.#parts;
    const wanted = (this.used() - budget.target) * budget.bytesPerToken();
    this.#replaceTrimmed(trimResults(this.#messages, wanted, this.#handles()), "left out");
    return this.used() <= budget.threshold;
  }

  /** Bytes a conversation may have beside what is always there: the instructions at its head count as such. */
  #room(): number {
    const { budget } = this.#parts;
    const head = this.#messages[0];
    const instructions = head ? this.#bytes([head]) - Buffer.byteLength(ownWords(head)) : 0;
    return Math.max(LEAST_ROOM, (budget.available - budget.tokens(this.#fixed() + instructions)) * budget.bytesPerToken());
  }

  #keepBytes(): number {
    const { budget, keepRecentTokens } = this.#parts;
    return Math.min(keepRecentTokens * budget.bytesPerToken(), Math.floor(this.#room() * SHARE.recent));
  }

  /** What is being worked on, when a cut at `index` takes it away. */
  #covered(cut: Cut): string | undefined {
    const request = this.#request;
    if (request?.text === undefined || request.text === "") return cut.current;
    const at = request.message ? this.#messages.indexOf(request.message) : -1;
    return at < cut.index ? request.text : undefined;
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
    if (this.#failed?.turnId !== turnId) this.#failed = undefined;
    if (trigger === "automatic" && this.#failed && this.#failed.count >= MAX_TRIES)
      return { done: false, message: this.#failed.message };
    this.#align();
    const cut = findCut(this.#messages, keepBytes);
    if (!cut) return { done: false, message: "there is nothing older to summarise" };
    const covered = this.#messages.slice(0, cut.index);
    const beforeTokens = this.used();
    const written = await writeSummary({ ...this.#parts, turnId, covered, guidance, signal });
    if (!written.ok) {
      const { message, times = 1 } = written;
      if (!signal.aborted) this.#failed = { turnId, count: (this.#failed?.count ?? 0) + times, message };
      return { done: false, message };
    }
    this.#failed = undefined;
    const handle = this.#handle(cut.index);
    const current = this.#covered(cut);
    const room = this.#room();
    const summary = summaryText({
      objective: objectiveOf(this.#messages),
      summary: clipBytes(written.text, Math.floor(room * SHARE.summary)),
      facts: protectedFacts(covered, factsOf(formerSummary(covered[0]) ?? ""), room * SHARE.facts),
      ...(current !== undefined && { current }),
      handle,
      maxBytes: room * SHARE.request,
    });
    const start = this.#seqs[0] ?? 0;
    const end = Math.max(start, (this.#seqs[cut.index] ?? lastSeq() + 1) - 1);
    const pending = review === "always" || (review === "auto" && needsReview(covered));
    const after = this.#bytes([{ role: "user", text: summary }, ...this.#messages.slice(cut.index)]) + this.#fixed();
    const afterTokens = budget.tokens(after);
    if (afterTokens >= beforeTokens) {
      this.#fruitless += 1;
      return { done: false, message: "the summary is not smaller than what it replaces" };
    }
    this.#fruitless = this.#requestsSince < WORTH_REQUESTS ? this.#fruitless + 1 : 0;
    this.#requestsSince = 0;
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
      beforeTokens,
      afterTokens,
    });
    if (pending) this.#pending = { handle, cut, summary };
    else await this.#apply(cut, summary);
    return { done: true, beforeTokens, afterTokens, pending, handle };
  }

  async #apply(cut: Cut, summary: string): Promise<void> {
    this.#align();
    const retained = this.#messages.slice(cut.index).map((message) => this.#withoutInstructions(message));
    const instructions = await this.#parts.redeliver(retained);
    const text = instructions === "" ? summary : `${instructions}\n\n${summary}`;
    // The summary stands for all it covers: the next one begins where this one did.
    this.#replace([{ role: "user", text }, ...retained], [this.#seqs[0] ?? 0, ...this.#seqs.slice(cut.index)]);
  }

  /** Instructions come again with the summary, as they are now: in the messages that stay they would stand behind it, as they were. */
  #withoutInstructions(message: Message): Message {
    if (message.role !== "user" || formerSummary(message) !== undefined) return message;
    const text = withoutInstructions(message.text);
    if (text === message.text) return message;
    const bare = { ...message, text };
    if (this.#request?.message === message) this.#request = { ...this.#request, message: bare };
    return bare;
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

/** What a message says without the instructions that were sent with it. */
function ownWords(message: Message): string {
  return message.role === "user" ? (formerSummary(message) ?? "") + plainUserText(message.text) : message.text;
}

function clipBytes(text: string, limit: number): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limit) return text;
  return `${text.slice(0, Math.floor((text.length * limit) / bytes)).toWellFormed()}\n[… cut]`;
}
