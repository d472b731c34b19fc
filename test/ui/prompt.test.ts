/** A question by clack as rows: what it shows at every size, and which keys are its own. */
import { expect, test } from "bun:test";
import { type Asking, listOf, typedSecret, typedText, yesOrNo } from "../../src/ui/askings.ts";
import type { KeyEvent } from "../../src/ui/keys.ts";
import { openPrompt } from "../../src/ui/prompt.ts";
import { PromptCanvas } from "../../src/ui/prompt-canvas.ts";
import { rowsThatFit } from "../../src/ui/prompt-rows.ts";

const key = (name: string): KeyEvent => ({ type: "key", key: name });
const choices = (count: number) => Array.from({ length: count }, (_, index) => ({ value: index, label: `choice ${index}` }));
const plain = (lines: readonly string[]): string => Bun.stripANSI(lines.join("\n"));

test("the canvas moves as a terminal does that nothing happens to", () => {
  const canvas = new PromptCanvas(20, 26);
  const more = Array.from({ length: 26 }, (_, index) => String(index));
  canvas.write("\x1b[?25l");
  canvas.write("one\n\x1b[31mtwo\x1b[39m\nthree\n");
  expect(canvas.shown).toEqual(["one", "\x1b[31mtwo\x1b[39m", "three"]);
  canvas.write("\x1b[999D\x1b[3A");
  canvas.write("\x1b[1B\x1b[2K\x1b[G");
  canvas.write("zwei");
  canvas.write("\x1b[2B");
  expect(canvas.shown).toEqual(["one", "zwei", "three"]);
  canvas.write(`\x1b[999D\x1b[3A\x1b[2B\x1b[J${more.join("\n")}`);
  expect(canvas.shown).toEqual(more);
  canvas.write("\x1b[999D\x1b[99A\x1b[1B\x1b[Jx");
  expect(canvas.shown).toEqual(["0", "x"]);
});

test("every size: no row too long, none too many, the choice under the cursor to be seen", async () => {
  const message = Array.from({ length: 60 }, (_, index) => `word${index}`).join(" ");
  for (const count of [2, 4, 20]) {
    const said: string[] = [];
    const prompt = await openPrompt(listOf({ message, choices: choices(count) }), 80, 24, (lines) => void said.push(...lines));
    for (const down of [0, 1, count - 2]) {
      for (let press = 0; press < down; press++) prompt.press(key("down"));
      for (const [columns, rows] of [
        [80, 24],
        [40, 24],
        [100, 12],
        [20, 14],
        [20, 30],
        [200, 60],
      ] as const) {
        const { lines, row, column } = prompt.frame(columns, rows);
        expect(lines.length).toBeLessThan(rows);
        expect([row, column]).toEqual([lines.length - 1, 0]);
        for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThan(columns);
        expect(plain(lines)).toContain("●");
      }
    }
    expect(said).toEqual([message]);
    expect(plain(prompt.frame(200, 60).lines)).toContain("word59");
    prompt.press(key("escape"));
    expect(await prompt.answer).toBeUndefined();
  }
});

test("on a terminal of a few rows the marked choice is in sight, and above it what is asked; all of it is said", async () => {
  const message = "Allow run_shell: ● Yes, or > No? --and a long command that is wrapped && rm -rf x\nfor this session: rm …";
  const labels = ["Yes, once", "Yes, for this session", "Yes, for this project", "No"];
  for (const columns of [120, 80, 40, 20]) {
    const said: string[] = [];
    const asking = listOf({ message, choices: labels.map((label) => ({ value: label, label })), isGuarded: true });
    const prompt = await openPrompt(asking, columns, 24, (lines) => void said.push(...lines));
    for (const label of labels) {
      for (let rows = 2; rows <= 12; rows++) {
        const shown = prompt.frame(columns, rows).lines.map((line) => Bun.stripANSI(line));
        expect(shown.length).toBeLessThan(rows);
        for (const line of shown) expect(Bun.stringWidth(line)).toBeLessThan(columns);
        const marked = shown.findIndex((line) => line.startsWith("│  ● ") && line.endsWith(label.slice(-4)));
        expect([columns, rows, label, marked >= 0]).toEqual([columns, rows, label, true]);
        if (rows > 2) expect(shown.slice(0, marked).join("\n")).toContain("Allow");
        expect(shown.filter((line) => /^│ {2}[●○]/.test(line)).length).toBeGreaterThanOrEqual(Math.min(4, rows - 2));
      }
      prompt.press(key("down"));
    }
    expect(said).toEqual(message.split("\n"));
    prompt.press(key("escape"));
    await prompt.answer;
  }
});

