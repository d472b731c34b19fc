/** Ignore rules mean what they mean to git; those that rg and fd read otherwise are known. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isReadOtherwise } from "../../src/base/ignore-dialect.ts";
import { IgnoreTree } from "../../src/base/ignore-rules.ts";
import { pick, seededRandom } from "../support/random-tree.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

// Many small processes: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

const NAMES = [
  "a",
  "b",
  "ab",
  "a.log",
  "b.tmp",
  "a b",
  "a ",
  "#c",
  "!d",
  "\\e",
  "f\\",
  "{a,b}",
  "a.{x,y}",
  "foo}",
  "[z]",
  "é",
  "日.txt",
];
NAMES.push("A", "a.LOG", "-q", "*x", "q?", "tab\tx", "build", "build\t", "1a.txt", "\u00a0", "x\u00a0");
const DIRECTORIES = ["", "d1", "d1/d2", "a d", "éd", "d1/foo", "[x]", "d{1,2}"];
const ATOMS = [
  ..."ab*?/\\!# []{}.é-$^+()|A\t\u00a0",
  "**",
  "[ab]",
  "[!a]",
  "[^a]",
  "[a-c]",
  "{a,b}",
  ".log",
  "foo",
  "d1",
  "d2",
  "日",
];
ATOMS.push(
  "\\ ",
  "\\*",
  "\\[",
  "\\!",
  "\\#",
  "[[:alpha:]]",
  "[[:digit:]]",
  "[\\]]",
  "[]a]",
  "[é]",
  "[a-é]",
  "**/",
  "build",
  ".txt",
);

let place: TempDir;
beforeAll(async () => {
  place = await tempDir();
});
afterAll(() => place.remove());

const GIT_ENV = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

/** A repository of files to have rules about; their paths. */
function repository(root: string): string[] {
  const files = DIRECTORIES.flatMap((directory) => NAMES.map((name) => (directory === "" ? name : `${directory}/${name}`)));
  for (const path of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
  spawnSync("git", ["init", "-q", root], { env: GIT_ENV });
  return files;
}

function keptByGit(root: string): string[] {
  const done = spawnSync("git", ["-C", root, "ls-files", "-z", "--others", "--exclude-standard"], {
    encoding: "utf8",
    env: GIT_ENV,
  });
  return done.stdout.split("\0").filter((path) => path !== "" && !path.endsWith("ignore"));
}

function randomRule(random: () => number): string {
  return Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(random, ATOMS)).join("");
}

const RULES = Number(process.env.RULES ?? 80);

test.each([1, 2])("generated rules %d: what git ignores is ignored", (seed) => {
  const root = place.at(`git${seed}`);
  const files = repository(root);
  const random = seededRandom(seed);
  for (let count = 0; count < RULES; count++) {
    const directory = pick(random, ["", "d1"]);
    const text = Array.from({ length: pick(random, [1, 1, 2]) }, () => randomRule(random)).join("\n");
    for (const each of ["", "d1"]) rmSync(join(root, each, ".gitignore"), { force: true });
    writeFileSync(join(root, directory, ".gitignore"), `${text}\n`);
    const tree = new IgnoreTree(root);
    const story = JSON.stringify({ directory, text });
    const kept = files.filter((path) => !tree.ignores(path)).sort();
    expect({ story, kept }).toEqual({ story, kept: keptByGit(root).sort() });
  }
});

test("generated rules of several globstars", () => {
  const root = place.at("globstars");
  mkdirSync(root);
  spawnSync("git", ["init", "-q", root], { env: GIT_ENV });
  const random = seededRandom(3);
  const files = Array.from({ length: 60 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 6) }, () => pick(random, ["a", "b", "ab", "é"])).join("/"),
  ).map((path) => `${path}/f.${pick(random, ["ts", "log"])}`);
  for (const path of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
  const names = ["**", "**", "a", "b", "a*", "?", "[!a]", "f.*", "*"];
  const path = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random, names)).join("/");
  const rule = () =>
    `${pick(random, ["", "!", "/"])}${pick(random, ["", "a/"])}**/${path()}/**/${path()}${pick(random, ["", "/", " "])}`;
  for (let count = 0; count < RULES; count++) {
    const directory = pick(random, ["", "a"]);
    for (const each of ["", "a"]) rmSync(join(root, each, ".gitignore"), { force: true });
    const text = Array.from({ length: pick(random, [1, 2, 4]) }, rule).join("\n");
    writeFileSync(join(root, directory, ".gitignore"), `${text}\n`);
    const tree = new IgnoreTree(root);
    const story = JSON.stringify({ directory, text });
    const kept = files.filter((path) => !tree.ignores(path));
    expect({ story, kept: [...new Set(kept)].sort() }).toEqual({ story, kept: keptByGit(root).sort() });
  }
});

test("a name that is not UTF-8 is bytes for a rule, too", () => {
  const root = place.at("bytes");
  mkdirSync(root);
  writeFileSync(join(root, ".gitignore"), Buffer.from("caf?.txt\nna\xefve\n", "latin1"));
  const tree = new IgnoreTree(root);
  // As the walk hands them over.
  expect(["caf\ufffd.txt", "café.txt", "na\ufffdve", "naïve"].map((path) => tree.ignores(path))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test("rules of everyday ignore files are read alike by all", () => {
  const everyday = [
    "node_modules/",
    "*.log",
    "!keep.log",
    "/dist",
    "**/*.tmp",
    "*.py[cod]",
    "*$py.class",
    "[Bb]in/",
    "[Ll]og/",
    ".env.*",
  ];
  everyday.push(
    "*.sw?",
    "._*",
    "*~",
    "\\#*#",
    ".#*",
    "foo/**/bar",
    "[0-9]*.txt",
    "*.[oa]",
    "/*",
    "!/src",
    "report.[0-9]*.json",
    "Icon[_]",
  );
  everyday.push(
    "[._]*.s[a-v][a-z]",
    "[._]sw[a-p]",
    "é/",
    "a b",
    "trailing  ",
    "\\!bang",
    "name\\ ",
    "[!a]*",
    "x/[^.]*",
    "*.[!o]",
  );
  expect(everyday.filter(isReadOtherwise)).toEqual([]);
  const others = [
    "*.{log,tmp}",
    "foo}",
    "build\t",
    "x\u00a0",
    "[[:digit:]]*",
    "a[!b]c",
    "[\\]]",
    "[]a]",
    "[a",
    "[z-a]x",
    "[é]",
    "x\\",
  ];
  expect(others.filter((rule) => !isReadOtherwise(rule))).toEqual([]);
});

test("a rule of half a megabyte holds nobody up, and the others count", () => {
  const root = place.at("long");
  mkdirSync(join(root, "sub"), { recursive: true });
  writeFileSync(join(root, ".gitignore"), `${" ".repeat(500_000)}x\n*.log\n`);
  writeFileSync(join(root, "sub", ".gitignore"), `a${" ".repeat(500_000)}x\n**/b${" ".repeat(200_000)}/**/c\n*.tmp\n`);
  const tree = new IgnoreTree(root);
  expect(["a.log", "a.txt", "sub/a.tmp", "sub/a.txt"].map((path) => tree.ignores(path))).toEqual([true, false, true, false]);
});
