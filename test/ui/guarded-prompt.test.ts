/** A question that allows something: which keys may answer it, which are the line's, and when. */
import { expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { listOf } from "../../src/ui/askings.ts";
import { GuardedPrompt } from "../../src/ui/guarded-prompt.ts";
import type { Keyboard } from "../../src/ui/keyboard.ts";
import type { KeyEvent } from "../../src/ui/keys.ts";
import { Lending } from "../../src/ui/lending.ts";
import type { Guest, LiveTerminal } from "../../src/ui/live.ts";
import { openPrompt } from "../../src/ui/prompt.ts";

const key = (name: string): KeyEvent => ({ type: "key", key: name });
const text = (typed: string): KeyEvent => ({ type: "text", text: typed });
const QUESTION = {
  message: "Allow it?",
  choices: ["once", "session", "project", "no"].map((value) => ({ value, label: value })),
  isGuarded: true,
};

function manualClock(): Clock & { pass(ms: number): void } {
  let now = 0;
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  return {
    now: () => now,
    after(ms, action) {
      const timer = { at: now + ms, action };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    sleep: async () => undefined,
    pass(ms) {
      now += ms;
      const due = timers.filter((timer) => timer.at <= now);
      timers = timers.filter((timer) => timer.at > now);
      for (const { action } of due) action();
    },
  };
}

async function guarded(line = "") {
  const clock = manualClock();
  let draft = line;
  const prompt = await openPrompt(listOf(QUESTION), 80, 24, () => undefined);
  const guard = new GuardedPrompt(prompt, { clock, line: () => draft, onChange: () => undefined });
  const rows = (): string => Bun.stripANSI(guard.frame(80, 24).lines.join("\n"));
  const type = (...typed: string[]): void => {
    for (const letter of typed.join("")) {
      expect(guard.press(text(letter))).toBe(false);
      draft += letter;
      clock.pass(60);
    }
  };
  return { clock, prompt, guard, rows, type };
}

test("half a sentence and its Enter decide nothing: text is the line's, and Enter waits for a pause", async () => {
  for (const words of ["check the js tests", "look here please", "just do it", "2", "jjjj", "y"]) {
    const { clock, prompt, guard, rows, type } = await guarded("please also ");
    clock.pass(500);
    expect(rows()).toContain("to navigate");
    type(words);
    expect(rows()).toContain("● once");
    expect(rows()).toContain(`❯ please also ${words}`);
    expect(rows()).toContain("Enter counts after a pause");
    for (const name of ["enter", "down", "enter", "up"]) {
      expect(guard.press(key(name))).toBe(true);
      clock.pass(900);
    }
    expect(guard.press({ type: "paste", text: "pasted\n" })).toBe(false);
    expect(guard.press(key("enter"))).toBe(true);
    expect(prompt.isOver).toBe(false);
    expect(rows()).toContain("● once");
    clock.pass(1000);
    expect(rows()).toContain("to navigate");
    for (const name of ["down", "enter"]) expect(guard.press(key(name))).toBe(true);
    expect(await prompt.answer).toBe("session");
  }
});

test("what changes the text is the line's; what gives up gives up, but for Ctrl+C and Ctrl+D among typing", async () => {
  const { clock, prompt, guard, type } = await guarded();
  clock.pass(500);
  for (const name of ["backspace", "left", "right", "home", "ctrl+w", "ctrl+u", "ctrl+j", "alt+enter", "ctrl+y"])
    expect([name, guard.press(key(name))]).toEqual([name, false]);
  type("abc");
  expect(guard.press(key("ctrl+c"))).toBe(false);
  expect(guard.press(key("ctrl+d"))).toBe(false);
  expect(prompt.isOver).toBe(false);
  expect(guard.press(key("escape"))).toBe(true);
  expect(await prompt.answer).toBeUndefined();
  const other = await guarded("abc");
  expect(other.guard.press(key("ctrl+c"))).toBe(true);
  expect(await other.prompt.answer).toBeUndefined();
});

test("nobody has read a question that has just come: no key answers it before a moment of silence", async () => {
  const { clock, prompt, guard, rows } = await guarded();
  for (let press = 0; press < 5; press++) {
    expect(guard.press(key("enter"))).toBe(true);
    clock.pass(150);
  }
  expect(rows()).toContain("keys count in a moment");
  expect(prompt.isOver).toBe(false);
  clock.pass(350);
  expect(rows()).toContain("to navigate");
  guard.press(key("enter"));
  expect(await prompt.answer).toBe("once");
  expect(guard.press(key("enter"))).toBe(false);
});

test("every size and every line: no row too long, none too many, the marked choice in sight", async () => {
  for (const line of ["", "short", "日本語🌲".repeat(40), "a\nb\u202ec\x1b[31m".repeat(30)]) {
    const { guard } = await guarded(line);
    for (const columns of [200, 80, 40, 20]) {
      for (const rows of [60, 24, 14, 12, 10, 9, 8, 7, 5, 4, 3, 2]) {
        const { lines, row } = guard.frame(columns, rows);
        expect(lines.length).toBeLessThan(rows);
        expect(row).toBe(lines.length - 1);
        for (const shown of lines) expect(Bun.stringWidth(shown)).toBeLessThan(columns);
        expect(Bun.stripANSI(lines.join("\n"))).toContain("●");
      }
    }
    guard.close();
  }
});

test("the second Enter of two is nobody's: it neither answers the next question nor sends the line", async () => {
  const clock = manualClock();
  let guest: Guest | undefined;
  const live = {
    columns: 80,
    rows: 24,
    refresh: () => undefined,
    host: (shown: Guest | undefined) => {
      guest = shown;
    },
  } as unknown as LiveTerminal;
  const lending = new Lending({ keyboard: () => ({}) as Keyboard, live, plain: false, say: () => undefined, clock });
  const opened = async (): Promise<void> => {
    while (!guest) await Bun.sleep(0);
  };
  const first = lending.pick(QUESTION);
  const second = lending.pick(QUESTION);
  await opened();
  clock.pass(500);
  expect(lending.press(key("enter"))).toBe(true);
  for (let press = 0; press < 3; press++) {
    clock.pass(100);
    expect(lending.press(key("enter"))).toBe(true);
  }
  expect(await first).toBe("once");
  await opened();
  expect(lending.press(key("enter"))).toBe(true);
  clock.pass(500);
  lending.press(key("down"));
  lending.press(key("enter"));
  expect(await second).toBe("session");
  // With another key between them it is an Enter of its own; as it is later.
  expect(lending.press(text("a"))).toBe(false);
  expect(lending.press(key("enter"))).toBe(false);
});

test("in lines: what was begun before the question is no answer, be it a number, and comes back afterwards", async () => {
  const said: string[] = [];
  let line = "2";
  const lending = new Lending({
    keyboard: () => ({}) as Keyboard,
    live: { refresh: () => undefined } as LiveTerminal,
    plain: true,
    say: (lines) => void said.push(...lines),
    line: { text: () => line, giveBack: (back) => (line = back) },
  });
  const answer = lending.pick(QUESTION);
  while (!lending.asking) await Bun.sleep(0);
  line = "";
  lending.answer("2");
  expect(said.at(-1)).toStartWith("answer with a number from 1 to 4");
  lending.answer("and the tests");
  lending.answer("");
  lending.answer("4");
  expect(await answer).toBe("no");
  expect(line).toBe("2\nand the tests");
});

test("an arrow that is held down from the first moment moves as soon as the question is read", async () => {
  const { clock, guard, rows } = await guarded();
  for (let press = 0; press < 20; press++) {
    expect(guard.press(key("down"))).toBe(true);
    clock.pass(30);
  }
  expect(rows()).not.toContain("● once");
});
