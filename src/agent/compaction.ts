/**
 * Making room in a conversation: trim old tool results, shorten what is too large, find where to cut (integrations.md,
 * Compaction). Pure functions over messages. Refuses: asking a model, deciding when, writing records.
 */
import type { Message, ToolMessage } from "../types/message.ts";
import { messageBytes } from "./budget.ts";
import { failing } from "./facts.ts";
import { formerSummary, requestOf, shorten } from "./summary.ts";

/** Tool results smaller than this are left alone: the line that would replace them saves nothing. */
const TRIM_MIN_BYTES = 600;

/** The newest tool results are never trimmed. */
const KEEP_NEWEST_RESULTS = 3;

/** A failed result is still open until a call of the same tool with the same arguments succeeds later. */
function openFailures(messages: readonly Message[]): ReadonlySet<string> {
  const open = new Map<string, string>();
  const signature = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const call of message.calls) signature.set(call.id, `${call.name}\0${call.arguments}`);
    if (message.role !== "tool") continue;
    const key = signature.get(message.callId) ?? message.callId;
    if (failing(message)) open.set(key, message.callId);
    else open.delete(key);
  }
  return new Set(open.values());
}

export type Trimmed = { readonly messages: readonly Message[]; readonly count: number; readonly savedBytes: number };

/**
 * Replaces old, large tool results by a line, oldest first, until `wantedBytes` are saved. Never the newest results, never
 * a failure that is still open. `handle` names where the full text can be looked up.
 */
export function trimResults(
  messages: readonly Message[],
  wantedBytes: number,
  handle: (message: ToolMessage) => string,
): Trimmed {
  const results = messages.filter((message) => message.role === "tool");
  const newest = new Set(results.slice(-KEEP_NEWEST_RESULTS));
  const open = openFailures(messages);
  let savedBytes = 0;
  let count = 0;
  const trimmed = messages.map((message): Message => {
    if (savedBytes >= wantedBytes || message.role !== "tool" || newest.has(message) || open.has(message.callId)) return message;
    const bytes = messageBytes(message);
    if (bytes < TRIM_MIN_BYTES) return message;
    const text = `[older result of ${message.name}, ${bytes} bytes, left out to save room (${handle(message)}); call the tool again if you need it]`;
    count += 1;
    savedBytes += bytes - Buffer.byteLength(text);
    return { ...message, text };
  });
  return { messages: count === 0 ? messages : trimmed, count, savedBytes };
}

/** A result is never shortened below this. */
const SHORT_RESULT = 400;

/**
 * The last resort when nothing else makes room: the largest tool results keep head and tail only, down to one length for all
 * of them, until `excessBytes` are saved or nothing is left to save.
 */
export function shortenResults(messages: readonly Message[], excessBytes: number): Trimmed {
  const sizes = messages.flatMap((message) => (message.role === "tool" ? [messageBytes(message)] : []));
  const saved = (limit: number): number => sizes.reduce((sum, size) => sum + Math.max(0, size - limit), 0);
  let low = SHORT_RESULT;
  let high = Math.max(SHORT_RESULT, ...sizes);
  // The largest limit that saves enough.
  while (high - low > 16) {
    const middle = Math.floor((low + high) / 2);
    if (saved(middle) >= excessBytes) low = middle;
    else high = middle;
  }
  let count = 0;
  let savedBytes = 0;
  const shortened = messages.map((message): Message => {
    const bytes = messageBytes(message);
    if (message.role !== "tool" || bytes <= low) return message;
    // The note takes room too; characters may be several bytes.
    const text = shorten(message.text, Math.max(100, Math.floor(((low - 60) * message.text.length) / bytes)));
    const less = bytes - Buffer.byteLength(text);
    if (less <= 0) return message;
    count += 1;
    savedBytes += less;
    return { ...message, text };
  });
  return { messages: count === 0 ? messages : shortened, count, savedBytes };
}

export type Cut = {
  /** Messages before this index are covered by the summary. */
  readonly index: number;
  /** The user's message of the running turn, when the cut lies inside it: it is carried over word for word. */
  readonly current?: string;
};

/**
 * Where to cut so that at most `keepBytes` stay: at a user turn; inside the last turn, at a response, when that turn alone
 * is larger. Undefined when there is nothing before such a place: a former summary alone is not worth another one.
 */
export function findCut(messages: readonly Message[], keepBytes: number): Cut | undefined {
  const least = formerSummary(messages[0]) === undefined ? 1 : 2;
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  let kept = 0;
  let best: number | undefined;
  let inside: number | undefined;
  let turnBytes = 0;
  for (let index = messages.length - 1; index >= least; index--) {
    const message = messages[index];
    if (!message) break;
    kept += messageBytes(message);
    if (index >= lastUser) turnBytes = kept;
    const fits = kept <= keepBytes;
    if (message.role === "user" && (fits || index === lastUser)) best = index;
    if (message.role === "assistant" && index > lastUser && (fits || inside === undefined)) inside = index;
    if (!fits && (best !== undefined || index < lastUser)) break;
  }
  if (turnBytes > keepBytes && inside !== undefined && inside > Math.max(lastUser + 1, least - 1)) {
    const current = requestOf(messages[lastUser]);
    return { index: inside, ...(current !== undefined && current !== "" && { current }) };
  }
  return best === undefined ? undefined : { index: best };
}
