/**
 * A provider that plays a recording back, in order, with no network and no key. Real tools answer its calls; it only
 * checks that they still fit. Refuses: guessing: a recording that runs out or no longer fits is a `replay` failure that
 * names the turn.
 */
import type { Message } from "../types/message.ts";
import { unfitArguments } from "./call-fit.ts";
import { freeId, OWN_IDS, usedIds } from "./call-ids.ts";
import { failure } from "./failure.ts";
import type { Provider, ProviderEvent, ProviderRequest } from "./provider.ts";
import { callsOf, parseRecording, type RecordedResponse } from "./recording.ts";

/** `source` is the text of a recording, `file` names it in errors; throws UserError when it is none. Turns count from 1. */
export function createReplay(source: string, file = "recording"): Provider {
  const { responses, marked } = parseRecording(source, file);
  let turn = 0;
  /** Ids of the calls of the last response, as this run knows them; undefined where the history may have been rewritten since. */
  let expected: readonly string[] | undefined = [];
  return {
    name: "replay",
    wire: "replay",
    async *stream(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<ProviderEvent> {
      if (signal.aborted) return yield failure("cancelled", "cancelled");
      // A request without tools is a side request (a summary, say): it carries no results to check.
      const side = request.tools.length === 0;
      // This run need not make room where the recorded one did, nor the other way round.
      while (marked && !side && responses[turn]?.side) turn += 1;
      if (marked && side && !responses[turn]?.side)
        return yield failure("replay", `the recording has no summary before turn ${turn + 1}`);
      const recorded = responses[turn];
      const wrong =
        recorded === undefined
          ? runOut(turn, responses.length)
          : side
            ? undefined
            : misfit(request, recorded, expected, turn + 1);
      if (recorded === undefined || wrong !== undefined) return yield failure("replay", wrong ?? runOut(turn, responses.length));
      const response = recorded.events;
      turn += 1;
      const used = usedIds(request.messages);
      const ids: string[] = [];
      for (const event of response) {
        if (signal.aborted) return yield failure("cancelled", "cancelled");
        if (event.type === "tool_call") {
          const id = freeId(event.call.id, used, OWN_IDS);
          ids.push(id);
          yield { type: "tool_call", call: { ...event.call, id } };
        } else if (event.type === "text") yield* pieces(event.text);
        else yield event;
      }
      // A failure and a summary lead to requests whose history is not simply the last one and more.
      expected = side || response.at(-1)?.type === "failure" ? undefined : ids;
    },
  };
}

/** Line by line, so that a replayed answer streams like a real one. */
function* pieces(text: string): Generator<ProviderEvent> {
  for (const piece of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) yield { type: "text", text: piece };
}

function runOut(turn: number, length: number): string {
  return `the recording has ${length} ${length === 1 ? "turn" : "turns"}; the run asks for turn ${turn + 1}`;
}

/** Why the next recorded response cannot follow this conversation; undefined when it can. */
function misfit(
  request: ProviderRequest,
  { events, unfit }: RecordedResponse,
  expected: readonly string[] | undefined,
  turn: number,
): string | undefined {
  const results = trailingResults(request.messages);
  const missing = (expected ?? []).filter((id) => !results.includes(id));
  if (missing.length > 0)
    return `turn ${turn} of the recording expects results for ${missing.join(", ")}, which the conversation does not have`;
  const offered = new Set(request.tools.map((tool) => tool.name));
  const calls = callsOf(events);
  // What the model got wrong then is part of the run.
  const meant = calls.filter((_, at) => unfit?.includes(at) !== true);
  const unknown = meant.filter((call) => !offered.has(call.name)).map((call) => call.name);
  if (unknown.length > 0)
    return `turn ${turn} of the recording calls ${[...new Set(unknown)].join(", ")}, which this run does not offer`;
  for (const call of unfit === undefined ? [] : meant) {
    const why = unfitArguments(call, request.tools);
    if (why !== undefined) return `turn ${turn} of the recording calls ${call.name} ${why}`;
  }
  return undefined;
}

/** Call ids answered after the last assistant message. */
function trailingResults(messages: readonly Message[]): readonly string[] {
  const from = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(from + 1).flatMap((message) => (message.role === "tool" ? [message.callId] : []));
}
