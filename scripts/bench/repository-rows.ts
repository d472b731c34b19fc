/** A repository of 100,000 files and 2,000 nested AGENTS.md beside the small workspace (C4: the index is off the path). */
import { binary } from "../build.ts";
import { median, race, sample } from "./measure.ts";
import { ENV, type Place, thndrsRun } from "./place.ts";
import { alone, beside, type Row } from "./rows.ts";
import type { BenchServer } from "./server.ts";

export async function repositoryRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const big = place.bigRepository();
  const scenario = { turns: 0, bytes: 24 };
  const runs = await race(
    { big: thndrsRun(place, server, scenario, big), small: thndrsRun(place, server, scenario, place.work) },
    rounds,
  );
  const first = (name: "big" | "small"): number => median(runs[name].map((one) => one.firstRequestMs ?? Number.NaN));
  const walls = (name: "big" | "small"): number => median(runs[name].map((one) => one.wallMs));
  const listed: number[] = [];
  for (let round = 0; round < Math.max(3, Math.ceil(rounds / 3)); round++) {
    const one = await sample({ command: [binary, "context", "--json"], cwd: big, env: { ...ENV, HOME: place.home } });
    listed.push(one.wallMs);
  }
  return [
    beside("100,000 files: start to first request (floor: small workspace)", "ms", first("big"), first("small"), {
      times: 1.1,
      more: 3,
    }),
    beside("100,000 files: one shot, wall (floor: small workspace)", "ms", walls("big"), walls("small")),
    alone("100,000 files: thndrs context --json, wall", "ms", median(listed), 1500),
  ];
}
