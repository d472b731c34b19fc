/** The in-process walk and its ignore rules, against git's own opinion. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anchorRule, IgnoreTree } from "../../src/base/ignore-rules.ts";
import { isHiddenBelow, type WalkOptions, walkFiles } from "../../src/base/walk.ts";
import { randomTree, seededRandom } from "../support/random-tree.ts";
import { initGit, type TempDir, tempDir } from "../support/temp.ts";

// Many small processes and files: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

let place: TempDir;
beforeAll(async () => {
  place = await tempDir();
});
afterAll(() => place.remove());

async function walk(root: string, options: Partial<WalkOptions> = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const paths of walkFiles({ root, base: "", includeHidden: false, includeIgnored: false, ...options })) {
    expect(paths.length).toBeGreaterThan(0);
    found.push(...paths);
  }
  return found;
}

test.each([1, 2, 3])("generated tree %d: what git leaves untracked is what the walk leaves out", async (seed) => {
  const root = place.at(`git${seed}`);
  // Nested repositories and .ignore files are thndrs' business, not git's.
  randomTree(root, seededRandom(seed), { repository: false });
  spawnSync("find", [root, "(", "-name", ".git", "-o", "-name", ".ignore", ")", "-prune", "-exec", "rm", "-rf", "{}", "+"]);
  initGit(root);
  spawnSync("git", ["rm", "-rq", "--cached", "."], { cwd: root, env: { PATH: process.env.PATH, HOME: root } });
  const listed = spawnSync("git", ["ls-files", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: root, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  });
  const links = spawnSync("find", [root, "-type", "l", "-printf", "%P\\0"], { encoding: "utf8" }).stdout.split("\0");
  const expected = listed.stdout.split("\0").filter((path) => path !== "" && !links.includes(path));
  const walked = await walk(root, { includeHidden: true });
  expect(walked.sort()).toEqual(expected.sort());
});

test("path order, depth, hidden and unreadable places, an early end", async () => {
  const root = place.at("order");
  for (const path of ["b/x", "a/y", "a.txt", "a-b", "b/c/d/e", ".h/z", "b/.env", ".git/config"]) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), "");
  }
  expect(await walk(root)).toEqual(["a/y", "a-b", "a.txt", "b/c/d/e", "b/x"]);
  expect(await walk(root, { maxDepth: 1 })).toEqual(["a-b", "a.txt"]);
  expect(await walk(root, { maxDepth: 2 })).toEqual(["a/y", "a-b", "a.txt", "b/x"]);
  expect(await walk(root, { includeHidden: true })).toEqual([".h/z", "a/y", "a-b", "a.txt", "b/.env", "b/c/d/e", "b/x"]);
  expect(await walk(root, { base: ".h" })).toEqual([".h/z"]);
  expect(await walk(root, { signal: AbortSignal.abort() })).toEqual([]);
  const unreadable: string[] = [];
  expect(await walk(root, { base: "gone", onUnreadable: (path) => unreadable.push(path) })).toEqual([]);
  expect(unreadable).toEqual(["gone"]);
});

test("a caller that stops early leaves the rest unread", async () => {
  const root = place.at("early");
  for (let index = 0; index < 300; index++) {
    mkdirSync(join(root, `d${index}`), { recursive: true });
    writeFileSync(join(root, `d${index}/f`), "");
  }
  for await (const paths of walkFiles({ root, base: "", includeHidden: false, includeIgnored: false })) {
    expect(paths).toEqual(["d0/f"]);
    break;
  }
});

test("hidden counts below the base only", () => {
  expect(isHiddenBelow(".a/b", "")).toBe(true);
  expect(isHiddenBelow("a/.b", "")).toBe(true);
  expect(isHiddenBelow("a.b/c.d", "")).toBe(false);
  expect(isHiddenBelow(".a/b", ".a")).toBe(false);
  expect(isHiddenBelow(".a/.b", ".a")).toBe(true);
});

test("a rule of a nested file, rewritten for the root", () => {
  expect(anchorRule("*.log", "a/b")).toBe("/a/b/**/*.log");
  expect(anchorRule("/x", "a")).toBe("/a/x");
  expect(anchorRule("x/", "a")).toBe("/a/**/x/");
  expect(anchorRule("x/y", "a")).toBe("/a/x/y");
  expect(anchorRule("!x/y/", "a")).toBe("!/a/x/y/");
  expect(anchorRule("/x/", "a")).toBe("/a/x/");
  expect(anchorRule("x", "[a]*")).toBe("/\\[a\\]\\*/**/x");
});

test("an ignore file that is no regular file of sane size is no ignore file", async () => {
  const root = place.at("odd");
  mkdirSync(join(root, "sub/.gitignore"), { recursive: true });
  spawnSync("mkfifo", [join(root, ".gitignore")]);
  writeFileSync(join(root, ".ignore"), Buffer.alloc(2_000_000, "*\n"));
  writeFileSync(join(root, "a"), "");
  expect(await walk(root)).toEqual(["a"]);
  expect(new IgnoreTree(root).ignores("sub/x")).toBe(false);
});
