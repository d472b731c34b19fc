/** Frames on a model of a terminal: what is drawn is what was meant, from any frame to any other. */
import { expect, test } from "bun:test";
import * as frames from "../../src/ui/frame.ts";
import { BY_CLUSTERS } from "../../src/ui/graphemes.ts";
import { Screen } from "../support/screen.ts";

type Frame = frames.Frame;
const { eraseFrame } = frames;
const drawFrame = (before: Frame | undefined, next: Frame) => frames.drawFrame(before, next, BY_CLUSTERS);
const resizedFrame = (frame: Frame, columns: number, reflows: boolean) =>
  frames.resizedFrame(frame, columns, reflows, BY_CLUSTERS);

test("random frames one after the other, settled lines in between", () => {
  let seed = 5;
  const random = (limit: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return (seed >> 8) % limit;
  };
  const words = ["", "a", "日本語", "long line of words", "\x1b[31mred\x1b[0m", "🌲🌲"];
  for (let round = 0; round < 60; round++) {
    const screen = new Screen(20, 8);
    const settled: string[] = [];
    let frame: Frame | undefined;
    for (let step = 0; step < 30; step++) {
      const lines = Array.from({ length: 1 + random(5) }, () => words[random(words.length)] ?? "");
      const next: Frame = { lines, row: random(lines.length), column: random(19) };
      if (random(3) === 0) {
        const line = `settled ${settled.length}`;
        settled.push(line);
        screen.write(`${eraseFrame(frame)}${line}\r\n`);
        frame = undefined;
      }
      screen.write(drawFrame(frame, next));
      frame = next;
      const plain = lines.map((line) => line.replace(/\x1b\[[0-9;]*m/g, ""));
      const everything = [...screen.scrollback, ...screen.lines()];
      const shown = everything.slice(0, settled.length + lines.length);
      expect(shown).toEqual([...settled, ...plain]);
      expect(everything.slice(settled.length + lines.length).join("")).toBe("");
      const top = settled.length - screen.scrollback.length;
      expect([screen.row, screen.column]).toEqual([top + next.row, next.column]);
    }
  }
});

test("L05 after a change of width the old rows are gone, whether the terminal cuts lines off or wraps them anew", () => {
  const frame: Frame = { lines: ["x".repeat(50), "> input", "status"], row: 1, column: 7 };
  const cut = new Screen(60, 10);
  cut.write(`above\r\n${drawFrame(undefined, frame)}`);
  cut.resize(20, 10);
  cut.write(eraseFrame(resizedFrame(frame, 20, false)));
  expect(cut.text()).toBe("above");
  const wrapped = new Screen(20, 10);
  // What a terminal that wraps anew shows after the change: the long row takes three.
  wrapped.write(`above\r\n${"x".repeat(20)}\r\n${"x".repeat(20)}\r\n${"x".repeat(10)}\r\n> input\r\nstatus\x1b[1A\r\x1b[7C`);
  wrapped.write(eraseFrame(resizedFrame(frame, 20, true)));
  expect(wrapped.text()).toBe("above");
});

test("L05 behind the last cell of a full row the cursor waits: the settled row above the frame stays", () => {
  const text = "x".repeat(38);
  const frame: Frame = { lines: [`> ${text}`, "status"], row: 0, column: 40 };
  for (const [columns, rows] of [
    [40, 1],
    [20, 2],
    [10, 4],
  ] as const) {
    const wrapped = new Screen(columns, 10);
    // What a terminal that wraps anew (tmux) shows after the change: no row is begun for the cursor alone.
    wrapped.write(`above\r\n> ${text}\r\nstatus\x1b[1A\r\x1b[${columns - 1}C`);
    expect(resizedFrame(frame, columns, true)).toMatchObject({ row: rows - 1, column: columns - 1 });
    wrapped.write(eraseFrame(resizedFrame(frame, columns, true)));
    expect(wrapped.text()).toBe("above");
  }
  // With text behind the cursor there is a next row, and it stands there.
  expect(resizedFrame({ ...frame, column: 20 }, 20, true)).toMatchObject({ row: 1, column: 0 });
  expect(resizedFrame({ ...frame, column: 0 }, 20, true)).toMatchObject({ row: 0, column: 0 });
});

test("L05 a row that becomes shorter is erased first: tmux would wrap it at the length that it had", () => {
  const drawn = drawFrame({ lines: ["a long row", "ab"], row: 0, column: 0 }, { lines: ["short", "abc"], row: 0, column: 0 });
  expect(drawn).toContain("\x1b[2Kshort");
  expect(drawn).not.toContain("\x1b[2Kabc");
});

test("rows that a terminal takes for wider than they are counted are cut off, and nothing of them stays behind", () => {
  const draw = (words: readonly string[]): Screen => {
    const screen = new Screen(20, 6);
    let frame: Frame | undefined;
    // Too wide for this terminal: as one that counts every mark takes a row that fits.
    const rows = words.map((_, at) => words.slice(0, at + 1).join(" "));
    for (const row of rows) {
      for (const lines of [
        [row, "> ", "status"],
        [`${row}!`, "> ", "more", "status"],
      ]) {
        const next: Frame = { lines, row: 1, column: 2 };
        screen.write(drawFrame(frame, next));
        frame = next;
        expect(screen.modes.has(7)).toBe(true);
        expect([screen.row, screen.column]).toEqual([1, 2]);
      }
    }
    screen.write(`${eraseFrame(frame)}settled\r\n`);
    return screen;
  };
  for (const words of [
    "यह हिंदी में एक लंबा उत्तर है जिसमें कई शब्द",
    "👍🏽 good ✅ done 👍🏽 good ✅ done",
    "এটি বাংলা ভাষায় একটি দীর্ঘ উত্তর",
  ]) {
    const screen = draw([...words.split(" "), ..."and words that make it long".split(" ")]);
    expect(screen.everything()).toBe("settled");
  }
});

test("only what is disputed costs the bytes of it", () => {
  const frame = (...lines: string[]): Frame => ({ lines, row: 0, column: 0 });
  const [plain, odd] = [frame("日本語 é e\u0301 ❯ ⠋", "status"), frame("लंबा", "status")];
  for (const text of [drawFrame(undefined, plain), drawFrame(odd, plain), drawFrame(odd, frame("लंबा", "other", "third"))])
    expect(text).not.toContain("\x1b[?7");
  for (const text of [drawFrame(undefined, odd), drawFrame(plain, odd), drawFrame(plain, frame(...plain.lines, "👍🏽"))])
    expect(text).toMatch(/^\x1b\[\?7l[\s\S]*\x1b\[\?7h$/);
});

test("a frame is erased without its first cell: tmux would keep it in the scrollback", () => {
  const screen = new Screen(20, 6);
  const frame: Frame = { lines: ["> input", "status", "more"], row: 1, column: 3 };
  screen.write(drawFrame(undefined, frame));
  const erased = eraseFrame(frame);
  expect(erased).not.toContain("\r\x1b[J");
  screen.write(erased);
  expect(screen.everything()).toBe("");
  expect([screen.row, screen.column]).toEqual([0, 0]);
});
