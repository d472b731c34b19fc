/**
 * Facts that the program carries through a compaction, not the model's goodwill: explicit constraints, failing checks,
 * unverified edits (integrations.md, Compaction). Refuses: deciding when to compact.
 */
import type { Message, ToolCall, ToolMessage } from "../types/message.ts";

/** A result that speaks of something broken: the call failed, or the command did. */
export function failing(message: ToolMessage): boolean {
  return (
    message.failed ||
    (message.name === "run_shell" && /\bexit [1-9]\d*\b|killed by SIG|timed out/.test(message.text.slice(0, 400)))
  );
}

/** Inside our elements nothing of ours may be closed. */
export function safe(text: string): string {
  return text.replaceAll("</", "<\\/");
}

const FACT_CHARS = 300;
const FACT_LIMIT = 24;
/** Of the open ones, the newest; of the constraints, the oldest few always stay. */
const OPEN_LIMIT = 12;
const FIRST_CONSTRAINTS = 4;
const CONSTRAINT = /\b(?:must|never|always|do not|don't|only|without|keep|avoid|required?|under no)\b/i;

function clip(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= FACT_CHARS ? line : `${line.slice(0, FACT_CHARS - 1).toWellFormed()}…`;
}

const OWN_ELEMENTS =
  /<(project_context|project_context_update|thndrs_self_knowledge_update|skill|skill_content|conversation_summary)(?=[\s>])/g;

const INSTRUCTIONS = /<(project_context|project_context_update)(?=[\s>])/g;

/** What the user said without our own elements around it. */
export function plainUserText(text: string): string {
  return withoutElements(text, OWN_ELEMENTS);
}

/** The same without instruction files and pinned files alone: what is sent anew elsewhere must not stand behind that as it was. */
export function withoutInstructions(text: string): string {
  return withoutElements(text, INSTRUCTIONS);
}

/** Linear: an element that is never closed is looked for once. */
function withoutElements(text: string, elements: RegExp): string {
  if (!text.includes("<")) return text;
  const open = new Set<string>();
  let kept = "";
  let from = 0;
  for (const { 0: tag, 1: name = "", index } of text.matchAll(elements)) {
    if (index < from || open.has(name)) continue;
    const close = `</${name}>`;
    const end = text.indexOf(close, index + tag.length);
    if (end === -1) {
      open.add(name);
      continue;
    }
    kept += text.slice(from, index);
    from = end + close.length;
  }
  return (kept + text.slice(from)).trim();
}

function constraints(messages: readonly Message[]): string[] {
  const found: string[] = [];
  for (const message of messages) {
    if (message.role !== "user") continue;
    for (const line of plainUserText(message.text).split(/\n|(?<=[.!?])\s+/))
      if (CONSTRAINT.test(line)) found.push(safe(`constraint: ${clip(line)}`));
  }
  return found;
}

const WRITES: ReadonlySet<string> = new Set(["create_file", "replace_range", "write_patch"]);

const failure = (call: ToolCall): string => safe(`failing: ${clip(`${call.name} ${call.arguments}`)} → `);

/**
 * Checks that fail and edits nobody checked since, in the order they happened, `earlier` first. A fact of a former summary
 * ends as one of these messages would: the same call went well, or a command did.
 */
function unsettled(messages: readonly Message[], earlier: readonly string[] = []): string[] {
  const calls = new Map(
    messages.flatMap((message) => (message.role === "assistant" ? message.calls.map((call) => [call.id, call] as const) : [])),
  );
  let failures = earlier.filter((fact) => fact.startsWith("failing: "));
  let edits = earlier.filter((fact) => fact.startsWith("unverified edit: "));
  for (const message of messages) {
    if (message.role !== "tool") continue;
    const call = calls.get(message.callId);
    if (!call) continue;
    const head = failure(call);
    failures = failures.filter((fact) => !fact.startsWith(head));
    if (failing(message)) failures.push(head + safe(clip(message.text)));
    if (WRITES.has(call.name) && !message.failed) edits.push(safe(`unverified edit: ${clip(`${call.name} ${call.arguments}`)}`));
    else if (call.name === "run_shell" && !failing(message)) edits = [];
    if (failures.length > OPEN_LIMIT * 2) failures = failures.slice(-OPEN_LIMIT);
    if (edits.length > OPEN_LIMIT * 2) edits = edits.slice(-OPEN_LIMIT);
  }
  return [...failures.slice(-OPEN_LIMIT), ...edits.slice(-OPEN_LIMIT)];
}

/**
 * What must not be lost, ready to be written into a summary. `earlier` are the facts of the former one. At most 24, at most
 * `maxBytes`: what is still open goes first, then the oldest constraints, then the newest.
 */
export function protectedFacts(
  messages: readonly Message[],
  earlier: readonly string[],
  maxBytes = Number.POSITIVE_INFINITY,
): readonly string[] {
  const open = [...new Set(unsettled(messages, earlier))].slice(-OPEN_LIMIT);
  const all = [...new Set([...earlier.filter((fact) => fact.startsWith("constraint: ")), ...constraints(messages)])];
  const said = all
    .slice(0, FIRST_CONSTRAINTS)
    .concat(all.slice(FIRST_CONSTRAINTS).slice(-(FACT_LIMIT - FIRST_CONSTRAINTS - open.length)));
  const order = [...said.slice(0, FIRST_CONSTRAINTS), ...open.toReversed(), ...said.slice(FIRST_CONSTRAINTS).toReversed()];
  const kept = new Set<string>();
  let used = 0;
  for (const fact of order) {
    const bytes = Buffer.byteLength(fact) + 3;
    if (used + bytes > maxBytes) continue;
    used += bytes;
    kept.add(fact);
  }
  return [...said, ...open].filter((fact) => kept.has(fact));
}

const OPEN = "<protected_facts>\n";
const CLOSE = "\n</protected_facts>";

/** The facts that a summary message holds. */
export function factsOf(summary: string): readonly string[] {
  const start = summary.indexOf(OPEN);
  const end = start === -1 ? -1 : summary.indexOf(CLOSE, start + OPEN.length);
  const block = end === -1 ? "" : summary.slice(start + OPEN.length, end);
  return block.split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
}

/** Whether a range calls for a look by a person (`review = "auto"`): something failed in it, or edits were not verified. */
export function needsReview(covered: readonly Message[]): boolean {
  return unsettled(covered).length > 0 || covered.some((message) => message.role === "tool" && message.failed);
}
