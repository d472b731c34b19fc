/**
 * Making room in a conversation: trim old tool results, cut at a user turn, summarise (integrations.md, Compaction).
 * Pure functions over messages. Refuses: asking a model, deciding when, writing records.
 */
import type { AssistantMessage, Message, ToolMessage } from "../types/message.ts";
import { messageBytes } from "./budget.ts";
import instructions from "./compaction.md" with { type: "text" };

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

/** A result that speaks of something broken: the call failed, or the command did. */
function failing(message: ToolMessage): boolean {
  return (
    message.failed ||
    (message.name === "run_shell" && /\bexit [1-9]\d*\b|killed by SIG|timed out/.test(message.text.slice(0, 400)))
  );
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

export type Cut = {
  /** Messages before this index are covered by the summary. */
  readonly index: number;
  /** The user's message of the running turn, when the cut lies inside it: it is carried over word for word. */
  readonly current?: string;
};

/**
 * Where to cut so that at most `keepBytes` stay: at a user turn; inside the last turn, at a response, when that turn alone
 * is larger. Undefined when there is nothing before such a place.
 */
export function findCut(messages: readonly Message[], keepBytes: number): Cut | undefined {
  let kept = 0;
  let best: number | undefined;
  let inside: number | undefined;
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index];
    if (!message) break;
    kept += messageBytes(message);
    const fits = kept <= keepBytes;
    if (message.role === "user" && (fits || best === undefined) && index > 0 && index <= lastUser) {
      if (fits || index === lastUser) best = index;
    }
    if (message.role === "assistant" && index > lastUser && (fits || inside === undefined)) inside = index;
    if (!fits && best !== undefined) break;
  }
  const turnBytes = messages.slice(Math.max(0, lastUser)).reduce((sum, message) => sum + messageBytes(message), 0);
  if (turnBytes > keepBytes && inside !== undefined && inside > lastUser + 1) {
    const current = messages[lastUser];
    return { index: inside, ...(current && { current: current.text }) };
  }
  return best === undefined || best === 0 ? undefined : { index: best };
}

