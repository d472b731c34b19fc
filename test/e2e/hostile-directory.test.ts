/** The compiled binary in directories and environments that want something from it (cases B01–B05). */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, statSync } from "node:fs";
import { startLoopback } from "../support/loopback.ts";
import { type RunOptions, runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";

const MODEL = ["--model", "ollama/mock"];

/** Runs one print-mode prompt against a scripted server. `seen` is every request body, joined. */
async function ask(steps: Parameters<typeof startLoopback>[0], options: RunOptions & { readonly cwd: string }) {
  const server = await startLoopback(steps);
  try {
    const result = await runThndrs({
      ...options,
      args: options.args ?? ["-p", "hi", ...MODEL],
      env: { OLLAMA_BASE_URL: server.baseUrl, ...options.env },
    });
    return {
      result,
      seen: server.requests.map((request) => request.raw),
      headers: server.requests.map((request) => request.headers),
    };
  } finally {
    await server.close();
  }
}

const PRELOAD = 'require("node:fs").writeFileSync("RAN", "x");\n';

test("B01 a bunfig.toml in the directory runs nothing", async () => {
  await using dir = await tempDir({
    "bunfig.toml": 'preload = ["./e.ts"]\n[test]\npreload = ["./e.ts"]\n[run]\nsilent = true\n',
    "e.ts": PRELOAD,
    "tsconfig.json": '{ "compilerOptions": { "paths": { "*": ["./e.ts"] } } }',
    "package.json": '{ "main": "./e.ts", "imports": { "#x": "./e.ts" } }',
    "node_modules/zod/index.js": PRELOAD,
    "node_modules/zod/package.json": '{ "main": "index.js" }',
  });
  const version = await runThndrs({ args: ["--version"], cwd: dir.path });
  expect(version).toMatchObject({ code: 0, stderr: "" });
  const { result } = await ask([{ text: "hello" }], { cwd: dir.path });
  expect(result).toMatchObject({ code: 0, stdout: "hello\n" });
  expect(existsSync(dir.at("RAN"))).toBe(false);
});

test("B01 a bunfig.toml that names a missing preload, or is not TOML, does not matter", async () => {
  for (const bunfig of ['preload = ["./missing.ts"]\n', "]]] not toml", "\0\0"]) {
    await using dir = await tempDir({ "bunfig.toml": bunfig, "tsconfig.json": "{{{", "package.json": "nonsense" });
    expect(await runThndrs({ args: ["--version"], cwd: dir.path })).toMatchObject({ code: 0, stderr: "" });
  }
});

test("B02 .env files reach neither thndrs nor its children", async () => {
  const poison = [
    "OLLAMA_BASE_URL=http://127.0.0.1:1/v1",
    "OPENAI_API_KEY=poisoned-key",
    "OPENAI_BASE_URL=http://127.0.0.1:1/v1",
    "THNDRS_MODEL=openai/poisoned",
    "NODE_OPTIONS=--require ./e.js",
    "BUN_OPTIONS=--preload ./e.ts",
    "POISONED_MARK=1",
    "HOME=/poisoned-home",
  ].join("\n");
  await using dir = await tempDir({
    ".env": poison,
    ".env.local": poison,
    ".env.production": poison,
    "e.ts": PRELOAD,
    "e.js": PRELOAD,
  });
  const steps = [{ calls: [{ name: "run_shell", arguments: { argv: ["env"] } }] }, { text: "done" }];
  const { result, seen } = await ask(steps, { cwd: dir.path });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(seen).toHaveLength(2);
  expect(seen[1]).toContain("PATH=");
  expect(seen.join()).not.toMatch(/poisoned|POISONED|NODE_OPTIONS|BUN_OPTIONS/);
  expect(existsSync(dir.at("RAN"))).toBe(false);
});

test("B03 runtime switches are not handed on to children", async () => {
  await using dir = await tempDir();
  const steps = [{ calls: [{ name: "run_shell", arguments: { argv: ["env"] } }] }, { text: "done" }];
  const { result, seen } = await ask(steps, { cwd: dir.path, env: { BUN_OPTIONS: "--smol", BUN_INSPECT_NOTIFY: "x" } });
  expect(result.code).toBe(0);
  expect(seen[1]).toContain("PATH=");
  expect(seen[1]).not.toContain("BUN_");
});

test("B05 no environment at all", async () => {
  await using dir = await tempDir();
  const none = { HOME: undefined, PATH: undefined };
  const xdg = Object.fromEntries(
    ["CONFIG_HOME", "DATA_HOME", "CACHE_HOME", "STATE_HOME", "RUNTIME_DIR"].map((name) => [`XDG_${name}`, undefined]),
  );
  const version = await runThndrs({ args: ["--version"], cwd: dir.path, env: { ...none, ...xdg } });
  expect(version).toMatchObject({ code: 0, stderr: "" });
  const { result } = await ask([{ text: "ok" }], { cwd: dir.path, env: { ...none, ...xdg } });
  expect(result).toMatchObject({ code: 0, stdout: "ok\n" });
});

test("B05 no model and no key: exit 2 that says what to do", async () => {
  const result = await runThndrs({ args: ["-p", "hi"] });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toMatch(/model/i);
  expect(result.stderr).not.toMatch(/\bat .*:\d+:\d+/);
});

test("B05 UTF-8 comes out whole under LANG=C", async () => {
  await using dir = await tempDir();
  const text = "naïve — 漢字 🦊";
  const { result } = await ask([{ text }], { cwd: dir.path, env: { LANG: "C", LC_ALL: "C" } });
  expect(result.stdoutBytes).toEqual(new TextEncoder().encode(`${text}\n`));
});

test("B05 a home that cannot be written, and no directory for temporary files", async () => {
  await using dir = await tempDir({ "work/a.txt": "one\n", "home/x": "" });
  chmodSync(dir.at("home"), 0o555);
  const { uid } = statSync(dir.path);
  const env = { HOME: dir.at("home"), XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, TMPDIR: "/nonexistent" };
  const steps = [{ calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] }, { text: "read it" }];
  // Without root's powers where the tests have them: the workspace then belongs to somebody else, too.
  if (uid === 0) chmodSync(dir.path, 0o755);
  const { result, seen } = await ask(steps, {
    cwd: dir.at("work"),
    env,
    user: "nobody",
    args: ["-p", "hi", "--ephemeral", ...MODEL],
  });
  expect(result).toMatchObject({ code: 0, stdout: "read it\n" });
  expect(seen[1]).toContain("one");
});

