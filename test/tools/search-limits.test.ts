/** Time-outs and cancellation of searches, and line numbers shared with read_file_range. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listFiles } from "../../src/tools/listing.ts";
import { readFileRange } from "../../src/tools/read.ts";
import { sayProblems, sayStop } from "../../src/tools/result-text.ts";
import { searchFiles } from "../../src/tools/search.ts";
import { runningWith } from "../support/processes.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { fileTools } from "./file-context.ts";
import { freshWorkspace, searching, searchRequest } from "./search-place.ts";

let place: TempDir;
beforeAll(async () => {
  const endless = "#!/bin/sh\nsleep 1000 & wait\n";
  place = await tempDir({ "ws/a.ts": "needle\n", "ws/.git/HEAD": "", "endless/rg": endless, "endless/fd": endless });
  for (const name of ["rg", "fd"]) chmodSync(place.at(`endless/${name}`), 0o755);
});
afterAll(() => place.remove());

const never = new AbortController().signal;

test("a search that takes too long is stopped, and its process is gone", async () => {
  const pattern = `slow${process.pid}`;
  const outcome = await searchFiles({ ...searchRequest(place.at("ws"), pattern), timeoutMs: 200 }, place.at("endless/rg"));
  expect(outcome).toMatchObject({ ok: true, engine: "rg", end: "timeout", total: 0 });
  expect(runningWith(pattern)).toEqual([]);
  const request = { root: place.at("ws"), base: "", includeHidden: false, includeIgnored: false, signal: never, timeoutMs: 200 };
  const engines = { fd: place.at("endless/fd"), rg: undefined, find: undefined };
  const listed = await listFiles(engines, ["fd"], request, () => {});
  expect(listed).toMatchObject({ engine: "fd", end: "timeout" });
});

test("Esc in the middle of a search ends it at once", async () => {
  const pattern = `cancel${process.pid}`;
  const controller = new AbortController();
  const running = searchFiles({ ...searchRequest(place.at("ws"), pattern), signal: controller.signal }, place.at("endless/rg"));
  while (runningWith(pattern).length === 0) await Bun.sleep(5);
  const began = performance.now();
  controller.abort();
  expect(await running).toMatchObject({ ok: true, end: "cancelled" });
  expect(performance.now() - began).toBeLessThan(2000);
  expect(runningWith(pattern)).toEqual([]);
});

test("S14 what a stop says", () => {
  expect(sayStop("timeout", true)).toEqual(["[stopped after 10 s: incomplete; narrow path or glob]"]);
  expect(sayStop("timeout", false)).toEqual(["[stopped after 10 s: nothing found up to then; narrow path or glob]"]);
  expect(sayStop("cancelled", true)).toEqual(["[cancelled: incomplete]"]);
  expect(sayStop("complete", true)).toEqual([]);
});

test("the built-in engine is not held up by an ignore file that is a pipe", async () => {
  const root = await freshWorkspace(place, { "a.ts": "needle\n" });
  spawnSync("mkfifo", [join(root, ".ignore")]);
  const { search } = await searching(root, { PATH: "/nonexistent" });
  expect((await search({ pattern: "needle" })).text).toStartWith("a.ts:1:needle\n");
});

test("a line number from search_text is the same line in read_file_range", async () => {
  const root = place.at("lines");
  mkdirSync(root);
  const ends = ["\n", "\r\n", "\r", "\u2028", "\u0085", "\v", "\f", "\n\n", "\r\r\n"];
  const text = Array.from({ length: 90 }, (_, index) => `hit ${index}${ends[(index * 7) % ends.length]}`).join("");
  writeFileSync(join(root, "f"), `\ufeff${text}`);
  const tools = await fileTools(root);
  for (const env of [{ PATH: process.env.PATH }, { PATH: "/nonexistent" }]) {
    const { search } = await searching(root, env);
    const found = (await search({ pattern: "hit" })).text.split("\n").filter((line) => line.startsWith("f:"));
    expect(found.length).toBeGreaterThan(30);
    for (const line of found) {
      const [, number = "", shown = ""] = /^f:(\d+):(.*)$/s.exec(line) ?? [];
      const read = await tools.run(readFileRange, { path: "f", start_line: Number(number), end_line: Number(number) });
      expect(read.text).toContain(`\n${number}: ${shown}`);
    }
  }
});

test("an engine that is killed in the middle does not pass for one that has seen everything", async () => {
  const records = [
    '{"type":"begin","data":{"path":{"text":"./a.ts"}}}',
    '{"type":"match","data":{"path":{"text":"./a.ts"},"lines":{"text":"needle\\n"},"line_number":1,"submatches":[{"start":0,"end":6}]}}',
    '{"type":"end","data":{"path":{"text":"./a.ts"},"binary_offset":null}}',
  ];
  await using bin = await tempDir({
    rg: `#!/bin/sh\ncat <<'X'\n${records.join("\n")}\nX\nkill -9 $$\n`,
    fd: "#!/bin/sh\nprintf './a.ts\\0'\nkill -9 $$\n",
  });
  chmodSync(bin.at("rg"), 0o755);
  chmodSync(bin.at("fd"), 0o755);
  const found = await searchFiles(searchRequest(place.at("ws"), "needle"), bin.at("rg"));
  expect(found).toMatchObject({ ok: true, total: 1, exact: false, endedEarly: "rg ended early (SIGKILL)" });
  if (!found.ok) throw new Error(found.message);
  expect(sayProblems(found, "searched")).toEqual(["[incomplete: rg ended early (SIGKILL); repeat the call]"]);

  const listed: string[] = [];
  const request = { root: place.at("ws"), base: "", includeHidden: false, includeIgnored: true, signal: never };
  const engines = { fd: bin.at("fd"), rg: undefined, find: undefined };
  const outcome = await listFiles(engines, ["fd"], request, (paths) => listed.push(...paths));
  expect([listed, outcome.endedEarly]).toEqual([["a.ts"], "fd ended early (SIGKILL)"]);
});
