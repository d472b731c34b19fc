/** Records of a session → the updates that show it again to an editor that loads it. Refuses: running anything. */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { StoredRecord } from "../session/records.ts";
import { startedCall } from "./tool-calls.ts";

function chunk(
  sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk",
  seq: number,
  text: string,
): SessionUpdate {
  return { sessionUpdate, messageId: `record-${seq}`, content: { type: "text", text } };
}

/** Undefined for records that show nothing. @param root real path of the workspace */
export function updateOfRecord(record: StoredRecord, root: string): SessionUpdate | undefined {
  switch (record.type) {
    case "user":
      return chunk("user_message_chunk", record.seq, record.text);
    case "queued_input":
      if (record.kind !== "steering" || record.action !== "sent") return undefined;
      return chunk("user_message_chunk", record.seq, record.text);
    case "assistant_finished":
      return chunk("agent_message_chunk", record.seq, record.text);
    case "reasoning_finished":
      return chunk("agent_thought_chunk", record.seq, record.text);
    case "tool_started":
      return startedCall(record.call_id, record.name, record.arguments, root);
    case "tool_finished":
      return {
        sessionUpdate: "tool_call_update",
        toolCallId: record.call_id,
        status: record.status === "ok" ? "completed" : "failed",
        content: [{ type: "content", content: { type: "text", text: record.output } }],
      };
    default:
      return undefined;
  }
}
