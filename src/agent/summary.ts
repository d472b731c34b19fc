/**
 * The summary message of a compaction and the request that asks a model for it. Pure functions over messages. Refuses:
 * asking, cutting (compaction.ts), choosing facts (facts.ts).
 */
import type { Message } from "../types/message.ts";
import instructions from "./compaction.md" with { type: "text" };
import { plainUserText, safe } from "./facts.ts";

const OBJECTIVE_CHARS = 2000;
const SAME = "(the first request above)";

export type SummaryParts = {
  readonly objective: string;
  readonly summary: string;
  readonly facts: readonly string[];
  /** The request that is being worked on, when it is covered: word for word as far as there is room. */
  readonly current?: string;
  readonly handle: string;
  /** Bytes that objective and request may take each; the facts are limited where they are chosen. */
  readonly maxBytes?: number;
};

/** Head and tail of a text, at most about `limit` characters; what is left out is named. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half).toWellFormed()}\n[… ${text.length - 2 * half} characters …]\n${text.slice(text.length - half).toWellFormed()}`;
}

/** The text of the summary message: the first objective, the model's summary, protected facts, the running request. */
export function summaryText(parts: SummaryParts): string {
  const limit = parts.maxBytes ?? Number.POSITIVE_INFINITY;
  const cut = (text: string, most: number): string => safe(text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`);
  const current =
    parts.current !== undefined && parts.current === parts.objective && parts.objective.length <= OBJECTIVE_CHARS
      ? SAME
      : parts.current;
  return [
    "<conversation_summary>",
    `The conversation before this point was summarised to save room (${parts.handle}).`,
    `<first_request>\n${cut(parts.objective, Math.min(OBJECTIVE_CHARS, limit))}\n</first_request>`,
    safe(parts.summary.trim()),
    ...(parts.facts.length > 0
      ? [`<protected_facts>\n${parts.facts.map((fact) => `- ${safe(fact)}`).join("\n")}\n</protected_facts>`]
      : []),
    ...(current === undefined
      ? []
      : [
          `<current_request>\n${safe(shorten(current, limit))}\n</current_request>\nWhat follows is the work on it so far: go on from there.`,
        ]),
    "</conversation_summary>",
  ].join("\n");
}

const OPEN = "<conversation_summary>";
const CLOSE = "</conversation_summary>";

/** The summary in a message's text, without what stands around it. */
export function formerSummary(message: Message | undefined): string | undefined {
  if (message?.role !== "user") return undefined;
  const start = message.text.indexOf(OPEN);
  const end = start === -1 ? -1 : message.text.indexOf(CLOSE, start);
  return end === -1 ? undefined : message.text.slice(start, end + CLOSE.length);
}

function element(name: string, summary: string | undefined): string | undefined {
  const found = new RegExp(`<${name}>\\n([\\s\\S]*?)\\n</${name}>`).exec(summary ?? "")?.[1];
  return found?.replaceAll("<\\/", "</");
}

/** The objective a conversation began with: carried from a former summary, else the first thing the user said. */
export function objectiveOf(messages: readonly Message[]): string {
  const first = messages.find((message) => message.role === "user");
  if (!first) return "";
  return element("first_request", formerSummary(first)) ?? plainUserText(first.text);
}

/** What a user message asks for; of a summary, the request it carries. */
export function requestOf(message: Message | undefined): string | undefined {
  if (message?.role !== "user") return undefined;
  const summary = formerSummary(message);
  if (summary === undefined) return plainUserText(message.text);
  const carried = element("current_request", summary);
  return carried === SAME ? element("first_request", summary) : carried;
}

function transcriptLine(message: Message, limit: number): string {
  const cut = (text: string): string => shorten(text, limit);
  if (message.role === "user") return `[user]\n${cut(plainUserTextOrSummary(message))}`;
  if (message.role === "tool") return `[result of ${message.name}${message.failed ? ", failed" : ""}]\n${cut(message.text)}`;
  const calls = message.calls.map((call) => `[call] ${call.name} ${cut(call.arguments)}`);
  return ["[assistant]", ...(message.text === "" ? [] : [cut(message.text)]), ...calls].join("\n");
}

function plainUserTextOrSummary(message: Message): string {
  return [formerSummary(message) ?? "", plainUserText(message.text)].filter((part) => part !== "").join("\n");
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
