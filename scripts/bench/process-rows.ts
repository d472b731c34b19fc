/** Start, one shot, turns, answers, memory: thndrs beside the floor program, asked the same of the same server. */
import { binary } from "../build.ts";
import { type Contestant, median, peakMemory, race, type Sample, sample } from "./measure.ts";
import { ENV, type Place, thndrsRun } from "./place.ts";
import { alone, beside, type Goal, type Row, type Unit } from "./rows.ts";
import type { BenchServer, Scenario } from "./server.ts";

const TURNS = 20;
const LONG = 200;
const SHORT_TEXT = 24;

type Pair = { readonly thndrs: Contestant; readonly floor: Contestant };

function pair(place: Place, server: BenchServer, scenario: Scenario): Pair {
  const thndrs = thndrsRun(place, server, scenario, place.work);
  return { thndrs, floor: { ...thndrs, command: [place.floor, thndrs.env.OLLAMA_BASE_URL ?? "", "go"] } };
}

function of(samples: readonly Sample[], read: (one: Sample) => number | undefined): number {
  return median(samples.map((one) => read(one) ?? Number.NaN));
}

const wall = (one: Sample): number => one.wallMs;

function both(
  name: string,
  unit: Unit,
  samples: Record<"thndrs" | "floor", Sample[]>,
  read: (one: Sample) => number | undefined,
  goal?: Goal,
): Row {
  return beside(name, unit, of(samples.thndrs, read), of(samples.floor, read), goal);
}

export async function startRows(place: Place, _: BenchServer, rounds: number): Promise<Row[]> {
  const cwd = place.directory;
  const start = await race(
    { thndrs: { command: [binary, "--version"], cwd, env: ENV }, floor: { command: [place.oneLine], cwd, env: ENV } },
    rounds * 2,
  );
  return [both("--version, wall (floor: one line)", "ms", start, wall, { times: 1.5 })];
}

export async function shotRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const shot = await race(pair(place, server, { turns: 0, bytes: SHORT_TEXT }), rounds);
  // The floor came last: ours is asked once more for the request it makes.
  await sample(thndrsRun(place, server, { turns: 0, bytes: SHORT_TEXT }, place.work));
  const ours = JSON.parse(server.firstBody()) as { messages: { content: string }[]; tools: unknown[] };
  const bytes = Buffer.byteLength(ours.messages[0]?.content ?? "") + Buffer.byteLength(JSON.stringify(ours.tools));
  return [
    both("one shot, wall", "ms", shot, wall, { times: 2.5 }),
    both("start to first request", "ms", shot, (one) => one.firstRequestMs, { more: 20 }),
    alone("system prompt and tool catalog", "bytes", bytes, 14 * 1024),
  ];
}

/** Medians of the time between the end of a response and the next request, turn by turn over several runs. */
async function gapsOf(contestant: Contestant, server: BenchServer, rounds: number): Promise<number[]> {
  const all: (readonly number[])[] = [];
  for (let round = 0; round <= rounds; round++) {
    await sample(contestant);
    if (round > 0) all.push(server.gaps());
  }
  return (all[0] ?? []).map((_, turn) => median(all.map((gaps) => gaps[turn] ?? Number.NaN)));
}

export async function turnRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const some = Math.max(2, Math.ceil(rounds / 3));
  const short = pair(place, server, { turns: TURNS, bytes: SHORT_TEXT });
  const ours = await gapsOf(short.thndrs, server, some);
  const least = await gapsOf(short.floor, server, some);
  const long = await gapsOf(
    pair(place, server, { turns: LONG, bytes: SHORT_TEXT }).thndrs,
    server,
    Math.max(2, Math.ceil(rounds / 5)),
  );
  const twenty = (from: number): number => median(long.slice(from, from + 20));
  return [
    beside(`a turn (response to next request), median of ${TURNS}`, "ms", median(ours), median(least), { times: 0, more: 1.5 }),
    beside(`turns 180 to 200 (floor: turns 5 to 25)`, "ms", twenty(180), twenty(5), { times: 1.5, more: 0.3 }),
  ];
}

export async function answerRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const size = 1_000_000;
  const big = await race(pair(place, server, { turns: 0, bytes: size }), Math.ceil(rounds / 2));
  const lost = big.thndrs.find((one) => one.stdoutBytes < size * 0.99);
  if (lost) throw new Error(`the 1 MB answer arrived with ${lost.stdoutBytes} bytes`);
  return [both("1 MB answer in 20,000 deltas, CPU", "ms", big, (one) => one.cpuMs, { times: 2 })];
}

export async function memoryRows(place: Place, server: BenchServer): Promise<Row[]> {
  const row = async (name: string, contestants: Pair, goal?: Goal): Promise<Row> => {
    const peaks = { thndrs: [] as number[], floor: [] as number[] };
    for (let round = 0; round < 5; round++) {
      peaks.thndrs.push(await peakMemory(contestants.thndrs));
      peaks.floor.push(await peakMemory(contestants.floor));
    }
    return beside(name, "MiB", median(peaks.thndrs), median(peaks.floor), goal);
  };
  return [
    await row("one shot, peak memory", pair(place, server, { turns: 0, bytes: SHORT_TEXT, lingerMs: 30 }), { times: 2 }),
    await row(`${TURNS} turns, peak memory`, pair(place, server, { turns: TURNS, bytes: SHORT_TEXT, lingerMs: 30 })),
    await row("1 MB answer, peak memory", pair(place, server, { turns: 0, bytes: 1_000_000, lingerMs: 100 })),
  ];
}
