/** TERM=dumb: the questions of trust, login and setup were drawn with control sequences. Now they are lines, answered by a line. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { createCredentials } from "../../src/config/credentials.ts";
import { startLoopback } from "../support/loopback.ts";
import { Terminal } from "../support/pty.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { sourceOrBinary } from "../ui/repl-stage.ts";

const KEY = "sk-test-0123456789abcdefghij";
const NO_LOCALS = Object.fromEntries(
  ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"].map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]),
);

const start = (place: TempDir, words: readonly string[], env: Record<string, string> = {}): Promise<Terminal> =>
  Terminal.start({
    command: [...sourceOrBinary(), ...words],
    cwd: place.path,
    term: "dumb",
    env: { THNDRS_HOME: place.at("home"), ...NO_LOCALS, ...env },
    timeoutMs: 20_000,
  });

test("trust: no is what Enter says, anything but yes or no is asked again", async () => {
  for (const [typed, code] of [
    ["", 1],
    ["perhaps\ryesx\x7f", 0],
  ] as const) {
    await using place = await tempDir({ ".thndrs/config.toml": 'authority = "read-only"\n' });
    await using terminal = await start(place, ["trust"]);
    await terminal.waitFor((screen) => screen.currentLine() === "?");
    for (const character of `${typed}\r`) terminal.write(character);
    expect((await terminal.exited).code).toBe(code);
    expect(terminal.raw()).not.toContain("\x1b");
    expect(existsSync(place.at("home", "trust.json"))).toBe(code === 0);
    if (code === 0) expect(terminal.screen.everything()).toContain("answer with yes or no");
  }
});

test("setup: by number, the key not shown", async () => {
  await using place = await tempDir();
  const server = await startLoopback([{ text: "ok" }], { models: [{ id: "first" }, { id: "second" }] });
  await using terminal = await start(place, ["setup"], { OPENAI_BASE_URL: server.baseUrl });
  await terminal.waitFor("Which provider?");
  await terminal.waitFor((screen) => screen.currentLine() === "?");
  for (const character of "1\r") terminal.write(character);
  await terminal.waitFor("Key for openai");
  await terminal.waitFor((screen) => screen.currentLine() === "?");
  for (const character of `${KEY}\r`) terminal.write(character);
  await terminal.waitFor("Which model?");
  await terminal.waitFor((screen) => screen.currentLine() === "?");
  for (const character of "2\r") terminal.write(character);
  await terminal.waitFor("Start with: thndrs");
  expect((await terminal.exited).code).toBe(0);
  expect(terminal.raw()).not.toContain("\x1b");
  expect(terminal.raw()).not.toContain(KEY.slice(0, 5));
  expect(await place.read("home/config.toml")).toContain('model = "openai/second"');
  expect(await createCredentials({ env: {}, configHome: place.at("home") }).lookup("openai")).toBe(KEY);
  await server.close();
});

test("login: Ctrl+D, Esc and Ctrl+C give up, a closed window is 129", async () => {
  for (const key of ["ctrl+d", "escape", "ctrl+c", "hang up"] as const) {
    await using place = await tempDir();
    await using terminal = await start(place, ["login", "openai"]);
    await terminal.waitFor((screen) => screen.currentLine() === "?");
    terminal.write("sk-half");
    if (key === "hang up") terminal.hangUp();
    else terminal.press(key);
    expect(await terminal.exited).toMatchObject({ code: key === "hang up" ? 129 : 130, signal: null });
    expect(existsSync(place.at("home", "credentials.json"))).toBe(false);
  }
});
