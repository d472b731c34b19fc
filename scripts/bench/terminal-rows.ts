/** The REPL beside print mode: the same stream, the same pseudo-terminal. */
import { binary } from "../build.ts";
import { median } from "./measure.ts";
import { type Place, thndrsRun } from "./place.ts";
import { beside, type Row } from "./rows.ts";
import type { BenchServer } from "./server.ts";

const SIZE = 1_000_000;
/** Longer than any run; a REPL that does not end would hold the benchmark for ever. */
const LIMIT_MS = 60_000;

type Typed = { readonly after: string; readonly keys: string };

/** One run on a terminal that types each thing once the screen has said what it waits for. User + system time, ms. */
async function terminalRun(command: readonly string[], cwd: string, env: Record<string, string>, typed: readonly Typed[]) {
  let seen = "";
  let next = 0;
  let bytes = 0;
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...env, TERM: "xterm-256color" },
    timeout: LIMIT_MS,
    terminal: {
      cols: 80,
      rows: 24,
      data(terminal, data) {
        bytes += data.length;
        seen = (seen + decoder.decode(data, { stream: true })).slice(-4000);
        const step = typed[next];
        if (step === undefined || !seen.includes(step.after)) return;
        next += 1;
        seen = "";
        terminal.write(step.keys);
      },
    },
  });
  await child.exited;
  if (child.exitCode !== 0 || bytes < SIZE) throw new Error(`${command.join(" ")} ended with ${child.exitCode}, ${bytes} bytes`);
  return Number(child.resourceUsage()?.cpuTime.total ?? Number.NaN) / 1000;
}

async function answerRow(what: string, markdown: boolean, place: Place, server: BenchServer, rounds: number): Promise<Row> {
  const scenario = { turns: 0, bytes: SIZE, markdown, last: "\n\nEND-OF-ANSWER" };
  const print = thndrsRun(place, server, scenario, place.work);
  const env = { ...print.env };
  const repl = [binary, "--model", "ollama/bench"];
  const typed = [
    { after: "❯", keys: "go\r" },
    { after: "END-OF-ANSWER", keys: "\x04" },
  ];
  const times = { repl: [] as number[], print: [] as number[] };
  for (let round = 0; round <= Math.ceil(rounds / 2); round++) {
    server.play(scenario);
    const asked = await terminalRun(print.command, place.work, env, []);
    server.play(scenario);
    const talked = await terminalRun(repl, place.work, env, typed);
    if (round === 0) continue;
    times.print.push(asked);
    times.repl.push(talked);
  }
  return beside(`${what} in the REPL, CPU (floor: print mode)`, "ms", median(times.repl), median(times.print), { times: 1.5 });
}

export async function terminalRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  return [
    await answerRow("1 MB answer", false, place, server, rounds),
    await answerRow("1 MB of Markdown", true, place, server, rounds),
  ];
}
