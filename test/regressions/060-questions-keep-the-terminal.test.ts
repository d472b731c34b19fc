/**
 * A question was drawn by clack on the terminal itself: Ctrl+Z and Ctrl+D in it left a dead terminal, a hang-up a crash that left
 * children and the lock behind, a change of width took settled rows away. Now clack gets keys and gives rows, and that is all.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { type Key, Terminal } from "../support/pty.ts";
import { tempDir } from "../support/temp.ts";
import { type ReplStage, sessionRecords, sourceOrBinary, startRepl } from "../ui/repl-stage.ts";

const RAW = { canonical: false, echo: false, signals: false };
const MODELS = { models: [{ id: "mock" }, { id: "other" }] };
const shell = (...argv: string[]): Step => ({ calls: [{ name: "run_shell", arguments: { argv } }] });

/** Something that asks: how to make it, what it shows, and what shows that its second choice was taken. */
const QUESTIONS = [
  ["/model", "Which model?", "model openrouter/other"],
  ["/reasoning", "How much should the model think?", "reasoning high"],
  ["go", "Allow run_shell: echo hi", "tool done"],
] as const;

const startAsking = (): Promise<ReplStage> =>
  startRepl([shell("echo", "hi"), { text: "tool done" }, { text: "still here" }], {
    env: { THNDRS_APPROVAL: "all" },
    model: MODELS,
  });

for (const [line, question, taken] of QUESTIONS) {
  test(`L04 Ctrl+Z in the question of ${line}: the shell's terminal, and fg shows the question again`, async () => {
    await using model = await startModel([shell("echo", "hi"), { text: "tool done" }, { text: "still here" }], MODELS);
    await using terminal = await Terminal.start({
      command: ["/bin/bash", "--norc", "-i"],
      rows: 40,
      timeoutMs: 25_000,
      env: { ...model.env, PS1: "SHELL> ", THNDRS_APPROVAL: "all" },
    });
    await terminal.waitFor("SHELL>");
    terminal.write(`${sourceOrBinary().join(" ")}\r`);
    await terminal.waitFor("[Diagnostics]");
    terminal.write(line);
    terminal.press("enter");
    await terminal.waitFor("to navigate");
    terminal.press("down");
    await terminal.waitFor(/○.*\n.*●/);
    for (const _ of [1, 2]) {
      terminal.press("ctrl+z");
      await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>") && screen.modes.has(25));
      const seen = terminal.raw().length;
      terminal.write("fg\r");
      await terminal.waitFor(() => terminal.raw().slice(seen).includes(question));
      await terminal.waitFor((screen) => screen.text().includes("to navigate"));
      expect(terminal.lineMode()).toEqual(RAW);
      expect(terminal.screen.modes.has(25)).toBe(false);
    }
    terminal.press("enter");
    await terminal.waitFor(taken);
    await terminal.waitFor((screen) => screen.currentLine() === "❯" && screen.modes.has(25));
    terminal.press("ctrl+d");
    await terminal.waitFor((screen) => screen.currentLine().startsWith("SHELL>"));
    terminal.write("exit\r");
    expect((await terminal.exited).leftovers).toEqual([]);
  });

  test(`L04 Ctrl+Z in the question of ${line} where nobody could continue us changes nothing`, async () => {
    await using stage = await startAsking();
    const { terminal } = stage;
    stage.send(line);
    await terminal.waitFor("to navigate");
    const seen = terminal.raw().length;
    terminal.press("ctrl+z");
    await terminal.waitFor(() => terminal.raw().slice(seen).includes(question));
    terminal.press("down", "enter");
    await terminal.waitFor(taken);
    expect(terminal.lineMode()).toEqual(RAW);
  });

  for (const key of ["ctrl+d", "ctrl+c", "escape"] as const satisfies readonly Key[]) {
    test(`${key} gives the question of ${line} up, and the REPL goes on`, async () => {
      await using stage = await startAsking();
      const { terminal } = stage;
      stage.send(line);
      await terminal.waitFor("to navigate");
      terminal.press(key);
      await terminal.waitFor((screen) => screen.currentLine() === "❯");
      if (line === "go") await terminal.waitFor("■ cancelled");
      expect(terminal.lineMode()).toEqual(RAW);
      stage.send("/tokens");
      await terminal.waitFor(/\d requests?/);
      expect(terminal.screen.everything()).not.toContain(taken);
      terminal.press("ctrl+d");
      expect((await terminal.exited).code).toBe(0);
    });
  }
}

