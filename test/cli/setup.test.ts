/** `thndrs setup` and the hidden prompt of `login`, on a real terminal. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runSetup } from "../../src/cli/setup.ts";
import { createCredentials } from "../../src/config/credentials.ts";
import { setTopLevelKey } from "../../src/config/edit.ts";
import { startLoopback } from "../support/loopback.ts";
import { Terminal } from "../support/pty.ts";
import { entryCommand } from "./entry.ts";
import { makeStage, type Stage } from "./stage.ts";

const KEY = "sk-test-0123456789abcdefghij";
const NO_LOCALS = Object.fromEntries(
  ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"].map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]),
);

function open(stage: Stage, words: readonly string[], env: Record<string, string> = {}): Promise<Terminal> {
  return Terminal.start({
    command: [...entryCommand, ...words],
    cwd: stage.root,
    env: { THNDRS_HOME: stage.home, ...NO_LOCALS, ...env },
    timeoutMs: 15_000,
  });
}

test("setup: provider, key, model, one small request; the key is stored, the configuration written", async () => {
  using stage = makeStage();
  stage.user("# mine\n[context]\nmax_chars = 7\n");
  const server = await startLoopback([{ text: "ok" }], { models: [{ id: "first" }, { id: "second" }] });
  await using terminal = await open(stage, ["setup"], { OPENAI_BASE_URL: server.baseUrl });
  await terminal.waitFor("Which provider?");
  terminal.press("enter");
  await terminal.waitFor("Key for openai");
  terminal.write(KEY);
  terminal.press("enter");
  await terminal.waitFor("Which model?");
  terminal.press("enter");
  await terminal.waitFor("Start with: thndrs");
  expect((await terminal.exited).code).toBe(0);
  expect(terminal.screen.everything()).not.toContain(KEY);
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(readFileSync(stage.userFile, "utf8")).toBe('model = "openai/first"\n# mine\n[context]\nmax_chars = 7\n');
  expect(await createCredentials({ env: {}, configHome: stage.home }).lookup("openai")).toBe(KEY);
  await server.close();
});

test("setup: a key that is refused is not stored, nothing is written", async () => {
  using stage = makeStage();
  const refused = {
    status: 401,
    body: { error: { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" } },
  };
  const server = await startLoopback([refused], { models: [{ id: "first" }] });
  await using terminal = await open(stage, ["setup"], { OPENAI_BASE_URL: server.baseUrl });
  await terminal.waitFor("Which provider?");
  terminal.press("enter");
  await terminal.waitFor("Key for openai");
  terminal.write(KEY);
  terminal.press("enter");
  await terminal.waitFor("Which model?");
  terminal.press("enter");
  await terminal.waitFor("Write it down nevertheless?");
  terminal.press("enter");
  await terminal.waitFor("Nothing was written.");
  expect((await terminal.exited).code).toBe(130);
  expect(existsSync(stage.userFile)).toBe(false);
  expect(existsSync(join(stage.home, "credentials.json"))).toBe(false);
  await server.close();
});

test("setup: Ctrl+C gives up and leaves the terminal as it was", async () => {
  using stage = makeStage();
  await using terminal = await open(stage, ["setup"]);
  await terminal.waitFor("Which provider?");
  terminal.press("ctrl+c");
  await terminal.waitFor("Nothing was written.");
  expect((await terminal.exited).code).toBe(130);
  expect(existsSync(stage.userFile)).toBe(false);
});

for (const words of [["setup"], ["login", "openai"], ["trust"]]) {
  test(`${words[0]}: a signal ends the question, and the terminal is as it was`, async () => {
    using stage = makeStage();
    stage.project('model = "a/b"\n');
    await using terminal = await open(stage, words);
    await terminal.waitFor(/Which provider|Key for openai|Trust these files/);
    terminal.signal("SIGTERM");
    expect((await terminal.exited).code).toBe(143);
    expect(terminal.lineMode()).toEqual({ canonical: true, echo: true, signals: true });
    expect(terminal.screen.modes.has(25)).toBe(true);
  });
}

test("login on a terminal asks without showing the key", async () => {
  using stage = makeStage();
  await using terminal = await open(stage, ["login", "anthropic"]);
  await terminal.waitFor("Key for anthropic");
  terminal.write(KEY);
  terminal.press("enter");
  await terminal.waitFor("the key of anthropic is stored");
  expect((await terminal.exited).code).toBe(0);
  expect(terminal.screen.everything()).not.toContain(KEY);
  expect(await createCredentials({ env: {}, configHome: stage.home }).lookup("anthropic")).toBe(KEY);
});

test("trust on a terminal asks, and no is the default", async () => {
  using stage = makeStage();
  stage.project('model = "a/b"\n');
  for (const [answer, trusted] of [
    ["enter", false],
    ["y", true],
  ] as const) {
    await using terminal = await open(stage, ["trust"]);
    await terminal.waitFor("Trust these files");
    terminal.press(answer === "y" ? "left" : "enter");
    if (answer === "y") terminal.press("enter");
    await terminal.exited;
    expect((await stage.load()).config.model).toBe(trusted ? "a/b" : undefined);
  }
});

test("without a terminal setup says how to do without", async () => {
  using stage = makeStage();
  await expect(stage.play(runSetup, ["setup"])).rejects.toThrow(/thndrs login PROVIDER[\s\S]*THNDRS_MODEL/);
});

const edits: readonly (readonly [string, string, string])[] = [
  ["an empty file", "", 'model = "p/x"\n'],
  [
    "another value",
    'authority = "read-only"\nmodel = "a/b" # why\n[context]\n',
    'authority = "read-only"\nmodel = "p/x"  # why\n[context]\n',
  ],
  ["CRLF", "model = 'a/b'\r\n[context]\r\n", 'model = "p/x"\r\n[context]\r\n'],
  [
    "the same word in a table",
    '[acp.agents.model]\ncommand = "model = 1"\n',
    'model = "p/x"\n[acp.agents.model]\ncommand = "model = 1"\n',
  ],
];

for (const [name, before, after] of edits) {
  test(`setting the model in ${name} leaves the rest alone`, () => {
    expect(setTopLevelKey("f", before, "model", "p/x")).toBe(after);
  });
}

test("a value over several lines is not touched", () => {
  expect(() => setTopLevelKey("f", 'model = """\na/b"""\n', "model", "p/x")).toThrow();
});
