/**
 * What an external agent reports while it works → run events: text, thoughts, tool calls with their ends, plans, cost.
 * Reads shapes it does not trust with small total functions: an unknown or crooked update is passed over, never fatal.
 * Refuses: raw protocol in events (rule X04): arguments and outputs are capped and redacted here.
 */
import { count, field, filled, type Json, list, object, text } from "../base/json.ts";
import { cutBytes, cutChars } from "../base/text.ts";
import type { Emit, ToolStatus } from "../types/event.ts";

const OUTPUT_BYTES = 64 * 1024;
const ARGUMENT_BYTES = 16 * 1024;
const TITLE_CHARS = 200;
/** More calls than this in one turn are not shown apart; nobody asks for that many. */
const MAX_CALLS = 10_000;

export type UpdateSink = {
  readonly turnId: string;
  readonly emit: Emit;
  readonly redact: (text: string) => string;
  readonly redactArguments: (value: Json) => Json;
  /** What a terminal of ours has printed; undefined when it is none of ours. */
  readonly terminalText: (id: string) => string | undefined;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
};

type Call = {
  readonly id: string;
  name: string;
  readonly started: number;
  content: readonly unknown[];
  rawOutput: unknown;
  over: boolean;
};

/** What one prompt led to. */
export type Answer = {
  /** Everything said, with a blank line where tools ran in between. */
  readonly all: string;
  /** The last that was said: after the last tool call, or before it when nothing came after. */
  readonly last: string;
  /** Of `last`, what no `assistant_finished` has been emitted for yet. */
  readonly open: string;
};

function cleanName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
}

/** The words of one content block; other kinds become a note of one line. */
function blockText(block: unknown): string {
  const type = text(field(block, "type"));
  if (type === "text") return text(field(block, "text")) ?? "";
  if (type === "resource_link") return `[${filled(field(block, "name")) ?? "resource"}](${text(field(block, "uri")) ?? ""})`;
  if (type === "resource") {
    const resource = field(block, "resource");
    return text(field(resource, "text")) ?? `[${text(field(resource, "uri")) ?? "resource"}: not text]`;
  }
  return type === undefined ? "" : `[${type}]`;
}

function lineCount(value: unknown): number {
  const words = text(value) ?? "";
  return words === "" ? 0 : words.split("\n").length - (words.endsWith("\n") ? 1 : 0);
}

function diffLine(item: unknown): string {
  const path = text(field(item, "path")) ?? "?";
  const before = field(item, "oldText");
  const after = lineCount(field(item, "newText"));
  return typeof before === "string"
    ? `changed ${path}: ${lineCount(before)} → ${after} lines`
    : `created ${path}: ${after} lines`;
}

/** The value, or the beginning of its JSON where that is too long to be logged. */
function bounded(value: unknown): unknown {
  const json = JSON.stringify(value) ?? "";
  if (Buffer.byteLength(json) <= ARGUMENT_BYTES) return value;
  return `${cutBytes(json, ARGUMENT_BYTES)}…`;
}

/** One prompt's updates. Make a new one for each prompt; updates after `finish` are passed over. */
export class AgentUpdates {
  readonly #sink: UpdateSink;
  readonly #calls = new Map<string, Call>();
  readonly #segments: string[] = [];
  #text: string[] = [];
  #thought: string[] = [];
  #cost: number | undefined;
  #plan = "";
  #messageId: string | undefined;
  #over = false;

  /** @param cost what the agent had said its session cost so far, in US dollars */
  constructor(sink: UpdateSink, cost: number | undefined) {
    this.#sink = sink;
    this.#cost = cost;
  }

  get cost(): number | undefined {
    return this.#cost;
  }

  /** Takes the params of one `session/update`'s `update`. */
  take(update: unknown): void {
    if (this.#over) return;
    const kind = field(update, "sessionUpdate");
    if (kind === "agent_message_chunk") this.#say(blockText(field(update, "content")), text(field(update, "messageId")));
    else if (kind === "agent_thought_chunk") this.#think(blockText(field(update, "content")));
    else if (kind === "tool_call" || kind === "tool_call_update") this.#tool(object(update));
    else if (kind === "plan") this.#showPlan(list(field(update, "entries")));
    else if (kind === "usage_update") this.#count(field(update, "cost"));
  }

  /** Tools whose end was never reported get one; what was said is handed over. */
  finish(status: "ended" | "cancelled"): Answer {
    if (this.#over) return this.#answer();
    for (const call of this.#calls.values()) {
      if (call.over) continue;
      const note = status === "cancelled" ? "Cancelled." : "The agent ended its turn without saying how this ended.";
      this.#end(call, status === "cancelled" ? "cancelled" : "failed", note);
    }
    this.#endThought();
    this.#over = true;
    return this.#answer();
  }

  #answer(): Answer {
    const last = this.#text.join("");
    const all = [...this.#segments, last].filter((segment) => segment.trim() !== "").join("\n\n");
    const silent = last.trim() === "";
    return { all, last: silent ? (this.#segments.at(-1) ?? "") : last, open: silent ? "" : last };
  }

  #say(words: string, messageId: string | undefined): void {
    if (words === "") return;
    this.#endThought();
    const another = this.#text.length > 0 && messageId !== this.#messageId;
    this.#messageId = messageId;
    if (another) this.#show("\n\n");
    // What a provider sends between tool calls often begins with the space after its last sentence.
    const shown = this.#text.length === 0 && this.#segments.length > 0 ? words.trimStart() : words;
    if (shown !== "") this.#show(shown);
  }

  #show(words: string): void {
    this.#text.push(words);
    this.#sink.emit({ type: "text_delta", turnId: this.#sink.turnId, text: words });
  }

  #think(words: string): void {
    if (words === "") return;
    this.#thought.push(words);
    this.#sink.emit({ type: "reasoning_delta", turnId: this.#sink.turnId, text: words });
  }

  #endThought(): void {
    if (this.#thought.length === 0) return;
    const words = this.#thought.join("");
    this.#thought = [];
    this.#sink.emit({ type: "reasoning_finished", turnId: this.#sink.turnId, text: words });
  }

  /** What was said before a tool call is a response of its own. */
  #endSegment(): void {
    this.#endThought();
    const words = this.#text.join("");
    this.#text = [];
    if (words.trim() === "") return;
    this.#segments.push(words);
    this.#sink.emit({ type: "assistant_finished", turnId: this.#sink.turnId, text: words, calls: [], final: false });
  }

