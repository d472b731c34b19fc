/**
 * `bun run bench [--only=PART,…] [--rounds=N] [--json] [--check]`: thndrs beside the least programs that do the same
 * (scripts/bench/), built with the same options and run in turn. A table on a terminal, `--json` for machines, `--check` to end
 * with 1 when a goal is missed. Parts: start, shot, turns, answer, terminal, memory, repository, search, files, log.
 * Refuses: absolute numbers as goals where a ratio says it; machines differ, ratios much less.
 */
import { logRows } from "./bench/log-rows.ts";
import { type Place, preparePlace } from "./bench/place.ts";
import { answerRows, memoryRows, shotRows, startRows, turnRows } from "./bench/process-rows.ts";
import { repositoryRows } from "./bench/repository-rows.ts";
import { missed, type Row, table } from "./bench/rows.ts";
import { type BenchServer, startServer } from "./bench/server.ts";
import { terminalRows } from "./bench/terminal-rows.ts";
import { fileRows, searchRows } from "./bench/tool-rows.ts";
import { build } from "./build.ts";
import { args, install } from "./steps.ts";

type Part = (place: Place, server: BenchServer, rounds: number) => Promise<Row[]>;

const PARTS: Readonly<Record<string, Part>> = {
  start: startRows,
  shot: shotRows,
  turns: turnRows,
  answer: answerRows,
  terminal: terminalRows,
  memory: memoryRows,
  repository: repositoryRows,
  search: searchRows,
  files: fileRows,
  log: logRows,
};

function textOf(name: string): string | undefined {
  return args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

async function bench(): Promise<number> {
  const rounds = Number(textOf("rounds") ?? 15);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number from 1");
  const names = textOf("only")?.split(",") ?? Object.keys(PARTS);
  const unknown = names.find((name) => PARTS[name] === undefined);
  if (unknown !== undefined) throw new Error(`--only knows ${Object.keys(PARTS).join(", ")}; not ${unknown}`);
  await install();
  await build();
  const json = args.includes("--json");
  using place = await preparePlace();
  await using server = startServer();
  const rows: Row[] = [];
  for (const name of names) {
    if (!json && process.stderr.isTTY) process.stderr.write(`${name} …\n`);
    rows.push(...((await PARTS[name]?.(place, server, rounds)) ?? []));
  }
  const facts = { bun: Bun.version, platform: `${process.platform}-${process.arch}`, rounds };
  if (json) console.log(JSON.stringify({ version: 1, ...facts, rows }, null, 2));
  else console.log(`${table(rows)}\n\nmedians of up to ${rounds} interleaved rounds, Bun ${facts.bun}, ${facts.platform}`);
  return args.includes("--check") && rows.some(missed) ? 1 : 0;
}

if (import.meta.main) process.exitCode = await bench();
