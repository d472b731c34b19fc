/** L07 `thndrs > file`, then Ctrl+G: the editor drew its screen into the file, because it got our stdout. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Terminal } from "../support/pty.ts";
import { tempDir } from "../support/temp.ts";
import { sourceOrBinary, startRepl } from "../ui/repl-stage.ts";

/** Draws, says whether it draws on a terminal, edits. */
const EDITOR = "printf '\\033[2JEDITOR OPEN\\r\\n'; test -t 1 && echo ON A TERMINAL; sed -i s/draft/edited/ \"$1\"";

test("stdout is a file: the editor draws on the terminal, the file has the answers and nothing else", async () => {
  await using place = await tempDir();
  const file = place.at("out.txt");
  await using stage = await startRepl([{ text: "the answer" }], {
    redirect: { stdout: file },
    files: { "ed.sh": EDITOR },
    env: { EDITOR: "sh ed.sh" },
  });
  const { terminal } = stage;
  terminal.write("draft");
  await terminal.waitFor("❯ draft");
  terminal.press("ctrl+g");
  await terminal.waitFor("ON A TERMINAL");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ edited");
  terminal.press("enter");
  await terminal.waitFor("the answer");
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
  expect(stage.userTexts(1)).toEqual(["edited"]);
  expect(readFileSync(file, "utf8")).toBe("the answer\n");
});

test("stdout and stderr are files: `config edit` draws on the terminal all the same", async () => {
  await using place = await tempDir();
  await using terminal = await Terminal.start({
    args: ["config", "edit"],
    command: sourceOrBinary(),
    redirect: { stdout: place.at("out.txt"), stderr: place.at("err.txt") },
    files: { "ed.sh": EDITOR },
    env: { EDITOR: "sh ed.sh" },
  });
  await terminal.waitFor("ON A TERMINAL");
  expect((await terminal.exited).code).toBe(0);
  expect(readFileSync(place.at("out.txt"), "utf8")).toBe("");
});
