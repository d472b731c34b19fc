import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { contentHash } from "../../src/base/hash.ts";
import { mentionedPaths } from "../../src/context/mention.ts";
import { initGit } from "../support/temp.ts";
import { bench, paths, states } from "./bench.ts";

const WEB = {
  "repo/AGENTS.md": "ROOT",
  "repo/packages/web/AGENTS.md": "WEB-RULES",
  "repo/packages/web/app.ts": "",
  "repo/packages/website/x": "",
};

test("A01 C4 a nested file applies when the prompt names its scope or a path below it", async () => {
  const yes = [
    "fix packages/web/app.ts",
    "in ./packages/web please",
    "see @packages/web/new.ts",
    "`packages/web`",
    "(packages/web/app.ts:12:3).",
    "[app](packages/web/app.ts#L10)",
    "请改packages/web/app.ts文件",
  ];
  for (const prompt of yes) {
    await using b = await bench(WEB);
    await b.engine.start();
    const delivery = await b.engine.turn(prompt);
    expect({ prompt, found: paths(b, delivery) }).toEqual({ prompt, found: ["repo/packages/web/AGENTS.md"] });
    expect(delivery.text).toStartWith("<project_context>");
    expect((await b.engine.turn(prompt)).text).toBe("");
  }
  await using b = await bench(WEB);
  await b.engine.start();
  expect(paths(b, await b.engine.turn(`read ${b.at("packages/web/app.ts")}`))).toEqual(["repo/packages/web/AGENTS.md"]);
});

test("A01 C4 siblings with the same prefix, URLs, addresses, bare words and other trees name nothing", async () => {
  await using b = await bench({ ...WEB, "repo/web/AGENTS.md": "BARE", "elsewhere/packages/web/x": "" });
  await b.engine.start();
  const no = [
    "fix packages/website/x",
    "https://example.com/packages/web/app.ts",
    "see https://packages/web",
    "mail me@packages/web or packages/web@example.com",
    "the web is slow; packages too",
    b.dir.at("elsewhere/packages/web/x"),
    "git@github.com:packages/web.git",
    "../repo-other/packages/web",
  ];
  for (const prompt of no) expect({ prompt, text: (await b.engine.turn(prompt)).text }).toEqual({ prompt, text: "" });
  await b.engine.indexed();
  expect(states(b)["repo/packages/web/AGENTS.md"]).toBe("candidate");
  expect(paths(b, await b.engine.turn("look at `web`"))).toEqual(["repo/web/AGENTS.md"]);
});

test("C4 mention reads a pasted log within bounds", () => {
  const started = performance.now();
  expect(mentionedPaths("a/b ".repeat(500_000)).length).toBe(1);
  expect(mentionedPaths(Array.from({ length: 100_000 }, (_, at) => `p${at}/x`).join(" ")).length).toBeLessThan(2100);
  expect(mentionedPaths("`".repeat(100_000)).length).toBe(0);
  expect(mentionedPaths("a@".repeat(60_000)).length).toBeLessThan(10);
  expect(performance.now() - started).toBeLessThan(2000);
});

test("C4 closest wins: broad to close, everything else stays a candidate with its reason", async () => {
  await using b = await bench({
    "repo/AGENTS.md": "R",
    "repo/a/AGENTS.md": "A",
    "repo/a/b/AGENTS.md": "B",
    "repo/c/AGENTS.md": "C",
  });
  await b.engine.start();
  const delivery = await b.engine.turn("a/b/file.ts");
  expect(paths(b, delivery)).toEqual(["repo/a/AGENTS.md", "repo/a/b/AGENTS.md"]);
  await b.engine.indexed();
  const other = b.engine.sources().find((source) => source.path === b.at("c/AGENTS.md"));
  expect(other).toMatchObject({ state: "candidate", scope: "c", origin: "nested", contentHash: contentHash("C"), byteCount: 1 });
  expect(other?.reason).not.toBe("");
});

test("A12 C4 skipped places are neither indexed nor named into the prompt; links to directories are not entered", async () => {
  const deep = Array.from({ length: 60 }, (_, at) => `d${at}`).join("/");
  const skipped = ["node_modules/x", ".git", "dist", "build", "out", "target", ".hidden", "vendor/x", "a/node_modules/y"];
  const files: Record<string, string> = {
    "repo/AGENTS.md": "R",
    "repo/.gitignore": "vendor/\nGEMINI.md\n",
    [`repo/${deep}/AGENTS.md`]: "DEEP",
    "repo/ig/GEMINI.md": "IGNORED",
  };
  for (const place of skipped) files[`repo/${place}/AGENTS.md`] = "SKIPPED";
  await using b = await bench(files);
  symlinkSync("..", b.at("a/up"));
  const started = performance.now();
  await b.engine.start();
  await b.engine.indexed();
  expect(performance.now() - started).toBeLessThan(2000);
  const nested = b.engine.sources().filter((source) => source.origin === "nested");
  expect(nested.map((source) => source.scope)).toEqual([deep]);
  for (const place of skipped) expect((await b.engine.turn(`look at ${place}/file.ts`)).text).toBe("");
  for (const place of ["node_modules/x", ".git", "dist", "a/node_modules/y"]) {
    expect((await b.engine.touched([{ path: b.at(place), kind: "read" }])).text).toBe("");
  }
});

