/**
 * Outside the REPL clack stood on the bare terminal: Ctrl+Z and Ctrl+D in the questions of trust, login and setup left a dead
 * terminal, a hang-up ended with 7, and a signal counted as an answer. Now they have the REPL's keyboard and live region.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { startLoopback } from "../support/loopback.ts";
import { type Key, Terminal, type TerminalOptions } from "../support/pty.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { sourceOrBinary } from "../ui/repl-stage.ts";

const RAW = { canonical: false, echo: false, signals: false };
const COOKED = { canonical: true, echo: true, signals: true };
const KEY = "sk-test-0123456789abcdefghij";
const CONFIG = { ".thndrs/config.toml": 'authority = "read-only"\n' };
const NO_LOCALS = Object.fromEntries(
  ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"].map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]),
);

/** What each command asks first; what stands there once it can be answered; how it ends when it is given up. */
const COMMANDS = [
  {
    words: ["trust"],
    question: "Trust these files",
    ready: /[●○] Yes/,
    code: 1,
    answer: "y",
    done: "trusted: .thndrs/config.toml",
  },
  { words: ["login", "openai"], question: "Key for openai", ready: "└", code: 130, answer: `${KEY}\r`, done: "is stored" },
  { words: ["setup"], question: "Which provider?", ready: /Enter:\s+confirm/, code: 130, answer: "\r", done: "Key for openai" },
] as const;

const environment = (place: TempDir): Record<string, string> => ({ THNDRS_HOME: place.at("home"), ...NO_LOCALS });

async function start(place: TempDir, words: readonly string[], options: TerminalOptions = {}): Promise<Terminal> {
  return Terminal.start({
    command: [...sourceOrBinary(), ...words],
    cwd: place.path,
    env: { ...environment(place), ...options.env },
    timeoutMs: 20_000,
    ...options,
  });
}

/** Nothing but the directory that is there: no trust, no key, no configuration. */
function nothingWritten(place: TempDir): void {
  for (const name of ["trust.json", "credentials.json", "config.toml"]) expect(existsSync(place.at("home", name))).toBe(false);
}

