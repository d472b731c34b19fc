/**
 * One streamed response, collected: deltas go out as they come, the whole comes back. Refuses: running calls, deciding
 * what happens next.
 */
import type { Provider, ProviderFailure, ProviderRequest, StopReason } from "../provider/provider.ts";
import type { Emit, FailureClass } from "../types/event.ts";
import type { Carry, ToolCall, Usage } from "../types/message.ts";

/** Why a run goes no further. */
export type Stop = {
  readonly class: FailureClass;
  readonly message: string;
  /** Of `policy`: what it would have been, had nothing been denied. */
  readonly behind?: FailureClass;
};

export type Response = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly carry?: Carry;
  /** Of the last attempt; what earlier ones used has been emitted. */
  readonly usage?: Usage;
  /** A limit was reached between two attempts. */
  readonly stopped?: Stop;
  /** Why it ended: a stop of the model's, or a failure. */
  readonly end: { readonly type: "stop"; readonly reason: StopReason; readonly unknown?: string } | ProviderFailure;
};

type Draft = { text: string[]; reasoning: string[]; calls: ToolCall[]; usage: Usage | undefined };

const emptyDraft = (): Draft => ({ text: [], reasoning: [], calls: [], usage: undefined });

function finish(draft: Draft, end: Response["end"], carry: Carry | undefined): Response {
  return {
    text: draft.text.join(""),
    reasoning: draft.reasoning.join(""),
    calls: draft.calls,
    ...(carry && { carry }),
    ...(draft.usage && { usage: draft.usage }),
    end,
  };
}

/**
 * Streams one request to its end. Never throws: a stream without an end is a `protocol` failure. `limit` is asked when an attempt
 * that reported usage has failed and another would follow.
 */
export async function collectResponse(
  provider: Provider,
  request: ProviderRequest,
  turnId: string,
  emit: Emit,
  signal: AbortSignal,
  limit: () => Stop | undefined = () => undefined,
): Promise<Response> {
  let draft = emptyDraft();
  for await (const event of provider.stream(request, signal)) {
    switch (event.type) {
      case "text":
        draft.text.push(event.text);
        emit({ type: "text_delta", turnId, text: event.text });
        break;
      case "reasoning":
        draft.reasoning.push(event.text);
        emit({ type: "reasoning_delta", turnId, text: event.text });
        break;
      case "tool_call":
        draft.calls.push(event.call);
        break;
      case "usage":
        draft.usage = { ...draft.usage, ...event.usage };
        break;
      case "retrying": {
        // What the failed attempt cost was spent; its words are void.
        const { usage } = draft;
        if (usage) emit({ type: "usage", turnId, usage });
        const stopped = usage && limit();
        draft = { ...draft, usage: undefined };
        if (stopped) return { ...finish(draft, { type: "failure", ...stopped }, undefined), stopped };
        draft = emptyDraft();
        emit({ ...event, turnId });
        break;
      }
      case "stop":
        return finish(draft, event, event.carry);
      case "failure":
        return finish(draft, event, undefined);
    }
  }
  return finish(
    draft,
    { type: "failure", class: "protocol", message: `${provider.name} ended its stream without an end` },
    undefined,
  );
}
