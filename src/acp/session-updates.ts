/**
 * Run events → the updates an editor gets: text, thoughts, tool calls with diffs, places and terminals, use of the window.
 * Refuses: sending (sender.ts), plans: thndrs keeps none.
 */
import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { RunEvent } from "../types/event.ts";
import { startedCall } from "./tool-calls.ts";

/** A change of one file, as far as it can be shown. `oldText` null: the file is new. */
export type FileDiff = { readonly path: string; readonly oldText: string | null; readonly newText: string };

export type UpdateContext = {
  /** Real path of the workspace. */
  readonly root: string;
  /** What a call changed; known once it has run. */
  readonly diffOf: (callId: string) => FileDiff | undefined;
  /** The client's terminal a call runs in. */
  readonly terminalOf: (callId: string) => string | undefined;
  readonly cost: () => number | undefined;
};

type Finished = Extract<RunEvent, { type: "tool_finished" }>;

function resultContent(event: Finished, context: UpdateContext): ToolCallContent[] {
  const terminalId = context.terminalOf(event.callId);
  if (terminalId !== undefined) return [{ type: "terminal", terminalId }];
  const diff = context.diffOf(event.callId);
  if (diff) return [{ type: "diff", ...diff }];
  return event.output === "" ? [] : [{ type: "content", content: { type: "text", text: event.output } }];
}

/** One translator a session: it knows which request of which turn is running. */
export function createUpdates(context: UpdateContext): (event: RunEvent) => SessionUpdate[] {
  let messageId = "";
  let streamed = false;
  const chunk = (sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string): SessionUpdate => ({
    sessionUpdate,
    messageId: sessionUpdate === "agent_message_chunk" ? messageId : `${messageId}-thought`,
    content: { type: "text", text },
  });
  return (event) => {
    switch (event.type) {
      case "request_started":
        messageId = `${event.turnId}-${event.request}`;
        streamed = false;
        return [];
      case "text_delta":
        streamed = true;
        return [chunk("agent_message_chunk", event.text)];
      case "reasoning_delta":
        return [chunk("agent_thought_chunk", event.text)];
      case "retrying":
        // What was shown cannot be taken back: the reader is told that it does not count.
        return streamed && !event.summary
          ? [chunk("agent_message_chunk", `\n\n[${event.message}; the answer starts again]\n\n`)]
          : [];
      case "tool_started":
        return [startedCall(event.callId, event.name, event.arguments, context.root)];
      case "tool_finished":
        return [
          {
            sessionUpdate: "tool_call_update",
            toolCallId: event.callId,
            status: event.status === "ok" ? "completed" : "failed",
            content: resultContent(event, context),
            rawOutput: { output: event.output, truncated: event.truncated },
          },
        ];
      case "context_ledger": {
        const cost = context.cost();
        return [
          {
            sessionUpdate: "usage_update",
            used: event.used,
            size: event.availableInput,
            ...(cost !== undefined && { cost: { amount: cost, currency: "USD" } }),
          },
        ];
      }
      case "session_renamed":
        return [{ sessionUpdate: "session_info_update", title: event.title }];
      default:
        return [];
    }
  };
}
