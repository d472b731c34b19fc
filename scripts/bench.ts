/**
 * `bun run bench`: thndrs beside the least programs that do the same (scripts/bench/), built with the same options and run in
 * turn. A table on a terminal, `--json` for machines, `--rounds=N`, `--check` to end with 1 when a goal is missed.
 * Refuses: absolute numbers as goals; machines differ, ratios much less.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Contestant, median, peakMemory, race, type Sample } from "./bench/measure.ts";
import { type BenchServer, type Scenario, startServer } from "./bench/server.ts";
import { binary, build, compile } from "./build.ts";
import { args, install, root } from "./steps.ts";

export type Row = {
  readonly name: string;
  readonly unit: "ms" | "MiB";
  readonly thndrs: number;
  readonly floor: number;
  readonly ratio: number;
  /** Largest ratio that is good enough. */
  readonly goal?: number;
};

type Place = { readonly directory: string; readonly floor: string; readonly oneLine: string };

const ENV = { PATH: "/usr/bin:/bin", TERM: "dumb" };

function row(name: string, unit: Row["unit"], thndrs: number, floor: number, goal?: number): Row {
  return { name, unit, thndrs, floor, ratio: thndrs / floor, ...(goal === undefined ? {} : { goal }) };
}

async function memoryRow(name: string, contestants: { thndrs: Contestant; floor: Contestant }): Promise<Row> {
  const peaks = { thndrs: [] as number[], floor: [] as number[] };
  for (let round = 0; round < 5; round++) {
    peaks.thndrs.push(await peakMemory(contestants.thndrs));
    peaks.floor.push(await peakMemory(contestants.floor));
  }
  return row(name, "MiB", median(peaks.thndrs), median(peaks.floor));
}

function of(samples: readonly Sample[], read: (sample: Sample) => number | undefined): number {
  return median(samples.map((one) => read(one) ?? Number.NaN));
}

async function prepare(): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), "thndrs-bench-"));
  const floor = join(directory, "floor");
  const oneLine = join(directory, "one-line");
  await compile(join(root, "scripts", "bench", "floor.ts"), floor);
  await compile(join(root, "scripts", "bench", "one-line.ts"), oneLine);
  await mkdir(join(directory, "work", ".git"), { recursive: true });
  await mkdir(join(directory, "home"));
  await Bun.write(join(directory, "work", "notes.txt"), Array.from({ length: 40 }, (_, n) => `note ${n + 1}\n`).join(""));
  return { directory, floor, oneLine };
}

/** thndrs and the floor program, asked the same of the same server. */
function pair(place: Place, server: BenchServer, scenario: Scenario): { thndrs: Contestant; floor: Contestant } {
  const url = server.play(scenario);
  const prepareRun = () => {
    server.play(scenario);
    return () => server.arrivals()[0];
  };
  const cwd = join(place.directory, "work");
  const env = { ...ENV, HOME: join(place.directory, "home"), OLLAMA_BASE_URL: url };
  return {
    thndrs: { command: [binary, "-p", "go", "--model", "ollama/bench", "--quiet"], cwd, env, prepare: prepareRun },
    floor: { command: [place.floor, url, "go"], cwd, env, prepare: prepareRun },
  };
}

async function measure(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const cwd = place.directory;
  const start = await race(
    { thndrs: { command: [binary, "--version"], cwd, env: ENV }, floor: { command: [place.oneLine], cwd, env: ENV } },
    rounds * 2,
  );
  const wall = (one: Sample) => one.wallMs;
  const rows = [row("--version, wall (floor: one line)", "ms", of(start.thndrs, wall), of(start.floor, wall), 2)];

  const turns = 20;
  const shot = await race(pair(place, server, { turns: 0, bytes: 24 }), rounds);
  const long = await race(pair(place, server, { turns, bytes: 24 }), Math.ceil(rounds / 2));
  const big = await race(pair(place, server, { turns: 0, bytes: 2 ** 20 }), Math.ceil(rounds / 2));
  const both = (
    name: string,
    unit: Row["unit"],
    samples: { thndrs: Sample[]; floor: Sample[] },
    read: (one: Sample) => number | undefined,
  ) => row(name, unit, of(samples.thndrs, read), of(samples.floor, read));
  const perTurn = (name: "thndrs" | "floor") => (of(long[name], wall) - of(shot[name], wall)) / turns;
  rows.push(
    both("one shot, wall", "ms", shot, wall),
    both("start to first request", "ms", shot, (one) => one.firstRequestMs),
    row(`per turn, over ${turns} turns`, "ms", perTurn("thndrs"), perTurn("floor")),
    both("1 MiB answer, CPU", "ms", big, (one) => one.cpuMs),
    await memoryRow("one shot, peak memory", pair(place, server, { turns: 0, bytes: 24, lingerMs: 30 })),
    await memoryRow(`${turns} turns, peak memory`, pair(place, server, { turns, bytes: 24, lingerMs: 30 })),
    await memoryRow("1 MiB answer, peak memory", pair(place, server, { turns: 0, bytes: 2 ** 20, lingerMs: 100 })),
  );
  const lost = big.thndrs.find((one) => one.stdoutBytes < 2 ** 20 * 0.99);
  if (lost) throw new Error(`the 1 MiB answer arrived with ${lost.stdoutBytes} bytes`);
  return rows;
}

function missed(one: Row): boolean {
  return one.goal !== undefined && !(one.ratio <= one.goal);
}

function table(rows: readonly Row[]): string {
  const head = ["", "thndrs", "floor", "ratio", "goal"];
  const body = rows.map((one) => [
    one.name,
    `${one.thndrs.toFixed(1)} ${one.unit}`,
    `${one.floor.toFixed(1)} ${one.unit}`,
    `${one.ratio.toFixed(2)}×`,
    one.goal === undefined ? "" : `≤ ${one.goal}×${missed(one) ? "  MISSED" : ""}`,
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((cells) => Bun.stringWidth(cells[column] ?? ""))));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        const gap = " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell));
        return column === 0 || column === 4 ? cell + gap : gap + cell;
      })
      .join("  ")
      .trimEnd();
  return [head, ...body].map(line).join("\n");
}

async function bench(): Promise<number> {
  await install();
  await build();
  const rounds = Number(args.find((arg) => arg.startsWith("--rounds="))?.slice("--rounds=".length) ?? 15);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number from 1");
  const place = await prepare();
  try {
    await using server = startServer();
    const rows = await measure(place, server, rounds);
    const facts = { bun: Bun.version, platform: `${process.platform}-${process.arch}`, rounds };
    if (args.includes("--json")) console.log(JSON.stringify({ version: 1, ...facts, rows }, null, 2));
    else console.log(`${table(rows)}\n\nmedians of ${rounds} interleaved rounds, Bun ${facts.bun}, ${facts.platform}`);
    return args.includes("--check") && rows.some(missed) ? 1 : 0;
  } finally {
    await rm(place.directory, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exitCode = await bench();
