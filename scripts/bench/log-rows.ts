/** The session log: what one record costs, and what a resume of 10,000 records adds to a start. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openSessionLog } from "../../src/session/log.ts";
import type { SessionRecord } from "../../src/session/records.ts";
import { median, race } from "./measure.ts";
import { type Place, thndrsRun } from "./place.ts";
import { alone, type Row } from "./rows.ts";
import type { BenchServer } from "./server.ts";

const RECORDS = 10_000;

/** A turn of four records, about as long as real ones. */
function turn(n: number): readonly SessionRecord[] {
  const turn_id = `turn-${n + 1}`;
  const call_id = `call_${n}`;
  return [
    { type: "user", turn_id, text: `look at note ${n}` },
    { type: "tool_started", turn_id, call_id, name: "read_file_range", arguments: { path: "notes.txt", start_line: n } },
    {
      type: "tool_finished",
      turn_id,
      call_id,
      status: "ok",
      output: `${n}: ${"a note ".repeat(30)}`,
      truncated: false,
      elapsed_ms: 1,
    },
    { type: "assistant_finished", turn_id, text: `Note ${n} says nothing new.` },
  ];
}

export async function logRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const fresh = join(place.directory, "fresh");
  const resumed = join(place.directory, "resumed");
  for (const directory of [fresh, resumed]) mkdirSync(join(directory, ".git"), { recursive: true });
  // A window without end: making room is measured by the soak.
  await Bun.write(join(place.home, ".config", "thndrs", "config.toml"), '[models."ollama/bench"]\ncontext_window = 100000000\n');
  try {
    const scenario = { turns: 0, bytes: 24 };
    await race({ one: thndrsRun(place, server, scenario, resumed) }, 1);
    const dir = join(resumed, ".thndrs", "sessions");
    const [name] = await Array.fromAsync(new Bun.Glob("*.jsonl").scan({ cwd: dir }));
    const id = (name ?? "").replace(/\.jsonl$/, "");
    for await (const other of new Bun.Glob("*.jsonl").scan({ cwd: dir })) if (other !== name) rmSync(join(dir, other));
    const log = await openSessionLog({ dir, id, resume: true, onBroken: (message) => Promise.reject(new Error(message)) });
    const times: number[] = [];
    for (let n = 0; n * 4 < RECORDS; n++) {
      const records = turn(n);
      const started = performance.now();
      for (const record of records) log.append(record);
      times.push(((performance.now() - started) * 1000) / records.length);
    }
    log.close();
    const runs = await race(
      {
        resumed: thndrsRun(place, server, scenario, resumed, ["--resume", id]),
        fresh: thndrsRun(place, server, scenario, fresh),
      },
      Math.max(3, Math.ceil(rounds / 2)),
    );
    const first = (which: "resumed" | "fresh"): number => median(runs[which].map((one) => one.firstRequestMs ?? Number.NaN));
    return [
      alone("log append, one record", "µs", median(times), 50),
      alone(
        `resume of ${RECORDS.toLocaleString("en")} records, beyond a fresh start`,
        "ms",
        first("resumed") - first("fresh"),
        150,
      ),
    ];
  } finally {
    rmSync(join(place.home, ".config"), { recursive: true, force: true });
  }
}
