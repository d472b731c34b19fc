/** Tools on large trees and files, through the compiled binary, beside rg and fd with the same filters. */
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { median, peakMemory } from "./measure.ts";
import { type Place, thndrsRun } from "./place.ts";
import { alone, beside, type Row } from "./rows.ts";
import type { BenchServer, ToolCall } from "./server.ts";

/** Plays one call after the other and says what each took, by the binary's own clock. Throws when one fails. */
async function toolTimes(place: Place, server: BenchServer, cwd: string, calls: readonly ToolCall[]): Promise<number[]> {
  const run = thndrsRun(place, server, { turns: 0, bytes: 24, calls }, cwd, ["--output-format", "stream-json", "--ephemeral"]);
  const child = Bun.spawn([...run.command], { cwd, env: { ...run.env }, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  if (child.exitCode !== 0) throw new Error(`${run.command.join(" ")} ended with ${child.exitCode}\n${stderr}`);
  const ended = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter((event) => event.type === "tool_finished");
  const broken = ended.find((event) => event.status !== "ok");
  if (broken || ended.length !== calls.length) throw new Error(`a tool failed: ${JSON.stringify(broken)?.slice(0, 500)}`);
  return ended.map((event) => Number(event.elapsed_ms));
}

/** Wall clock of a raw command, its output read to the end. */
async function rawTime(command: readonly string[], cwd: string): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  await new Response(child.stdout).bytes();
  await child.exited;
  return performance.now() - started;
}

export async function searchRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const rg = Bun.which("rg");
  const fd = Bun.which("fd") ?? Bun.which("fdfind");
  if (rg === null || fd === null) {
    console.error("the search rows are left out: they stand beside rg and fd, and one of them is not installed");
    return [];
  }
  const tree = place.sources();
  const some = Math.min(9, Math.max(3, Math.ceil(rounds / 2)));
  const compare = async (name: string, call: (n: number) => ToolCall, raw: (n: number) => readonly string[]): Promise<Row> => {
    const ours: number[] = [];
    const theirs: number[] = [];
    // In turn, so that a noisy moment hits both. A first call in a small directory loads the tool.
    for (let n = 0; n <= some; n++) {
      const { name: tool, arguments: more } = call(n);
      const [, took] = await toolTimes(place, server, tree, [
        { name: tool, arguments: { ...more, path: "area-0/part-0" } },
        { name: tool, arguments: more },
      ]);
      ours.push(took ?? Number.NaN);
      theirs.push(await rawTime(raw(n), tree));
    }
    return beside(name, "ms", median(ours.slice(1)), median(theirs.slice(1)), { times: 1.2, more: 10 });
  };
  const search = (pattern: string): readonly string[] => [
    rg,
    "--no-config",
    "--json",
    "--no-ignore-global",
    "--crlf",
    "--",
    pattern,
    "./",
  ];
  return [
    await compare(
      "search_text, 50 matches in 50,000 files (floor: rg)",
      (n) => ({ name: "search_text", arguments: { pattern: `needle_${n % 10}\\b` } }),
      (n) => search(`needle_${n % 10}\\b`),
    ),
    await compare(
      "search_text, no match (floor: rg)",
      (n) => ({ name: "search_text", arguments: { pattern: `nowhere_${n}` } }),
      (n) => search(`nowhere_${n}`),
    ),
    await compare(
      "find_files *.tsx, 10,000 of 50,000 (floor: fd)",
      (n) => ({ name: "find_files", arguments: { pattern: "*.tsx", limit: 100 + n } }),
      () => [fd, "--type", "f", "--print0", "--glob", "*.tsx", "./"],
    ),
    await compare(
      "find_files, one file (floor: fd)",
      (n) => ({ name: "find_files", arguments: { pattern: `model-${n + 300}-7.ts` } }),
      (n) => [fd, "--type", "f", "--print0", "--full-path", "--ignore-case", "--fixed-strings", `model-${n + 300}-7.ts`, "./"],
    ),
  ];
}

const GIB = 2 ** 30;

export async function fileRows(place: Place, server: BenchServer, rounds: number): Promise<Row[]> {
  const some = Math.min(7, Math.max(3, Math.ceil(rounds / 3)));
  const line = `${"a line of a large file, as logs have them ".repeat(3)}\n`;
  const block = line.repeat(Math.floor(2 ** 20 / line.length));
  const linesPerBlock = block.length / line.length;
  const blocks = Math.ceil(GIB / block.length);
  const file = openSync(join(place.work, "huge.log"), "w");
  for (let n = 0; n < blocks; n++) writeSync(file, block);
  closeSync(file);
  const last = blocks * linesPerBlock;
  const tail = (n: number): ToolCall => ({ name: "read_file_range", arguments: { path: "huge.log", start_line: last - 19 - n } });
  const read = await toolTimes(
    place,
    server,
    place.work,
    Array.from({ length: some }, (_, n) => tail(n)),
  );
  const peak = await peakMemory(thndrsRun(place, server, { turns: 0, bytes: 24, calls: [tail(0)], lingerMs: 50 }, place.work));
  writeFileSync(join(place.work, "huge.log"), "");
  const text = Array.from({ length: 100_000 }, (_, n) => `line ${n}: ${"x".repeat(92)}`).join("\n");
  await Bun.write(join(place.work, "ten.txt"), text);
  const edit = (n: number): ToolCall => ({
    name: "replace_range",
    arguments: { path: "ten.txt", old_string: `line ${50_000 + n}: x`, new_string: `changed ${n}: x` },
  });
  const edits = await toolTimes(
    place,
    server,
    place.work,
    Array.from({ length: some }, (_, n) => edit(n)),
  );
  return [
    alone("read_file_range, last 20 lines of 1 GiB", "ms", median(read)),
    alone("the same, peak memory", "MiB", peak, 150),
    alone("replace_range in 10 MB", "ms", median(edits), 100),
  ];
}
