/**
 * The recording format: JSON Lines, readable and stable enough to keep in a repository.
 *   {"thndrs_recording":1,"provider":"openai","sides":true,"fits":true}   first line; sides: summaries are marked; fits: odd calls are
 *   {"response":1,"model":"gpt-5.6-terra"}                         one per response, in order; "side":true: a summary;
 *                                                                  "unfit":[0]: this call fitted no tool then either
 *   {"type":"text","text":"I will look."}                          its events as the contract has them (provider.ts):
 *   {"type":"tool_call","call":{"id":"call_1","name":"read_file_range","arguments":"{\"path\":\"a.ts\"}"}}
 *   {"type":"usage","usage":{"inputTokens":100,"outputTokens":20}}
 *   {"type":"stop","reason":"tool_calls"}                          or {"type":"failure","class":…,"message":…}
 * Neighbouring text is one line. Never in it: requests, credentials, tries that were discarded, cancelled responses,
 * the provider's private reasoning state. In files written by hand `arguments` may be an object.
 * Refuses: files (app/ writes the lines and reads the text).
 */
import { count, field, filled, isObject, list, object, parseJson, text } from "../base/json.ts";
import { UserError } from "../base/user-error.ts";
import type { FailureClass } from "../types/event.ts";
import type { ToolCall, Usage } from "../types/message.ts";
import { unfitArguments } from "./call-fit.ts";
import type { Provider, ProviderEvent, ProviderRequest, StopReason } from "./provider.ts";
import { known } from "./usage.ts";

const VERSION = 1;
const STOPS: readonly string[] = ["end", "tool_calls", "length", "refusal"] satisfies StopReason[];

/**
 * Wraps the providers of one conversation: every complete response is also given to `write`, all its lines at once, so that what a
 * killed run leaves can be played.
 */
export function createTape(write: (lines: string) => void): (inner: Provider) => Provider {
  let responses = 0;
  const record = (provider: string, request: ProviderRequest, events: readonly ProviderEvent[]): void => {
    const head = responses === 0 ? [{ thndrs_recording: VERSION, provider, sides: true, fits: true }] : [];
    responses += 1;
    // Whether room had to be made depends on the model's window: a replay may do without it, or need it elsewhere.
    const side = request.tools.length === 0 ? { side: true } : {};
    const offered = new Set(request.tools.map((tool) => tool.name));
    const isOdd = (call: ToolCall): boolean => !offered.has(call.name) || unfitArguments(call, request.tools) !== undefined;
    const unfit = callsOf(events).flatMap((call, at) => (isOdd(call) ? [at] : []));
    const odd = unfit.length === 0 ? {} : { unfit };
    const lines = [...head, { response: responses, model: request.model, ...side, ...odd }, ...events];
    write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  return (inner) => ({
    name: inner.name,
    wire: inner.wire,
    async *stream(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<ProviderEvent> {
      let events: ProviderEvent[] = [];
      for await (const event of inner.stream(request, signal)) {
        if (event.type === "retrying") events = [];
        else append(events, event);
        const cancelled = event.type === "failure" && event.class === "cancelled";
        if ((event.type === "stop" || event.type === "failure") && !cancelled) record(inner.name, request, events);
        yield event;
      }
    },
  });
}

function append(events: ProviderEvent[], event: ProviderEvent): void {
  const last = events.at(-1);
  if ((event.type === "text" || event.type === "reasoning") && last?.type === event.type) {
    events[events.length - 1] = { type: event.type, text: last.text + event.text };
    return;
  }
  events.push(event.type === "stop" ? { type: "stop", reason: event.reason } : event);
}

export type RecordedResponse = {
  readonly events: readonly ProviderEvent[];
  readonly side: boolean;
  /** Which of its calls fitted no tool when it was recorded; undefined where nobody looked. */
  readonly unfit: readonly number[] | undefined;
};

export function callsOf(events: readonly ProviderEvent[]): readonly ToolCall[] {
  return events.flatMap((event) => (event.type === "tool_call" ? [event.call] : []));
}

type Recording = {
  /** Each ends with a stop or failure. */
  readonly responses: readonly RecordedResponse[];
  /** Whether summaries are marked as such; not in older files and most written by hand. */
  readonly marked: boolean;
};

/** Reads a recording. Throws UserError that names the line. */
export function parseRecording(source: string, file = "recording"): Recording {
  const responses: RecordedResponse[] = [];
  let open: ProviderEvent[] = [];
  let header = false;
  let marked = false;
  let fits = false;
  let side = false;
  let unfit: readonly number[] = [];
  for (const [index, raw] of source
    .replace(/^\uFEFF/, "")
    .split("\n")
    .entries()) {
    const line = raw.trim();
    if (line === "") continue;
    const bad = (what: string) => new UserError(`${file}, line ${index + 1}: ${what}`);
    const value = parseJson(line);
    if (!isObject(value)) throw bad("not a JSON object");
    if (!header) {
      if (value.thndrs_recording !== VERSION)
        throw bad(`expected {"thndrs_recording":${VERSION}} (is this a file made by --record?)`);
      header = true;
      marked = value.sides === true;
      fits = value.fits === true;
      continue;
    }
    if (value.response !== undefined) {
      if (open.length > 0) throw bad("the response before this one has no stop");
      side = value.side === true;
      unfit = list(value.unfit).flatMap((at) => count(at) ?? []);
      continue;
    }
    const event = readEvent(value);
    if (event === undefined) throw bad("not an event of a recording");
    open.push(event);
    if (event.type !== "stop" && event.type !== "failure") continue;
    responses.push({ events: open, side, unfit: fits ? unfit : undefined });
    open = [];
    side = false;
    unfit = [];
  }
  if (!header) throw new UserError(`${file}: the recording is empty`);
  if (open.length > 0) throw new UserError(`${file}: the last response has no stop`);
  // A run that offered no tools at all has no sides to tell apart.
  return { responses, marked: marked && responses.some((response) => !response.side) };
}

function readEvent(value: Readonly<Record<string, unknown>>): ProviderEvent | undefined {
  const content = text(value.text);
  if ((value.type === "text" || value.type === "reasoning") && content !== undefined)
    return { type: value.type, text: content.toWellFormed() };
  if (value.type === "tool_call") {
    const call = object(value.call);
    const name = filled(call.name);
    const args = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {});
    return name === undefined ? undefined : { type: "tool_call", call: { id: text(call.id) ?? "", name, arguments: args } };
  }
  if (value.type === "usage") return { type: "usage", usage: readUsage(value.usage) };
  if (value.type === "stop") {
    const reason = STOPS.find((known) => known === value.reason);
    return reason === undefined ? undefined : { type: "stop", reason: reason as StopReason };
  }
  const kind = filled(value.class);
  if (value.type !== "failure" || kind === undefined) return undefined;
  return { type: "failure", class: kind as FailureClass, message: text(value.message) ?? "" };
}

function readUsage(value: unknown): Usage {
  const of = (name: keyof Usage) => count(field(value, name));
  return known({
    inputTokens: of("inputTokens"),
    outputTokens: of("outputTokens"),
    cacheReadTokens: of("cacheReadTokens"),
    cacheWriteTokens: of("cacheWriteTokens"),
    reasoningTokens: of("reasoningTokens"),
    costUsd: of("costUsd"),
  });
}
