/**
 * Rebuilds the conversation the model had, from records alone (sessions.md, Resume): valid for every wire format whatever the
 * log holds. Never runs anything: open calls get one synthetic result. Refuses: instruction text (the context engine
 * delivers what is on disk now), foreign records.
 */
import { wellFormed } from "../base/json.ts";
import type { Message, ToolMessage } from "../types/message.ts";
import { CompactionFold, isAgreed } from "./compactions.ts";
import { DecisionFold, type Decisions } from "./decisions.ts";
import { readRecords, type Tally } from "./read.ts";
import { type RecordedSource, SourceFold } from "./recorded-sources.ts";
import type { CompactionRecord, ReadRecord, StoredRecord } from "./records.ts";
import {
  type Call,
  capped,
  type Entry,
  NO_OUTPUT,
  type ResponseEntry,
  sizeOf,
  summaryText,
  toMessages,
} from "./replay-entries.ts";
import { FactFold, type SessionFacts } from "./session-facts.ts";

const GO_ON = "Continue.";
/** More of a conversation than this fits no model: the oldest turns are left out, so that a log of any size can be gone on with. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

export type Conversation = SessionFacts & {
  readonly messages: readonly Message[];
  /** Parallel to `messages`: the seq of the record each one began with (compaction ranges are made of these). */
  readonly seqs: readonly number[];
  /** Instruction files that it held at its end, to be compared with the disk (C10); the most recently delivered last. */
  readonly sources: readonly RecordedSource[];
  /** Pins and drops in force. */
  readonly decisions: Decisions;
  /** Paths of the skills that were activated since the last summary came into force. */
  readonly skills: readonly string[];
  /** Ids of the calls that got the synthetic result. */
  readonly openCalls: readonly string[];
  /** Results that belong to no call; they are left out. */
  readonly orphanResults: number;
  /** Messages of the oldest turns that were left out because the conversation is larger than any model's context. */
  readonly leftOut: number;
  /** What the provider said when it refused the last request as invalid, and nothing went well since (J17). */
  readonly refusal?: string;
  /** The compaction in force, if any, and one still waiting for its review. */
  readonly compaction?: CompactionRecord;
  readonly pendingCompaction?: PendingSummary;
};

/** A summary that waits for its review; `messages` hold what it stands for word for word until then. */
export type PendingSummary = {
  /** Names it in the review's record. */
  readonly handle: string;
  readonly summary: string;
  /** The last record it stands for. */
  readonly coveredEndSeq: number;
};

function pendingSummary({ recovery_handle, summary, covered_end_seq }: CompactionRecord): PendingSummary {
  return { handle: recovery_handle, summary: summaryText(summary), coveredEndSeq: covered_end_seq };
}

/** Reads and rebuilds in one go. `tally` counts what had to be skipped. */
export async function readConversation(path: string, tally: Tally, signal?: AbortSignal): Promise<Conversation> {
  const builder = new ConversationBuilder();
  for await (const batch of readRecords(path, tally, signal === undefined ? {} : { signal })) {
    for (const read of batch) builder.add(read);
  }
  return builder.finish();
}

/** The same from records already at hand, in sequence order. */
export function rebuildConversation(records: Iterable<ReadRecord>): Conversation {
  const builder = new ConversationBuilder();
  for (const read of records) builder.add(read);
  return builder.finish();
}

class ConversationBuilder {
  #entries: Entry[] = [];
  readonly #open = new Map<string, Call[]>();
  readonly #early = new Map<string, { readonly turnId: string; readonly result: ToolMessage }[]>();
  readonly #usedIds = new Set<string>();
  readonly #sources = new SourceFold();
  readonly #decisions = new DecisionFold();
  readonly #compactions = new CompactionFold();
  readonly #facts = new FactFold();
  readonly #skills = new Set<string>();
  #held = 0;
  #waiting = 0;
  #leftOut = 0;
  #orphans = 0;
  #refusal: string | undefined;
  #maker: { readonly turn: string; readonly provider: string } | undefined;