test("B05 PATH without any program: files are found and searched all the same", async () => {
  await using dir = await tempDir({ "src/deep/needle.txt": "a needle here\n" });
  const calls = [
    { name: "search_text", arguments: { pattern: "needle" } },
    { name: "find_files", arguments: { pattern: "needle" } },
  ];
  const { result, seen } = await ask([{ calls }, { text: "found" }], { cwd: dir.path, path: "" });
  expect(result).toMatchObject({ code: 0, stdout: "found\n" });
  expect(seen[1]).toContain("a needle here");
  expect(seen[1]).toContain("src/deep/needle.txt");
});

test("B05 a repository whose configuration starts programs", async () => {
  await using dir = await tempDir({ "a.txt": "one\n" });
  if (!Bun.which("git")) return;
  initGit(dir.path);
  const trap = `touch ${dir.at("RAN")}; cat`;
  const config = `[core]\n\tfsmonitor = "${trap}"\n\tpager = "${trap}"\n\teditor = "${trap}"\n\tsshCommand = "${trap}"\n[diff]\n\texternal = "${trap}"\n[alias]\n\tstatus = "!${trap}"\n`;
  await Bun.write(dir.at(".git", "config"), `[core]\n\trepositoryformatversion = 0\n${config}`);
  const { result } = await ask([{ text: "ok" }], { cwd: dir.path });
  expect(result.code).toBe(0);
  expect(existsSync(dir.at("RAN"))).toBe(false);
});
