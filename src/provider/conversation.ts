/**
 * The last pass over a history before it becomes a request: every call answered exactly once and in place, nothing
 * empty, names and ids in the form servers take (P18, J06). A healthy history comes back as the same array of the same
 * objects. Refuses: shortening a history; inventing results that claim success.
 */
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../types/message.ts";
import { cleanName, fits, foreignIds, freeId, type IdRule } from "./call-ids.ts";
import { isBlank } from "./wire-text.ts";

/** The answer given to a call whose real result was lost. */
export const LOST_RESULT = "(no result was recorded: the outcome is unknown; check for side effects before running it again)";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

type RuleOf = (message: AssistantMessage) => IdRule;

/** The same array when there is nothing to repair. `server` made the ids of the messages that say so. */
export function sanitizeConversation(messages: readonly Message[], ids: IdRule, server: string): readonly Message[] {
  const foreign = foreignIds(ids);
  const ruleOf: RuleOf = ({ from }) => (from === server ? ids : foreign);
  return isHealthy(messages, ruleOf) ? messages : repair(messages, ruleOf);
}

function isHealthy(messages: readonly Message[], ruleOf: RuleOf): boolean {
  const used = new Set<string>();
  let open: readonly ToolCall[] = [];
  let answered = 0;
  for (const message of messages) {
    if (message.role === "tool") {
      // Results in another order than their calls are valid too, but rare: a repair puts them in this one.
      if (open[answered]?.id !== message.callId) return false;
      answered += 1;
      continue;
    }
    if (answered !== open.length) return false;
    open = [];
    answered = 0;
    if (message.role === "user") {
      if (isBlank(message.text)) return false;
      continue;
    }
    if (message.calls.length === 0 && isBlank(message.text)) return false;
    const rule = ruleOf(message);
    for (const call of message.calls) {
      if (used.has(call.id) || !fits(call.id, rule) || !NAME.test(call.name)) return false;
      used.add(call.id);
    }
    open = message.calls;
  }
  return answered === open.length;
}

function repair(messages: readonly Message[], ruleOf: RuleOf): readonly Message[] {
  const used = new Set<string>();
  const repaired: Message[] = [];
  const taken = new Set<ToolMessage>();
  messages.forEach((message, at) => {
    if (message.role === "tool") return; // placed behind its call, or an orphan
    if (message.role === "user") {
      if (!isBlank(message.text)) repaired.push(message);
      return;
    }
    if (message.calls.length === 0) {
      if (!isBlank(message.text)) repaired.push(message);
      return;
    }
    const rule = ruleOf(message);
    const calls = message.calls.map((call) => cleanCall(call, used, rule));
    repaired.push(sameCalls(calls, message.calls) ? message : withCalls(message, calls));
    message.calls.forEach((original, index) => {
      const call = calls[index] ?? original;
      repaired.push(resultFor(messages, at, original, call, taken));
    });
  });
  return repaired;
}

function cleanCall(call: ToolCall, used: Set<string>, ids: IdRule): ToolCall {
  const id = freeId(call.id, used, ids);
  const name = cleanName(call.name);
  return id === call.id && name === call.name ? call : { id, name, arguments: call.arguments };
}

function sameCalls(a: readonly ToolCall[], b: readonly ToolCall[]): boolean {
  return a.every((call, index) => call === b[index]);
}

/** State tied to the old ids would no longer fit, so it is left behind. */
function withCalls(message: AssistantMessage, calls: readonly ToolCall[]): AssistantMessage {
  const { carry: _, ...rest } = message;
  return { ...rest, calls };
}

/** The first unused result for a call before the next assistant message, or an honest stand-in. */
function resultFor(
  messages: readonly Message[],
  at: number,
  original: ToolCall,
  call: ToolCall,
  taken: Set<ToolMessage>,
): ToolMessage {
  for (let next = at + 1; next < messages.length; next += 1) {
    const message = messages[next];
    if (message === undefined || message.role === "assistant") break;
    if (message.role !== "tool" || message.callId !== original.id || taken.has(message)) continue;
    taken.add(message);
    return call === original ? message : { ...message, callId: call.id, name: call.name };
  }
  return { role: "tool", callId: call.id, name: call.name, text: LOST_RESULT, failed: true };
}