test("C4 the index sees linked instruction files, and does not outlive close()", async () => {
  await using b = await bench({ "repo/docs/rules.md": "RULES", "repo/p/x": "" });
  symlinkSync("../docs/rules.md", b.at("p/AGENTS.md"));
  await b.engine.start();
  await b.engine.indexed();
  expect(states(b)).toEqual({ "repo/docs/rules.md": "candidate" });
  const closed = b.reopen();
  await closed.start();
  closed.close();
  await closed.indexed();
});

test("C4 C9.4 a tool touch delivers the directory's file and up to five parents, each once, under a header", async () => {
  const files: Record<string, string> = { "repo/AGENTS.md": "ROOT" };
  const parts = ["a", "b", "c", "d", "e", "f", "g"];
  for (let at = 1; at <= parts.length; at++) files[`repo/${parts.slice(0, at).join("/")}/AGENTS.md`] = `RULES-${parts[at - 1]}`;
  files["repo/a/b/c/d/e/f/g/x.ts"] = "";
  await using b = await bench(files);
  await b.engine.start();
  const touch = [{ path: b.at("a/b/c/d/e/f/g/x.ts"), kind: "read" }];
  const delivery = await b.engine.touched(touch);
  expect(delivery.sources.map((source) => source.scope)).toEqual([
    "a/b",
    "a/b/c",
    "a/b/c/d",
    "a/b/c/d/e",
    "a/b/c/d/e/f",
    "a/b/c/d/e/f/g",
  ]);
  expect(delivery.text).toContain(`Project instructions met on the way: ${b.at("a/b/AGENTS.md")} (scope a/b).`);
  expect(await b.engine.touched(touch)).toEqual({ text: "", sources: [] });
  expect((await b.engine.touched([{ path: b.at("a"), kind: "search" }])).sources.map((source) => source.scope)).toEqual(["a"]);
});

test("C4 a directory with a dot in its name is a directory; dotted ones count when touched; outside and missing paths are harmless", async () => {
  await using b = await bench({
    "repo/src.v2/AGENTS.md": "V2",
    "repo/.github/AGENTS.md": "GH",
    "repo/n/AGENTS.md": "N",
    "else/AGENTS.md": "ELSE",
  });
  await b.engine.start();
  expect(paths(b, await b.engine.touched([{ path: b.at("src.v2"), kind: "search" }]))).toEqual(["repo/src.v2/AGENTS.md"]);
  expect(paths(b, await b.engine.touched([{ path: b.at(".github/workflows/ci.yml"), kind: "write" }]))).toEqual([
    "repo/.github/AGENTS.md",
  ]);
  expect(paths(b, await b.engine.touched([{ path: b.at("n/new/deep/file.ts"), kind: "write" }]))).toEqual(["repo/n/AGENTS.md"]);
  const harmless = [b.dir.at("else/x"), "/etc/hosts", "relative/x", b.at("..")].map((path) => ({ path, kind: "argument" }));
  expect((await b.engine.touched(harmless)).text).toBe("");
});

test("C9.4 parallel calls of one batch claim a file once", async () => {
  await using b = await bench({ "repo/s/AGENTS.md": "ONCE", "repo/s/1.ts": "", "repo/s/2.ts": "" });
  await b.engine.start();
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, at) => b.engine.touched([{ path: b.at(`s/${at}.ts`), kind: "read" }])),
  );
  expect(
    all
      .map((each) => each.text)
      .join("")
      .match(/ONCE/g)?.length,
  ).toBe(1);
});

test("C9.4 a whole read of the instruction file counts as delivery, also by a later call of the batch; an old hash does not", async () => {
  await using b = await bench({
    "repo/s/AGENTS.md": "RULES-S",
    "repo/s/x.ts": "",
    "repo/t/AGENTS.md": "RULES-T",
    "repo/t/x.ts": "",
  });
  await b.engine.start();
  const whole = { path: b.at("s/AGENTS.md"), kind: "read", completeHash: contentHash("RULES-S") };
  expect((await b.engine.touched([{ path: b.at("s/x.ts"), kind: "read" }], [whole])).text).toBe("");
  expect(states(b)["repo/s/AGENTS.md"]).toBe("visible");
  expect((await b.engine.turn("look at s/x.ts")).text).toBe("");
  const stale = { path: b.at("t/AGENTS.md"), kind: "read", completeHash: contentHash("older") };
  expect(paths(b, await b.engine.touched([stale]))).toEqual(["repo/t/AGENTS.md"]);
});

test("C9.4 a whole read of a file that the index does not know, or not yet, counts too", async () => {
  await using b = await bench({ "repo/.github/AGENTS.md": "RULES-G", "repo/.github/ci.yml": "", "repo/x": "" });
  await b.engine.start();
  const whole = { path: b.at(".github/AGENTS.md"), kind: "read", completeHash: contentHash("RULES-G") };
  expect((await b.engine.touched([{ path: b.at(".github/ci.yml"), kind: "read" }], [whole])).text).toBe("");
  expect(b.engine.sources().find((source) => source.path.endsWith(".github/AGENTS.md"))).toMatchObject({
    state: "visible",
    contentHash: contentHash("RULES-G"),
    heldBytes: 7,
  });
  expect((await b.engine.turn("go on")).text).toBe("");
});