for (const asked of ["/reasoning", "/model", "a tool"]) {
  test(`L03 the window is closed while ${asked} asks: 129, the child reaped, the log finished, no lock`, async () => {
    await using place = await tempDir();
    const background: Step = {
      calls: [{ name: "run_shell", arguments: { argv: ["sleep", "77"], background: true } }],
    };
    const writing: Step = { calls: [{ name: "create_file", arguments: { path: "a.txt", content: "x" } }] };
    const steps = asked === "a tool" ? [background, writing] : [background, { text: "started it" }];
    await using stage = await startRepl(steps, {
      cwd: place.path,
      env: { THNDRS_APPROVAL: asked === "a tool" ? "writes" : "never" },
      model: MODELS,
    });
    const { terminal } = stage;
    stage.send("go");
    if (asked === "a tool") {
      await terminal.waitFor("Allow run_shell");
      await terminal.waitFor("to navigate");
      terminal.press("enter");
      await terminal.waitFor("Allow create_file");
    } else {
      await terminal.waitFor("started it");
      await terminal.waitFor((screen) => !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
      stage.send(asked);
      await terminal.waitFor("to navigate");
    }
    terminal.hangUp();
    expect(await terminal.exited).toMatchObject({ code: 129, signal: null, leftovers: [] });
    const records = await sessionRecords(place.path);
    expect(records.filter((record) => record.type === "shell_exec")).toHaveLength(2);
    expect(readdirSync(join(place.path, ".thndrs", "sessions")).filter((name) => name.endsWith(".lock"))).toEqual([]);
  });
}

test("keys behind an answer in one read are not the question's", async () => {
  await using stage = await startAsking();
  const { terminal } = stage;
  stage.send("/reasoning");
  await terminal.waitFor("to navigate");
  terminal.write("\x1b[B\r/tok");
  await terminal.waitFor("reasoning high");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ /tok");
});

test("a long list is filtered by typing, also by what is pasted", async () => {
  const models = Array.from({ length: 30 }, (_, index) => ({ id: `model-${index}` }));
  await using stage = await startRepl([], { model: { models } });
  const { terminal } = stage;
  stage.send("/model");
  await terminal.waitFor("Type: to search");
  terminal.write("l-2");
  await terminal.waitFor("(11 matches)");
  terminal.paste("9\n");
  await terminal.waitFor("No matches found");
  terminal.press("backspace");
  await terminal.waitFor("(1 match)");
  terminal.press("enter");
  await terminal.waitFor("model openrouter/model-29");
});

test("L05 a change of width while a question is open takes no settled row away, and leaves one question", async () => {
  const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
  await using stage = await startRepl([shell("sh", "-c", `echo ${words}`), { text: "tool done" }], {
    rows: 40,
    env: { THNDRS_APPROVAL: "all" },
  });
  const { terminal } = stage;
  for (const line of ["/bg", "/session", "/mcp", "/bg", "/tokens"]) {
    stage.send(line);
    await terminal.waitFor(`❯ ${line}`);
    await terminal.waitFor((screen) => screen.currentLine() === "❯");
  }
  stage.send("go");
  await terminal.waitFor("to navigate");
  const above = terminal.screen.everything().split("Allow run_shell")[0]?.split("\n").slice(0, -2) ?? [];
  expect(above.join("\n")).toContain("❯ go");
  for (const columns of [60, 100, 50, 80]) {
    const seen = terminal.raw().length;
    terminal.resize(columns, 40);
    await terminal.waitFor(() => terminal.raw().slice(seen).includes("to navigate"));
    const everything = terminal.screen.everything();
    for (const line of above) expect(everything).toContain(line.slice(0, 50).trimEnd());
    expect(everything.match(/❯ \/bg$/gm)).toHaveLength(2);
    expect(everything.match(/Allow run_shell/g)).toHaveLength(1);
    expect(everything.match(/word39/g)).toHaveLength(1);
  }
  terminal.press("enter");
  await terminal.waitFor("tool done");
});

test("a question that is higher than the terminal is said in full above it", async () => {
  const words = Array.from({ length: 150 }, (_, index) => `word${index}`).join(" ");
  await using stage = await startRepl([shell("sh", "-c", `echo ${words}`), { text: "tool done" }], {
    rows: 12,
    env: { THNDRS_APPROVAL: "all" },
  });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("to navigate");
  for (const word of ["word0 ", "word75 ", "word149"]) expect(terminal.screen.everything()).toContain(word);
  expect(terminal.screen.text()).toContain("● Yes, once");
  expect(terminal.screen.text()).toContain("○ No");
  terminal.press("down", "down", "down", "enter");
  await terminal.waitFor("The user said no");
});
