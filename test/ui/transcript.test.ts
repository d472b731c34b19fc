/** Events → settled lines and moving rows: what is said once, what is collapsed, what is marked. */
import { expect, test } from "bun:test";
import type { RunEvent } from "../../src/types/event.ts";
import { createStyle } from "../../src/ui/style.ts";
import { createTranscript, type Transcript } from "../../src/ui/transcript.ts";

type Stage = { readonly transcript: Transcript; readonly lines: string[]; time: number; event(event: RunEvent): void };

function stage(columns = 60): Stage {
  const lines: string[] = [];
  const made: Stage = {
    lines,
    time: 0,
    transcript: createTranscript({
      style: createStyle(false),
      color: false,
      columns: () => columns,
      settle: (text) => void lines.push(...text.split("\n")),
      now: () => made.time,
    }),
    event: (event) => made.transcript.event(event),
  };
  return made;
}

const turnId = "turn-1";
const text = (words: string): RunEvent => ({ type: "text_delta", turnId, text: words });

test("text settles block by block; the rest moves", () => {
  const { transcript, lines, event } = stage();
  event(text("one\n\ntw"));
  expect(transcript.moving("*", 8)).toEqual(["", "tw"]);
  expect(lines).toEqual(["one"]);
  event(text("o\n\nthree"));
  event({ type: "assistant_finished", turnId, text: "one\n\ntwo\n\nthree", calls: [], final: true });
  expect(lines).toEqual(["one", "", "two", "", "three", ""]);
  expect(transcript.moving("*", 8)).toEqual([]);
});

test("an answer that did not stream is shown all the same; a cut one is marked", () => {
  const { lines, event } = stage();
  event({ type: "assistant_finished", turnId, text: "whole", calls: [], final: true });
  event(text("half an"));
  event({ type: "assistant_finished", turnId, text: "half an", calls: [], final: false, partial: true });
  expect(lines).toEqual(["whole", "", "half an", "(cut off)", ""]);
});

test("reasoning moves in one row and collapses to one line", () => {
  const made = stage();
  made.event({ type: "reasoning_delta", turnId, text: "first\nthen " });
  made.event({ type: "reasoning_delta", turnId, text: `more ${"x".repeat(500)}` });
  const [row = "", ...others] = made.transcript.moving("*", 8);
  expect(others).toEqual([]);
  expect(Bun.stringWidth(row)).toBeLessThan(60);
  made.time = 2500;
  made.event({ type: "reasoning_finished", turnId, text: "…" });
  expect(made.lines).toEqual(["· thought for 2.5 s"]);
});

test("a retry marks what it supersedes", () => {
  const { lines, event } = stage();
  event(text("lost words"));
  event({
    type: "retrying",
    turnId,
    attempt: 2,
    maxAttempts: 4,
    delayMs: 1500,
    failure: "network",
    message: "connection lost",
  });
  event(text("kept"));
  event({ type: "turn_finished", turnId });
  expect(lines).toEqual([
    "lost words",
    "(the text above is superseded)",
    "↻ connection lost; trying again in 1.5 s (attempt 2 of 4)",
    "",
    "kept",
  ]);
});

test("a retry of a summary is shown and supersedes nothing", () => {
  const { lines, event } = stage();
  event(text("words"));
  const retry = { type: "retrying", turnId, attempt: 2, maxAttempts: 4, delayMs: 1500, failure: "network" } as const;
  event({ ...retry, message: "connection lost", summary: true });
  event({ type: "turn_finished", turnId });
  expect(lines).toEqual(["words", "↻ connection lost; trying again in 1.5 s (attempt 2 of 4)"]);
});

test("a tool call: running, then status, time, truncation and some of its output", () => {
  const made = stage();
  made.event({ type: "tool_started", turnId, callId: "a", name: "run_shell", arguments: { argv: ["ls", "-l"] } });
  made.time = 1200;
  expect(made.transcript.moving("*", 8)).toEqual(["* run_shell ls -l 1.2 s"]);
  const output = Array.from({ length: 12 }, (_, index) => `line ${index}\x1b[2J`).join("\n");
  made.event({
    type: "tool_finished",
    turnId,
    callId: "a",
    name: "run_shell",
    status: "failed",
    output,
    truncated: true,
    elapsedMs: 1300,
  });
  expect(made.lines).toEqual([
    "✗ run_shell ls -l (failed, 1.3 s, truncated)",
    ...[0, 1, 2, 3, 4].map((index) => `  │ line ${index}␛[2J`),
    "  └ … 7 more lines",
  ]);
  expect(made.transcript.moving("*", 8)).toEqual([]);
});

test("a diff is shown longer than other output", () => {
  const { lines, event } = stage();
  const body = Array.from({ length: 30 }, (_, index) => `+added ${index}`).join("\n");
  event({ type: "tool_started", turnId, callId: "a", name: "replace_range", arguments: { path: "a.ts" } });
  const output = `edited a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,1 +1,30 @@\n${body}`;
  event({
    type: "tool_finished",
    turnId,
    callId: "a",
    name: "replace_range",
    status: "ok",
    output,
    truncated: false,
    elapsedMs: 3,
  });
  expect(lines).toHaveLength(1 + 4 + 30);
});

test("prompts are cut to a readable length; their controls are shown", () => {
  const { transcript, lines } = stage();
  transcript.prompt(Array.from({ length: 500 }, (_, index) => `line ${index}`).join("\n"));
  expect(lines[0]).toBe("❯ line 0");
  expect(lines.at(-2)).toBe("  … 480 more lines");
  transcript.prompt(`esc \x1b[2J ${"y".repeat(10_000)}`);
  expect(lines.find((line) => line.includes("esc"))).toContain("␛[2J");
  expect(lines.length).toBeLessThan(60);
});
