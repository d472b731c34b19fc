/** Where skills are found, which one wins, and what a broken one costs: itself. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { MAX_DIRECTORIES, MAX_SKILLS } from "../../src/skills/skill.ts";
import { skillPlace, skillText } from "./place.ts";

const ROOTS = [
  "work/.thndrs/skills",
  "work/.agents/skills",
  "work/.claude/skills",
  "home/.thndrs/skills",
  "home/.agents/skills",
  "home/.claude/skills",
];

test("every root counts, the nearest wins, the others are named", async () => {
  const places = [...ROOTS, "more"];
  await using place = await skillPlace(
    Object.fromEntries(
      places.flatMap((root, index) => [
        [`${root}/same/SKILL.md`, skillText("same")],
        [`${root}/only-${index}/SKILL.md`, skillText(`only-${index}`)],
      ]),
    ),
  );
  const open = () => place.open({ configured: [place.dir.at("more")] });
  let skills = await open();
  expect(
    skills
      .list()
      .map((skill) => skill.name)
      .sort(),
  ).toEqual([...places.map((_, index) => `only-${index}`), "same"]);
  expect(Object.fromEntries(skills.list().map((skill) => [skill.name, skill.source]))).toMatchObject({
    "only-0": "project",
    "only-2": "project",
    "only-3": "user",
    "only-5": "user",
    "only-6": "configured",
  });
  const paths = places.map((root) => place.dir.at(root, "same", "SKILL.md"));
  for (const [index, root] of places.entries()) {
    expect(skills.list().find((skill) => skill.name === "same")?.path).toBe(paths[index] ?? "");
    const left = paths.slice(index + 1);
    expect(skills.duplicates()).toEqual(left.length === 0 ? [] : [{ name: "same", selected: paths[index] ?? "", ignored: left }]);
    rmSync(place.dir.at(root), { recursive: true });
    skills = await open();
  }
  expect(skills.list()).toEqual([]);
});

test("depth 8 is looked into, 9 is not; nothing below a skill is another skill; hidden and package directories are skipped", async () => {
  const at = (depth: number) => Array.from({ length: depth - 1 }, (_, index) => `d${index}`).join("/");
  await using place = await skillPlace({
    [`work/.agents/skills/${at(8)}/eight/SKILL.md`]: skillText("eight"),
    [`work/.agents/skills/${at(9)}/nine/SKILL.md`]: skillText("nine"),
    "work/.claude/skills/outer/SKILL.md": skillText("outer"),
    "work/.claude/skills/outer/inner/SKILL.md": skillText("inner"),
    "work/.claude/skills/.hidden/SKILL.md": skillText("hidden"),
    "work/.claude/skills/node_modules/pkg/SKILL.md": skillText("pkg"),
    "work/.claude/skills/lower/skill.md": skillText("lower"),
  });
  const skills = await place.open();
  expect(skills.list().map((skill) => skill.name)).toEqual(["eight", "outer"]);
});

test("a configured directory may be one skill", async () => {
  await using place = await skillPlace({ "one/SKILL.md": skillText("one") });
  const skills = await place.open({ configured: [place.dir.at("one")] });
  expect(skills.list()).toMatchObject([{ name: "one", source: "configured", trust: "trusted" }]);
});

test("a broken skill costs only itself, and is named", async () => {
  await using place = await skillPlace({
    "work/.agents/skills/good/SKILL.md": skillText("good"),
    "work/.agents/skills/bad-yaml/SKILL.md": "---\nname: [\n---\n",
    "work/.agents/skills/no-head/SKILL.md": "# Just text\n",
    "work/.agents/skills/latin/SKILL.md": new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]),
    "work/.agents/skills/huge/SKILL.md": `${skillText("huge")}${"x".repeat(300_000)}`,
    "work/.agents/skills/directory/SKILL.md/x": "",
    "work/.agents/skills/warned/SKILL.md": skillText("warned", "color: red\n"),
  });
  mkdirSync(place.work(".agents/skills/fifo"), { recursive: true });
  spawnSync("mkfifo", [place.work(".agents/skills/fifo/SKILL.md")]);
  mkdirSync(place.work(".agents/skills/dangling"));
  symlinkSync("nowhere", place.work(".agents/skills/dangling/SKILL.md"));
  mkdirSync(place.work(".agents/skills/circle"));
  symlinkSync("SKILL.md", place.work(".agents/skills/circle/SKILL.md"));
  const skills = await place.open();
  expect(skills.list().map((skill) => skill.name)).toEqual(["good", "warned"]);
  const named = skills.problems().map(({ severity, path = "" }) => `${severity} ${path.split("/").at(-2)}`);
  expect(named.sort()).toEqual([
    "error bad-yaml",
    "error circle",
    "error dangling",
    "error directory",
    "error fifo",
    "error huge",
    "error latin",
    "error no-head",
    "warning warned",
  ]);
  for (const problem of skills.problems()) expect(problem.message).toStartWith(`${problem.path}: `);
});

test("links: circles end, one file counts once, what leads out of a repository does not count", async () => {
  await using place = await skillPlace({
    "work/.agents/skills/a/SKILL.md": skillText("a"),
    "outside/b/SKILL.md": skillText("b"),
    "dotfiles/c/SKILL.md": skillText("c"),
    "home/.agents/skills/x": "",
  });
  symlinkSync("../.agents/skills", place.work(".claude"), "dir");
  rmSync(place.work(".claude"));
  mkdirSync(place.work(".claude"));
  symlinkSync("../.agents/skills", place.work(".claude/skills"));
  symlinkSync("..", place.work(".agents/skills/up"));
  symlinkSync(place.dir.at("outside/b"), place.work(".agents/skills/b"));
  mkdirSync(place.work(".agents/skills/d"));
  symlinkSync(place.dir.at("outside/b/SKILL.md"), place.work(".agents/skills/d/SKILL.md"));
  // What the user links into the own home is the user's business.
  symlinkSync(place.dir.at("dotfiles/c"), place.home(".agents/skills/c"));
  const skills = await place.open();
  expect(skills.list().map((skill) => skill.name)).toEqual(["a", "c"]);
  expect(skills.duplicates()).toEqual([]);
  expect(skills.problems().filter((problem) => problem.message.includes("out of the workspace"))).toHaveLength(2);
});

test("trust: a repository's skills wait for it, the user's own do not, and do not lose their place to one that waits", async () => {
  await using place = await skillPlace({
    "work/.agents/skills/deploy/SKILL.md": skillText("deploy", "", "theirs"),
    "work/.agents/skills/lint/SKILL.md": skillText("lint"),
    "work/extra/build/SKILL.md": skillText("build"),
    "work/given/test/SKILL.md": skillText("test"),
    "home/.agents/skills/deploy/SKILL.md": skillText("deploy", "", "mine"),
  });
  const options = { configured: [place.work("extra")], given: [place.work("given")] };
  const untrusted = await place.open({ ...options, trust: () => "untrusted" });
  expect(untrusted.list().map(({ name, trust }) => `${name} ${trust}`)).toEqual([
    "deploy untrusted",
    "deploy trusted",
    "lint untrusted",
    "test trusted",
    "build untrusted",
  ]);
  expect(untrusted.available().map(({ name, source }) => `${name} ${source}`)).toEqual(["deploy user", "test configured"]);
  const trusted = await place.open(options);
  expect(trusted.available().map(({ name, source }) => `${name} ${source}`)).toEqual([
    "deploy project",
    "lint project",
    "test configured",
    "build configured",
  ]);
});

test("in the home directory itself the skills are the user's own", async () => {
  await using place = await skillPlace({ "home/.claude/skills/a/SKILL.md": skillText("a") });
  const { skillRoots } = await import("../../src/skills/roots.ts");
  const roots = skillRoots({ workspaceRoot: place.home(), home: place.home(), configured: [], given: [] });
  expect(roots.map((root) => [root.source, root.needsTrust])).toEqual([
    ["user", false],
    ["user", false],
    ["user", false],
  ]);
});

test("refresh sees what is new, changed and gone", async () => {
  await using place = await skillPlace({ "work/.agents/skills/a/SKILL.md": skillText("a") });
  const skills = await place.open();
  const [first] = skills.list();
  await place.dir.write({ "work/.agents/skills/b/SKILL.md": skillText("b") });
  writeFileSync(place.work(".agents/skills/a/SKILL.md"), skillText("a", "license: MIT\n"));
  await skills.refresh();
  expect(skills.list().map((skill) => skill.name)).toEqual(["a", "b"]);
  expect(skills.list()[0]).toMatchObject({ license: "MIT" });
  expect(skills.list()[0]?.contentHash).not.toBe(first?.contentHash ?? "");
  rmSync(place.work(".agents"), { recursive: true });
  await skills.refresh();
  expect(skills.list()).toEqual([]);
});

test("no more skills and directories than the bounds, and it is said", async () => {
  const many = Object.fromEntries(
    Array.from({ length: MAX_SKILLS + 5 }, (_, index) => [`work/.agents/skills/s${index}/SKILL.md`, skillText(`s${index}`)]),
  );
  await using place = await skillPlace(many);
  const skills = await place.open();
  expect(skills.list()).toHaveLength(MAX_SKILLS);
  expect(skills.problems()).toMatchObject([{ severity: "warning", message: expect.stringContaining("more than 200 skills") }]);
  await using wide = await skillPlace({});
  for (let index = 0; index <= MAX_DIRECTORIES; index++) mkdirSync(wide.home(".claude/skills", `d${index}`), { recursive: true });
  expect((await wide.open()).problems()).toMatchObject([{ message: expect.stringContaining("directories") }]);
});
