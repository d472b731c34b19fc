/**
 * Chaos (issue: Every provider, no lost stream): many tasks of ten turns against a server that goes wrong at random. Judges
 * each run by what is documented: exit code, result and log agree; nothing ran twice; no request was malformed; nothing is
 * left behind. A failed run is gone on with, and must then end well. Refuses: knowing a test framework.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Loopback, startLoopback } from "../../test/support/loopback.ts";
import { modelEnv } from "../../test/support/model.ts";
import { type RunResult, startThndrs } from "../../test/support/run.ts";
import { type TempDir, tempDir } from "../../test/support/temp.ts";
import type { Wire } from "../../test/support/wire/answer.ts";
import { prefixBreaks } from "../../test/support/wire/prefix.ts";
import { type ChaosLog, chaosScript, finalText } from "./chaos-server.ts";
import { createRandom, type Random } from "./random.ts";

export type ChaosOptions = { readonly tasks: number; readonly seed: number; readonly parallel: number };

export type ChaosReport = {
  readonly tasks: number;
  readonly requests: number;
  readonly faults: number;
  /** Side effects counted on disk. */
  readonly effects: number;
  /** Runs by exit code. */
  readonly exits: ReadonlyMap<number, number>;
  /** Answers by what was served. */
  readonly served: ReadonlyMap<string, number>;
  /** What broke a promise; empty when all is well. Each line names its task. */
  readonly problems: readonly string[];
};

type Line = { readonly type: string; readonly seq: number; readonly [field: string]: unknown };
type Format = "text" | "json" | "stream-json";

const WIRES: readonly Wire[] = ["chat", "responses", "anthropic"];
const STATUS: Readonly<Record<number, string>> = {
  0: "ok",
  1: "failed",
  4: "limit",
  124: "timeout",
  130: "cancelled",
  143: "cancelled",
};

function readLog(cwd: string): { readonly records: readonly Line[]; readonly problems: readonly string[] } {
  const dir = join(cwd, ".thndrs", "sessions");
  const names = existsSync(dir) ? readdirSync(dir) : [];
  const problems = names.filter((name) => name.endsWith(".lock")).map((name) => `a lock is left: ${name}`);
  const logs = names.filter((name) => name.endsWith(".jsonl"));
  if (logs.length > 1) problems.push(`${logs.length} sessions instead of one`);
  const text = logs[0] === undefined ? "" : readFileSync(join(dir, logs[0]), "utf8");
  if (text !== "" && !text.endsWith("\n")) problems.push("the log ends in the middle of a line");
  if (text.includes("NaN")) problems.push("NaN in the log");
  const records = text.split("\n").flatMap((line): Line[] => {
    if (line === "") return [];
    try {
      return [JSON.parse(line)];
    } catch {
      problems.push(`a line of the log is no JSON: ${line.slice(0, 80)}`);
      return [];
    }
  });
  if (records.some((record, index) => record.seq !== index)) problems.push("sequence numbers have gaps");
  return { records, problems };
}

/** The log of one run (its records alone) must end as the exit code says. */
function judgeLog(records: readonly Line[], code: number, signal: string | undefined): string[] {
  const problems: string[] = [];
  const count = (type: string): number => records.filter((record) => record.type === type).length;
  const expected = { failed: code === 1 || code === 4 ? 1 : 0, cancelled: code === 124 || code === 130 || code === 143 ? 1 : 0 };
  for (const type of ["failed", "cancelled"] as const)
    if (count(type) !== expected[type]) problems.push(`exit ${code} with ${count(type)} ${type} records`);
  const closing = records.filter((record) => record.type !== "context_ledger").at(-1)?.type;
  const last = code === 0 ? "assistant_finished" : expected.failed === 1 ? "failed" : "cancelled";
  if (closing !== last) problems.push(`exit ${code}, but the log ends with ${closing}`);
  const cancelled = records.find((record) => record.type === "cancelled");
  if (code === 124 && cancelled?.reason !== "timeout") problems.push(`exit 124 with reason ${cancelled?.reason}`);
  if (signal !== undefined && cancelled && code !== 124 && cancelled.reason !== `signal:${signal}`)
    problems.push(`cancelled by ${signal} with reason ${cancelled.reason}`);
  const ids = (type: string): string[] =>
    records.filter((record) => record.type === type).map((record) => String(record.call_id));
  const finished = ids("tool_finished");
  if (new Set(finished).size !== finished.length) problems.push("a call finished twice");
  for (const id of ids("tool_started")) if (!finished.includes(id)) problems.push(`call ${id} has no end`);
  return problems;
}