test("a marked choice of several rows stands before the others, whole where there is room", () => {
  const rows = [
    "│",
    "◆  Which?",
    "│  ○",
    "│  one",
    "│  first",
    "│  ●",
    "│  two",
    "│  second",
    "│  ○ three",
    "│  ↑/↓ to",
    "│  navigate",
    "└",
  ];
  expect(rowsThatFit(rows, 4, 40)).toEqual(["◆  Which?", "│  ●", "│  two", "│  second"]);
  expect(rowsThatFit(rows, 2, 40)).toEqual(["◆  Which?", "│  ●"]);
  expect(rowsThatFit(rows, 8, 40)).toEqual(rows.slice(1, 9));
  const atEnd = rows.filter((row) => row !== "│  ○ three");
  expect(rowsThatFit(atEnd, 4, 40)).toEqual(["◆  Which?", "│  ●", "│  two", "│  second"]);
});

test("something typed stays in sight on a terminal of a few rows", async () => {
  for (const asking of [typedText("Name of it?", () => undefined), yesOrNo("Is that so?")]) {
    const prompt = await openPrompt<unknown>(asking, 40, 24, () => undefined);
    prompt.press({ type: "text", text: "y" });
    for (let rows = 2; rows <= 6; rows++) {
      const shown = plain(prompt.frame(40, rows).lines);
      expect(shown.split("\n").length).toBeLessThan(rows);
      if (rows > 2) expect(shown).toMatch(/Name of it|Is that so/);
      if (!prompt.isOver) expect(shown).toMatch(/^│ {2}y/m);
    }
    prompt.press(key("escape"));
    await prompt.answer;
  }
});

test("a long list on a terminal of a few rows: what it is searched for stays in sight", async () => {
  const prompt = await openPrompt(listOf({ message: "Which?", choices: choices(30) }), 40, 24, () => undefined);
  prompt.press({ type: "text", text: "1" });
  expect(plain(prompt.frame(40, 5).lines)).toMatch(/^◆ {2}Which\?\n│ {2}Search: 1.*\n│ {2}● choice 1\n│ {2}○ choice 10$/);
  expect(plain(prompt.frame(40, 4).lines)).toMatch(/^◆ {2}Which\?\n│ {2}● choice 1\n│ {2}○ choice 10$/);
  prompt.press(key("escape"));
  await prompt.answer;
});

test("long names on small terminals: the marked choice is in sight, and can be told from the others", async () => {
  for (const count of [2, 4, 8, 20]) {
    for (const isGuarded of [false, true]) {
      const named = Array.from({ length: count }, (_, index) => ({
        value: index,
        label: `provider/some-very-long-model-name-${index}`,
        hint: "a hint that is long too 日本語",
      }));
      const prompt = await openPrompt(listOf({ message: "Which model?", choices: named, isGuarded }), 20, 10, () => undefined);
      for (let at = 0; at < count; at++) {
        for (const [columns, rows] of [
          [20, 10],
          [20, 12],
          [24, 16],
          [40, 12],
          [80, 10],
          [80, 24],
        ] as const) {
          const { lines } = prompt.frame(columns, rows);
          expect(lines.length).toBeLessThan(rows);
          const shown = plain(lines).replace(/\n│ {2}/g, "");
          expect([columns, rows, shown]).toEqual([columns, rows, expect.stringMatching(new RegExp(`●[^○]*name-${at}(?!\\d)`))]);
        }
        prompt.press(key("down"));
      }
      prompt.press(key("escape"));
      await prompt.answer;
    }
  }
});

