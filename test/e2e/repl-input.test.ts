/** L01, L02, L05, L06: what is typed and pasted is what is sent. */
import { expect, test } from "bun:test";
import { startRepl, WIDTHS, waitForFlat } from "../ui/repl-stage.ts";

for (const columns of WIDTHS) {
  test(`L01 a paste of several lines is one prompt, at ${columns} columns`, async () => {
    await using stage = await startRepl([{ text: "first" }, { text: "second" }, { text: "third" }], { columns });
    const { terminal, model } = stage;
    expect(terminal.screen.modes.has(2004)).toBe(true);
    terminal.write("\x1b[200~a\nb\nc\x1b[201~");
    await terminal.waitFor("  c");
    expect(model.server.requests).toHaveLength(0);
    terminal.press("enter");
    await terminal.waitFor("first");
    expect(stage.userTexts(1).at(-1)).toBe("a\nb\nc");
    terminal.write("\x1b[200~d\r\ne\x1b[201~\r");
    await terminal.waitFor("second");
    expect(stage.userTexts(2).at(-1)).toBe("d\ne");
    // Without markers, in one write.
    terminal.write("x\ry\rz");
    await terminal.waitFor("  z");
    terminal.press("enter");
    await terminal.waitFor("third");
    expect(stage.userTexts(3).at(-1)).toBe("x\ny\nz");
    expect(model.server.requests).toHaveLength(3);
  });

  test(`L01 200 KB arrive whole, at ${columns} columns`, async () => {
    await using stage = await startRepl([{ text: "got it" }], { columns, model: { lenient: true } });
    const { terminal } = stage;
    const text = "a line with 日本語 and words\n".repeat(6000).trimEnd();
    terminal.write(`\x1b[200~${text.replaceAll("\n", "\r")}\x1b[201~`);
    // The last line is on screen once everything is in.
    await terminal.waitFor((screen) => screen.currentLine().includes("words"));
    terminal.press("enter");
    await terminal.waitFor("got it");
    expect(stage.userTexts(1).at(-1)).toBe(text);
  });

  test(`L02 nothing of a paste acts as a key, at ${columns} columns`, async () => {
    await using stage = await startRepl([{ text: "sent" }], { columns });
    const { terminal, model } = stage;
    terminal.write("\x1b[200~x\x1b[201~\r:bg cancel 1\r\x1b[201~");
    await terminal.waitFor("  :bg cancel 1");
    terminal.write("y");
    await terminal.waitFor("  y");
    expect(model.server.requests).toHaveLength(0);
    expect(terminal.screen.everything()).not.toContain("no background");
    terminal.press("ctrl+c");
    // A marker in two reads.
    terminal.write("\x1b[200~one\rtwo\x1b[2");
    terminal.write("01~");
    await terminal.waitFor("  two");
    terminal.press("ctrl+c");
    // Never closed: Esc leaves it, and keys are keys again.
    terminal.write("\x1b[200~left open");
    terminal.press("escape");
    await terminal.waitFor((screen) => screen.currentLine().includes("left open"));
    terminal.write("!");
    await terminal.waitFor((screen) => screen.currentLine().includes("left open!"));
    terminal.press("enter");
    await terminal.waitFor("sent");
    expect(stage.userTexts(1).at(-1)).toBe("left open!");
  });

  test(`L05 wide characters, a long line and resizing, from ${columns} columns`, async () => {
    await using stage = await startRepl([{ text: "answer one" }, { text: "answer two" }], { columns });
    const { terminal } = stage;
    terminal.write("日本語🌲é👨‍👩‍👧");
    await terminal.waitFor((screen) => screen.currentLine().startsWith("❯ 日本語🌲é"));
    expect(terminal.screen.column).toBe(2 + 6 + 2 + 1 + 2);
    terminal.press("left", "left", "left", "backspace");
    await terminal.waitFor((screen) => screen.currentLine().startsWith("❯ 日本🌲é"));
    expect(terminal.screen.column).toBe(6);
    terminal.press("enter");
    await terminal.waitFor("answer one");
    expect(stage.userTexts(1).at(-1)).toBe("日本🌲é👨‍👩‍👧");
    const long = `${"wörd ".repeat(30)}end`;
    terminal.write(long);
    await terminal.waitFor((screen) => screen.currentLine().trimEnd().endsWith("end"));
    const prompts = () => terminal.screen.lines().filter((line) => line.startsWith("❯ wörd")).length;
    for (const width of [20, 100, 31, 80, 20]) {
      terminal.resize(width, 24);
      terminal.write("!");
      await terminal.waitFor((screen) => screen.currentLine().trimEnd().endsWith("!"));
      terminal.press("backspace");
      await terminal.waitFor((screen) => screen.currentLine().trimEnd().endsWith("end"));
      expect(prompts()).toBeLessThanOrEqual(1);
    }
    terminal.resize(80, 24);
    terminal.write(".");
    await terminal.waitFor((screen) => screen.currentLine().trimEnd().endsWith("end."));
    expect(prompts()).toBe(1);
    terminal.press("enter");
    await terminal.waitFor("answer two");
    expect(stage.userTexts(2).at(-1)).toBe(`${long}.`);
  });

  test(`L06 a command that resets its terminal leaves ours alone, at ${columns} columns`, async () => {
    const call = { name: "run_shell", arguments: { argv: ["sh", "-c", "stty sane </dev/tty; true"] } };
    await using stage = await startRepl([{ calls: [call] }, { text: "done now" }, { text: "again" }], { columns });
    const { terminal } = stage;
    stage.send("go");
    await terminal.waitFor("done now");
    expect(terminal.lineMode()).toEqual({ canonical: false, echo: false, signals: false });
    terminal.write("abc");
    await terminal.waitFor((screen) => screen.currentLine().startsWith("❯ abc"));
    terminal.press("enter");
    await terminal.waitFor("again");
    expect(stage.userTexts(3).at(-1)).toBe("abc");
  });
}

