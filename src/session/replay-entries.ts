/**
 * What a conversation is rebuilt from: user texts and responses in order, and the messages each becomes. Whatever the log
 * held, a message made here is valid: no empty text, no lone surrogate, a result for every call.
 */
import { cutChars } from "../base/text.ts";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../types/message.ts";

export const OUTCOME_UNKNOWN =
  "outcome unknown: the program stopped before this call's result was recorded. Check side effects before doing it again.";
export const NO_OUTPUT = "(no output)";
const MAX_RESULT_CHARACTERS = 256 * 1024;
const CUT_MARK = "[This answer was cut off.]";

export type Call = { readonly callId: string; readonly call: ToolCall; readonly turnId: string; result?: ToolMessage };
type UserEntry = {
  readonly kind: "user";
  readonly seq: number;
  readonly text: string;
  readonly steering: boolean;
  readonly request: number | undefined;
};
export type ResponseEntry = {
  readonly kind: "response";
  readonly seq: number;
  readonly turnId: string;
  readonly request: number | undefined;
  /** The provider that answered. */
  readonly from: string | undefined;
  text: string | undefined;
  partial: boolean;
  reasoning: string;
  readonly calls: Call[];
  finished: number;
  /** A usage record closed it: what follows is the next response. */
  closed: boolean;
};
export type Entry = UserEntry | ResponseEntry;

/** Characters an entry holds. */
export function sizeOf(entry: Entry): number {
  if (entry.kind === "user") return entry.text.length;
  const calls = entry.calls.reduce((sum, { call, result }) => sum + call.arguments.length + (result?.text.length ?? 0), 0);
  return (entry.text?.length ?? 0) + entry.reasoning.length + calls;
}

/** What the model sees instead of the records a compaction covers. */
export function summaryText(summary: string): string {
  const text = summary.toWellFormed().trim();
  // Our own summaries carry their element; it is what the model saw.
  return text.startsWith("<conversation_summary>") ? text : `<conversation_summary>\n${text}\n</conversation_summary>`;
}

/** The answer and the results of its calls; adds the ids of calls without a result to `openCalls`. */
export function toMessages(entry: ResponseEntry, openCalls: string[]): Message[] {
  const text = (entry.text ?? "").toWellFormed();
  const said = text.trim() === "" ? "" : entry.partial ? `${text}\n\n${CUT_MARK}` : text;
  const reasoning = entry.reasoning.toWellFormed();
  // Reasoning alone is no message: every wire refuses an assistant turn without text and calls.
  if (said === "" && entry.calls.length === 0) return [];
  const assistant: AssistantMessage = {
    role: "assistant",
    text: said,
    ...(reasoning.trim() === "" ? {} : { reasoning }),
    ...(entry.from === undefined || entry.calls.length === 0 ? {} : { from: entry.from }),
    calls: entry.calls.map(({ call }) => call),
  };
  const results = entry.calls.map(({ call, result }): ToolMessage => {
    if (result !== undefined) return result;
    openCalls.push(call.id);
    return { role: "tool", callId: call.id, name: call.name, text: OUTCOME_UNKNOWN, failed: true };
  });
  return [assistant, ...results];
}

/** Our tools stay far below this; a hand-made or foreign log must not fill a whole context with one result (J12). */
export function capped(text: string): string {
  if (text.length <= MAX_RESULT_CHARACTERS) return text;
  return `${cutChars(text, MAX_RESULT_CHARACTERS)}\n[result cut on resume: ${MAX_RESULT_CHARACTERS} of ${text.length} characters]`;
}
