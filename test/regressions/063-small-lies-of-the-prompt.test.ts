/**
 * Ctrl+C stayed armed behind text that was typed and cleared again; on a terminal that knows only lines an open question refused
 * what is allowed at any time; a second /clear made /undo-view forget the first.
 */
import { expect, test } from "bun:test";
import type { Step } from "../support/loopback.ts";
import { startRepl } from "../ui/repl-stage.ts";

const asked: Step = { calls: [{ name: "run_shell", arguments: { argv: ["echo", "ran-it"] } }] };

test("L11 typing disarms Ctrl+C, and clearing what was typed is no second press", async () => {
  await using stage = await startRepl([]);
  const { terminal } = stage;
  for (const typed of ["abc", "\x1b[200~pasted\x1b[201~"]) {
    terminal.press("ctrl+c");
    await terminal.waitFor((screen) => screen.text().includes("Ctrl+C again to quit"));
    terminal.write(typed);
    await terminal.waitFor((screen) => /❯ (abc|pasted)$/.test(screen.currentLine()));
    expect(terminal.screen.text()).not.toContain("again to quit");
    terminal.press("ctrl+c");
    await terminal.waitFor((screen) => screen.currentLine() === "❯");
    expect(terminal.screen.text()).not.toContain("again to quit");
  }
  terminal.press("ctrl+c");
  await terminal.waitFor((screen) => screen.text().includes("again to quit"));
  terminal.press("ctrl+c");
  expect((await terminal.exited).code).toBe(0);
});

test("TERM=dumb: what is allowed at any time is no answer to the question that is open", async () => {
  await using stage = await startRepl([asked, { text: "over" }], { term: "dumb", env: { THNDRS_APPROVAL: "shell" } });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("4  No");
  stage.send("/help");
  await terminal.waitFor("Commands (: works like /");
  stage.send(":bg");
  await terminal.waitFor("no background processes");
  stage.send("/new");
  await terminal.waitFor("answer with a number");
  stage.send("1");
  await terminal.waitFor("over");
  expect(terminal.screen.everything()).toContain("ran-it");
});

test("TERM=dumb: /quit leaves while a question is open", async () => {
  await using stage = await startRepl([asked], { term: "dumb", env: { THNDRS_APPROVAL: "shell" } });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("4  No");
  stage.send("/quit");
  expect((await terminal.exited).code).toBe(0);
  expect(terminal.screen.everything()).not.toContain("answer with a number");
});

test("/clear on an empty screen keeps what /undo-view shows", async () => {
  await using stage = await startRepl([{ text: "words to see again" }]);
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("words to see again");
  for (const _ of [1, 2]) {
    const seen = terminal.raw().length;
    stage.send("/clear");
    await terminal.waitFor(() => terminal.raw().slice(seen).includes("\x1b[H\x1b[J"));
    await terminal.waitFor((screen) => !screen.text().includes("words to see again") && screen.currentLine() === "❯");
  }
  stage.send("/undo-view");
  await terminal.waitFor((screen) => screen.text().includes("words to see again"));
});
