/** What is called rg or fd may print anything, without end: the tools come back in time, say what happened, and leave nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import type { Engines } from "../../src/base/engines.ts";
import { createFirstPaths } from "../../src/tools/first-paths.ts";
import { type ListEngine, listFiles, runInside } from "../../src/tools/listing.ts";
import { searchFiles } from "../../src/tools/search.ts";
import { watchLoop } from "../support/loop-gaps.ts";
import { runningIn } from "../support/processes.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { searching, searchRequest } from "./search-place.ts";

let place: TempDir;
beforeAll(async () => {
  place = await tempDir({ "ws/a.ts": "needle\n", "ws/.git/HEAD": "" });
});
afterAll(() => place.remove());

/** More than an engine needs to show what it is. */
const SOON_MS = 3000;
/** Bounds for a busy machine; without turns of the event loop these floods take a minute or for ever, and all the memory there is. */
const MOST_MS = 10_000;
const MOST_BYTES = 1_000_000_000;
const LIMIT_MS = 150;

let programs = 0;

/** An executable that does this; the path of its directory, where it has this name. */
function program(name: string, script: string): string {
  const directory = place.at(`bin${++programs}`);
  mkdirSync(directory);
  writeFileSync(`${directory}/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(`${directory}/${name}`, 0o755);
  return directory;
}

const record = (type: string, data: object): string => JSON.stringify({ type, data });
const path = { text: "./b.ts" };
const BEGIN = record("begin", { path });
const END = record("end", { path, binary_offset: null });
const SUMMARY = record("summary", {});
const line = { path, lines: { text: "needle\n" }, line_number: 1, absolute_offset: 0, submatches: [{ start: 0, end: 6 }] };
const MATCH = record("match", line);
const CONTEXT = record("context", { ...line, submatches: [] });
const yes = (...lines: string[]): string => `yes '${lines.join("\n")}'`;

type Asked = { readonly signal?: AbortSignal; readonly accept?: () => boolean; readonly timeoutMs?: number };

const never = new AbortController().signal;

/** Runs it, and expects that it came back, that timers had their turn and that nothing is left running. */
async function inTime<T>(run: () => Promise<T>): Promise<T> {
  const before = process.memoryUsage.rss();
  const { value, tookMs, longestGapMs } = await watchLoop(run);
  expect(tookMs).toBeLessThan(MOST_MS);
  expect(longestGapMs).toBeLessThan(SOON_MS);
  expect(process.memoryUsage.rss() - before).toBeLessThan(MOST_BYTES);
  expect(runningIn(place.at("ws"))).toEqual([]);
  return value;
}

function search(script: string, asked: Asked = {}) {
  const request = { ...searchRequest(place.at("ws"), "needle"), timeoutMs: LIMIT_MS, ...asked };
  return inTime(() => searchFiles(request, `${program("rg", script)}/rg`));
}

async function list(engines: Partial<Engines>, asked: Asked = {}) {
  const found = createFirstPaths(100, asked.accept ?? (() => true));
  const order: readonly ListEngine[] = ["fd", "rg", "find"];
  const request = { root: place.at("ws"), base: "", includeHidden: false, includeIgnored: false, signal: never };
  const outcome = await inTime(() =>
    listFiles(
      { fd: undefined, rg: undefined, find: undefined, ...engines },
      order,
      { ...request, timeoutMs: LIMIT_MS, ...asked },
      found.take,
    ),
  );
  return { ...outcome, paths: found.paths() };
}

const listWithFd = (script: string, asked: Asked = {}) => list({ fd: `${program("fd", script)}/fd` }, asked);

const BROKEN = { ok: true, engine: "built-in", passedOver: "broken", end: "complete", total: 1 };
const TIMED_OUT = { ok: true, engine: "rg", end: "timeout", total: 0 };

describe("search: what cannot be ripgrep gives way to the built-in engine", () => {
  test.each([
    ["garbage lines", "exec yes garbage"],
    ["short lines", "exec yes"],
    ["empty lines", "exec yes ''"],
    ["half records", `exec yes '{"type":"match'`],
    ["matches of no file", `exec ${yes(MATCH)}`],
    ["one beginning after the other", `exec ${yes(BEGIN)}`],
    ["one summary after the other", `exec ${yes(SUMMARY)}`],
    ["garbage on both streams", "yes garbage >&2 & exec yes garbage"],
    ["garbage, ignoring TERM", "trap '' TERM; exec yes garbage"],
    ["garbage of a grandchild", "yes garbage & exit 0"],
    ["garbage of a grandchild in a session of its own", "setsid yes garbage & exit 0"],
    ["a silent grandchild that holds the output", "sleep 1000 & exit 0"],
  ])("%s", async (_, script) => {
    expect(await search(script, { timeoutMs: SOON_MS })).toMatchObject(BROKEN);
  });

  test("lines of context without end, in memory that has one", async () => {
    expect(await search(`echo '${BEGIN}'; exec ${yes(CONTEXT)}`, { timeoutMs: 10_000 })).toMatchObject(BROKEN);
  });

  test("the model is told", async () => {
    const tools = await searching(place.at("ws"), { PATH: program("rg", "exec yes garbage") });
    const result = await inTime(() => tools.search({ pattern: "needle" }));
    expect(result).toMatchObject({ status: "ok", truncated: false });
    expect(result.text).toBe("a.ts:1:needle\n[engine: built-in; ripgrep (rg) on PATH does not work]");
  });

  test("a banner before the records of a true ripgrep does no harm", async () => {
    const records = [BEGIN, MATCH, END, SUMMARY].map((each) => `'${each}'`).join(" ");
    const banner = "yes 'wrapped by somebody' | head -c 100000; echo";
    const outcome = await search(`${banner}; printf '%s\\n' ${records}`, { timeoutMs: SOON_MS });
    expect(outcome).toMatchObject({ ok: true, engine: "rg", end: "complete", total: 1, exact: true });
  });
});

describe("search: what could be ripgrep ends at a limit", () => {
  test.each([
    ["matches in one file", `echo '${BEGIN}'; exec ${yes(MATCH)}`],
    ["files with matches", `exec ${yes(BEGIN, MATCH, END)}`],
    ["matches, ignoring TERM", `trap '' TERM; echo '${BEGIN}'; exec ${yes(MATCH)}`],
  ])("the limit of results: %s", async (_, script) => {
    expect(await search(script, { timeoutMs: SOON_MS })).toMatchObject({ ok: true, engine: "rg", end: "limit", exact: false });
  });

  test.each([
    ["one endless line", "exec cat </dev/zero"],
    ["one endless record", `echo '${BEGIN}'; printf '{"type":"match","data":{"lines":{"text":"'; exec cat </dev/zero`],
    ["complaints without end", "exec yes 'rg: a: Permission denied' >&2"],
    ["one complaint without end", "exec cat </dev/zero >&2"],
    ["ignoring TERM", "trap '' TERM; exec cat </dev/zero"],
    ["its output closed, itself alive", "exec >&- 2>&-; exec sleep 1000"],
    ["a child in a session of its own", "setsid cat </dev/zero & wait"],
  ])("the limit of time: %s", async (_, script) => {
    expect(await search(script)).toMatchObject(TIMED_OUT);
  });

  test("the limit of time: matches in files that nobody asked about", async () => {
    expect(await search(`echo '${BEGIN}'; exec ${yes(MATCH)}`, { accept: () => false })).toMatchObject(TIMED_OUT);
  });

  test("Esc in the middle of a flood", async () => {
    const controller = new AbortController();
    const accept = (): boolean => {
      // Asked when the flood has begun; the timer has to find its turn in it.
      setTimeout(() => controller.abort(), 20);
      return false;
    };
    const asked = { accept, signal: controller.signal, timeoutMs: 10_000 };
    const outcome = await search(`echo '${BEGIN}'; exec ${yes(MATCH)}`, asked);
    expect(outcome).toMatchObject({ ok: true, end: "cancelled" });
  });
});

describe("listing", () => {
  const NEXT = { engine: "built-in", end: "complete", paths: ["a.ts"] };

  test.each([
    ["NUL without end", "exec cat </dev/zero"],
    ["lines instead of paths", "exec yes"],
    ["NUL, ignoring TERM", "trap '' TERM; exec cat </dev/zero"],
    ["NUL of a grandchild", "setsid cat </dev/zero & exit 0"],
    ["a silent grandchild that holds the output", "setsid sleep 1000 & exit 0"],
  ])("what cannot be fd gives way to the next engine: %s", async (_, script) => {
    expect(await listWithFd(script, { timeoutMs: SOON_MS })).toMatchObject(NEXT);
  });

  test.each([
    ["paths without end", "yes './b/c.ts' | tr '\\n' '\\0'"],
    ["the shortest paths without end", "yes b | tr '\\n' '\\0'"],
    ["complaints without end", "exec yes '[fd error]: a: Permission denied' >&2"],
    ["its output closed, itself alive", "exec >&- 2>&-; exec sleep 1000"],
  ])("what could be fd ends at the limit of time: %s", async (_, script) => {
    expect(await listWithFd(script)).toMatchObject({ engine: "fd", end: "timeout" });
  });

  test("rg --files and find are no better", async () => {
    for (const engine of ["rg", "find"] as const) {
      const paths = { [engine]: `${program(engine, "yes b | tr '\\n' '\\0'")}/${engine}` };
      expect(await list(paths)).toMatchObject({ engine, end: "timeout" });
    }
  });

  test("paths first and something else then is no complete list", async () => {
    const outcome = await listWithFd("yes b | tr '\\n' '\\0' | head -c 1000000; exec cat </dev/zero", { timeoutMs: SOON_MS });
    expect(outcome).toMatchObject({ engine: "fd", endedEarly: "fd printed something that is no path" });
    expect(outcome.paths[0]).toBe("b");
  });

  test("Esc in the middle of a flood", async () => {
    const controller = new AbortController();
    let isArmed = false;
    const accept = (): boolean => {
      if (!isArmed) setTimeout(() => controller.abort(), 20);
      isArmed = true;
      return true;
    };
    const asked = { accept, signal: controller.signal, timeoutMs: 10_000 };
    expect(await listWithFd("yes b | tr '\\n' '\\0'", asked)).toMatchObject({ engine: "fd", end: "cancelled" });
  });
});

test("an engine whose receiver throws has ended when that comes out", async () => {
  let pid = 0;
  const run = runInside(place.at("ws"), {
    argv: ["sh", "-c", "echo $$; exec sleep 9832"],
    env: { PATH: process.env.PATH ?? "" },
    onStdout(chunk) {
      pid = Number(new TextDecoder().decode(chunk));
      throw new Error("receiver");
    },
  });
  await expect(run).rejects.toThrow("receiver");
  expect(pid).toBeGreaterThan(0);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