  add(read: ReadRecord): void {
    if (!read.known) return;
    const record = read.record;
    this.#facts.add(record);
    if (this.#held > MAX_CHARACTERS) this.#leaveOut();
    switch (record.type) {
      case "user":
        this.#addUser(record.seq, record.text, false, undefined);
        break;
      case "queued_input":
        // Only what reached the model in the middle of a turn; a follow-up that was sent has its own `user` record.
        if (record.kind === "steering" && record.action === "sent") this.#addUser(record.seq, record.text, true, record.request);
        break;
      case "assistant_finished": {
        const response = this.#responseFor(record, (last) => last.text === undefined);
        this.#refusal = undefined;
        response.text = record.text;
        this.#held += record.text.length;
        response.partial = record.partial === true;
        break;
      }
      case "reasoning_finished": {
        const response = this.#responseFor(record, (last) => last.reasoning === "" || last.request !== undefined);
        response.reasoning += (response.reasoning === "" ? "" : "\n\n") + record.text;
        this.#held += record.text.length;
        break;
      }
      case "tool_started":
        this.#sources.used(record);
        this.#addCall(record);
        break;
      case "tool_finished":
        this.#addResult(record);
        break;
      case "usage":
        this.#refusal = undefined;
        break;
      case "failed":
        this.#refusal = record.class === "invalid_request" ? record.error : undefined;
        this.#closeLast();
        break;
      case "cancelled":
        this.#closeLast();
        break;
      default:
        this.#fold(record);
    }
  }

  finish(): Conversation {
    const openCalls: string[] = [];
    const messages: Message[] = [];
    const seqs: number[] = [];
    const { active, pending } = this.#compactions.judge();
    const push = (seq: number, message: Message): void => {
      const last = messages.at(-1);
      // The loop's own nudges (go on, repair) are not logged; two answers in a row need one between them.
      if (message.role === "assistant" && last?.role === "assistant") {
        messages.push({ role: "user", text: GO_ON });
        seqs.push(seq);
      }
      messages.push(message);
      seqs.push(seq);
    };
    let summaries = active;
    const isCovered = ({ seq }: Entry): boolean => {
      summaries = summaries.filter(({ record }) => {
        if (record.covered_end_seq >= seq) return true;
        // It stands for all it covers: a later compaction that covers it begins where it did.
        push(record.covered_start_seq, { role: "user", text: summaryText(record.summary) });
        return false;
      });
      return active.some(({ record }) => seq >= record.covered_start_seq && seq <= record.covered_end_seq);
    };
    for (const entry of this.#entries) {
      if (active.length > 0 && isCovered(entry)) continue;
      if (entry.kind === "user") push(entry.seq, { role: "user", text: entry.text });
      else for (const message of toMessages(entry, openCalls)) push(entry.seq, message);
    }
    for (const { record } of summaries) push(record.covered_start_seq, { role: "user", text: summaryText(record.summary) });
    const inForce = active.at(-1)?.record;
    let orphanResults = this.#orphans;
    for (const waiting of this.#early.values()) orphanResults += waiting.length;
    return {
      messages,
      seqs,
      sources: this.#sources.finish(),
      decisions: this.#decisions.finish(),
      skills: [...this.#skills],
      ...this.#facts.finish(),
      openCalls,
      orphanResults,
      leftOut: this.#leftOut,
      ...(this.#refusal === undefined ? {} : { refusal: this.#refusal }),
      ...(inForce === undefined ? {} : { compaction: inForce }),
      ...(pending === undefined ? {} : { pendingCompaction: pendingSummary(pending) }),
    };
  }

  /** The oldest quarter goes; of a turn that is cut in the middle the question stays. */
  #leaveOut(): void {
    let count = 0;
    let question: Entry | undefined;
    while (count < this.#entries.length - 1 && this.#held > MAX_CHARACTERS * 0.75) {
      const entry = this.#entries[count++];
      if (entry === undefined) break;
      if (entry.kind === "user") question = entry;
      this.#held -= sizeOf(entry);
    }
    const kept = question !== undefined && this.#entries[count]?.kind !== "user" ? [question] : [];
    for (const entry of kept) this.#held += sizeOf(entry);
    this.#entries.splice(0, count, ...kept);
    this.#leftOut += count - kept.length;
  }

  #addUser(seq: number, raw: string, steering: boolean, request: number | undefined): void {
    const text = raw.toWellFormed();
    if (text.trim() === "") return;
    const last = this.#entries.at(-1);
    // Steering may be logged both as queued input and as user text: it reached the model once.
    if (last?.kind === "user" && last.text === text && last.steering !== steering) return;
    this.#entries.push({ kind: "user", seq, text, steering, request });
    this.#held += text.length;
  }

  /** The response a record belongs to: by request number where it is recorded, else by order. */
  #responseFor(
    record: { readonly seq: number; readonly turn_id: string; readonly request?: number },
    fits: (last: ResponseEntry) => boolean,
  ): ResponseEntry {
    const at = this.#placeFor(record.request);
    const last = this.#entries[at - 1];
    if (last?.kind === "response" && last.turnId === record.turn_id) {
      const numbered = record.request !== undefined && last.request !== undefined;
      if (numbered ? record.request === last.request && fits(last) : !last.closed && last.finished === 0 && fits(last))
        return last;
    }
    const response: ResponseEntry = {
      kind: "response",
      seq: record.seq,
      turnId: record.turn_id,
      request: record.request,
      from: this.#maker?.turn === record.turn_id ? this.#maker.provider : undefined,
      text: undefined,
      partial: false,
      reasoning: "",
      calls: [],
      finished: 0,
      closed: false,
    };
    this.#entries.splice(at, 0, response);
    return response;
  }

  /** Steering is logged when it is taken, which may be just before the answer it follows is logged. */
  #placeFor(request: number | undefined): number {
    let at = this.#entries.length;
    for (; request !== undefined && at > 0; at--) {
      const entry = this.#entries[at - 1];
      if (entry?.kind !== "user" || !entry.steering || entry.request !== request) break;
    }
    return at;
  }

