/**
 * One long run against a model server that thinks for no time, watched from outside (Linux): memory, open files, time per turn
 * must not grow with the number of turns more than the conversation itself does. Refuses: judging absolute speed (bench does).
 */
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchServer, startServer } from "../bench/server.ts";
import { binary } from "../build.ts";

type Reading = { readonly turn: number; readonly ms: number; readonly residentMiB: number; readonly files: number };

async function look(pid: number, turn: number, started: number): Promise<Reading | undefined> {
  try {
    const status = await Bun.file(`/proc/${pid}/status`).text();
    const files = (await readdir(`/proc/${pid}/fd`)).length;
    const resident = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
    return { turn, ms: performance.now() - started, residentMiB: resident, files };
  } catch {
    return undefined;
  }
}

/** Reads the process whenever another `step` turns are done. */
async function watch(child: Bun.Subprocess, server: BenchServer, step: number): Promise<Reading[]> {
  const started = performance.now();
  const readings: Reading[] = [];
  while (child.exitCode === null && child.signalCode === null) {
    const turn = server.arrivals().length;
    if (turn >= (readings.length + 1) * step) {
      const reading = await look(child.pid, turn, started);
      if (reading) readings.push(reading);
    }
    await Bun.sleep(1);
  }
  return readings;
}

/** What is wrong between the first reading and the last, in words. */
export function judge(readings: readonly Reading[]): string[] {
  const [first, last] = [readings[0], readings.at(-1)];
  const middle = readings[readings.length >> 1];
  if (!first || !last || !middle || readings.length < 4) return ["too few readings: more turns are needed"];
  const wrong: string[] = [];
  if (last.files > first.files + 4) wrong.push(`open files grew from ${first.files} to ${last.files}`);
  // A turn costs about 1 kB of conversation. The second half only: the first warms up the heap and the compiler.
  const growth = ((last.residentMiB - middle.residentMiB) * 1024) / (last.turn - middle.turn);
  if (growth > 64) wrong.push(`memory grew by ${growth.toFixed(0)} KiB a turn`);
  // Every request carries the whole conversation, so a turn may become slower in proportion, but not faster than that.
  const early = (middle.ms - first.ms) / (middle.turn - first.turn);
  const late = (last.ms - middle.ms) / (last.turn - middle.turn);
  if (late > early * 4 + 2) wrong.push(`a turn took ${early.toFixed(2)} ms at first and ${late.toFixed(2)} ms at the end`);
  return wrong;
}

/** Prints its readings; what is wrong, in words. */
export async function runSteady(turns: number): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "thndrs-soak-"));
  try {
    await using server = startServer();
    const url = server.play({ turns, bytes: 24 });
    const work = join(directory, "work");
    await mkdir(join(work, ".git"), { recursive: true });
    await Bun.write(join(work, "notes.txt"), Array.from({ length: turns + 40 }, (_, n) => `note ${n + 1}\n`).join(""));
    // A window without end: this is about the loop, not about making room (window.ts).
    await Bun.write(join(directory, "config.toml"), '[models."ollama/bench"]\ncontext_window = 100000000\n');
    const child = Bun.spawn([binary, "-p", "go", "--model", "ollama/bench", "--quiet", `--max-turns=${turns + 10}`], {
      cwd: work,
      env: { PATH: "/usr/bin:/bin", HOME: directory, THNDRS_HOME: directory, OLLAMA_BASE_URL: url },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
    });
    const readings = await watch(child, server, Math.max(1, Math.floor(turns / 10)));
    for (const one of readings)
      console.log(
        `turn ${one.turn}\t${(one.ms / 1000).toFixed(1)} s\t${one.residentMiB.toFixed(0)} MiB\t${one.files} open files`,
      );
    const wrong = judge(readings);
    if (child.exitCode !== 0) wrong.push(`thndrs ended with ${child.exitCode ?? child.signalCode}`);
    if (server.arrivals().length !== turns + 1) wrong.push(`${server.arrivals().length} requests instead of ${turns + 1}`);
    return wrong;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
