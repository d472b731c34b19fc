/** What a tester found in the REPL with real keyboards, terminals and habits: each of them as it was met. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { startRepl } from "../ui/repl-stage.ts";

const ASKS = { THNDRS_APPROVAL: "shell" };
/** A call that asks, and leaves a mark when it was allowed. */
const marking = (name: string): Step => ({
  calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", `echo yes > ${name}`] } }],
});

test("half a sentence, a pause, the rest and Enter: the question is not answered, the sentence stands in the line", async () => {
  await using stage = await startRepl([{ ...marking("made"), hold: { gate: "call" } }, { text: "over" }], { env: ASKS });
  const { terminal, model } = stage;
  stage.send("go");
  await model.server.request(1);
  terminal.write("please also ");
  await terminal.waitFor("❯ please also");
  model.server.release("call");
  await terminal.waitFor("a question waits");
  await terminal.waitFor("Allow run_shell");
  await terminal.waitFor("to navigate");
  for (const letter of "check the js tests") terminal.write(letter);
  terminal.press("enter");
  await terminal.waitFor("❯ please also check the js tests");
  await terminal.waitFor("Enter counts after a pause");
  await terminal.waitFor("to navigate");
  expect(terminal.screen.text()).toContain("● Yes, once");
  terminal.press("down", "down", "down", "enter");
  await terminal.waitFor("over");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ please also check the js tests");
  expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
  expect(existsSync(join(terminal.home, ".config", "thndrs", "approvals.json"))).toBe(false);
  expect(model.server.requests).toHaveLength(2);
});

test("Enter twice answers one question; the next one comes after a pause, and Enter in it counts after a moment", async () => {
  const [first, second] = [marking("one"), marking("two")];
  const both: Step = { calls: [...(first.calls ?? []), ...(second.calls ?? [])] };
  await using stage = await startRepl([both, { text: "over" }], { env: ASKS });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("Allow run_shell");
  await terminal.waitFor("to navigate");
  terminal.press("enter", "enter");
  await terminal.waitFor(/echo yes > two/);
  terminal.press("enter");
  await terminal.waitFor("to navigate");
  expect(existsSync(join(terminal.cwd, "two"))).toBe(false);
  terminal.press("down", "down", "down", "enter");
  await terminal.waitFor("over");
  expect(existsSync(join(terminal.cwd, "one"))).toBe(true);
  expect(existsSync(join(terminal.cwd, "two"))).toBe(false);
});

test("a list that comes while somebody types waits for a pause", async () => {
  await using stage = await startRepl([], { model: { models: [{ id: "mock" }, { id: "other" }] } });
  const { terminal } = stage;
  terminal.write("/model\rhello");
  await terminal.waitFor("a question waits");
  terminal.write("!");
  await terminal.waitFor("to navigate");
  terminal.press("escape");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ hello!");
});

test("a click of the mouse allows nothing and sends nothing; an editor that dies leaves no mode of its own on", async () => {
  await using stage = await startRepl([marking("made"), { text: "over" }], {
    env: { ...ASKS, EDITOR: "sh -c 'printf \"\\033[?1000h\\033[?1003h\\033[?1006h\\033[?1049h\"; kill -9 $$' --" },
  });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("to navigate");
  for (const click of ["\x1b[M !!", "\x1b[32;10;5M"]) terminal.write(click);
  terminal.press("down");
  await terminal.waitFor(/○ Yes, once/);
  expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
  terminal.press("down", "down", "enter");
  await terminal.waitFor("over");
  await terminal.waitFor((screen) => screen.currentLine() === "❯");
  terminal.write("draft");
  await terminal.waitFor("❯ draft");
  terminal.press("ctrl+g");
  await terminal.waitForRaw("\x1b[?47l");
  await terminal.waitFor("the editor failed");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ draft");
  for (const mode of [1000, 1003, 1006]) expect([mode, terminal.screen.modes.has(mode)]).toEqual([mode, false]);
  terminal.write("\x1b[M !!");
  terminal.write("!");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ draft!");
  expect(stage.model.server.requests).toHaveLength(2);
});

