/** Questions to a person: what they say, when they come, and that each of them ends (security.md 5, L03, L11). */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { ToolEntry } from "../../src/agent/toolbox.ts";
import type { OpenedRuntime } from "../../src/app/open.ts";
import { monotonicClock } from "../../src/base/clock.ts";
import type { RunEvent } from "../../src/types/event.ts";
import { openApprovals } from "../../src/ui/approvals.ts";
import { createAsker } from "../../src/ui/asker.ts";
import { Desk } from "../../src/ui/desk.ts";
import { parseHistory } from "../../src/ui/history.ts";
import type { Keyboard } from "../../src/ui/keyboard.ts";
import { Lending } from "../../src/ui/lending.ts";
import type { LiveTerminal } from "../../src/ui/live.ts";
import { createStyle } from "../../src/ui/style.ts";
import type { Transcript } from "../../src/ui/transcript.ts";
import { Typing } from "../../src/ui/typing.ts";
import { tempDir } from "../support/temp.ts";

const CHOICES = [
  { value: "a", label: "A" },
  { value: "b", label: "B" },
];

const shown = { style: createStyle(false), onChange: () => undefined, signal: new AbortController().signal };

function numbered(): { readonly lending: Lending; readonly said: string[] } {
  const said: string[] = [];
  const lending = new Lending({
    keyboard: () => ({}) as Keyboard,
    live: { refresh: () => undefined } as LiveTerminal,
    plain: true,
    say: (lines) => void said.push(...lines),
  });
  return { lending, said };
}

test("an outside agent's question shows its title before its input, an own tool's its arguments", async () => {
  const messages: string[] = [];
  const ask = createAsker({
    approvals: () => openApprovals(undefined, ""),
    pick: async ({ message }) => {
      messages.push(message);
      return "once";
    },
    cancel: () => undefined,
    onFailure: () => undefined,
  });
  const put = (name: string, input: Record<string, unknown>): unknown =>
    ask(name, input, {} as ToolEntry, new AbortController().signal);
  await put("acp:cat edit", { action: "Edit \x1b[2Ja.ts", kind: "edit", input: { path: "a.ts" } });
  await put("acp:cat Wipe it", { action: "Wipe it", kind: "delete", input: {} });
  await put("mcp__files__move", { action: "move", kind: "x", to: "b" });
  await put("run_shell", { argv: ["git", "status", "-s"] });
  await put("run_shell", { argv: ["sh", "-c", "ls"] });
  expect(messages).toEqual([
    'Allow acp:cat edit: Edit ␛[2Ja.ts  (input {"path":"a.ts"})\nfor this session or project: acp:cat edit',
    "Allow acp:cat Wipe it\nfor this session or project: acp:cat Wipe it",
    'Allow mcp__files__move {"action":"move","kind":"x","to":"b"}\nfor this session or project: mcp__files__move',
    "Allow run_shell: git status -s\nfor this session or project: git status …, only here",
    "Allow run_shell: sh -c ls\nfor this session or project: exactly this command, only here",
  ]);
});

test("a question says of a command in the workspace root where that is for a person who stands below it", async () => {
  const messages: string[] = [];
  const approvals = openApprovals(undefined, "/ws", "/ws/sub");
  const ask = createAsker({
    approvals: () => approvals,
    pick: async ({ message }) => {
      messages.push(message);
      return "session";
    },
    cancel: () => undefined,
    onFailure: () => undefined,
  });
  for (const cwd of [undefined, "/ws", "./", "/ws/sub", "sub/"])
    await ask("run_shell", { argv: ["ls"], ...(cwd !== undefined && { cwd }) }, {} as ToolEntry, new AbortController().signal);
  expect(messages).toEqual([
    "Allow run_shell: ls\nfor this session or project: ls …, only in the workspace root",
    "Allow run_shell: ls  (in /ws/sub)\nfor this session or project: ls …, only in sub",
  ]);
});

test("a question that is given up cancels the run and is no 'no'", async () => {
  let cancelled = 0;
  const answers = [undefined, "no", undefined] as const;
  const seen: unknown[] = [];
  const gone = new AbortController();
  const ask = createAsker({
    approvals: () => openApprovals(undefined, ""),
    pick: async () => {
      if (seen.length === 2) gone.abort();
      return answers[seen.length];
    },
    cancel: () => {
      cancelled += 1;
    },
    onFailure: () => undefined,
  });
  for (const _ of answers) seen.push(await ask("run_shell", { argv: ["ls"] }, {} as ToolEntry, gone.signal));
  expect(seen).toEqual([
    { allowed: false, reason: "Cancelled." },
    { allowed: false, reason: "The user said no." },
    { allowed: false, reason: "Cancelled." },
  ]);
  expect(cancelled).toBe(1);
});