  #tool(update: Json): void {
    const id = filled(update.toolCallId);
    if (id === undefined) return;
    const known = this.#calls.get(id);
    if (!known && this.#calls.size >= MAX_CALLS) return;
    const call = known ?? this.#start(id, update);
    if (call.over) return;
    if (Array.isArray(update.content)) call.content = update.content;
    if (update.rawOutput !== undefined && update.rawOutput !== null) call.rawOutput = update.rawOutput;
    if (update.status === "completed") this.#end(call, "ok");
    else if (update.status === "failed") this.#end(call, "failed");
  }

  #start(id: string, update: Json): Call {
    this.#endSegment();
    const { turnId, emit, redactArguments, now } = this.#sink;
    const kind = filled(update.kind) ?? "other";
    const name = cleanName(filled(update.name) ?? (kind === "other" ? "tool" : kind)) || "tool";
    const paths = list(update.locations)
      .map((location) => filled(field(location, "path")))
      .filter((path) => path !== undefined);
    const call: Call = { id, name, started: now(), content: [], rawOutput: undefined, over: false };
    this.#calls.set(id, call);
    emit({
      type: "tool_started",
      turnId,
      callId: id,
      name,
      arguments: redactArguments({
        action: cutChars(filled(update.title) ?? name, TITLE_CHARS),
        kind,
        ...(paths.length > 0 && { paths: paths.slice(0, 50) }),
        ...(update.rawInput !== undefined && update.rawInput !== null && { input: bounded(update.rawInput) }),
      }),
    });
    return call;
  }

  #end(call: Call, status: ToolStatus, note?: string): void {
    call.over = true;
    const { turnId, emit, redact, now } = this.#sink;
    const said = this.#outputOf(call);
    const whole = [said, note].filter((part) => part !== undefined && part !== "").join("\n");
    const output = cutBytes(whole, OUTPUT_BYTES);
    // The call is remembered to its prompt's end; what it carried may be megabytes.
    call.content = [];
    call.rawOutput = undefined;
    emit({
      type: "tool_finished",
      turnId,
      callId: call.id,
      name: call.name,
      status,
      output: redact(output),
      truncated: output.length < whole.length,
      elapsedMs: Math.round(now() - call.started),
    });
  }

  #outputOf(call: Call): string {
    const parts = call.content.map((item) => {
      const type = field(item, "type");
      if (type === "diff") return diffLine(item);
      if (type === "terminal") return this.#sink.terminalText(text(field(item, "terminalId")) ?? "") ?? "";
      return blockText(field(item, "content"));
    });
    const shown = parts.filter((part) => part !== "").join("\n");
    if (shown !== "" || call.rawOutput === undefined) return shown;
    return typeof call.rawOutput === "string" ? call.rawOutput : (JSON.stringify(call.rawOutput) ?? "");
  }

  #showPlan(entries: readonly unknown[]): void {
    const steps = entries.slice(0, 50).map((entry) => {
      const status = field(entry, "status");
      const mark = status === "completed" ? " (done)" : status === "in_progress" ? " (now)" : "";
      return `${cutChars(text(field(entry, "content")) ?? "", TITLE_CHARS)}${mark}`;
    });
    const plan = steps.join("; ");
    if (plan === "" || plan === this.#plan) return;
    this.#plan = plan;
    this.#sink.emit({
      type: "diagnostic",
      diagnostic: { severity: "info", code: "acp_plan", message: this.#sink.redact(`plan: ${plan}`) },
    });
  }

  /** Cost is reported as a running total of the session; events carry what came on top. */
  #count(cost: unknown): void {
    const amount = count(field(cost, "amount"));
    if (amount === undefined || field(cost, "currency") !== "USD") return;
    const added = amount - (this.#cost ?? 0);
    this.#cost = amount;
    if (added > 0) this.#sink.emit({ type: "usage", turnId: this.#sink.turnId, usage: { costUsd: added } });
  }
}
