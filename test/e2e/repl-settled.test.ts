/**
 * What is left in the scrollback of a whole session, byte for byte as text: start, reasoning, tools, a diff, steering,
 * Markdown, a cancel, a command. `UPDATE_FIXTURES=1` writes the files anew; look at them before you commit.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { startRepl, WIDTHS } from "../ui/repl-stage.ts";

const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/;

const steps: Step[] = [
  {
    reasoning: ["I should look at the file", " first."],
    text: "I'll look at the file first.\n",
    calls: [{ name: "read_file_range", arguments: { path: "src/add.ts" } }],
  },
  {
    text: "The sign is wrong. Fixing it:\n",
    calls: [
      {
        name: "replace_range",
        arguments: { path: "src/add.ts", old_string: "return a - b;", new_string: "return a + b;" },
      },
      { name: "run_shell", arguments: { argv: ["sh", "-c", "echo 12 pass; exit 3"] } },
    ],
    hold: { gate: "edit" },
  },
  {
    text:
      "## Done\n\n`add` now **adds**: a sentence that is long enough to be wrapped at any width of a terminal.\n\n" +
      "1. first\n2. second\n\n| before | after |\n|---|---|\n| `a - b` | `a + b` |\n\n" +
      "```ts\nexport const sum = (a: number, b: number): number => a + b;\n```\n\n日本語 and 🌲 fit too.\n",
  },
  { text: ["It goes on ", "and on"], hold: { gate: "never", at: 3 } },
];

function settled(text: string, cwd: string): string {
  return `${text
    .replaceAll(cwd, "/PROJECT")
    .replace(/\d+(?:\.\d)? m?s\b/g, "N ms")
    .replace(/^session [\s\S]*$/m, "session …")
    .trimEnd()}\n`;
}

for (const columns of WIDTHS) {
  test(`the scrollback of a session, at ${columns} columns`, async () => {
    await using stage = await startRepl(steps, {
      columns,

      files: { "src/add.ts": "export function add(a: number, b: number): number {\n  return a - b;\n}\n" },
    });
    const { terminal, model } = stage;
    const idle = (): Promise<void> => terminal.waitFor((screen) => !SPINNER.test(screen.text()));
    stage.send("fix the add function");
    await model.server.request(2);
    stage.send("and tell me");
    await terminal.waitFor("↳ steering");
    model.server.release("edit");
    await terminal.waitFor(/fit\s+too\./);
    await idle();
    stage.send("a story");
    await terminal.waitFor("and on");
    terminal.press("escape");
    await terminal.waitFor("■ cancelled");
    await idle();
    stage.send("/tokens");
    await terminal.waitFor("requests");
    terminal.press("ctrl+d");
    await terminal.exited;
    const text = settled(terminal.screen.everything(), terminal.cwd);
    const file = join(import.meta.dir, "..", "fixtures", "repl", `settled-${columns}.txt`);
    if (process.env.UPDATE_FIXTURES || !existsSync(file)) writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, "utf8"));
  });
}
