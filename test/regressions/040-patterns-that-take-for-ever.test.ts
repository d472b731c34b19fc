/**
 * Without rg a pattern like `function.*return.*foo` on a minified line held up the whole program for minutes: JavaScript's regular
 * expressions cannot be interrupted, and neither the limit of a search nor Ctrl+C had its turn. Where rg could not serve, the same.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { searchBuiltIn } from "../../src/tools/search-builtin.ts";
import { watchLoop } from "../support/loop-gaps.ts";
import { startModel } from "../support/model.ts";
import { pick, seededRandom } from "../support/random-tree.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { searchRequest } from "../tools/search-place.ts";

// A busy machine is slower than the default allows.
setDefaultTimeout(30_000);

const MINIFIED = "function f(){var x=1;return x+1}".repeat(9600);
/** Where backtracking takes seconds to centuries. */
const CASES: readonly (readonly [string, string, number])[] = [
  ["function.*return.*foo", MINIFIED, 0],
  ["function.*return.*[%]", MINIFIED, 0],
  ["\\w+\\s*=\\s*\\w+\\s*;.*notthere", MINIFIED, 0],
  [".*.*.*=z", "x".repeat(20_000), 0],
  [".*.*.*=[yz]", "x".repeat(20_000), 0],
  ["\\s+$", `${" ".repeat(200_000)}x`, 0],
  ["(a?){34}a{34}[bc]", "a".repeat(40), 0],
  ["(a?){34}a{34}", "a".repeat(40), 1],
  ["(a+)+$", `${"a".repeat(600)}b`, 0],
  ["(a|aa)+$", `${"a".repeat(600)}b`, 0],
  ["(?:a{1,}){2,}c|(a\\d*){10,}[d]", "a".repeat(600), 0],
];
/** No way is known to match this fast: every character leads to a new set of two hundred ways. */
const SLOW = "[ab]*a[ab]{200}[cd]";
const random = seededRandom(40);
const SLOW_LINE = Array.from({ length: 1_000_000 }, () => pick(random, ["a", "b"])).join("");

const LONGEST_GAP_MS = 1000;

let place: TempDir;
beforeAll(async () => {
  place = await tempDir({ "slow/.git/HEAD": "", "slow/f.txt": `${SLOW_LINE}\n`, "bin/none": "" });
});
afterAll(() => place.remove());

test.each(CASES)("%s is searched for", async (pattern, line, total) => {
  await using ws = await tempDir({ "f.txt": `${line}\n` });
  const { value, longestGapMs } = await watchLoop(() => searchBuiltIn(searchRequest(ws.path, pattern)));
  expect(value).toMatchObject({ ok: true, end: "complete", total });
  expect(longestGapMs).toBeLessThan(LONGEST_GAP_MS);
});

test("what takes long ends at the limit of time", async () => {
  const request = { ...searchRequest(place.at("slow"), SLOW), timeoutMs: 200 };
  const { value, tookMs, longestGapMs } = await watchLoop(() => searchBuiltIn(request));
  expect(value).toMatchObject({ ok: true, end: "timeout", exact: false });
  expect(tookMs).toBeLessThan(2000);
  expect(longestGapMs).toBeLessThan(LONGEST_GAP_MS);
});

test("Esc ends it at once", async () => {
  const controller = new AbortController();
  let abortedAt = 0;
  const timer = setTimeout(() => {
    abortedAt = performance.now();
    controller.abort();
  }, 100);
  const outcome = await searchBuiltIn({ ...searchRequest(place.at("slow"), SLOW), signal: controller.signal });
  clearTimeout(timer);
  expect(outcome).toMatchObject({ ok: true, end: "cancelled" });
  expect(performance.now() - abortedAt).toBeLessThan(LONGEST_GAP_MS);
});

test("the binary: such patterns are answered, without rg and where its rules are not ours", async () => {
  const calls = CASES.slice(0, 3).map(([pattern]) => ({ name: "search_text", arguments: { pattern, path: "src" } }));
  await using outer = await tempDir({ ".gitignore": "x\n", "ws/src/min.js": `${MINIFIED}\n` });
  for (const path of [place.at("bin"), "/usr/bin:/bin"]) {
    await using model = await startModel([{ calls }, { text: "done" }]);
    const result = await runThndrs({ args: ["-p", "go"], cwd: outer.at("ws"), path, env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "done\n" });
    expect(model.server.requests[1]?.raw.split("engine: built-in")).toHaveLength(4);
  }
});

test("the binary: Ctrl+C in the middle of a slow one ends the program", async () => {
  await using model = await startModel([{ calls: [{ name: "search_text", arguments: { pattern: SLOW } }] }, { text: "never" }]);
  const args = ["-p", "go", "--output-format", "stream-json"];
  await using running = await startThndrs({ args, cwd: place.at("slow"), path: place.at("bin"), env: model.env });
  await running.waitFor("tool_started", "stdout");
  const began = performance.now();
  running.signal("SIGINT");
  expect((await running.exited).code).toBe(130);
  // Less than the limit of a search, far more than it takes.
  expect(performance.now() - began).toBeLessThan(5000);
});