const FACT_LIMIT = 24;
const FACT_CHARS = 300;
const CONSTRAINT = /\b(?:must|never|always|do not|don't|only|without|keep|avoid|required?|under no)\b/i;

function clip(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= FACT_CHARS ? line : `${line.slice(0, FACT_CHARS - 1).toWellFormed()}…`;
}

/** What the user said without our own elements around it. */
export function plainUserText(text: string): string {
  return text
    .replace(/<(project_context|project_context_update|thndrs_self_knowledge_update|skill_content)\b[\s\S]*?<\/\1>/g, "")
    .replace(/<conversation_summary>[\s\S]*?<\/conversation_summary>/g, "")
    .trim();
}

function constraints(messages: readonly Message[]): string[] {
  const found: string[] = [];
  for (const message of messages) {
    if (message.role !== "user") continue;
    for (const line of plainUserText(message.text).split(/\n|(?<=[.!?])\s+/))
      if (CONSTRAINT.test(line)) found.push(`constraint: ${clip(line)}`);
  }
  return found;
}

function subject(call: AssistantMessage["calls"][number]): string {
  return clip(`${call.name} ${call.arguments}`);
}

const WRITES: ReadonlySet<string> = new Set(["create_file", "replace_range", "write_patch"]);

/** Checks that fail and edits nobody checked since, in the order they happened. */
function unsettled(messages: readonly Message[]): string[] {
  const calls = new Map(
    messages.flatMap((message) => (message.role === "assistant" ? message.calls.map((call) => [call.id, call] as const) : [])),
  );
  const failures = new Map<string, string>();
  let edits: string[] = [];
  for (const message of messages) {
    if (message.role !== "tool") continue;
    const call = calls.get(message.callId);
    if (!call) continue;
    const key = `${call.name}\0${call.arguments}`;
    if (failing(message)) failures.set(key, `failing: ${subject(call)} → ${clip(message.text)}`);
    else failures.delete(key);
    if (WRITES.has(call.name) && !message.failed) edits.push(`unverified edit: ${subject(call)}`);
    else if (call.name === "run_shell" && !failing(message)) edits = [];
  }
  return [...failures.values(), ...edits];
}

/**
 * Facts that the program carries over, not the model's goodwill: explicit constraints, failing checks, unverified edits.
 * `earlier` are those of the former summary; newest win when there are too many.
 */
export function protectedFacts(messages: readonly Message[], earlier: readonly string[]): readonly string[] {
  const open = unsettled(messages);
  const settledLater = (fact: string): boolean => fact.startsWith("constraint:");
  const all = [...new Set([...earlier.filter(settledLater), ...constraints(messages), ...open])];
  return all.slice(0, 4).concat(all.slice(4).slice(-(FACT_LIMIT - 4)));
}

/** The facts that a summary message holds. */
export function factsOf(summary: string): readonly string[] {
  const block = /<protected_facts>\n([\s\S]*?)\n<\/protected_facts>/.exec(summary)?.[1] ?? "";
  return block.split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
}

const OBJECTIVE_CHARS = 2000;

/** The text of the summary message: the first objective, the model's summary, protected facts, the running request. */
export function summaryText(parts: {
  readonly objective: string;
  readonly summary: string;
  readonly facts: readonly string[];
  readonly current?: string;
  readonly handle: string;
}): string {
  const safe = (text: string): string => text.replaceAll("</", "<\\/");
  const objective =
    parts.objective.length <= OBJECTIVE_CHARS ? parts.objective : `${parts.objective.slice(0, OBJECTIVE_CHARS).toWellFormed()}…`;
  return [
    "<conversation_summary>",
    `The conversation before this point was summarised to save room (${parts.handle}).`,
    `<first_request>\n${safe(objective)}\n</first_request>`,
    safe(parts.summary.trim()),
    ...(parts.facts.length > 0
      ? [`<protected_facts>\n${parts.facts.map((fact) => `- ${safe(fact)}`).join("\n")}\n</protected_facts>`]
      : []),
    ...(parts.current === undefined
      ? []
      : [`<current_request>\n${safe(parts.current)}\n</current_request>\nGo on with it from here.`]),
    "</conversation_summary>",
  ].join("\n");
}

/** The objective a conversation began with: carried from a former summary, else the first thing the user said. */
export function objectiveOf(messages: readonly Message[]): string {
  const first = messages.find((message) => message.role === "user");
  if (!first) return "";
  const former = /<first_request>\n([\s\S]*?)\n<\/first_request>/.exec(first.text)?.[1];
  return former?.replaceAll("<\\/", "</") ?? plainUserText(first.text);
}

function transcriptLine(message: Message, limit: number): string {
  const cut = (text: string): string => {
    if (text.length <= limit) return text;
    const half = Math.floor(limit / 2);
    return `${text.slice(0, half).toWellFormed()}\n[… ${text.length - 2 * half} characters …]\n${text.slice(-half).toWellFormed()}`;
  };
  if (message.role === "user") return `[user]\n${cut(plainUserTextOrSummary(message.text))}`;
  if (message.role === "tool") return `[result of ${message.name}${message.failed ? ", failed" : ""}]\n${cut(message.text)}`;
  const calls = message.calls.map((call) => `[call] ${call.name} ${cut(call.arguments)}`);
  return ["[assistant]", ...(message.text === "" ? [] : [cut(message.text)]), ...calls].join("\n");
}

function plainUserTextOrSummary(text: string): string {
  const summary = /<conversation_summary>[\s\S]*<\/conversation_summary>/.exec(text)?.[0] ?? "";
  return [summary, plainUserText(text)].filter((part) => part !== "").join("\n");
}

/**
 * The one user message of a summary request over `covered`, at most `maxBytes`: long texts are shortened first, then the
 * middle of the transcript is left out, and the message says so. It always fits.
 */
export function summaryRequest(covered: readonly Message[], guidance: string, maxBytes: number): string {
  const head = `${instructions.trim()}${guidance === "" ? "" : `\n\nWhat the user asks of this summary: ${guidance}`}\n\n<transcript>\n`;
  const tail = "\n</transcript>";
  const room = Math.max(500, maxBytes - Buffer.byteLength(head) - Buffer.byteLength(tail));
  for (const limit of [4000, 1500, 500, 160]) {
    const lines = covered.map((message) => transcriptLine(message, limit).replaceAll("</transcript", "<\\/transcript"));
    const body = lines.join("\n\n");
    if (Buffer.byteLength(body) <= room) return `${head}${body}${tail}`;
    if (limit === 160) return `${head}${middleOut(lines, room)}${tail}`;
  }
  return `${head}${tail}`;
}

function middleOut(lines: readonly string[], room: number): string {
  const front: string[] = [];
  const back: string[] = [];
  let used = 80;
  for (let at = 0; at < lines.length; at++) {
    const takeFront = at % 4 === 0;
    const line = takeFront ? lines[front.length] : lines[lines.length - 1 - back.length];
    if (line === undefined || used + Buffer.byteLength(line) + 2 > room) break;
    used += Buffer.byteLength(line) + 2;
    if (takeFront) front.push(line);
    else back.unshift(line);
  }
  return [...front, `[… ${lines.length - front.length - back.length} entries left out …]`, ...back].join("\n\n");
}

/** Whether a range calls for a look by a person (`review = "auto"`): something failed in it, or edits were not verified. */
export function needsReview(covered: readonly Message[]): boolean {
  return unsettled(covered).length > 0 || covered.some((message) => message.role === "tool" && message.failed);
}
