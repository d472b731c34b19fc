/** Where questions are answered by numbers, `/quit` at one was taken for a number and refused. */
import { expect, test } from "bun:test";
import { startRepl } from "../ui/repl-stage.ts";

test("on a plain terminal a session is left at the question which one to resume", async () => {
  await using stage = await startRepl([{ text: "the first" }, { text: "the second" }], { term: "dumb" });
  const { terminal } = stage;
  stage.send("alpha");
  await terminal.waitFor("the first");
  stage.send("/new");
  await terminal.waitFor("new session");
  stage.send("/resume");
  await terminal.waitFor("which session");
  stage.send("/help");
  await terminal.waitFor("/compact");
  stage.send("/quit");
  expect((await terminal.exited).code).toBe(0);
});
