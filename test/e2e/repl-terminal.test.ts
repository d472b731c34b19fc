/** L03, L04, L07 and terminals of other kinds: the terminal is given back, whatever happens. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import type { Terminal } from "../support/pty.ts";
import { sourceOrBinary, startRepl, WIDTHS } from "../ui/repl-stage.ts";

const COOKED = { canonical: true, echo: true, signals: true };
const RAW = { canonical: false, echo: false, signals: false };

function expectRestored(terminal: Terminal): void {
  expect(terminal.lineMode()).toEqual(COOKED);
  expect(terminal.raw()).toContain("\x1b[?2004l");
  expect(terminal.raw()).toContain("\x1b[?25h");
  expect(terminal.screen.modes.has(2004)).toBe(false);
  expect(terminal.screen.modes.has(25)).toBe(true);
}

const waysOut: readonly (readonly [string, (terminal: Terminal) => void | Promise<void>, number])[] = [
  ["/quit", (terminal) => terminal.write("/quit\r"), 0],
  ["Ctrl+D", (terminal) => terminal.press("ctrl+d"), 0],
  [
    "Ctrl+C twice",
    async (terminal) => {
      terminal.press("ctrl+c");
      await terminal.waitFor("again");
      terminal.press("ctrl+c");
    },
    0,
  ],
  ["SIGTERM", (terminal) => terminal.signal("SIGTERM"), 143],
  ["SIGHUP", (terminal) => terminal.signal("SIGHUP"), 129],
  ["SIGINT", (terminal) => terminal.signal("SIGINT"), 130],
  ["SIGALRM", (terminal) => terminal.signal("SIGALRM"), 128 + constants.signals.SIGALRM],
  [
    "SIGTERM during a paste",
    async (terminal) => {
      terminal.write("\x1b[200~half a pas");
      await terminal.waitFor("pasting");
      terminal.signal("SIGTERM");
    },
    143,
  ],
];

for (const [name, leave, code] of waysOut) {
  test(`L03 the terminal is restored after ${name}`, async () => {
    await using stage = await startRepl([], { columns: name === "Ctrl+D" ? 20 : 80 });
    const { terminal } = stage;
    expect(terminal.lineMode()).toEqual(RAW);
    await leave(terminal);
    const result = await terminal.exited;
    expect(result.code).toBe(code);
    expectRestored(terminal);
    expect(terminal.screen.currentLine()).toBe("");
  });
}

const asleep: Step = { calls: [{ name: "run_shell", arguments: { argv: ["sleep", "60"] } }] };

for (const signal of [
  "SIGTERM",
  "SIGHUP",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGVTALRM",
  "SIGPROF",
  "SIGXCPU",
  "SIGIO",
] as const) {
  test(`L03 the terminal is restored and children are reaped after ${signal} while a tool runs`, async () => {
    await using stage = await startRepl([asleep]);
    const { terminal } = stage;
    terminal.write("go");
    terminal.press("enter");
    await terminal.waitFor("run_shell sleep 60");
    terminal.signal(signal);
    const result = await terminal.exited;
    expect(result.code).toBe(128 + constants.signals[signal]);
    expect(result.leftovers).toEqual([]);
    expectRestored(terminal);
  });
}

for (const [signal, message] of [
  ["SIGURG", "boom"],
  ["SIGSYS", "lost promise"],
] as const) {
  test(`L03, B06 ${message}: one line, exit 70, the terminal restored, children reaped`, async () => {
    const root = join(import.meta.dir, "..", "..");
    const command = [process.execPath, "--preload", join(root, "test/fixtures/throw-on-signal.ts"), join(root, "src/main.ts")];
    await using stage = await startRepl([asleep], { command });
    const { terminal } = stage;
    terminal.write("go\r");
    await terminal.waitFor("run_shell sleep 60");
    terminal.write("\x1b[200~in the middle of a paste");
    await terminal.waitFor("pasting");
    terminal.signal(signal);
    const result = await terminal.exited;
    expect(result.code).toBe(70);
    expect(result.leftovers).toEqual([]);
    expectRestored(terminal);
    expect(terminal.screen.everything()).toContain(`internal error: ${message}`);
  });
}

test("L03 the terminal is restored after SIGTERM while a question waits", async () => {
  await using stage = await startRepl([asleep], { env: { THNDRS_APPROVAL: "shell" } });
  const { terminal } = stage;
  terminal.write("go\r");
  await terminal.waitFor("Allow run_shell: sleep 60");
  terminal.signal("SIGTERM");
  const result = await terminal.exited;
  expect(result.code).toBe(143);
  expect(result.leftovers).toEqual([]);
  expectRestored(terminal);
});

test("L03 the terminal is restored after SIGTERM in a picker", async () => {
  await using stage = await startRepl([], { model: { models: [{ id: "mock" }, { id: "other" }] } });
  const { terminal } = stage;
  stage.send("/model");
  await terminal.waitFor("Which model?");
  terminal.signal("SIGTERM");
  const result = await terminal.exited;
  expect(result.code).toBe(143);
  expect(result.leftovers).toEqual([]);
  expectRestored(terminal);
});

test("Shift+Enter: asked for where the terminal can report it, given back at the end", async () => {
  await using stage = await startRepl([{ text: "two lines" }]);
  const { terminal } = stage;
  expect(terminal.raw()).toContain("\x1b[?u");
  expect(terminal.raw()).not.toContain("\x1b[>5u");
  // What a terminal with the kitty keyboard protocol answers.
  terminal.write("\x1b[?0u");
  await terminal.waitForRaw("\x1b[>5u");
  terminal.write("a\x1b[13;2ub");
  await terminal.waitFor("  b");
  terminal.press("enter");
  await terminal.waitFor("two lines");
  expect(stage.userTexts(1)).toEqual(["a\nb"]);
  terminal.write("\x1b[100;5u");
  expect((await terminal.exited).code).toBe(0);
  expect(terminal.raw()).toContain("\x1b[<u");
  expectRestored(terminal);
});

test("what is typed before the program is ready is not lost", async () => {
  await using stage = await startRepl([{ text: "typed ahead, answered" }], { ready: false });
  stage.terminal.write("hello\r");
  await stage.terminal.waitFor("typed ahead, answered");
  expect(stage.userTexts(1)).toEqual(["hello"]);
});

test("L03 the window is closed: the program ends and leaves nothing behind", async () => {
  await using stage = await startRepl([asleep]);
  const { terminal } = stage;
  terminal.write("go");
  terminal.press("enter");
  await terminal.waitFor("run_shell sleep 60");
  terminal.hangUp();
  const result = await terminal.exited;
  expect(result.code).toBe(129);
  expect(result.leftovers).toEqual([]);
});

for (const columns of WIDTHS) {
  test(`L04 Ctrl+Z and fg when idle, while streaming and while a tool runs, at ${columns} columns`, async () => {
    const streaming: Step = { text: ["flowing ", "on"], hold: { gate: "go on", at: 3 } };
    await using model = await startModel([streaming, { ...asleep }, { text: "x" }]);
    const { Terminal } = await import("../support/pty.ts");
    await using terminal = await Terminal.start({
      command: ["/bin/bash", "--norc", "-i"],
      columns,
      rows: 40,
      timeoutMs: 25_000,
      env: { ...model.env, PS1: "SHELL> " },
    });
    await terminal.waitFor("SHELL>");
    const again = async (typed: string): Promise<void> => {
      terminal.press("ctrl+z");
      await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>"));
      // The shell has put its own modes back: the program must not have left raw mode or paste marks on.
      expect(terminal.raw().lastIndexOf("\x1b[?2004l")).toBeGreaterThan(terminal.raw().lastIndexOf("\x1b[?u"));
      terminal.write("fg\r");
      await terminal.waitFor((screen) => screen.currentLine() === `❯ ${typed}`);
      expect(terminal.lineMode()).toEqual(RAW);
    };
    terminal.write(`${sourceOrBinary().join(" ")}\r`);
    await terminal.waitFor("[Diagnostics]");
    terminal.write("abc");
    await terminal.waitFor((screen) => screen.currentLine() === "❯ abc");
    await again("abc");
    terminal.press("enter");
    await terminal.waitFor("flowing");
    terminal.write("de");
    await terminal.waitFor((screen) => screen.currentLine() === "❯ de");
    await again("de");
    model.server.release("go on");
    await terminal.waitFor("flowing on");
    await terminal.waitFor((screen) => !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
    terminal.press("enter");
    await terminal.waitFor("run_shell");
    terminal.write("f");
    await again("f");
    terminal.press("ctrl+u", "ctrl+d");
    await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>"));
    terminal.write("exit\r");
    expect((await terminal.exited).leftovers).toEqual([]);
  });
}

test("L04 stopped and continued from outside: raw mode and the line come back", async () => {
  await using stage = await startRepl([]);
  const { terminal } = stage;
  terminal.write("abc");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ abc");
  const seen = terminal.raw().length;
  terminal.signal("SIGSTOP");
  terminal.signal("SIGCONT");
  await terminal.waitFor(() => terminal.raw().slice(seen).includes("❯ abc"));
  expect(terminal.lineMode()).toEqual(RAW);
  terminal.write("d");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ abcd");
});

test("L07 stdout is a file: the answers are in it and nothing else, the terminal has the rest", async () => {
  const { tempDir } = await import("../support/temp.ts");
  await using place = await tempDir();
  const file = place.at("out.txt");
  await using stage = await startRepl([{ text: "the **answer**" }, { text: "another" }], { redirect: { stdout: file } });
  const { terminal } = stage;
  await terminal.waitFor("❯");
  stage.send("question");
  await terminal.waitFor("the answer");
  stage.send("more");
  await terminal.waitFor("another");
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
  expectRestored(terminal);
  expect(readFileSync(file, "utf8")).toBe("the **answer**\nanother\n");
});

test("L07 stdout is a file and a prompt is given: print mode", async () => {
  const { tempDir } = await import("../support/temp.ts");
  await using place = await tempDir();
  const file = place.at("out.txt");
  await using stage = await startRepl([{ text: "printed" }], { redirect: { stdout: file }, args: ["hello"], ready: false });
  expect((await stage.terminal.exited).code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe("printed\n");
});

for (const columns of WIDTHS) {
  test(`TERM=dumb: plain lines, not one control sequence, at ${columns} columns`, async () => {
    const call = { name: "run_shell", arguments: { argv: ["echo", "hi"] } };
    await using stage = await startRepl([{ calls: [call] }, { text: "# Head\n\ndone" }], { term: "dumb", columns });
    const { terminal } = stage;
    terminal.write("do it");
    await terminal.waitFor("> do it");
    terminal.press("enter");
    await terminal.waitFor("done");
    stage.send("/tokens");
    await terminal.waitFor("2 requests");
    terminal.press("ctrl+c");
    terminal.press("ctrl+c");
    expect((await terminal.exited).code).toBe(0);
    expect(terminal.raw()).not.toContain("\x1b");
    expect(terminal.lineMode()).toEqual(COOKED);
  });
}

test("NO_COLOR: no colours, still a live region", async () => {
  await using stage = await startRepl([{ text: "**bold** and `code`" }], { env: { NO_COLOR: "1" } });
  stage.send("go");
  await stage.terminal.waitFor("bold and code");
  expect(stage.terminal.raw()).not.toMatch(/\x1b\[[0-9;]*m/);
  stage.terminal.press("ctrl+d");
  await stage.terminal.exited;
});

test("resizing while streaming leaves one prompt, and settled text as it is", async () => {
  const words = Array.from({ length: 40 }, (_, index) => `paragraph ${index}\n\n`);
  await using stage = await startRepl([{ text: words, pace: 20 }], { columns: 80, rows: 30 });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("paragraph 3");
  for (const columns of [20, 60, 33, 80, 20, 80]) {
    terminal.resize(columns, 30);
    const seen = terminal.raw().length;
    await terminal.waitFor(() => terminal.raw().length > seen + 200);
  }
  await terminal.waitFor("paragraph 39");
  await terminal.waitFor((screen) => !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
  const everything = terminal.screen.everything();
  for (let index = 0; index < 40; index++) expect(everything.match(new RegExp(`paragraph ${index}$`, "gm"))).toHaveLength(1);
  expect(terminal.screen.lines().filter((line) => line.startsWith("❯"))).toHaveLength(1);
});

test("a resized terminal, a small one: two rows are enough", async () => {
  await using stage = await startRepl([{ text: "fits" }], { columns: 20, rows: 2, ready: false });
  await stage.terminal.waitFor("❯");
  stage.send("go");
  await stage.terminal.waitFor("fits");
  stage.terminal.press("ctrl+d");
  expect((await stage.terminal.exited).code).toBe(0);
});