test("a long list is searched by whole names and hints, also where they are cut", async () => {
  const named = Array.from({ length: 12 }, (_, index) => ({
    value: index,
    label: `some-very-long-name-${index}-end`,
    hint: `hint${index}`,
  }));
  for (const search of ["name-7-E", "hint7"]) {
    const prompt = await openPrompt(listOf({ message: "Which?", choices: named }), 20, 10, () => undefined);
    for (const letter of search) prompt.press({ type: "text", text: letter });
    prompt.press(key("enter"));
    expect(await prompt.answer).toBe(7);
  }
});

test("after any changes of size and choice it looks as if it had been put just now", async () => {
  const message = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
  const sizes = [80, 24, 33, 10, 20, 6, 100, 3, 20, 2, 60, 40] as const;
  const prompt = await openPrompt(listOf({ message, choices: choices(6), initial: 0 }), 80, 24, () => undefined);
  let at = 0;
  for (let step = 0; step < 120; step++) {
    const [columns = 80, rows = 24] = [sizes[(step * 7) % sizes.length], sizes[(step * 5 + 1) % sizes.length]];
    for (let press = step % 4; press > 0; press--) prompt.press(key("down"));
    at = (at + (step % 4)) % 6;
    const anew = await openPrompt(listOf({ message, choices: choices(6), initial: at }), columns, rows, () => undefined);
    expect(prompt.frame(columns, rows)).toEqual(anew.frame(columns, rows));
    anew.press(key("escape"));
  }
});

test("a key at a time: what is behind the answer is not taken, nor what is for the terminal", async () => {
  const prompt = await openPrompt(listOf({ message: "Which?", choices: choices(3) }), 80, 24, () => undefined);
  expect(prompt.press(key("ctrl+z"))).toBe(false);
  expect(prompt.press(key("ctrl+l"))).toBe(false);
  expect(prompt.press({ type: "reports-keys" })).toBe(false);
  // Nothing to it, and nobody else's.
  for (const name of ["ctrl+g", "ctrl+t", "ctrl+r", "alt+x", "f1"]) expect(prompt.press(key(name))).toBe(true);
  expect(prompt.press(key("down"))).toBe(true);
  expect(prompt.press(key("enter"))).toBe(true);
  expect(prompt.press(key("enter"))).toBe(false);
  expect(prompt.press({ type: "text", text: "hello" })).toBe(false);
  expect(await prompt.answer).toBe(1);
  expect(plain(prompt.lines)).toContain("◇  Which?\n│  choice 1");
});

test("a paste answers nothing, a signal takes the question back", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const prompt = await openPrompt(listOf({ message: "Which?", choices: choices(3), signal }), 80, 24, () => undefined);
  expect(prompt.press({ type: "paste", text: "a\nb\x03\n" })).toBe(true);
  expect(plain(prompt.lines)).toContain("● choice 0");
  controller.abort();
  expect(await prompt.answer).toBeUndefined();
  const never = await openPrompt(listOf({ message: "Which?", choices: choices(3), signal }), 80, 24, () => undefined);
  expect(await never.answer).toBeUndefined();
});

const check = (typed: string): string | undefined => (typed.includes(" ") ? "no white space" : undefined);
const text = (typed: string): KeyEvent => ({ type: "text", text: typed });
const silent = (): void => undefined;

/** Every kind that is no list, with keys that bring it into each of its states. */
const KINDS: readonly (readonly [string, () => Asking<unknown>, readonly KeyEvent[]])[] = [
  ["yes or no", () => yesOrNo("Are you sure that this is what you want?"), [key("left"), key("right")]],
  ["text", () => typedText("Which model?", check, "some/model"), [text("-x"), text(" y"), key("enter"), key("backspace")]],
  ["a secret", () => typedSecret("The key, please", check), [text("k".repeat(70)), text(" y"), key("enter"), key("left")]],
];