test("C4 pins govern every turn, relative to cwd or root; unpin and outside paths", async () => {
  await using b = await bench({ "repo/p/AGENTS.md": "PINNED", "repo/p/q/x.ts": "", "repo/AGENTS.md": "R" });
  await b.engine.start();
  expect((await b.engine.pin("../outside")).ok).toBe(false);
  expect((await b.engine.pin("/etc")).ok).toBe(false);
  expect((await b.engine.pin("p/q/x.ts")).ok).toBe(true);
  expect(paths(b, await b.engine.turn("hello"))).toEqual(["repo/p/AGENTS.md"]);
  expect((await b.engine.turn("hello")).text).toBe("");
  expect(b.engine.unpin("nothing").ok).toBe(false);
  expect(b.engine.unpin("p/q/x.ts").ok).toBe(true);
  await b.engine.compacted([]);
  expect((await b.engine.turn("hello")).text).toBe("");
});

test("C4 in the home directory nested discovery is off", async () => {
  await using b = await bench({ "repo/AGENTS.md": "HOME", "repo/p/AGENTS.md": "NESTED" });
  const engine = b.reopen({ home: b.root });
  expect(paths(b, await engine.start())).toEqual(["repo/AGENTS.md"]);
  expect((await engine.turn("p/x.ts")).text).toBe("");
  expect((await engine.touched([{ path: b.at("p"), kind: "read" }])).text).toBe("");
  await engine.indexed();
  expect(engine.sources().length).toBe(1);
});

test("A04 a linked worktree inside is not indexed and its copies are not sent twice; a submodule is walked", async () => {
  await using b = await bench({
    "repo/AGENTS.md": "TRACKED",
    "repo/pkg/AGENTS.md": "PKG",
    "repo/sub/AGENTS.md": "SUBMODULE",
    "repo/sub/.git": "gitdir: ../.git/modules/sub\n",
  });
  initGit(b.root);
  execFileSync("git", ["worktree", "add", "-q", "trees/x"], {
    cwd: b.root,
    env: { PATH: process.env.PATH ?? "", HOME: b.dir.path },
  });
  await b.engine.start();
  await b.engine.indexed();
  expect(Object.keys(states(b)).sort()).toEqual(["repo/AGENTS.md", "repo/pkg/AGENTS.md", "repo/sub/AGENTS.md"]);
  const touched = await b.engine.touched([{ path: b.at("trees/x/pkg/y.ts"), kind: "write" }]);
  expect(touched.text.match(/TRACKED/g)).toBeNull();
  expect(touched.text).toContain(`The same text as ${b.at("AGENTS.md")}`);
  expect(touched.text).toContain("PKG");
  const inside = b.reopen({
    root: b.at("trees/x"),
    cwd: b.at("trees/x"),
    settings: { ...(await import("./bench.ts")).SETTINGS, ancestors: false },
  });
  expect(paths(b, await inside.start())).toEqual(["repo/trees/x/AGENTS.md"]);
  mkdirSync(b.at("late"));
});

test("A04 C3 in a worktree inside its main checkout the main checkout's own file is known and not sent", async () => {
  await using b = await bench({ "AGENTS.md": "ABOVE", "repo/AGENTS.md": "TRACKED", "repo/.gitignore": "trees\n" });
  initGit(b.root);
  const env = { PATH: process.env.PATH ?? "", HOME: b.dir.path };
  execFileSync("git", ["worktree", "add", "-q", "trees/x"], { cwd: b.root, env });
  const root = b.at("trees/x");
  const start = async () => {
    const engine = b.reopen({ root, cwd: root });
    return { sent: paths(b, await engine.start()), sources: engine.sources() };
  };
  const { sent, sources } = await start();
  expect(sent).toEqual(["AGENTS.md", "repo/trees/x/AGENTS.md"]);
  expect(sources.find(({ path }) => path === b.at("AGENTS.md"))).toMatchObject({
    state: "candidate",
    reason: "of the main checkout; this worktree has the same",
  });
  // Another version, and one that is there in the main checkout only, are above it like any other.
  writeFileSync(b.at("AGENTS.md"), "OTHER");
  expect((await start()).sent).toEqual(["AGENTS.md", "repo/AGENTS.md", "repo/trees/x/AGENTS.md"]);
  rmSync(b.at("trees/x/AGENTS.md"));
  expect((await start()).sent).toEqual(["AGENTS.md", "repo/AGENTS.md"]);
});

test("C4 a directory whose name begins with an at sign is met by its mention", async () => {
  await using b = await bench({ "repo/AGENTS.md": "ROOT", "repo/@scope/AGENTS.md": "SCOPED", "repo/@scope/x.ts": "" });
  await b.engine.start();
  expect((await b.engine.turn("look at @scope/x.ts")).text).toContain("SCOPED");
});
