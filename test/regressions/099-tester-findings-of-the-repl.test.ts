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