for (const [name, make, events] of KINDS) {
  test(`${name}: after any changes of size it looks as if it had been put just now`, async () => {
    for (let pressed = 0; pressed <= events.length; pressed++) {
      const open = async (columns: number, rows: number) => {
        const prompt = await openPrompt(make(), columns, rows, silent);
        for (const event of events.slice(0, pressed)) prompt.press(event);
        return prompt;
      };
      const prompt = await open(80, 24);
      for (const [columns, rows] of [
        [40, 24],
        [100, 12],
        [20, 14],
        [15, 40],
        [33, 10],
        [200, 60],
        [80, 24],
      ] as const) {
        const frame = prompt.frame(columns, rows);
        const anew = await open(columns, rows);
        expect({ columns, rows, pressed, frame }).toEqual({ columns, rows, pressed, frame: anew.frame(columns, rows) });
        for (const line of frame.lines) expect(Bun.stringWidth(line)).toBeLessThan(columns);
        anew.press(key("escape"));
        expect(await anew.answer).toBeUndefined();
      }
    }
  });
}

test("yes or no: a letter answers, a sentence and a paste do not; Enter is no", async () => {
  const put = () => openPrompt(yesOrNo("Sure?"), 80, 24, silent);
  const asked = await put();
  for (const typed of ["my", "hey", "yesterday", "not"]) expect(asked.press(text(typed))).toBe(true);
  expect(asked.press({ type: "paste", text: "y" })).toBe(true);
  expect(plain(asked.lines)).toContain("○ Yes / ● No");
  expect(asked.press(text("y"))).toBe(true);
  expect(asked.press(key("enter"))).toBe(false);
  expect(await asked.answer).toBe(true);
  expect(plain(asked.lines)).toBe("│\n◇  Sure?\n│  Yes");
  for (const [event, answer] of [
    [text("n"), false],
    [key("enter"), false],
    [text("Yes"), true],
    [key("ctrl+d"), undefined],
  ] as const) {
    const again = await put();
    again.press(event);
    expect(await again.answer).toBe(answer as boolean);
  }
});

test("text: what is offered can be changed, white space around it goes, a wrong one is asked again", async () => {
  const prompt = await openPrompt(typedText("Which?", check, "abc"), 80, 24, silent);
  expect(plain(prompt.lines)).toContain("│  abc█");
  for (const event of [key("left"), text("x"), key("tab"), key("end"), text(" y"), key("enter")]) prompt.press(event);
  expect(plain(prompt.lines)).toContain("no white space");
  for (const event of [key("backspace"), key("backspace"), { type: "paste", text: "d\n" } as const, key("enter")])
    prompt.press(event);
  expect(await prompt.answer).toBe("abxcd");
  const offered = await openPrompt(typedText("Which?", check, "a\x1b[A\u202eb"), 80, 24, silent);
  expect(plain(offered.lines)).not.toMatch(/[ab]█|\u202e/);
});

test("a secret: nothing of it in any row, whatever is done with it", async () => {
  const prompt = await openPrompt(typedSecret("Key?", check), 80, 24, silent);
  const seen: string[] = [];
  const secret = "~Q~7~x~Z~9~";
  for (const event of [
    ...[...secret].map(text),
    key("left"),
    key("left"),
    key("end"),
    text(" x"),
    key("enter"),
    key("backspace"),
    key("backspace"),
    key("tab"),
    key("enter"),
  ]) {
    prompt.press(event);
    seen.push(...prompt.lines, ...prompt.frame(30, 24).lines, ...prompt.frame(80, 24).lines);
  }
  expect(await prompt.answer).toBe(secret);
  expect(plain(seen)).not.toMatch(/[~QZ79]/);
  expect(plain(prompt.lines)).toBe(`│\n◇  Key?\n│  ${"▪".repeat(secret.length)}`);
});

test("a long paste is taken at once, one that is no answer not at all", async () => {
  const long = "k".repeat(16_000);
  const prompt = await openPrompt(typedSecret("Key?", check), 80, 24, silent);
  prompt.press({ type: "paste", text: `${long}k\u{1f511}` });
  prompt.press(key("backspace"));
  prompt.press({ type: "paste", text: "k".repeat(1_000_000) });
  prompt.press(key("enter"));
  expect(await prompt.answer).toBe(`${long}k`);
});
