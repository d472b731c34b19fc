/**
 * What was sent behind `/resume` or `/model` is for the conversation or the model that was asked for. When that could not be had,
 * it went to the old one. It comes back into the line now, behind the reason.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startRepl } from "../ui/repl-stage.ts";

const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/;

/** Rows of the input: from the prompt mark on, without what stands below. */
function inputOf(text: string): readonly string[] {
  const lines = text.split("\n");
  const from = lines.findLastIndex((line) => line.startsWith("❯"));
  return lines.slice(from).filter((line) => line.startsWith("❯") || line.startsWith("  "));
}

async function opened() {
  const stage = await startRepl([{ text: "the first" }, { text: "the second" }]);
  stage.send("alpha");
  await stage.terminal.waitFor("the first");
  await stage.terminal.waitFor((screen) => !SPINNER.test(screen.text()));
  return stage;
}

test("a session that is in use elsewhere: what was sent behind /resume comes back, and nothing is sent", async () => {
  await using other = await opened();
  const { cwd } = other.terminal;
  const [log = ""] = readdirSync(join(cwd, ".thndrs", "sessions")).filter((name) => name.endsWith(".jsonl"));
  const id = log.replace(".jsonl", "");
  await using stage = await startRepl([{ text: "in B" }], { cwd });
  stage.terminal.write(`/resume ${id}\rmeant for A\r`);
  await stage.terminal.waitFor("is in use");
  await stage.terminal.waitFor((screen) => inputOf(screen.text())[0] === "❯ meant for A");
  expect(stage.terminal.screen.everything().match(/❯ meant for A/g)).toHaveLength(1);
  expect(stage.model.server.requests).toHaveLength(0);
  // It is text like any other.
  stage.terminal.press("enter");
  await stage.terminal.waitFor("in B");
  expect(stage.userTexts(1)).toEqual(["meant for A"]);
});

test.each([
  ["/model nokey/zzz", /nokey/],
  ["/model one two", /usage: \/model/],
  ["/resume nothing-like-it", /nothing-like-it/],
  ["/resume", /there is no earlier session here/],
  ["/cd not/there", /there is no directory not\/there/],
])("%s that fails: several lines come back as one text, commands among them, and nothing is sent", async (command, reason) => {
  await using stage = await opened();
  const { terminal } = stage;
  terminal.write(`${command}\r//not a command\r/name of it\rafter failed\r`);
  await terminal.waitFor((screen) => inputOf(screen.text()).length === 3);
  expect(inputOf(terminal.screen.text())).toEqual(["❯ /not a command", "  /name of it", "  after failed"]);
  const [, said = ""] = terminal.screen.everything().split(`❯ ${command}`);
  expect(said).toMatch(reason);
  expect(stage.model.server.requests).toHaveLength(1);
});

test("a command behind it comes back as the command that it was", async () => {
  await using stage = await opened();
  stage.terminal.write("/cd not/there\r/name of it\r");
  await stage.terminal.waitFor((screen) => inputOf(screen.text())[0] === "❯ /name of it");
  stage.terminal.press("enter");
  await stage.terminal.waitFor('named "of it"');
});

test("where it goes well what was sent behind it is sent", async () => {
  await using stage = await opened();
  stage.terminal.write("/new\rhello there\r");
  await stage.terminal.waitFor("the second");
  expect(stage.userTexts(2)).toEqual(["hello there"]);
  expect(stage.terminal.screen.everything()).toMatch(/new session [\s\S]*❯ hello there/);
});