  #addCall(record: StoredRecord & { readonly type: "tool_started" }): void {
    // Without numbers: calls of one response start before any usage or, when they run one by one, right after each other.
    const response = this.#responseFor(record, () => true);
    const id = this.#uniqueId(record.call_id.toWellFormed());
    const call: Call = {
      callId: record.call_id,
      turnId: record.turn_id,
      call: { id, name: record.name.toWellFormed(), arguments: JSON.stringify(wellFormed(record.arguments)) },
    };
    response.calls.push(call);
    this.#held += call.call.arguments.length;
    const waiting = this.#early.get(record.call_id);
    const early = waiting?.findIndex((entry) => entry.turnId === record.turn_id) ?? -1;
    if (waiting !== undefined && early !== -1) {
      const [found] = waiting.splice(early, 1);
      if (found === undefined) return;
      call.result = { ...found.result, callId: id, name: call.call.name };
      this.#waiting -= found.result.text.length;
      this.#held += found.result.text.length;
      return;
    }
    const list = this.#open.get(record.call_id);
    if (list === undefined) this.#open.set(record.call_id, [call]);
    else list.push(call);
  }

  #addResult(record: StoredRecord & { readonly type: "tool_finished" }): void {
    const text = record.output.toWellFormed();
    const shown = text.trim() === "" ? NO_OUTPUT : capped(text);
    const result: ToolMessage = { role: "tool", callId: record.call_id, name: "", text: shown, failed: record.status !== "ok" };
    const open = this.#open.get(record.call_id) ?? [];
    const sameTurn = open.findIndex((call) => call.turnId === record.turn_id);
    const index = sameTurn === -1 ? open.length - 1 : sameTurn;
    const [call] = index === -1 ? [] : open.splice(index, 1);
    if (call === undefined && this.#waiting + shown.length > MAX_CHARACTERS) {
      this.#orphans++;
      return;
    }
    if (call === undefined) {
      this.#waiting += shown.length;
      const waiting = this.#early.get(record.call_id) ?? [];
      waiting.push({ turnId: record.turn_id, result });
      this.#early.set(record.call_id, waiting);
      return;
    }
    call.result = { ...result, callId: call.call.id, name: call.call.name };
    this.#held += shown.length;
    const owner = this.#entries.findLast((entry) => entry.kind === "response" && entry.calls.includes(call));
    if (owner?.kind === "response") owner.finished++;
  }

  #closeLast(): void {
    const last = this.#entries.at(-1);
    if (last?.kind === "response") last.closed = true;
  }

  #fold(record: StoredRecord): void {
    switch (record.type) {
      case "context":
        this.#sources.delivered(record);
        break;
      case "context_ledger":
        this.#sources.counted(record);
        break;
      case "context_pin":
      case "context_drop":
        this.#decisions.add(record);
        break;
      case "skill_activated":
        this.#skills.add(record.path);
        break;
      case "prompt_metadata":
        this.#maker = { turn: record.turn_id, provider: record.provider };
        break;
      case "compaction":
      case "compaction_review":
        this.#compactions.add(record);
        if (!isAgreed(record)) break;
        this.#skills.clear();
        this.#sources.summarised();
        break;
    }
  }

  /** Call ids are unique in a valid request: a doubled one gets a number. */
  #uniqueId(id: string): string {
    const base = id === "" ? "call" : id;
    let unique = base;
    for (let n = 2; this.#usedIds.has(unique); n++) unique = `${base.slice(0, 56)}_${n}`;
    this.#usedIds.add(unique);
    return unique;
  }
}
