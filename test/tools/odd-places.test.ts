/** Paths and trees that cannot be looked at are said, or passed over; they are no reason to throw. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { giveTo, type TempDir, tempDir } from "../support/temp.ts";
import { freshWorkspace, installed, pathOf, searching } from "./search-place.ts";

// Starts a runtime a call: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

let place: TempDir;
/** PATH values: every engine, and none but `find`. */
let paths: readonly string[];
beforeAll(async () => {
  place = await tempDir();
  paths = [process.env.PATH ?? "", pathOf(place.at("find-only"), { find: installed.find })];
});
afterAll(() => place.remove());

test("a path below a file, or longer than any, does not exist", async () => {
  const root = await freshWorkspace(place, { "README.md": "x\n" });
  for (const PATH of paths) {
    const { search, find, list } = await searching(root, { PATH });
    for (const path of ["README.md/x", "x/".repeat(3000), "é".repeat(3000)]) {
      for (const result of [await search({ pattern: "x", path }), await find({ pattern: "x", path }), await list({ path })]) {
        expect(result.status).toBe("failed");
        expect(result.text).toMatch(/does not exist|is too long/);
      }
      expect((await find({ pattern: path })).status).toBe("ok");
    }
  }
});

test.each([
  ["a circle", ".git", "d/.git"],
  ["below a file", "a/b", "d/.git"],
  ["nowhere", "nothing", "d/.git"],
  ["a circle at the root", ".git", ".git"],
])("a .git that is a link to %s makes no repository and no error", async (_, target, at) => {
  const root = await freshWorkspace(place, { "d/a": "needle\n", "d/.gitignore": "b\n", "d/b": "needle\n" });
  symlinkSync(target, join(root, at));
  for (const PATH of paths) {
    const { search, find } = await searching(root, { PATH });
    expect((await find({ pattern: "*" })).text).toBe("d/a");
    expect((await search({ pattern: "needle" })).text).toStartWith("d/a:1:needle");
    expect((await find({ pattern: "*", path: "d" })).text).toBe("d/a");
  }
});

test("a directory that may be listed and not entered", async () => {
  const root = await freshWorkspace(place, { "d/a": "needle\n", "b/a": "needle\n" });
  chmodSync(place.path, 0o755);
  giveTo(root, 65534);
  chmodSync(join(root, "d"), 0o444);
  const calls = [
    ["find", { pattern: "a*" }],
    ["find", { pattern: "d/a" }],
    ["search", { pattern: "needle" }],
    ["list", { path: "d" }],
  ] as const;
  for (const path of paths) {
    for (const [tool, input] of calls) {
      const script = [process.execPath, join(import.meta.dir, "search-place.ts"), root, path, tool, JSON.stringify(input)];
      const drop = ["--reuid=65534", "--regid=65534", "--clear-groups"];
      const env = { PATH: process.env.PATH, HOME: place.path };
      const done = spawnSync("setpriv", [...drop, ...script], { encoding: "utf8", env });
      expect({ tool, ...JSON.parse(done.stdout || JSON.stringify({ text: done.stderr })) }).toMatchObject({ tool, status: "ok" });
    }
  }
  chmodSync(join(root, "d"), 0o755);
});

test("a chain of directories longer than a path can be", async () => {
  const root = await freshWorkspace(place, { "a.txt": "" });
  const name = "n".repeat(200);
  spawnSync("sh", ["-c", `for i in $(seq 40); do mkdir ${name}; cd ${name}; done; touch b.txt .gitignore; mkdir .git`], {
    cwd: root,
  });
  for (const PATH of paths) {
    const { find } = await searching(root, { PATH });
    const { status, text } = await find({ pattern: "*.txt" });
    expect([status, text.startsWith("a.txt")]).toEqual(["ok", true]);
  }
  spawnSync("rm", ["-rf", join(root, name)]);
});

test("an rg inside the workspace is not run, and that is what is said", async () => {
  const root = await freshWorkspace(place, { "a.txt": "needle\n" });
  const PATH = pathOf(join(root, "bin"), { rg: installed.rg });
  const { search } = await searching(root, { PATH });
  const said = "[engine: built-in; ripgrep (rg) on PATH lies inside the workspace, whose programs are not run]";
  expect((await search({ pattern: "needle" })).text).toBe(`a.txt:1:needle\n${said}`);
});

test("the whole machine as a workspace", async () => {
  for (const PATH of [...paths, "/nonexistent"]) {
    const { search, find, list } = await searching("/", { PATH });
    expect((await search({ pattern: "^root:", path: "etc", glob: "passwd" })).text).toStartWith("etc/passwd:1:root:");
    expect((await find({ pattern: "passwd", path: "etc", max_depth: 1 })).text).toContain("etc/passwd");
    expect((await list({ path: "etc", glob: "etc/passwd" })).text).toContain("etc/passwd");
  }
});