test("the kitty protocol: Ctrl+M sends, Ctrl+C on a Cyrillic layout cancels; Esc with text behind it in one read cancels too", async () => {
  await using stage = await startRepl([
    { text: ["streaming ", "more"], hold: { gate: "never", at: 3 } },
    { text: ["flowing ", "more"], hold: { gate: "never either", at: 3 } },
  ]);
  const { terminal } = stage;
  terminal.write("\x1b[?0u");
  await terminal.waitForRaw("\x1b[>5u");
  terminal.write("one");
  await terminal.waitFor("❯ one");
  terminal.write("\x1b[109;5u");
  await terminal.waitFor("streaming");
  terminal.write("\x1b[1089::99;5u");
  await terminal.waitFor("■ cancelled");
  terminal.write("two");
  terminal.write("\x1b[109;5u");
  await terminal.waitFor("flowing");
  terminal.write("\x1bnext words");
  await terminal.waitFor((screen) => screen.everything().split("■ cancelled").length === 3);
  await terminal.waitFor((screen) => screen.currentLine() === "❯ next words");
});

test("//text that comes back from a run that failed is still text, and no command", async () => {
  await using stage = await startRepl([
    { status: 401, body: { error: { message: "bad key" } }, hold: { gate: "fail" } },
    { text: "this time it worked" },
  ]);
  const { terminal, model } = stage;
  stage.send("one");
  await model.server.request(1);
  stage.send("//clear after this");
  await terminal.waitFor("↳ steering: //clear after this");
  model.server.release("fail");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ //clear after this");
  terminal.press("enter");
  await terminal.waitFor("this time it worked");
  expect(stage.userTexts(2).at(-1)).toBe("one\n\n/clear after this");
});

test("//text stands with both slashes wherever it waits, and where it is cleared", async () => {
  await using stage = await startRepl([{ text: "one", hold: { gate: "first" } }]);
  const { terminal, model } = stage;
  stage.send("go");
  await model.server.request(1);
  for (const typed of ["//clear after this", " :quit", "/usr/bin"]) stage.send(typed);
  for (const row of ["//clear after this", " :quit", "/usr/bin"]) await terminal.waitFor(`↳ steering: ${row}`);
  terminal.press("escape");
  for (const row of ["//clear after this", " :quit", "/usr/bin"]) await terminal.waitFor(`· steering cleared: ${row}`);
});

test("after /new the history goes on: Up offers /new, and the long paste before it", async () => {
  await using stage = await startRepl([{ text: "got it" }], { model: { lenient: true } });
  const { terminal } = stage;
  terminal.paste(`${"a long paste\n".repeat(3500)}its end`);
  await terminal.waitFor((screen) => screen.currentLine().includes("its end"));
  terminal.press("enter");
  await terminal.waitFor("got it");
  await terminal.waitFor((screen) => screen.currentLine() === "❯");
  stage.send("/new");
  await terminal.waitFor("new session");
  await terminal.waitFor((screen) => screen.currentLine() === "❯");
  terminal.press("up");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ /new");
  terminal.press("up");
  await terminal.waitFor((screen) => screen.currentLine().includes("its end"));
});

test("Ctrl+L loses nothing: what was on the screen is in the scrollback; a question stays", async () => {
  await using stage = await startRepl([marking("made"), { text: "over" }], { env: ASKS });
  const { terminal } = stage;
  terminal.press("ctrl+l");
  await terminal.waitFor((screen) => screen.text().startsWith("❯") && screen.scrollback.join().includes("[Diagnostics]"));
  stage.send("go");
  await terminal.waitFor("to navigate");
  terminal.press("ctrl+l");
  await terminal.waitFor((screen) => /^│\n◆ {2}Allow/.test(screen.text()) && screen.scrollback.join().includes("❯ go"));
  terminal.press("down", "down", "down", "enter");
  await terminal.waitFor("over");
  expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
});

test("a list of long names at 20x10 shows the choice that Enter takes", async () => {
  const models = Array.from({ length: 6 }, (_, index) => ({ id: `a-very-long-name-of-a-model-that-wraps-${index}` }));
  await using stage = await startRepl([], { columns: 20, rows: 10, model: { models }, ready: false });
  const { terminal } = stage;
  await terminal.waitFor((screen) => screen.currentLine() === "❯");
  stage.send("/model");
  await terminal.waitFor("●");
  terminal.press("down", "down");
  await terminal.waitFor((screen) => /●[^○]*-2(?!\d)/.test(screen.text().replace(/\s*\n│ {2}/g, "")));
  terminal.press("enter");
  await terminal.waitFor((screen) => screen.everything().replaceAll("\n", "").includes("that-wraps-2"));
});
