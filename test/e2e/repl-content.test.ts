/** T01, T03, T04, T05: nothing from a model, a tool, a name or a session drives the terminal. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import type { Terminal } from "../support/pty.ts";
import { startRepl, WIDTHS, waitForFlat } from "../ui/repl-stage.ts";

const HOSTILE =
  "\x1b]52;c;aGk=\x07 \x1b[2J \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1bc \x07 over\rwrite \b\x9b31m &#27;[2J &#x9b;2J end-of-it";

/** Only sequences of our own may be in what the terminal got. */
function expectOnlyOurOwn(terminal: Terminal): void {
  const ours = /\x1b\[(?:[0-9;]*m|[0-9]*[ABCJKH]|\?2004[hl]|\?2026[hl]|\?25[hl]|\?7[hl]|\?u|>5u|<u|999[CD])/g;
  const rest = terminal
    .raw()
    .replace(ours, "")
    .replace(/\r\r?\n|\r/g, "\n");
  expect(rest).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  // Erasing is ours only from the cursor down, and from the home position never.
  expect(terminal.raw()).not.toMatch(/\x1b\[[123]J|\x1bc|\x1b\]/);
  expect(terminal.screen.bells).toBe(0);
  expect(terminal.screen.title).toBe("");
}

for (const columns of WIDTHS) {
  test(`T01 control sequences from the model, tools, files and errors, at ${columns} columns`, async () => {
    const steps: Step[] = [
      { text: [...HOSTILE].map((character) => character), reasoning: HOSTILE },
      {
        text: `# ${HOSTILE}\n\n| ${HOSTILE} |\n|---|\n| x |\n\n\`\`\`${HOSTILE.replaceAll("\r", "")}\n${HOSTILE}\n\`\`\`\n`,
        calls: [
          { name: "run_shell", arguments: { argv: ["cat", "evil.txt"] } },
          { name: "read_file_range", arguments: { path: "evil.txt" } },
          { name: "no_such_tool", arguments: { path: HOSTILE } },
        ],
      },
      { status: 400, body: { error: { message: `bad ${HOSTILE}` } } },
    ];
    await using stage = await startRepl(steps, { columns, files: { "evil.txt": `${HOSTILE}\n` }, model: { lenient: true } });
    const { terminal } = stage;
    stage.send("one");
    await waitForFlat(terminal, "end-of-it");
    await terminal.waitFor((screen) => !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
    stage.send("two");
    await waitForFlat(terminal, "answered 400: bad");
    // The same through our own input: pasted and echoed.
    terminal.write(`\x1b[200~pasted \x1b[2J\x07\x1b]0;title\x07 text\x1b[201~`);
    await waitForFlat(terminal, "pasted text");
    terminal.press("ctrl+c", "ctrl+d");
    await terminal.exited;
    expectOnlyOurOwn(terminal);
  });

  test(`T03 a file name with an escape and a line break is one line, at ${columns} columns`, async () => {
    const name = "x\x1b[31my\nz";
    await using stage = await startRepl(
      [
        {
          calls: [
            { name: "find_files", arguments: { pattern: "*" } },
            { name: "search_text", arguments: { pattern: "needle" } },
            { name: "replace_range", arguments: { path: name, old_text: "needle", new_text: "found" } },
            { name: "run_shell", arguments: { argv: ["echo", name] } },
          ],
        },
        { text: "names are harmless" },
      ],
      { columns, files: { [name]: "needle\n" } },
    );
    stage.send("go");
    await waitForFlat(stage.terminal, "names are harmless");
    expect(stage.terminal.screen.everything()).toContain("x␛");
    stage.terminal.press("ctrl+d");
    await stage.terminal.exited;
    expectOnlyOurOwn(stage.terminal);
  });

  test(`T04 bidirectional and invisible characters of a command are shown, at ${columns} columns`, async () => {
    const argv = ["echo", "a\u202eb", "c\u2066d", "e\u200bf", "g\u{e0041}h"];
    await using stage = await startRepl([{ calls: [{ name: "run_shell", arguments: { argv } }] }, { text: "shown" }], {
      columns,
      env: { THNDRS_APPROVAL: "shell" },
    });
    const { terminal } = stage;
    stage.send("go");
    await terminal.waitFor("Allow run_sh");
    await waitForFlat(terminal, "a<U+202E>b");
    await waitForFlat(terminal, "<U+E0041>");
    await terminal.waitFor("to navigate");
    terminal.press("enter");
    await terminal.waitFor("shown");
    expect(terminal.raw()).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]|[\u{e0000}-\u{e007f}]/u);
    terminal.press("ctrl+d");
    await terminal.exited;
  });
}

test("T05 a resumed session's tail, title and picker are filtered too", async () => {
  await using first = await startRepl([{ text: `answer ${HOSTILE}` }, { text: "later" }], { model: { lenient: true } });
  first.send("plain question");
  await first.terminal.waitFor("end-of-it");
  await first.terminal.waitFor((screen) => !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
  // A title nobody cleaned, as another program might have written it.
  const records = await first.records();
  const { session_id: id } = records[0] as { session_id: string };
  first.terminal.press("ctrl+u");
  const file = join(first.terminal.cwd, ".thndrs", "sessions", `${id}.jsonl`);
  first.send("/new");
  await first.terminal.waitFor("new session");
  const last = records.at(-1) as { seq: number };
  const renamed = { ...last, seq: last.seq + 1, type: "session_renamed", title: "ti\x1b[2Jtle\u202e" };
  writeFileSync(file, `${[...records, renamed].map((record) => JSON.stringify(record)).join("\n")}\n`);
  first.send("/resume");
  await first.terminal.waitFor("Go on with which session?");
  await first.terminal.waitFor("ti␛[2Jtle<U+202E>");
  first.terminal.press("enter");
  await first.terminal.waitFor("resumed here");
  first.terminal.press("ctrl+d");
  await first.terminal.exited;
  expect(first.terminal.raw()).not.toMatch(/\x1b\[2J|\x1b\]|\x1bc|\u202e/);
  expect(first.terminal.screen.bells).toBe(0);
});