test("keys: new lines, history, search, completion, the editor", async () => {
  await using stage = await startRepl([{ text: "answer one" }, { text: "answer two" }], {
    files: { "src/keyboard.ts": "x", "src/keys.ts": "y", "build/ignored.ts": "z", ".gitignore": "build\n" },
    env: { EDITOR: "sed -i s/draft/edited/" },
  });
  const { terminal } = stage;
  terminal.write("a");
  terminal.press("ctrl+j");
  terminal.write("b\\");
  terminal.press("enter");
  terminal.write("c");
  terminal.write("\x1b[13;2u");
  terminal.write("d");
  await terminal.waitFor("  d");
  terminal.press("enter");
  await terminal.waitFor("answer one");
  expect(stage.userTexts(1).at(-1)).toBe("a\nb\nc\nd");
  terminal.press("up");
  await terminal.waitFor((screen) => screen.currentLine().trim() === "d");
  terminal.press("ctrl+c");
  terminal.press("ctrl+r");
  terminal.write("b");
  await terminal.waitFor("history: b");
  terminal.press("enter");
  await terminal.waitFor((screen) => screen.currentLine().trim() === "d");
  terminal.press("ctrl+c");
  terminal.write("read @src/ke");
  terminal.press("tab");
  await waitForFlat(terminal, "src/keyboard.ts src/keys.ts");
  terminal.write("b");
  terminal.press("tab");
  await terminal.waitFor("❯ read @src/keyboard.ts");
  terminal.press("ctrl+u");
  terminal.write("@");
  terminal.press("tab");
  await terminal.waitFor("src/");
  expect(terminal.screen.text()).not.toContain("build/");
  terminal.press("ctrl+u");
  terminal.write("/mod");
  terminal.press("tab");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ /model" && screen.column === 9);
  terminal.press("ctrl+c");
  terminal.write("my draft");
  terminal.press("ctrl+g");
  await terminal.waitFor("❯ my edited");
  terminal.press("enter");
  await terminal.waitFor("answer two");
  expect(stage.userTexts(2).at(-1)).toBe("my edited");
});
