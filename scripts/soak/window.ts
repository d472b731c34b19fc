/**
 * Long runs in a small window (issue: Long runs): never over it, instructions, objective and protected facts always there,
 * memory flat, cost of a turn constant; beside a run without a limit. Refuses: knowing a test framework.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newTally } from "../../src/session/read.ts";
import { readConversation } from "../../src/session/replay.ts";
import { type Loopback, type Seen, startLoopback } from "../../test/support/loopback.ts";
import { modelEnv } from "../../test/support/model.ts";
import { type Running, startThndrs } from "../../test/support/run.ts";
import { type TempDir, tempDir } from "../../test/support/temp.ts";
import type { Wire } from "../../test/support/wire/answer.ts";
import {
  CONSTRAINT,
  createWindowModel,
  EDIT,
  FAILING,
  FILES,
  NESTED_RULE,
  OBJECTIVE,
  PROMPT,
  RULE,
  saidIn,
  turnsIn,
  type WindowModel,
} from "./window-model.ts";

export const WINDOW = 8_000;
const MAX_OUTPUT = 1_000;
export const UNLIMITED = 50_000_000;
const PROVIDERS: Readonly<Record<Wire, string>> = { chat: "openrouter", responses: "openai", anthropic: "anthropic" };

/** A user configuration that gives the loopback model a window. */
export function modelConfig(wire: Wire, window: number): string {
  return `[models."${PROVIDERS[wire]}/mock"]\ncontext_window = ${window}\nmax_output = ${MAX_OUTPUT}\n`;
}

export type WindowRun = {
  readonly shape: string;
  readonly turns: number;
  readonly compactions: number;
  readonly largestByBytes: number;
  readonly largestByServer: number;
  /** Of all requests, by bytes / 3.5. */
  readonly tokensSent: number;
  readonly residentMiB: readonly [early: number, late: number] | undefined;
  readonly turnMs: readonly [early: number, late: number];
  readonly problems: readonly string[];
};

type Shape = { readonly turns: number; readonly wire: Wire; readonly window: number; readonly perRun?: number };

function residentMiB(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) / 1024;
  } catch {
    return Number.NaN;
  }
}

/** What a request must hold whatever was left out: everything that is protected, and the turns without a gap to the last. */
export function judgeRequest(seen: Seen, wire: Wire, turn: number, turns: number): string[] {
  const text = saidIn(seen, wire);
  const needed = [RULE, OBJECTIVE, CONSTRAINT];
  if (turn >= 20) needed.push(FAILING, NESTED_RULE);
  if (turn >= Math.floor(turns * 0.8)) needed.push(EDIT);
  const lost = needed.filter((one) => !text.includes(one)).map((one) => JSON.stringify(one));
  const held = turnsIn(seen, wire);
  if (!text.includes("<conversation_summary>") && held.length > 0 && held[0] !== 1) lost.push(`the turns before ${held[0]}`);
  if (held.some((one, at) => at > 0 && one !== (held[at - 1] ?? 0) + 1)) lost.push(`the order of turns: ${held.join(" ")}`);
  return lost.map((one) => `request ${seen.number} (turn ${turn}) lost ${one}`);
}

export function logFile(cwd: string): string | undefined {
  const dir = join(cwd, ".thndrs", "sessions");
  const name = existsSync(dir) ? readdirSync(dir).find((one) => one.endsWith(".jsonl")) : undefined;
  return name === undefined ? undefined : join(dir, name);
}

/**
 * The conversation a log stands for is whole: either every turn up to the last, or a summary and every turn from some turn on.
 * Returns what is wrong with it.
 */
export async function mixture(path: string): Promise<string[]> {
  const { messages } = await readConversation(path, newTally());
  const summaries = messages.filter((message) => message.role === "user" && message.text.includes("<conversation_summary>"));
  const turns = messages.flatMap((message) => {
    const found = message.role === "assistant" ? /^turn (\d+): on with it/.exec(message.text)?.[1] : undefined;
    return found === undefined ? [] : [Number(found)];
  });
  const problems: string[] = [];
  if (summaries.length > 1) problems.push(`${summaries.length} summaries at once`);
  if (summaries.length === 1 && summaries[0] !== messages[0]) problems.push("the summary is not the first message");
  if (summaries.length === 0 && turns.length > 0 && turns[0] !== 1)
    problems.push(`no summary, but the first turn is ${turns[0]}`);
  if (turns.some((turn, at) => at > 0 && turn !== (turns[at - 1] ?? 0) + 1)) problems.push(`turns ${turns.join(" ")}`);
  return problems;
}