for (const { words, question, ready, code, answer, done } of COMMANDS) {
  const [name] = words;

  test(`L04 ${name}: Ctrl+Z gives the shell its terminal, fg shows the question again, and it can be answered`, async () => {
    await using place = await tempDir(CONFIG);
    await using terminal = await Terminal.start({
      command: ["/bin/bash", "--norc", "-i"],
      cwd: place.path,
      rows: 40,
      timeoutMs: 20_000,
      env: { ...environment(place), PS1: "SHELL> " },
    });
    await terminal.waitFor("SHELL>");
    terminal.write(`${[...sourceOrBinary(), ...words].join(" ")}\r`);
    await terminal.waitFor(ready);
    for (const _ of [1, 2]) {
      terminal.press("ctrl+z");
      await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>") && screen.modes.has(25));
      const seen = terminal.raw().length;
      terminal.write("fg\r");
      await terminal.waitFor(() => terminal.raw().slice(seen).includes(question));
      await terminal.waitFor((screen) => screen.text().split(question).length === 2 && !screen.modes.has(25));
      expect(terminal.lineMode()).toEqual(RAW);
    }
    terminal.write(answer);
    await terminal.waitFor(done);
    if (name === "setup") terminal.press("escape");
    await terminal.waitFor((screen) => screen.currentLine() === "SHELL>" && screen.modes.has(25));
    expect(terminal.screen.everything()).not.toContain(KEY);
    terminal.write("exit\r");
    expect((await terminal.exited).leftovers).toEqual([]);
  });

  test(`L04 ${name}: Ctrl+Z where nobody could continue us changes nothing`, async () => {
    await using place = await tempDir(CONFIG);
    await using terminal = await start(place, words);
    await terminal.waitFor(ready);
    const seen = terminal.raw().length;
    terminal.press("ctrl+z");
    await terminal.waitFor(() => terminal.raw().slice(seen).includes(question));
    expect(terminal.lineMode()).toEqual(RAW);
    terminal.write(answer);
    await terminal.waitFor(done);
  });

  for (const key of ["ctrl+d", "ctrl+c", "escape"] as const satisfies readonly Key[]) {
    test(`${name}: ${key} gives up, nothing is written, the terminal is as it was`, async () => {
      await using place = await tempDir(CONFIG);
      await using terminal = await start(place, words);
      await terminal.waitFor(ready);
      terminal.press(key);
      expect(await terminal.exited).toMatchObject({ code, signal: null, leftovers: [] });
      expect(terminal.lineMode()).toEqual(COOKED);
      expect(terminal.screen.modes.has(25)).toBe(true);
      expect(terminal.screen.modes.has(2004)).toBe(false);
      nothingWritten(place);
    });
  }

  test(`L03 ${name}: the window is closed: 129, nothing written`, async () => {
    await using place = await tempDir(CONFIG);
    await using terminal = await start(place, words);
    await terminal.waitFor(ready);
    terminal.hangUp();
    expect(await terminal.exited).toMatchObject({ code: 129, signal: null, leftovers: [] });
    nothingWritten(place);
  });

  test(`L03 ${name}: SIGHUP with the terminal still there: 129, its modes as they were`, async () => {
    await using place = await tempDir(CONFIG);
    await using terminal = await start(place, words);
    await terminal.waitFor(ready);
    terminal.signal("SIGHUP");
    expect(await terminal.exited).toMatchObject({ code: 129, signal: null, leftovers: [] });
    expect(terminal.lineMode()).toEqual(COOKED);
    expect(terminal.screen.modes.has(25)).toBe(true);
    expect(terminal.screen.modes.has(2004)).toBe(false);
    nothingWritten(place);
  });

  test(`L05 ${name}: a change of width leaves one question, and what stands above it`, async () => {
    await using place = await tempDir(CONFIG);
    await using terminal = await Terminal.start({
      command: [
        "/bin/sh",
        "-c",
        'for i in 1 2 3 4 5 6; do echo "above $i"; done; exec "$@"',
        "sh",
        ...sourceOrBinary(),
        ...words,
      ],
      cwd: place.path,
      rows: 40,
      env: environment(place),
      timeoutMs: 20_000,
    });
    await terminal.waitFor(ready);
    for (const columns of [60, 100, 30, 80]) {
      const seen = terminal.raw().length;
      terminal.resize(columns, 40);
      await terminal.waitFor(() => terminal.raw().slice(seen).includes(question.slice(0, 9)));
      await terminal.waitFor(ready);
      const everything = terminal.screen.everything();
      for (const number of [1, 2, 3, 4, 5, 6]) expect(everything.split(`above ${number}`)).toHaveLength(2);
      expect(everything.split(question)).toHaveLength(2);
    }
    terminal.write(answer);
    await terminal.waitFor(done);
  });
}

test("setup: Ctrl+C while the provider is asked gives up; the window closed there is 129", async () => {
  for (const how of ["ctrl+c", "hang up"] as const) {
    await using place = await tempDir();
    const server = await startLoopback([{ hang: true }], { models: [{ id: "first" }] });
    await using terminal = await start(place, ["setup"], {
      env: { ...environment(place), OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: KEY },
    });
    await terminal.waitFor("to search");
    terminal.press("enter");
    await terminal.waitFor("Which model?");
    terminal.press("enter");
    await terminal.waitFor("asking openai/first");
    if (how === "ctrl+c") terminal.press("ctrl+c");
    else terminal.hangUp();
    expect(await terminal.exited).toMatchObject({ code: how === "ctrl+c" ? 130 : 129, signal: null, leftovers: [] });
    if (how === "ctrl+c") expect(terminal.lineMode()).toEqual(COOKED);
    nothingWritten(place);
    await server.close();
  }
});
