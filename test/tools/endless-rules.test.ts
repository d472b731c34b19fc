/** An ignore file without an end, which fd and rg open and git does not, costs neither memory nor what there is to find. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { type ListEngine, listFiles } from "../../src/tools/listing.ts";
import { searchFiles } from "../../src/tools/search.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { freshWorkspace, installed, searching, searchRequest } from "./search-place.ts";

// An engine that is not stopped goes on for the ten seconds of a search.
setDefaultTimeout(60_000);

let place: TempDir;
beforeAll(async () => {
  place = await tempDir();
});
afterAll(() => place.remove());

type Trap = (path: string) => void;
const device: Trap = (path) => symlinkSync("/dev/zero", path);
const pipe: Trap = (path) => void spawnSync("mkfifo", [path]);
const huge: Trap = (path) => {
  spawnSync("touch", [path]);
  truncateSync(path, 4_000_000_000);
};

/** Whether this kernel says where somebody waits. */
const saysWhere = existsSync("/proc/kallsyms") && existsSync("/proc/self/wchan");

async function makeTree(at: string, trap: Trap): Promise<string> {
  const root = await freshWorkspace(place, { ".git/HEAD": "", "a/a.txt": "needle\n", "d/d.txt": "needle\n", ".git/info/x": "" });
  trap(join(root, at));
  return root;
}

async function expectAll(root: string, passedOver: "rules" | "trapped"): Promise<void> {
  const found = await searchFiles(searchRequest(root, "needle"), installed.rg);
  expect(found).toMatchObject({ ok: true, end: "complete", passedOver, files: [{ path: "a/a.txt" }, { path: "d/d.txt" }] });
  for (const engine of ["fd", "rg"] satisfies ListEngine[]) {
    const listed: string[] = [];
    const request = { ...searchRequest(root, ""), forget: () => void listed.splice(0) };
    const outcome = await listFiles(installed, [engine], request, (paths) => listed.push(...paths));
    expect([outcome.engine, outcome.end, listed.sort()]).toEqual(["built-in", "complete", ["a/a.txt", "d/d.txt"]]);
  }
}

test.skipIf(process.platform !== "linux").each([
  [".gitignore", device],
  [".ignore", device],
  [".git/info/exclude", device],
  [".gitignore", pipe],
  [".gitignore", huge],
])("%s at the root: no engine is started", async (at, trap) => {
  await expectAll(await makeTree(at, trap), "rules");
});

test.skipIf(process.platform !== "linux").each([
  ["d/.gitignore", device],
  ["d/.ignore", device],
  ["d/.gitignore", huge],
])("%s further down: the engine is stopped, the built-in walk serves", async (at, trap) => {
  await expectAll(await makeTree(at, trap), "trapped");
});

test.skipIf(!saysWhere)("a pipe further down: the engine is stopped, the built-in walk serves", async () => {
  const root = await makeTree("d/.gitignore", pipe);
  await expectAll(root, "trapped");
  const { search, find } = await searching(root);
  expect((await search({ pattern: "needle" })).text).toContain(
    "[engine: built-in; ripgrep (rg) was stopped, it read without end",
  );
  expect((await find({ pattern: "*.txt" })).text).toBe("a/a.txt\nd/d.txt");
});

test.skipIf(process.platform !== "linux")("what was listed before the engine was stopped does not count twice", async () => {
  const root = await makeTree("d/.gitignore", () => {});
  const body = "printf './a/a.txt\\0./d/d.txt\\0'; exec 3</dev/zero; sleep 60";
  const fake = place.at("fake-fd");
  await Bun.write(fake, `#!/bin/sh\n${body}\n`);
  spawnSync("chmod", ["755", fake]);
  const taken: string[] = [];
  const forgotten: string[] = [];
  const request = { ...searchRequest(root, ""), forget: () => void forgotten.push(...taken) };
  const engines = { fd: fake, rg: undefined, find: undefined };
  const both = ["a/a.txt", "d/d.txt"];
  await listFiles(engines, ["fd"], request, (paths) => taken.push(...paths));
  expect([forgotten, taken]).toEqual([both, [...both, ...both]]);
});