test("numbered questions come one after the other; one whose signal has come is not asked", async () => {
  const { lending, said } = numbered();
  const gone = AbortSignal.abort();
  const cancelled = new AbortController();
  const first = lending.pick({ message: "first?", choices: CHOICES });
  const second = lending.pick({ message: "second?", choices: CHOICES, signal: cancelled.signal });
  const third = lending.pick({ message: "third?", choices: CHOICES });
  const never = lending.pick({ message: "never?", choices: CHOICES, signal: gone });
  await Bun.sleep(0);
  expect(said).toContain("first?");
  expect(said).not.toContain("second?");
  cancelled.abort();
  lending.answer("2");
  expect(await first).toBe("b");
  expect(await second).toBeUndefined();
  await Bun.sleep(0);
  expect(said).not.toContain("second?");
  lending.answer("1");
  expect(await third).toBe("a");
  expect(await never).toBeUndefined();
  expect(said).not.toContain("never?");
});

test("L03 leaving takes a question back, and no other is asked", async () => {
  const { lending, said } = numbered();
  const open = lending.pick({ message: "open?", choices: CHOICES });
  const waiting = lending.pick({ message: "waiting?", choices: CHOICES });
  await Bun.sleep(0);
  expect(lending.asking).toBe(true);
  lending.end();
  expect(await open).toBeUndefined();
  expect(await waiting).toBeUndefined();
  expect(await lending.pick({ message: "late?", choices: CHOICES })).toBeUndefined();
  expect(lending.asking).toBe(false);
  expect(said).not.toContain("waiting?");
  expect(said).not.toContain("late?");
});

test("a question waits for the end of a paste, however slowly it comes; a signal ends the waiting at once", async () => {
  let now = 0;
  let pasting = true;
  let drafting = false;
  const due: (() => void)[] = [];
  const clock = {
    now: () => now,
    sleep: monotonicClock.sleep,
    after: (ms: number, action: () => void) => {
      due.push(() => {
        now += ms;
        action();
      });
      return () => undefined;
    },
  };
  const pass = async (): Promise<void> => {
    due.shift()?.();
    for (let turn = 0; turn < 10; turn++) await undefined;
  };
  const typing = new Typing({ clock, pasting: () => pasting, drafting: () => drafting, onChange: () => undefined });
  let over = false;
  const waiting = typing.pause(undefined).then(() => {
    over = true;
  });
  await pass();
  await pass();
  expect(over).toBe(false);
  expect(now).toBe(1200);
  pasting = false;
  await pass();
  await waiting;
  expect(typing.hint).toBeUndefined();
  typing.note([{ type: "text", text: "a" }]);
  const controller = new AbortController();
  const cut = typing.pause(controller.signal);
  expect(typing.hint).toBe("a question waits until you stop typing");
  controller.abort();
  await cut;
  expect(typing.hint).toBeUndefined();
  due.length = 0;
  // What a question is waited for: after text, with half a line, after an Enter that called for it, after one that did not.
  for (const [key, half, expected, ms] of [
    ["a", false, false, 600],
    ["a", true, true, 2000],
    ["enter", false, true, 200],
    ["enter", false, false, 600],
  ] as const) {
    drafting = half;
    typing.note([key === "enter" ? { type: "key", key } : { type: "text", text: key }, { type: "reports-keys" }]);
    const from = now;
    const paused = typing.pause(undefined, expected);
    await pass();
    await paused;
    expect(now - from).toBe(ms);
  }
});

test("another conversation has the history of the one before, with what is not written yet and what the file does not keep", async () => {
  await using place = await tempDir();
  const made = (secret: string): OpenedRuntime =>
    ({
      runtime: { workspace: "", subscribe: () => () => undefined, close: async () => undefined },
      controls: { homes: { state: place.at("state") }, discovered: async () => undefined, messages: [] },
      inventory: () => [],
      redact: (text: string) => text.replace(secret, "…"),
    }) as unknown as OpenedRuntime;
  const secrets = ["first", "second"];
  const transcript = { event: () => undefined, say: () => undefined } as unknown as Transcript;
  const open = async (): Promise<OpenedRuntime> => made(secrets.shift() ?? "");
  const desk = new Desk({ open, transcript, ...shown });
  await desk.openFirst({});
  const paste = "x".repeat(40_000);
  for (const text of [paste, "a first secret", "/new"]) desk.history.add(text);
  await desk.replace({});
  expect(desk.history.entries).toEqual([paste, "a first secret", "/new"]);
  desk.history.add("a second secret");
  await desk.history.settled();
  expect(parseHistory(readFileSync(place.at("state", "history"), "utf8"))).toEqual(["a … secret", "/new", "a … secret"]);
});

test("the share of context that is left is shown for a model, and left out for an outside agent", async () => {
  for (const [provider, left] of [
    ["openai", 0.75],
    ["acp", undefined],
  ] as const) {
    let tell: (event: RunEvent) => void = () => undefined;
    const opened = {
      runtime: {
        workspace: "",
        subscribe: (listener: typeof tell) => {
          tell = listener;
          return () => undefined;
        },
      },
      controls: { homes: {}, provider, windowUse: () => ({ used: 25, available: 100 }) },
      redact: (text: string) => text,
    } as unknown as OpenedRuntime;
    const transcript = { event: () => undefined } as unknown as Transcript;
    const desk = new Desk({ open: async () => opened, transcript, ...shown });
    await desk.openFirst({});
    tell({ type: "usage", usage: {} } as RunEvent);
    expect(desk.contextLeft).toBe(left);
  }
});
