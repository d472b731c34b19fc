/**
 * The server of one chaos task: ten turns of tool calls, then an answer; at random it cuts, stalls, splits, refuses, fails or
 * talks nonsense. Where the task stands is read from the request alone, as a real server would. Refuses: judging the run.
 */
import type { Seen, Step } from "../../test/support/loopback.ts";
import { wireFrames } from "../../test/support/loopback.ts";
import type { Answer, ScriptedCall, Wire } from "../../test/support/wire/answer.ts";
import type { Random } from "./random.ts";

export const TURNS = 10;

/** The last answer of a task; nothing else is. */
export const finalText = (task: number): string => `task ${task} is done`;

export type ChaosLog = {
  /** What was served, in order: `ok`, or the name of the fault. */
  readonly served: string[];
};

/** Responses that the request already holds, by what they left in it. */
function turnsDone({ body }: Seen, wire: Wire): number {
  if (wire === "responses") {
    // One response may be several calls: count the shell calls, there is one in each.
    return body.input.filter(
      (item: { type?: string; name?: string }) => item.type === "function_call" && item.name === "run_shell",
    ).length;
  }
  const messages: { role: string; tool_calls?: unknown[]; content?: unknown }[] = body.messages;
  return messages.filter(
    (message) =>
      message.role === "assistant" &&
      (wire === "chat"
        ? message.tool_calls !== undefined
        : Array.isArray(message.content) && message.content.some((block) => block.type === "tool_use")),
  ).length;
}

/** Every call leaves a line of its own in `effects`; a call that ran twice is there twice. */
function answerOf(task: number, turn: number, random: Random): Answer {
  if (turn >= TURNS)
    return { text: ["task ", `${task} is`, " done"], ...(random.chance(0.3) && { reasoning: "All turns are over." }) };
  const shell: ScriptedCall = { name: "run_shell", arguments: { argv: ["sh", "-c", `echo shell-${turn} >> effects`] } };
  const create: ScriptedCall = { name: "create_file", arguments: { path: `made-${turn}.txt`, content: `turn ${turn}\n` } };
  const read: ScriptedCall = {
    name: "read_file_range",
    arguments: { path: "notes.txt", start_line: turn + 1, end_line: turn + 3 },
  };
  const search: ScriptedCall = { name: "search_text", arguments: { pattern: `note ${turn}` } };
  const calls = [shell, ...(random.chance(0.4) ? [create] : []), ...(random.chance(0.5) ? [read, search] : [])];
  return {
    ...(random.chance(0.5) && { text: [`turn ${turn} `, "🌲 é "] }),
    ...(random.chance(0.3) && { reasoning: ["let me ", "see"] }),
    ...(random.chance(0.2) && { usage: null }),
    calls,
  };
}

/** How a right answer may arrive. */
function delivery(random: Random): Pick<Step, "chunking"> {
  return random.chance(0.35) ? { chunking: random.pick([1, 3, 7, "whole"] as const) } : {};
}

const RETRY_AFTER = [undefined, "0", "abc", "-5", "0.01"] as const;
const BODIES = [
  "",
  "{}",
  "<html><title>Bad gateway</title></html>",
  '{"error":{"message":"try again later"}}',
  "\u0000\ud7ff{",
] as const;

function statusFault(random: Random): [string, Step] {
  const status = random.pick([429, 429, 500, 502, 503, 504, 529, 529]);
  const after = random.pick(RETRY_AFTER);
  const step: Step = { status, body: random.pick(BODIES), ...(after !== undefined && { headers: { "retry-after": after } }) };
  return [`status ${status}`, step];
}

function garbage(random: Random, frames: readonly string[]): [string, Step] {
  const noise = Array.from({ length: 40 }, () => String.fromCharCode(random.below(0x500))).join("");
  const bytes = Buffer.from(Array.from({ length: 64 }, () => random.below(256))).toString("base64");
  return random.pick<[string, Step]>([
    ["garbage: text", { raw: [noise] }],
    ["garbage: bytes", { raw: [`base64:${bytes}`] }],
    ["garbage: a web page", { body: "<!doctype html><title>Welcome</title>" }],
    ["garbage: JSON error under 200", { body: { error: { message: "overloaded, try again later" } } }],
    [
      "garbage: error frame",
      { raw: [...frames.slice(0, 2), 'data: {"error":{"message":"server error","type":"server_error"}}\n\n'] },
    ],
    ["garbage: a frame that is no JSON", { raw: [...frames.slice(0, 2), "data: {oops\n\n", ...frames.slice(2)] }],
    ["garbage: nothing at all", { raw: [] }],
    ["garbage: after the answer", { raw: [...frames, noise] }],
  ]);
}

function fault(answer: Answer, wire: Wire, number: number, random: Random): [string, Step] {
  const frames = wireFrames(wire, answer, number);
  const after = random.below(frames.length);
  const kind = random.below(100);
  if (kind < 42) return statusFault(random);
  if (kind < 72) {
    const how = random.pick(["fin", "rst", "clean"] as const);
    return [`cut: ${how}`, { ...answer, cut: { after, how }, ...delivery(random) }];
  }
  if (kind < 82) return ["refused", { refuse: random.pick(["fin", "rst"] as const) }];
  if (kind < 85) return ["stall", random.chance(0.5) ? { hang: true } : { ...answer, cut: { after, how: "stall" } }];
  if (kind < 98) return garbage(random, frames);
  return ["fatal", { status: random.pick([400, 401, 403, 404]), body: { error: { message: "no" } } }];
}

/** The script of a task. `calm` answers rightly, always. */
export function chaosScript(task: number, wire: Wire, random: Random, log: ChaosLog, calm: () => boolean): (seen: Seen) => Step {
  return (seen) => {
    const answer = answerOf(task, turnsDone(seen, wire), random);
    // One answer in three goes wrong.
    if (calm() || random.chance(0.67)) {
      log.served.push("ok");
      return { ...answer, ...delivery(random) };
    }
    const [name, step] = fault(answer, wire, seen.number, random);
    log.served.push(name);
    return step;
  };
}
