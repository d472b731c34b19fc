/** What a reviewer proved of the REPL's conversations, of approvals, of prompts and of what print mode says: each as it was met. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openEditor } from "../acp/editor.ts";
import { FAKE, openStage } from "../acp/stage.ts";
import type { Step } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { Terminal } from "../support/pty.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import { sourceOrBinary, startRepl, waitForFlat } from "../ui/repl-stage.ts";

const BAD_CONFIG = { ".git/HEAD": "", ".thndrs/config.toml": "nonsense_key = 1\n" };
const editing: Step = { calls: [{ name: "create_file", arguments: { path: "new.txt", content: "hi" } }] };
const shell = (argv: readonly string[], cwd?: string): Step => ({ calls: [{ name: "run_shell", arguments: { argv, cwd } }] });

for (const before of [0, 1]) {
  test(`a /cd that fails after ${before} turns leaves the conversation as it was: shown, recorded, closed at the end`, async () => {
    await using bad = await tempDir(BAD_CONFIG);
    await using good = await tempDir({ ".git/HEAD": "" });
    const first: readonly Step[] = before === 0 ? [] : [{ text: "answer one" }];
    const script = [...first, editing, { text: "answer two" }, { text: "answer three" }];
    await using stage = await startRepl(script, { columns: 140 });
    const { terminal, model } = stage;
    if (before > 0) {
      stage.send("hello");
      await terminal.waitFor("answer one");
    }
    stage.send(`/cd ${bad.path}`);
    await terminal.waitFor("nonsense_key");
    stage.send("please edit");
    await terminal.waitFor("answer two");
    expect(existsSync(join(terminal.cwd, "new.txt"))).toBe(true);
    expect(stage.userTexts(before + 1)).toEqual(before === 0 ? ["please edit"] : ["hello", "please edit"]);
    const types = (await stage.records()).map((record) => record.type);
    expect(types.filter((type) => type === "user")).toHaveLength(before + 1);
    expect(types).toContain("file_write");
    stage.send(`/cd ${good.path}`);
    await waitForFlat(terminal, `new session in ${good.path}`);
    stage.send("and here");
    await terminal.waitFor("answer three");
    expect(existsSync(good.at(".thndrs", "sessions"))).toBe(true);
    expect(model.server.requests).toHaveLength(before + 3);
    terminal.press("ctrl+d");
    expect((await terminal.exited).code).toBe(0);
  });
}

test("/new with a configuration that was broken meanwhile fails; turns go on; mended, it works", async () => {
  await using home = await tempDir({ "config.toml": "" });
  await using stage = await startRepl([{ text: "answer one" }, editing, { text: "answer two" }], {
    env: { THNDRS_HOME: home.path },
    columns: 140,
  });
  const { terminal } = stage;
  stage.send("hello");
  await terminal.waitFor("answer one");
  await home.write({ "config.toml": "typo = 1\n" });
  stage.send("/new");
  await terminal.waitFor(/unknown key "typo"/);
  stage.send("please edit");
  await terminal.waitFor("answer two");
  const records = await stage.records();
  expect(records.filter((record) => record.type === "user")).toHaveLength(2);
  expect(records.some((record) => record.type === "file_write")).toBe(true);
  await home.write({ "config.toml": "" });
  stage.send("/new");
  await terminal.waitFor("new session");
});

test("a --pin that cannot be honoured elsewhere leaves the session that was to be resumed unlocked", async () => {
  await using stage = await startRepl([{ text: "answer one" }, { text: "answer two" }], {
    files: { "a.txt": "a" },
    args: ["--pin", "a.txt"],
  });
  const { terminal } = stage;
  stage.send("hello");
  await terminal.waitFor("answer one");
  const [first] = (await stage.records()).map((record) => record.session_id);
  stage.send("/new");
  await terminal.waitFor("new session");
  rmSync(join(terminal.cwd, "a.txt"));
  symlinkSync("/etc/hostname", join(terminal.cwd, "a.txt"));
  stage.send(`/resume ${first}`);
  await terminal.waitFor("✗ --pin a.txt");
  expect(existsSync(join(terminal.cwd, ".thndrs", "sessions", `${first}.lock`))).toBe(false);
});

test("/new starts the servers of the new conversation when those of the old one have ended", async () => {
  const server = `
    const { appendFileSync } = require("node:fs");
    const note = (word) => appendFileSync(process.argv[2], word + "\\n");
    note("start");
    process.stdin.on("data", (data) => {
      for (const line of String(data).split("\\n").filter(Boolean)) {
        const { id, method, params } = JSON.parse(line);
        if (method === "initialize") reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
        else if (method === "tools/list") reply(id, { tools: [{ name: "alpha", inputSchema: { type: "object" } }] });
      }
    });
    const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
    const end = () => { note("end"); process.exit(0); };
    process.stdin.on("end", end);
    process.on("SIGTERM", end);
  `;
  await using place = await tempDir({ "server.cjs": server });
  const log = place.at("log");
  const words = [place.at("server.cjs"), log];
  const table = `[mcp.servers.one]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify(words)}\n`;
  await place.write({ "home/config.toml": table });
  await using stage = await startRepl([{ text: "answer one" }, { text: "answer two" }], {
    env: { THNDRS_HOME: place.at("home") },
  });
  stage.send("hello");
  await stage.terminal.waitFor("answer one");
  stage.send("/new");
  await stage.terminal.waitFor("new session");
  stage.send("hello again");
  await stage.terminal.waitFor("answer two");
  expect(readFileSync(log, "utf8")).toBe("start\nend\nstart\n");
});

test("a conversation that is closed takes no prompt", async () => {
  await using stage = await openStage({ mode: "plain" });
  await stage.opened.runtime.close();
  await expect(stage.opened.runtime.submit("hello")).rejects.toThrow("this conversation is closed");
});

test("a command that was allowed in one directory is asked about in another", async () => {
  const files = { "app/build.sh": "echo yes > made", "vendor/build.sh": "echo yes > made" };
  const argv = ["sh", "build.sh"];
  await using stage = await startRepl([shell(argv, "app"), shell(argv, "./app/"), shell(argv, "vendor"), { text: "over" }], {
    env: { THNDRS_APPROVAL: "shell" },
    files,
    columns: 120,
  });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("for this session or project: exactly this command, only in app");
  await terminal.waitFor("to navigate");
  terminal.press("down", "enter");
  await terminal.waitFor("for this session or project: exactly this command, only in vendor");
  await terminal.waitFor("to navigate");
  terminal.press("down", "down", "down", "enter");
  await terminal.waitFor("over");
  expect(existsSync(join(terminal.cwd, "app", "made"))).toBe(true);
  expect(existsSync(join(terminal.cwd, "vendor", "made"))).toBe(false);
});

const RECORDING = [
  { thndrs_recording: 1, provider: "openai", sides: true },
  { response: 1, model: "m" },
  { type: "text", text: "from the recording" },
  { type: "stop", reason: "end" },
];
const recording = { "rec.jsonl": RECORDING.map((line) => `${JSON.stringify(line)}\n`).join("") };

test("a prompt that is sent behind /model goes to the model that was named", async () => {
  await using stage = await startRepl([], { files: recording });
  stage.terminal.write("/model replay/rec.jsonl\rfor the recording\r");
  await stage.terminal.waitFor("from the recording");
  expect(stage.model.server.requests).toHaveLength(0);
});

test("the same with an editor; while a turn runs its model stays", async () => {
  const held: Step = { text: "from the model", hold: { gate: "answer" } };
  await using editor = await openEditor({ files: recording, script: [held] });
  const id = await editor.open();
  const choose = (value: string) =>
    editor.agent.request("session/set_config_option", { sessionId: id, configId: "model", value });
  const running = editor.prompt(id, "one");
  await editor.model.server.request(1);
  await expect(choose("replay/rec.jsonl")).rejects.toThrow("a prompt is running");
  editor.model.server.release("answer");
  await running;
  const [, prompted] = await Promise.all([choose("replay/rec.jsonl"), editor.prompt(id, "two")]);
  expect(prompted.stopReason).toBe("end_turn");
  expect(editor.text()).toContain("from the recording");
  const models = editor.records(id).flatMap(({ type, model }) => (type === "prompt_metadata" ? [model] : []));
  expect(models).toEqual(["mock", "rec.jsonl"]);
});

test("print mode on a terminal: a line end that is cut in two is one", async () => {
  const step: Step = { text: ["line one\r", "\nline two\r\nline three"], hold: { gate: "rest", at: 2 } };
  await using model = await startModel([step]);
  await using terminal = await Terminal.start({ command: sourceOrBinary(), args: ["-p", "x"], env: model.env });
  await terminal.waitFor("line one");
  model.server.release("rest");
  await terminal.exited;
  expect(terminal.screen.text()).toContain("line one\nline two\nline three");
});

test("a lone - behind -- is part of the prompt", async () => {
  await using model = await startModel([{ text: "2" }]);
  const result = await runThndrs({ args: ["-p", "--", "5", "-", "3"], env: model.env, stdin: "null" });
  expect(result).toMatchObject({ code: 0, stdout: "2\n" });
  expect(model.server.requests[0]?.body.messages.at(-1).content).toEndWith("5 - 3");
});

for (const flag of [
  ["--timeout", "1s"],
  ["--last-message", "last.txt"],
  ["--stdin", "ignore"],
  ["--stdin", "require"],
  ["--stdin-wait", "1s"],
  ["--stdin-max-bytes", "9"],
]) {
  test(`${flag.join(" ")} is refused in the REPL, before anything is opened`, async () => {
    await using model = await startModel([]);
    const args = [...flag, "--capture", "capture.jsonl", "hello"];
    await using terminal = await Terminal.start({ command: sourceOrBinary(), args, env: model.env, columns: 120 });
    expect((await terminal.exited).code).toBe(2);
    expect(terminal.screen.everything()).toContain(`error: ${flag[0]} goes with print mode only: add -p`);
    expect(existsSync(join(terminal.cwd, "capture.jsonl"))).toBe(false);
  });
}

test("stream-json: the directory of the run is where it was started, not the workspace's root", async () => {
  await using place = await tempDir({ ".git/HEAD": "", "packages/a/x": "" });
  await using model = await startModel([{ text: "ok" }]);
  const args = ["-p", "x", "--output-format", "stream-json"];
  const result = await runThndrs({ args, cwd: place.at("packages", "a"), env: model.env });
  expect(JSON.parse(result.stdout.split("\n")[0] ?? "")).toMatchObject({ type: "started", cwd: place.at("packages", "a") });
});

test("a command that an agent runs here is not called a background process", async () => {
  const agent = `[acp.agents.fake]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([FAKE, "plain"])}\n`;
  await using home = await tempDir({ "thndrs/config.toml": agent });
  const requests = [
    ["terminal/create", { command: "sh", args: ["-c", "exit 3"] }],
    ["terminal/wait_for_exit", {}],
  ];
  const args = ["-p", JSON.stringify(requests), "--model", "acp:fake"];
  const result = await runThndrs({ args, env: { XDG_CONFIG_HOME: home.path }, timeoutMs: 20_000 });
  expect(result.code).toBe(0);
  expect(result.stderr).toMatch(/^thndrs: a command of the agent \(sh -c exit 3\): exit 3, /m);
  expect(result.stderr).not.toContain("background");
});

for (const args of [
  ["--deny-tool", "run_shell"],
  ["--deny-tool", "run_shell(ls*)"],
  ["--authority", "read-only"],
]) {
  test(`${args.join(" ")}: status, error, exit code and the log say that policy stopped it, and what`, async () => {
    const message = "stopped by policy: run_shell was denied, and the model gave no answer";
    await using model = await startModel([shell(["ls"]), { text: "" }]);
    await using place = await tempDir();
    const result = await runThndrs({ args: ["-p", "x", "--output-format", "json", ...args], cwd: place.path, env: model.env });
    expect(result.code).toBe(3);
    expect(JSON.parse(result.stdout)).toMatchObject({ status: "policy", exit_code: 3, error: { class: "policy", message } });
    expect(result.stderr.trimEnd().split("\n").at(-1)).toBe(`thndrs: error: ${message}`);
    const { session_id: id } = JSON.parse(result.stdout);
    const log = readFileSync(place.at(".thndrs", "sessions", `${id}.jsonl`), "utf8");
    expect(log).toMatch(/"type":"failed".*"class":"policy"/);
  });
}
