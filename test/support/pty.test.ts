/** The terminal driver and its screen model, against bytes whose effect is known. */
import { expect, test } from "bun:test";
import { Terminal } from "./pty.ts";
import { Screen } from "./screen.ts";

const shell = (script: string) => ({ command: ["/bin/sh", "-c", script] });

function shown(text: string, columns = 10, rows = 4): Screen {
  const screen = new Screen(columns, rows);
  screen.write(text);
  return screen;
}

test("wraps, scrolls, keeps scrollback", () => {
  expect(shown("0123456789ab").lines()).toEqual(["0123456789", "ab", "", ""]);
  expect(shown("0123456789\r\nx").lines()).toEqual(["0123456789", "x", "", ""]);
  const scrolled = shown("1\r\n2\r\n3\r\n4\r\n5");
  expect(scrolled.lines()).toEqual(["2", "3", "4", "5"]);
  expect(scrolled.scrollback).toEqual(["1"]);
  expect(scrolled.everything()).toBe("1\n2\n3\n4\n5");
});

test("cursor moves, erasing, inserting", () => {
  expect(shown("abcdef\r\x1b[2C\x1b[K").text()).toBe("ab");
  expect(shown("abc\x1b[1;1Hx\x1b[2;3Hy").lines().slice(0, 2)).toEqual(["xbc", "  y"]);
  expect(shown("a\r\nb\r\nc\x1b[2A\x1b[J").text()).toBe("a");
  expect(shown("a\r\nb\r\nc\x1b[2J\x1b[H!").text()).toBe("!");
  expect(shown("abc\r\x1b[1P\x1b[2@").text()).toBe("  bc");
  expect(shown("a\r\nb\x1b[1;1H\x1b[1Lz").lines().slice(0, 3)).toEqual(["z", "a", "b"]);
});

test("wide characters take two cells and do not straddle the edge", () => {
  const wide = shown("123456789漢x");
  expect(wide.lines().slice(0, 2)).toEqual(["123456789", "漢x"]);
  expect(wide.column).toBe(3);
  expect(shown("漢字\x1b[1;2Hx").text()).toBe(" x字");
  expect(shown("e\u0301x").column).toBe(2);
});

test("colours, titles and cut sequences leave no trace", () => {
  const screen = new Screen(20, 2);
  for (const char of "a\x1b[1;38;5;200mb\x1b[0m\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b]8;;\x1b\\") screen.write(char);
  expect(screen.text()).toBe("abcd");
  expect(screen.title).toBe("title");
});

test("alternate screen comes and goes", () => {
  const screen = shown("main\x1b[?1049hother");
  expect(screen.text()).toBe("other");
  screen.write("\x1b[?1049l");
  expect(screen.text()).toBe("main");
  expect(screen.modes.has(1049)).toBe(false);
});

test("a process on the terminal: keys, resize, signals, line mode, exit", async () => {
  await using terminal = await Terminal.start({
    ...shell(
      "trap 'stty size' WINCH; trap 'exit 5' INT; stty size; read line; echo got:$line; stty -echo; echo ready; while :; do sleep 0.01; done",
    ),
    columns: 50,
    rows: 12,
  });
  await terminal.waitFor("12 50");
  terminal.write("héllo");
  terminal.press("enter");
  await terminal.waitFor("got:héllo");
  await terminal.waitFor("ready");
  expect(terminal.lineMode()).toEqual({ canonical: true, echo: false, signals: true });
  terminal.resize(60, 20);
  await terminal.waitFor("20 60");
  terminal.press("ctrl+c");
  expect((await terminal.exited).code).toBe(5);
  expect(terminal.lineMode().echo).toBe(false);
});

test("a stream can go to a file; the terminal can go away", async () => {
  await using first = await Terminal.start({
    ...shell("[ -t 1 ] || echo 'not a terminal' >&2"),
    redirect: { stdout: "/dev/null" },
  });
  await first.waitFor("not a terminal");
  expect((await first.exited).code).toBe(0);
  await using second = await Terminal.start(shell("trap 'exit 9' HUP; echo up; while :; do sleep 0.01; done"));
  await second.waitFor("up");
  second.hangUp();
  expect((await second.exited).code).toBe(9);
});

test("a hang shows the screen, a text that never comes too", async () => {
  await using hang = await Terminal.start({ ...shell("echo last words; sleep 60"), timeoutMs: 300 });
  await expect(hang.exited).rejects.toThrow(/still running after 300 ms[\s\S]*last words/);
  await expect(hang.waitFor("other words")).rejects.toThrow(/never saw other words[\s\S]*last words/);
});