function average(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Milliseconds from request to request in the second and in the last fifth; summaries belong to the turn they are in. */
function turnTimes(model: WindowModel): [number, number] {
  const main = model.counted.filter((one) => !one.summary);
  const gaps = main.slice(1).map((one, at) => one.at - (main[at]?.at ?? 0));
  const fifth = Math.floor(gaps.length / 5);
  return [average(gaps.slice(fifth, fifth * 2)), average(gaps.slice(-fifth))];
}

async function runAll(
  shape: Shape,
  dir: TempDir,
  env: Readonly<Record<string, string>>,
  model: WindowModel,
  watch: (running: Running) => void,
): Promise<string[]> {
  const problems: string[] = [];
  for (let first = true; first || model.turns() < shape.turns; first = false) {
    const args = first ? ["-p", PROMPT] : ["-c", "-p", `go on (from turn ${model.turns()})`];
    await using running = await startThndrs({ args: [...args, "--quiet"], cwd: dir.path, env, timeoutMs: 600_000 });
    model.startRun();
    watch(running);
    const { code, stderr } = await running.exited;
    if (code !== 0) return [...problems, `exit ${code} at turn ${model.turns()}: ${stderr.slice(-400)}`];
    const path = logFile(dir.path);
    if (path !== undefined && shape.window === WINDOW)
      problems.push(...(await mixture(path)).map((one) => `turn ${model.turns()}: ${one}`));
    if (problems.length > 5) break;
  }
  return problems;
}

/** One shape of a long run. Problems are empty when it kept every promise. `keepLog` gets the session's log. */
export async function windowRun(name: string, shape: Shape, keepLog?: (text: string) => void): Promise<WindowRun> {
  const { wire, window, turns } = shape;
  const limited = window === WINDOW;
  await using home = await tempDir({ "config.toml": modelConfig(wire, window) });
  await using dir = await tempDir(FILES);
  const problems: string[] = [];
  const memory: number[] = [];
  let pid = 0;
  const model = createWindowModel({
    turns,
    wire,
    count: limited,
    ...(shape.perRun !== undefined && { perRun: shape.perRun }),
    inspect: (seen, summary, turn) => {
      if (!summary && turn % 10 === 0) memory.push(residentMiB(pid));
      if (!summary && limited && problems.length < 8) problems.push(...judgeRequest(seen, wire, turn, turns));
      return undefined;
    },
  });
  const server: Loopback = await startLoopback(model.script, { lenient: !limited });
  try {
    const env = { ...modelEnv(server.baseUrl, wire), THNDRS_HOME: home.path };
    problems.push(
      ...(await runAll(shape, dir, env, model, (running) => {
        pid = running.pid;
      })),
    );
    problems.push(...server.violations.slice(0, 3));
  } finally {
    await server.close({ ignoreViolations: true });
  }
  const log = readFileSync(logFile(dir.path) ?? "/dev/null", "utf8");
  keepLog?.(log);
  const fifth = Math.floor(memory.length / 5);
  const run: WindowRun = {
    shape: name,
    turns: model.turns(),
    compactions: log.split('"type":"compaction"').length - 1,
    largestByBytes: Math.max(...model.counted.map((one) => one.byBytes)),
    largestByServer: Math.max(...model.counted.map((one) => one.byServer ?? 0)),
    tokensSent: model.counted.reduce((sum, one) => sum + one.byBytes, 0),
    residentMiB:
      shape.perRun === undefined ? [average(memory.slice(fifth, fifth * 2)), average(memory.slice(-fifth))] : undefined,
    turnMs: turnTimes(model),
    problems,
  };
  return limited ? { ...run, problems: [...problems, ...judgeRun(run)] } : run;
}

function judgeRun(run: WindowRun): string[] {
  const problems: string[] = [];
  if (run.largestByBytes > WINDOW)
    problems.push(`a request of ${run.largestByBytes} tokens (bytes / 3.5) in a window of ${WINDOW}`);
  if (run.largestByServer > WINDOW)
    problems.push(`a request of ${run.largestByServer} tokens (the server's count) in a window of ${WINDOW}`);
  if (run.turns > 40 && run.compactions < 2) problems.push(`${run.compactions} compactions`);
  // Short runs say nothing of growth.
  if (run.turns < 200) return problems;
  const [early, late] = run.residentMiB ?? [1, 1];
  if (late > early * 1.25 + 16) problems.push(`memory grew from ${early.toFixed(0)} to ${late.toFixed(0)} MiB`);
  const [before, after] = run.turnMs;
  // A resumed run reads its log, which grows.
  const growth = run.residentMiB === undefined ? 3 : 1.6;
  if (after > before * growth + 2)
    problems.push(`a turn took ${before.toFixed(1)} ms at first and ${after.toFixed(1)} ms at the end`);
  return problems;
}

/** The table of the issue: turns, compactions, largest request, tokens sent in all against a run without trimming. */
export function windowLines(runs: readonly WindowRun[]): string[] {
  const head = ["", "turns", "compactions", "largest request", "server's count", "tokens sent", "memory MiB", "ms a turn"];
  const pair = (values: readonly [number, number] | undefined, digits: number): string =>
    values === undefined ? "" : values.map((value) => value.toFixed(digits)).join(" → ");
  const body = runs.map((run) => [
    run.shape,
    String(run.turns),
    String(run.compactions),
    String(run.largestByBytes),
    run.largestByServer === 0 ? "" : String(run.largestByServer),
    run.tokensSent.toLocaleString("en"),
    pair(run.residentMiB, 0),
    pair(run.turnMs, 1),
  ]);
  const rows = [head, ...body];
  const widths = head.map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? "").length)));
  const table = rows.map((cells) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
  );
  return [...table];
}
