/**
 * `bun run soak [--only=PART,…] [--seed=N] [--turns=N] [--kills=N] [--tasks=N]`: long and hostile runs of the compiled binary,
 * judged from outside. Ends with 1 when a promise is broken. Parts, each a file in scripts/soak/:
 *   steady  one run of many turns: memory, open files and the time of a turn stay flat
 *   kills   sessions killed at random moments and gone on with
 *   window  500 turns in a window of 8,000 tokens, beside a run without a limit
 *   crash   kills around a compaction: the conversation is the one before or the one after
 *   chaos   500 tasks of ten turns against a server that goes wrong at random
 * Refuses: judging absolute speed (bench does).
 */
import { build } from "./build.ts";
import { chaos, chaosLines } from "./soak/chaos.ts";
import { crashCompactions } from "./soak/compaction-crash.ts";
import { runKills } from "./soak/kills.ts";
import { runSteady } from "./soak/steady.ts";
import { UNLIMITED, WINDOW, windowLines, windowRun } from "./soak/window.ts";
import { args, install } from "./steps.ts";

function textOf(name: string): string | undefined {
  return args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

function numberOf(name: string, otherwise: number): number {
  const number = Number(textOf(name) ?? otherwise);
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} takes a whole number from 1`);
  return number;
}

/** Said with every failure, so that it can be had again. */
const seed = numberOf("seed", (Date.now() % 1_000_000) + 1);

async function window(): Promise<string[]> {
  const turns = numberOf("turns", 500);
  const runs = [
    await windowRun("one long turn", { turns, wire: "chat", window: WINDOW }),
    await windowRun("the same without a limit", { turns, wire: "chat", window: UNLIMITED }),
    await windowRun("one long turn, responses", { turns, wire: "responses", window: WINDOW }),
    await windowRun("two turns a process", { turns, wire: "anthropic", window: WINDOW, perRun: 2 }),
  ];
  console.log(windowLines(runs).join("\n"));
  return runs.flatMap((run) => run.problems);
}

async function crash(): Promise<string[]> {
  const wrong: string[] = [];
  for (const wire of ["chat", "responses", "anthropic"] as const) {
    const { kills, compactions, turns, problems } = await crashCompactions({ kills: numberOf("kills", 36), seed, wire });
    const moments = [...kills].map(([moment, times]) => `${moment} ${times}×`).join(", ");
    console.log(`${wire}\t${turns} turns, ${compactions} compactions, killed: ${moments}`);
    wrong.push(...problems.map((problem) => `${wire}, seed ${seed}: ${problem}`));
  }
  return wrong;
}

async function hostile(): Promise<string[]> {
  const report = await chaos({ tasks: numberOf("tasks", 500), seed, parallel: 4 });
  console.log(chaosLines(report).join("\n"));
  return [...report.problems];
}

const PARTS: Readonly<Record<string, () => Promise<string[]>>> = {
  steady: () => runSteady(numberOf("turns", 1000)),
  kills: () => runKills(numberOf("kills", 100), seed),
  window,
  crash,
  chaos: hostile,
};

async function soak(): Promise<number> {
  await install();
  await build();
  const wanted = textOf("only")?.split(",") ?? Object.keys(PARTS);
  let broken = 0;
  for (const name of wanted) {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`--only knows ${Object.keys(PARTS).join(", ")}`);
    console.log(`── ${name}`);
    const wrong = await part();
    broken += wrong.length;
    console.log(wrong.length === 0 ? `${name}: well` : wrong.map((one) => `${name}: WRONG ${one}`).join("\n"));
  }
  return broken === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await soak();
