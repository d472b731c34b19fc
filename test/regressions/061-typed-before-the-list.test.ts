/**
 * What was sent while a list was on its way (`/resume`, Enter, a message, Enter) started a turn beside it, and the choice then
 * replaced the conversation in the middle of that turn. It waits for the choice now, and is for what was chosen.
 */
import { expect, test } from "bun:test";
import { startRepl } from "../ui/repl-stage.ts";

const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/;
const MODELS = { models: [{ id: "mock" }, { id: "other" }] };

for (const [choice, expected] of [
  ["enter", ["alpha", "hello there"]],
  ["escape", ["hello there"]],
] as const) {
  test(`/resume and a message in one read, then ${choice}: the message is for the conversation that is there then`, async () => {
    await using stage = await startRepl([{ text: "the first" }, { text: "the second" }]);
    const { terminal } = stage;
    stage.send("alpha");
    await terminal.waitFor("the first");
    await terminal.waitFor((screen) => !SPINNER.test(screen.text()));
    stage.send("/new");
    await terminal.waitFor("new session");
    terminal.write("/resume\rhello there\r");
    await terminal.waitFor("to navigate");
    expect(stage.model.server.requests).toHaveLength(1);
    terminal.press(choice);
    await terminal.waitFor("the second");
    expect(stage.userTexts(2)).toEqual([...expected]);
  });
}

test("what is sent before a list is run in order, each when the one before it is over", async () => {
  await using stage = await startRepl([{ text: "the first" }, { text: "the second" }]);
  const { terminal } = stage;
  stage.send("alpha");
  await terminal.waitFor("the first");
  await terminal.waitFor((screen) => !SPINNER.test(screen.text()));
  stage.send("/new");
  await terminal.waitFor("new session");
  terminal.write("/resume\r/new\r/new\rhello there\r");
  await terminal.waitFor("to navigate");
  terminal.press("enter");
  await terminal.waitFor("the second");
  expect(stage.userTexts(2)).toEqual(["hello there"]);
  expect(terminal.screen.everything().match(/❯ \/new$/gm)).toHaveLength(3);
});

test("/model and a message in one read: the message goes to the model that is chosen", async () => {
  await using stage = await startRepl([{ text: "answered" }], { model: MODELS });
  const { terminal } = stage;
  terminal.write("/model\rhello there\r");
  await terminal.waitFor("to navigate");
  expect(stage.model.server.requests).toHaveLength(0);
  terminal.press("down", "enter");
  await terminal.waitFor("answered");
  expect(stage.model.server.requests[0]?.body.model).toBe("other");
  expect(stage.userTexts(1)).toEqual(["hello there"]);
});

test("/reasoning and a message in one read, on a terminal that knows only lines", async () => {
  await using stage = await startRepl([{ text: "answered" }], { term: "dumb" });
  const { terminal } = stage;
  terminal.write("/reasoning\rhello there\r");
  await terminal.waitFor("6  xhigh");
  stage.send("5");
  await terminal.waitFor("answered");
  expect(terminal.screen.everything().indexOf("reasoning high")).toBeGreaterThan(0);
  expect(stage.userTexts(1)).toEqual(["hello there"]);
});

test("/skills and a message in one read: the skill goes with the message", async () => {
  await using stage = await startRepl([{ text: "answered" }], {
    files: { ".agents/skills/pumpkin/SKILL.md": "---\nname: pumpkin\ndescription: Pumpkins.\n---\nGrow pumpkins slowly.\n" },
  });
  const { terminal } = stage;
  terminal.write("/skills\rhello there\r");
  await terminal.waitFor("to navigate");
  expect(stage.model.server.requests).toHaveLength(0);
  terminal.press("enter");
  await terminal.waitFor("answered");
  expect(JSON.stringify(stage.model.server.requests[0]?.body.messages)).toContain("Grow pumpkins slowly");
});
