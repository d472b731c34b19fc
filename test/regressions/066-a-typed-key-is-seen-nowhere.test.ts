/**
 * A key that is typed or pasted at `login` and `setup` is in no byte that the terminal gets: not while it is typed, not after
 * Ctrl+Z, a change of width or a mistake, not in the scrollback, and not before raw mode is on again.
 */
import { expect, test } from "bun:test";
import { createCredentials } from "../../src/config/credentials.ts";
import { startLoopback } from "../support/loopback.ts";
import { Terminal } from "../support/pty.ts";
import { tempDir } from "../support/temp.ts";
import { sourceOrBinary } from "../ui/repl-stage.ts";

/** No three characters of it stand in anything else. */
const KEY = "~Q~7~x~Z~9~w~K~2~p~V~";
const NO_LOCALS = Object.fromEntries(
  ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"].map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]),
);

/** No three characters of the key in a row, whatever lies between two writes. */
function seenNowhere(terminal: Terminal): void {
  const raw = Bun.stripANSI(terminal.raw());
  for (let at = 0; at + 3 <= KEY.length; at++) expect(raw).not.toContain(KEY.slice(at, at + 3));
}

test("login: typed in pieces around Ctrl+Z, a change of width and a mistake, the key is stored and seen nowhere", async () => {
  await using place = await tempDir();
  await using terminal = await Terminal.start({
    command: ["/bin/bash", "--norc", "-i"],
    cwd: place.path,
    env: { THNDRS_HOME: place.at("home"), PS1: "SHELL> " },
    timeoutMs: 20_000,
  });
  await terminal.waitFor("SHELL>");
  terminal.write(`${[...sourceOrBinary(), "login", "openai"].join(" ")}\r`);
  await terminal.waitFor("└");
  terminal.write(KEY.slice(0, 5));
  await terminal.waitFor("▪▪▪▪▪");
  terminal.press("ctrl+z");
  await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>") && screen.modes.has(25));
  expect(terminal.screen.text()).not.toContain("▪");
  terminal.write("fg\r");
  await terminal.waitFor((screen) => screen.text().includes("▪▪▪▪▪"));
  const seen = terminal.raw().length;
  terminal.resize(40, 24);
  await terminal.waitFor(() => terminal.raw().slice(seen).includes("▪▪▪▪▪"));
  terminal.write(`${KEY.slice(5, 9)} \t`);
  await terminal.waitFor("▪▪▪▪▪▪▪▪▪▪");
  terminal.write("x\r");
  await terminal.waitFor("a key has no white space in it");
  terminal.press("backspace", "backspace");
  terminal.paste(`${KEY.slice(9)}\n`);
  await terminal.waitFor((screen) => screen.text().includes("▪".repeat(KEY.length)) || /▪+\n▪+/.test(screen.text()));
  terminal.press("left", "home", "end", "enter");
  await terminal.waitFor("the key of openai is stored");
  await terminal.waitFor((screen) => screen.currentLine() === "SHELL>");
  seenNowhere(terminal);
  expect(await createCredentials({ env: {}, configHome: place.at("home") }).lookup("openai")).toBe(KEY);
});

test("login: a key that was begun and given up is seen nowhere", async () => {
  for (const key of ["escape", "ctrl+d", "ctrl+c"] as const) {
    await using place = await tempDir();
    await using terminal = await Terminal.start({
      command: [...sourceOrBinary(), "login", "openai"],
      cwd: place.path,
      env: { THNDRS_HOME: place.at("home") },
      timeoutMs: 20_000,
    });
    await terminal.waitFor("└");
    terminal.paste(KEY);
    await terminal.waitFor("▪".repeat(KEY.length));
    terminal.press(key);
    expect((await terminal.exited).code).toBe(130);
    seenNowhere(terminal);
  }
});

test("setup: a key that is typed before it is asked for is neither echoed nor taken in part", async () => {
  await using place = await tempDir();
  const server = await startLoopback([{ text: "ok" }], { models: [{ id: "first" }] });
  await using terminal = await Terminal.start({
    command: [...sourceOrBinary(), "setup"],
    cwd: place.path,
    env: { THNDRS_HOME: place.at("home"), ...NO_LOCALS, OPENAI_BASE_URL: server.baseUrl },
    timeoutMs: 20_000,
  });
  await terminal.waitFor("to search");
  terminal.write(`\x1b[B\x1b[A\r${KEY.slice(0, 10)}`);
  await terminal.waitFor("Key for openai");
  await terminal.waitFor((screen) => screen.currentLine().startsWith("└"));
  expect(terminal.screen.everything()).not.toContain("▪");
  terminal.write(`${KEY}\r`);
  await terminal.waitFor("Which model?");
  await terminal.waitFor("to navigate");
  terminal.press("enter");
  await terminal.waitFor("Start with: thndrs");
  expect((await terminal.exited).code).toBe(0);
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  seenNowhere(terminal);
  await server.close();
});

test("without a terminal to ask on, login says how to do without", async () => {
  await using place = await tempDir();
  await using terminal = await Terminal.start({
    command: [...sourceOrBinary(), "login", "openai"],
    cwd: place.path,
    env: { THNDRS_HOME: place.at("home") },
    redirect: { stdout: place.at("out"), stderr: place.at("err") },
    timeoutMs: 20_000,
  });
  expect((await terminal.exited).code).toBe(2);
  expect(await place.read("err")).toContain('echo "$KEY" | thndrs login openai');
  expect(await place.read("out")).toBe("");
});