function judgeOutput(result: RunResult, code: number, format: Format, task: number): string[] {
  const problems: string[] = [];
  const whole = finalText(task);
  if (code !== 0 && !result.stderr.includes("thndrs: error: ")) problems.push(`exit ${code} without an error line`);
  if (/\n\s+at .*:\d+/.test(result.stderr)) problems.push(`a stack trace: ${result.stderr.slice(0, 300)}`);
  if (format === "text") {
    if (result.stdout !== (code === 0 ? `${whole}\n` : ""))
      problems.push(`exit ${code} with the answer ${JSON.stringify(result.stdout)}`);
    return problems;
  }
  const lines = result.stdout.trimEnd().split("\n");
  if (format === "json" && lines.length !== 1) problems.push(`${lines.length} lines of JSON`);
  try {
    const said = lines.map((line) => JSON.parse(line)).at(-1);
    if (said.exit_code !== code) problems.push(`exit ${code}, exit_code ${said.exit_code}`);
    if (said.status !== STATUS[code]) problems.push(`exit ${code}, status ${said.status}`);
    if ((said.error === undefined) !== (code === 0)) problems.push(`exit ${code}, error ${JSON.stringify(said.error)}`);
    if (code === 0 && said.text !== whole) problems.push(`the answer is ${JSON.stringify(said.text)}`);
  } catch {
    problems.push(`stdout is no JSON: ${lines.at(-1)?.slice(0, 100)}`);
  }
  return problems;
}

/** Every line of `effects` stands for one call that ran. */
function judgeEffects(cwd: string, records: readonly Line[]): { readonly effects: number; readonly problems: string[] } {
  const path = join(cwd, "effects");
  const lines = existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
  const problems = lines.filter((line, at) => lines.indexOf(line) !== at).map((line) => `${line} happened twice`);
  const started = records.filter((record) => record.type === "tool_started" && record.name === "run_shell").length;
  if (lines.length > started) problems.push(`${lines.length} commands ran, ${started} are recorded`);
  const ended = records.filter((record) => record.type === "shell_exec" && record.process_status === "ok").length;
  if (ended > lines.length) problems.push(`${ended} commands are recorded as done, ${lines.length} ran`);
  const writes = records.filter((record) => record.type === "file_write" && record.status === "ok").map((record) => record.path);
  if (new Set(writes).size !== writes.length) problems.push("a file was created twice");
  const made = readdirSync(cwd).filter((name) => name.startsWith("made-"));
  if (made.length < writes.length) problems.push(`${writes.length} files are recorded as made, ${made.length} are there`);
  return { effects: lines.length + made.length, problems };
}

type Plan = {
  readonly args: readonly string[];
  readonly format: Format;
  readonly signal?: "SIGTERM" | "SIGINT";
  readonly afterMs: number;
};

function planOf(random: Random): Plan {
  const format = random.pick(["text", "json", "stream-json"] as const);
  const args = ["-p", "do the task", "--output-format", format];
  const how = random.below(12);
  if (how === 0) args.push("--timeout", `${100 + random.below(400)}ms`);
  if (how === 1) args.push("--max-turns", String(1 + random.below(9)));
  // Not earlier: before the program has started, a signal just ends it.
  return {
    args,
    format,
    afterMs: 60 + random.below(350),
    ...(how === 2 && { signal: random.pick(["SIGTERM", "SIGINT"] as const) }),
  };
}

async function run(plan: Plan, dir: TempDir, env: Readonly<Record<string, string>>): Promise<RunResult> {
  await using running = await startThndrs({ args: plan.args, cwd: dir.path, env, timeoutMs: 60_000 });
  const { signal } = plan;
  const timer = signal && setTimeout(() => running.signal(signal), plan.afterMs);
  try {
    return await running.exited;
  } finally {
    clearTimeout(timer);
  }
}

