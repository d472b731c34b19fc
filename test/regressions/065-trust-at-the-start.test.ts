/**
 * The question of trust when the REPL starts was clack's on the bare terminal: any "y" in a prompt that was typed ahead trusted the
 * project, Ctrl+Z left a dead terminal, and a window that was closed over the question counted as "no" for ever.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { type Key, Terminal } from "../support/pty.ts";
import { tempDir } from "../support/temp.ts";
import { sourceOrBinary, startRepl } from "../ui/repl-stage.ts";

const RAW = { canonical: false, echo: false, signals: false };
const CONFIG = { ".thndrs/config.toml": 'authority = "read-only"\n' };
const QUESTION = "Trust these files";
const READY = /[●○] Yes/;

test("L04 Ctrl+Z in the question, fg, yes: the REPL starts with what is trusted and keeps the keyboard", async () => {
  await using place = await tempDir(CONFIG);
  await using model = await startModel([{ text: "an answer" }]);
  await using terminal = await Terminal.start({
    command: ["/bin/bash", "--norc", "-i"],
    cwd: place.path,
    rows: 40,
    timeoutMs: 25_000,
    env: { ...model.env, THNDRS_HOME: place.at("home"), PS1: "SHELL> " },
  });
  await terminal.waitFor("SHELL>");
  terminal.write(`${sourceOrBinary().join(" ")}\r`);
  await terminal.waitFor(READY);
  terminal.press("ctrl+z");
  await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>") && screen.modes.has(25));
  const seen = terminal.raw().length;
  terminal.write("fg\r");
  await terminal.waitFor(() => terminal.raw().slice(seen).includes(QUESTION));
  expect(terminal.lineMode()).toEqual(RAW);
  terminal.write("y");
  await terminal.waitFor("trusted: .thndrs/config.toml");
  await terminal.waitFor("[Diagnostics]");
  await terminal.waitFor((screen) => screen.currentLine() === "❯" && screen.modes.has(25));
  expect(terminal.lineMode()).toEqual(RAW);
  terminal.write("/status");
  terminal.press("enter");
  await terminal.waitFor("authority  read-only");
  terminal.press("ctrl+z");
  await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>") && screen.modes.has(25));
  terminal.write("fg\r");
  await terminal.waitFor((screen) => screen.currentLine() === "❯");
  terminal.press("ctrl+d");
  await terminal.waitFor((screen) => screen.currentLine() === "SHELL>");
  terminal.write("exit\r");
  expect((await terminal.exited).leftovers).toEqual([]);
});

for (const key of ["ctrl+d", "ctrl+c", "escape"] as const satisfies readonly Key[]) {
  test(`${key} trusts nothing, and the REPL starts`, async () => {
    await using place = await tempDir(CONFIG);
    await using stage = await startRepl([], { cwd: place.path, env: { THNDRS_HOME: place.at("home") }, ready: false });
    const { terminal } = stage;
    await terminal.waitFor(READY);
    terminal.press(key);
    await terminal.waitFor("nothing was trusted");
    await terminal.waitFor("[Diagnostics]");
    await terminal.waitFor((screen) => screen.currentLine() === "❯");
    stage.send("/status");
    await terminal.waitFor("authority  workspace-write");
    terminal.press("ctrl+d");
    expect((await terminal.exited).code).toBe(0);
  });
}

for (const how of ["the window is closed", "SIGHUP", "SIGTERM"] as const) {
  test(`L03 ${how} while it is asked: the program ends, and it is asked again the next time`, async () => {
    await using place = await tempDir(CONFIG);
    const options = { cwd: place.path, env: { THNDRS_HOME: place.at("home") }, ready: false };
    await using stage = await startRepl([], options);
    await stage.terminal.waitFor(READY);
    if (how === "the window is closed") stage.terminal.hangUp();
    else stage.terminal.signal(how);
    const code = how === "SIGTERM" ? 143 : 129;
    expect(await stage.terminal.exited).toMatchObject({ code, signal: null, leftovers: [] });
    expect(existsSync(place.at("home", "trust.json"))).toBe(false);
    expect(existsSync(place.at(".thndrs", "sessions"))).toBe(false);
    await using again = await startRepl([], options);
    await again.terminal.waitFor(QUESTION);
  });
}

test("what is typed or pasted for something else is no yes", async () => {
  await using place = await tempDir(CONFIG);
  // The line is typed while nothing of the program runs yet, so that it waits in the terminal.
  await using terminal = await Terminal.start({
    command: ["/bin/sh", "-c", 'stty -echo; echo type; read -r go; sleep 0.3; exec "$@"', "sh", ...sourceOrBinary(), "trust"],
    cwd: place.path,
    env: { THNDRS_HOME: place.at("home") },
    timeoutMs: 20_000,
  });
  await terminal.waitFor("type");
  terminal.write("go\nwhy is my build broken\nyes\n");
  await terminal.waitFor(READY);
  terminal.paste("yes\n");
  terminal.write("my build");
  terminal.press("right");
  await terminal.waitFor("● Yes");
  terminal.press("escape");
  await terminal.waitFor("nothing was trusted");
  expect((await terminal.exited).code).toBe(1);
  expect(existsSync(place.at("home", "trust.json"))).toBe(false);
});

test("trust --json: the question stands where the list does, the document alone on stdout", async () => {
  await using place = await tempDir(CONFIG);
  await using terminal = await Terminal.start({
    command: [...sourceOrBinary(), "trust", "--json"],
    cwd: place.path,
    env: { THNDRS_HOME: place.at("home") },
    redirect: { stdout: place.at("out.json") },
    timeoutMs: 20_000,
  });
  await terminal.waitFor(READY);
  terminal.write("y");
  expect((await terminal.exited).code).toBe(0);
  expect(JSON.parse(await place.read("out.json"))).toEqual({ trusted: [place.at(".thndrs", "config.toml")] });
});
