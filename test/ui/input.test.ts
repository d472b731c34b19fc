/** The input line by its keys: what belongs together over several of them. */
import { expect, test } from "bun:test";
import { createSegmenter } from "../../src/ui/graphemes.ts";
import { Input } from "../../src/ui/input.ts";
import { createInputLayout } from "../../src/ui/input-layout.ts";

function lineWith(entries: readonly string[]) {
  const segmenter = createSegmenter();
  const input = new Input({
    segmenter,
    layout: createInputLayout(segmenter),
    entries: () => entries,
    complete: () => [],
    width: () => 40,
    onRequest: () => undefined,
    onChange: () => undefined,
  });
  const press = (...keys: string[]): string => {
    for (const key of keys) input.handle({ type: "key", key });
    return `${input.text.slice(0, input.cursor)}|${input.text.slice(input.cursor)}`;
  };
  return { input, press };
}

test("in an entry of the history: once the cursor was moved, its rows come first, then the next entry", () => {
  const { input, press } = lineWith(["older", "one\ntwo\nthree", "newest"]);
  input.handle({ type: "text", text: "draft" });
  expect(press("up", "up")).toBe("one\ntwo\nthree|");
  expect(press("up")).toBe("older|");
  expect(press("down")).toBe("one\ntwo\nthree|");
  expect(press("ctrl+home")).toBe("|one\ntwo\nthree");
  expect(press("down")).toBe("one\n|two\nthree");
  expect(press("down", "up")).toBe("one\n|two\nthree");
  expect(press("down", "down")).toBe("newest|");
  expect(press("up", "left", "up", "up")).toBe("one|\ntwo\nthree");
  expect(press("up")).toBe("older|");
  expect(press("down", "down", "down")).toBe("draft|");
});

test("cuts with nothing between them are one; a move of the cursor to another row is something", () => {
  const { input, press } = lineWith([]);
  input.handle({ type: "text", text: "one two three" });
  expect(press("ctrl+w", "ctrl+w", "ctrl+y")).toBe("one two three|");
  expect(press("ctrl+u", "ctrl+y")).toBe("one two three|");
  press("ctrl+u");
  input.handle({ type: "text", text: "cd src/ui" });
  expect(press("alt+backspace")).toBe("cd src/|");
  expect(press("ctrl+backspace")).toBe("cd |");
  expect(press("ctrl+y", "ctrl+w")).toBe("cd |");
  press("ctrl+u");
  input.handle({ type: "text", text: "one two three" });
  press("ctrl+j");
  input.handle({ type: "text", text: "four" });
  press("ctrl+w", "up", "end");
  expect(press("ctrl+w", "ctrl+y", "ctrl+y")).toBe("one two threethree|\n");
});