type Task = {
  readonly codes: readonly number[];
  readonly effects: number;
  readonly problems: readonly string[];
  readonly requests: number;
};

async function playTask(task: number, seed: number, log: ChaosLog): Promise<Task> {
  const random = createRandom(seed * 10_007 + task);
  const wire = WIRES[task % WIRES.length] ?? "chat";
  await using dir = await tempDir({
    "notes.txt": Array.from({ length: 40 }, (_, n) => `note ${n}\n`).join(""),
    "AGENTS.md": "Be calm.\n",
  });
  let calm = false;
  const server = await startLoopback(
    chaosScript(task, wire, random, log, () => calm),
    {},
  );
  try {
    const env = {
      ...modelEnv(server.baseUrl, wire),
      THNDRS_STALL_TIMEOUT: "1s",
      THNDRS_RETRY_CAP: "0",
      THNDRS_RETRY_MAX_TRIES: "5",
    };
    const first = planOf(random);
    const problems: string[] = [];
    const codes: number[] = [];
    let known = 0;
    for (const plan of [first, { args: ["-c", "-p", "go on", "--output-format", "json"], format: "json", afterMs: 0 } as const]) {
      const result = await run(plan, dir, env);
      const code = result.code ?? -1;
      codes.push(code);
      const { records, problems: broken } = readLog(dir.path);
      const own = records.slice(known);
      problems.push(...broken, ...judgeLog(own, code, plan.signal), ...judgeOutput(result, code, plan.format, task));
      if (STATUS[code] === undefined) problems.push(`exit ${result.code ?? result.signal}: ${result.stderr.slice(-300)}`);
      if (result.leftovers.length > 0) problems.push(`left behind: ${result.leftovers.join("; ")}`);
      if (calm && code !== 0) problems.push(`the calm run ended with ${code}: ${result.stderr.slice(-300)}`);
      if (code === 0) break;
      known = records.length;
      calm = true;
    }
    const { effects, problems: doubled } = judgeEffects(dir.path, readLog(dir.path).records);
    problems.push(...doubled, ...server.violations, ...prefixProblems(server, calm));
    return { codes, effects, problems, requests: server.requests.length };
  } finally {
    await server.close({ ignoreViolations: true });
  }
}

/** Within one process a request extends the one before, or is the same one again. A resumed one is a new beginning. */
function prefixProblems(server: Loopback, resumed: boolean): string[] {
  if (resumed) return [];
  const bodies = server.requests.map((seen) => seen.raw);
  return prefixBreaks(bodies.filter((body, at) => body !== bodies[at - 1])).slice(0, 2);
}

/** Plays the tasks, some at a time. Reproducible by seed, but for timing. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const log: ChaosLog = { served: [] };
  const exits = new Map<number, number>();
  const problems: string[] = [];
  let next = 0;
  let effects = 0;
  let requests = 0;
  const worker = async (): Promise<void> => {
    while (next < options.tasks) {
      const task = next++;
      const played = await playTask(task, options.seed, log);
      for (const code of played.codes) exits.set(code, (exits.get(code) ?? 0) + 1);
      effects += played.effects;
      requests += played.requests;
      problems.push(...played.problems.map((problem) => `seed ${options.seed}, task ${task}: ${problem}`));
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, worker));
  const served = new Map<string, number>();
  for (const name of log.served) served.set(name, (served.get(name) ?? 0) + 1);
  const faults = log.served.filter((name) => name !== "ok").length;
  return { tasks: options.tasks, requests, faults, effects, exits, served, problems };
}

/** The report in words. */
export function chaosLines(report: ChaosReport): string[] {
  const pairs = (map: ReadonlyMap<string | number, number>): string =>
    [...map]
      .sort(([one], [other]) => String(one).localeCompare(String(other)))
      .map(([name, times]) => `${name} ${times}×`)
      .join(", ");
  return [
    `chaos\t${report.tasks} tasks, ${report.requests} requests, ${report.faults} faults, ${report.effects} side effects, each once`,
    `chaos\texit codes: ${pairs(report.exits)}`,
    `chaos\tserved: ${pairs(report.served)}`,
  ];
}
