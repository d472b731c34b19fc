/**
 * Kills the compiled binary at seeded random moments and goes on with the same session each time: what was recorded is never
 * lost or rewritten, every request is valid (the loopback server judges it), every command runs once. Throws on the first
 * violation. Refuses: knowing a test framework (`bun run soak` uses it too).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Seen, Step } from "./loopback.ts";
import { startModel, TEST_KEY } from "./model.ts";
import { runThndrs, startThndrs } from "./run.ts";
import { tempDir } from "./temp.ts";
import type { Wire } from "./wire/answer.ts";

export type KillFuzz = { readonly kills: number; readonly seed: number; readonly wire: Wire };
export type KillReport = { readonly rounds: number; readonly killed: number; readonly records: number; readonly open: number };

/** A log as it is on disk: its bytes, and the records of its whole lines. */
type Log = { readonly name: string; readonly text: string; readonly records: readonly Readonly<Record<string, unknown>>[] };

const EMPTY: Log = { name: "", text: "", records: [] };
const UNKNOWN = "outcome unknown";

/** Runs until `kills` processes were killed, then once more to a clean end. */
export async function killAndResume({ kills, seed, wire }: KillFuzz): Promise<KillReport> {
  await using dir = await tempDir();
  // Disposing the server fails on any invalid request.
  await using model = await startModel(answer, { wire });
  const random = generator(seed);
  const sessions = dir.at(".thndrs", "sessions");
  let before = EMPTY;
  let killed = 0;
  let open = 0;
  let rounds = 0;
  while (killed < kills) {
    if (++rounds > kills * 5) throw new Error(`only ${killed} of ${rounds} runs were killed`);
    const first = model.server.requests.length;
    await using running = await startThndrs({ args: argsFor(before, `prompt-${pad(rounds)}`), cwd: dir.path, env: model.env });
    const timer = setTimeout(() => running.signal("SIGKILL"), 8 + random() * 250);
    const { code, signal, stderr } = await running.exited;
    clearTimeout(timer);
    if (signal === "SIGKILL") killed++;
    else if (code !== 0) throw new Error(`round ${rounds} (seed ${seed}): exit ${code}\n${stderr}`);
    const after = readLog(sessions);
    const request = model.server.requests[first];
    if (request !== undefined) open += checkRequest(before, request, rounds);
    checkLog(before, after, rounds);
    before = after;
  }
  const first = model.server.requests.length;
  const end = await runThndrs({ args: argsFor(before, "prompt-last"), cwd: dir.path, env: model.env });
  if (end.code !== 0) throw new Error(`the last run: exit ${end.code}\n${end.stderr}`);
  const request = model.server.requests[first];
  if (request !== undefined) open += checkRequest(before, request, rounds + 1);
  const after = readLog(sessions);
  checkLog(before, after, rounds + 1);
  checkEffects(after, existsSync(dir.at("side")) ? readFileSync(dir.at("side"), "utf8") : "");
  // A run that died between its lock and its first line leaves the lock of a session that never was: "prune" takes it away.
  if (existsSync(join(sessions, after.name.replace(".jsonl", ".lock")))) throw new Error(`the lock of ${after.name} is left`);
  return { rounds: rounds + 1, killed, records: after.records.length, open };
}

/** Every answer and every command is unlike any other, so that each can be found again. */
function answer({ number }: Seen): Step {
  const name = pad(number);
  if (number % 3 === 0) return { reasoning: `thought-${name}`, text: [`answer-${name} `, "in ", "parts"], pace: 3 };
  const shell = (part: string) => ({
    name: "run_shell",
    arguments: { argv: ["sh", "-c", `echo run-${name}-${part} >> side; echo out-${name}-${part}`] },
  });
  const create = { name: "create_file", arguments: { path: `file-${name}.txt`, content: name } };
  return { text: [`saying-${name} `, "this"], calls: [shell("a"), create, shell("b")], pace: 2 };
}

const pad = (number: number): string => String(number).padStart(5, "0");

function argsFor(log: Log, prompt: string): string[] {
  return [...(log.records.length > 0 ? ["-c"] : []), "-p", prompt];
}

function readLog(sessions: string): Log {
  const names = existsSync(sessions) ? readdirSync(sessions).filter((name) => name.endsWith(".jsonl")) : [];
  const logs = names.map((name): Log => {
    const text = readFileSync(join(sessions, name), "utf8");
    const records = text.split("\n").flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
    return { name, text, records };
  });
  // One that died before its first whole line is not gone on with: the next run starts its own.
  const filled = logs.filter((log) => log.records.length > 0);
  if (filled.length > 1) throw new Error(`${filled.length} sessions instead of one`);
  return filled[0] ?? EMPTY;
}

function checkLog(before: Log, after: Log, round: number): void {
  if (!after.text.startsWith(before.text)) throw new Error(`round ${round}: the log was rewritten`);
  if (after.text.includes(TEST_KEY)) throw new Error(`round ${round}: the key is in the log`);
  const wrong = after.records.findIndex((record, index) => record.seq !== index);
  if (wrong !== -1) throw new Error(`round ${round}: record ${wrong} has seq ${after.records[wrong]?.seq}`);
}

/** All that is recorded as complete is in the next request; what was open is there as unknown, once. Returns how many were. */
function checkRequest(before: Log, { raw }: Seen, round: number): number {
  const missing = before.records.flatMap((record) => {
    if (record.type === "user" || record.type === "assistant_finished") return raw.includes(String(record.text)) ? [] : [record];
    if (record.type !== "tool_finished") return [];
    const [token = ""] = /out-\d+-[ab]|file-\d+/.exec(String(record.output)) ?? [];
    return token !== "" && raw.includes(token) ? [] : [record];
  });
  if (missing.length > 0) throw new Error(`round ${round}: not in the next request: ${JSON.stringify(missing[0])}`);
  const open = idsOf(before, "tool_started").filter((id) => !idsOf(before, "tool_finished").includes(id)).length;
  const said = raw.split(UNKNOWN).length - 1;
  if (said !== open) throw new Error(`round ${round}: ${open} open calls, ${said} synthetic results`);
  return open;
}

function checkEffects(log: Log, side: string): void {
  const ran = side.split("\n").filter((line) => line !== "");
  if (new Set(ran).size !== ran.length) throw new Error(`a command ran twice: ${ran.join(" ")}`);
  for (const record of log.records) {
    const [, token] = (record.type === "tool_finished" && /out-(\d+-[ab])/.exec(String(record.output))) || [];
    if (token !== undefined && !ran.includes(`run-${token}`)) throw new Error(`recorded, but never run: ${token}`);
  }
}

function idsOf(log: Log, type: string): string[] {
  return log.records.filter((record) => record.type === type).map((record) => `${record.turn_id} ${record.call_id}`);
}

/** A small linear congruential generator: numbers from 0 to 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return (state >> 8) / 0x7fffff;
  };
}
