/** `thndrs doctor`. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { runDoctor } from "../../src/cli/doctor.ts";
import { startLoopback } from "../support/loopback.ts";
import { makeStage, type Stage } from "./stage.ts";

const KEY = "sk-test-0123456789abcdefghij";
const NO_LOCALS = Object.fromEntries(
  ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"].map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]),
);

async function json(stage: Stage, argv: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout } = await stage.play(runDoctor, ["doctor", "--json", ...argv], env);
  return { code, report: JSON.parse(stdout) };
}

test("ready: versions, files, origins, the key's source, rg and fd, sessions, terminal", async () => {
  using stage = makeStage();
  stage.user("[context]\nmax_chars = 5\n");
  const { code, report } = await json(stage, [], { OPENAI_API_KEY: KEY, TERM: "xterm" });
  expect(code).toBe(0);
  expect(report).toMatchObject({
    bun: Bun.version,
    workspace: stage.root,
    config: { files: [{ path: stage.userFile, source: "user", trusted: true }], origins: { "context.max_chars": "user" } },
    credentials: [{ provider: "openai", source: "environment ($OPENAI_API_KEY)" }],
    session: { path: join(stage.root, ".thndrs", "sessions"), writable: true, reason: null },
    terminal: { stdout: false, term: "xterm", no_color: false },
    blocking_issues: [],
  });
  expect(report.model).toStartWith("openai/");
  expect(report.reach).toBeUndefined();
  if (Bun.which("rg")) expect(report.tools.rg.version).toMatch(/^\d+\.\d+/);
  expect(existsSync(join(stage.root, ".thndrs"))).toBe(false);
  const text = await stage.play(runDoctor, ["doctor"], { OPENAI_API_KEY: KEY });
  expect(text.stdout).toContain("ready: thndrs can answer a prompt\n");
  expect(JSON.stringify(report) + text.stdout).not.toContain(KEY);
});

test("nothing set up: exit 2 and what is missing", async () => {
  using stage = makeStage();
  const { code, stdout } = await stage.play(runDoctor, ["doctor"]);
  expect(code).toBe(2);
  expect(stdout).toMatch(/^missing +no model is set and no API key was found/m);
  expect(stdout).toContain("model      none\n");
});

test("a model without its key; one without an address", async () => {
  using stage = makeStage();
  const one = await json(stage, ["--model", "anthropic/claude-sonnet-5"]);
  expect(one).toMatchObject({ code: 2, report: { model: "anthropic/claude-sonnet-5" } });
  expect(one.report.blocking_issues[0]).toContain("set ANTHROPIC_API_KEY, or run: thndrs login anthropic");
  expect((await json(stage, ["--model", "umans/coder"], { UMANS_API_KEY: KEY })).report.blocking_issues[0]).toContain(
    "has no base URL",
  );
  expect((await json(stage, ["--model", "ollama/qwen3"])).code).toBe(0);
});

test("a broken configuration is reported, the rest is still examined", async () => {
  using stage = makeStage();
  stage.user("modle = 1\n");
  const { code, report } = await json(stage, [], { OPENAI_API_KEY: KEY });
  expect(code).toBe(2);
  expect(report.blocking_issues).toEqual([`${stage.userFile}:1: unknown key "modle"; did you mean "model"?`]);
  expect(report.credentials).toHaveLength(1);
});

test("an untrusted project and an unwritable sessions directory are warnings", async () => {
  using stage = makeStage();
  stage.project('model = "evil/x"\n');
  stage.write(join(stage.root, "a-file"), "");
  const { report } = await json(stage, ["--session-dir", "a-file/sessions"], { OPENAI_API_KEY: KEY });
  expect(report.warnings.join("\n")).toContain("is not trusted; ignored: model");
  expect(report.session.writable).toBe(false);
  expect(report.warnings.join("\n")).toContain("sessions cannot be kept in ");
});

test("security 1: rg and fd of the workspace are not run", async () => {
  using stage = makeStage();
  for (const name of ["rg", "fd"]) {
    const path = stage.write(join(stage.root, "bin", name), `#!/bin/sh\ntouch ${stage.home}/HIT\n`);
    chmodSync(path, 0o755);
  }
  mkdirSync(stage.home, { recursive: true });
  const empty = join(stage.home, "empty");
  mkdirSync(empty);
  const { report } = await json(stage, [], { PATH: `${join(stage.root, "bin")}:${empty}`, OPENAI_API_KEY: KEY });
  expect(report.tools).toEqual({ rg: { path: null, version: null }, fd: { path: null, version: null } });
  const said = report.warnings.join("\n");
  for (const name of ["ripgrep (rg)", "fd"])
    expect(said).toContain(`${name} lies inside the workspace, whose programs are not run`);
  expect(existsSync(join(stage.home, "HIT"))).toBe(false);
});

test("--online asks providers with a key and looks for local servers", async () => {
  using stage = makeStage();
  const server = await startLoopback([], { models: [{ id: "a" }, { id: "b" }] });
  const env = {
    ...NO_LOCALS,
    OPENAI_API_KEY: KEY,
    OPENAI_BASE_URL: server.baseUrl,
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: "http://127.0.0.1:9/v1",
  };
  const { report } = await json(stage, ["--online", "--model", "openai/a"], env);
  const reach = Object.fromEntries(report.reach.map((entry: { provider: string }) => [entry.provider, entry]));
  expect(reach.openai).toMatchObject({ ok: true, models: 2, url: server.baseUrl });
  expect(reach.anthropic).toMatchObject({ ok: false });
  expect(reach.ollama).toMatchObject({ ok: false, reason: "cannot reach 127.0.0.1:9: the connection was refused" });
  expect(reach.groq).toBeUndefined();
  const offline = server.connections();
  await json(stage, [], env);
  expect(server.connections()).toBe(offline);
  await server.close();
});
