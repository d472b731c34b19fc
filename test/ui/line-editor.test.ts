/** The editor against a reference model: a list of clusters with a cursor, rebuilt from the text after every key. */
import { expect, test } from "bun:test";
import { createSegmenter } from "../../src/ui/graphemes.ts";
import { createInputLayout } from "../../src/ui/input-layout.ts";
import { type EditCommand, type EditorState, EMPTY, edit, insert, withText } from "../../src/ui/line-editor.ts";

const segmenter = createSegmenter();

/** Every cluster boundary of a text. */
function boundaries(text: string): number[] {
  return [...[...segmenter.segment(text)].map((part) => part.index), text.length];
}

type Model = { text: string; cursor: number };

function atOrAfter(text: string, index: number): number {
  return boundaries(text).find((at) => at >= index) ?? text.length;
}

function before(model: Model): number {
  return Math.max(0, ...boundaries(model.text).filter((at) => at < model.cursor));
}

function after(model: Model): number {
  return boundaries(model.text).find((at) => at > model.cursor) ?? model.text.length;
}

function remove(model: Model, from: number, to: number): Model {
  const text = model.text.slice(0, from) + model.text.slice(to);
  return { text, cursor: atOrAfter(text, from) };
}

const model: Readonly<Record<string, (model: Model) => Model>> = {
  left: (m) => ({ ...m, cursor: before(m) }),
  right: (m) => ({ ...m, cursor: after(m) }),
  "text-start": (m) => ({ ...m, cursor: 0 }),
  "text-end": (m) => ({ ...m, cursor: m.text.length }),
  "line-start": (m) => ({ ...m, cursor: m.text.slice(0, m.cursor).lastIndexOf("\n") + 1 }),
  "line-end": (m) => ({ ...m, cursor: m.cursor + (m.text.slice(m.cursor).split("\n")[0] ?? "").length }),
  "delete-left": (m) => remove(m, before(m), m.cursor),
  "delete-right": (m) => remove(m, m.cursor, after(m)),
};

const pieces = ["a", " ", "日", "🌲", "e\u0301", "👨‍👩‍👧", "\n", "🇩🇪", "\u200d", "x_1", "\u0301", "नि"];

test("random keys: text and cursor are the model's, and undo leads back", () => {
  let seed = 11;
  const random = (limit: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return (seed >> 8) % limit;
  };
  for (let round = 0; round < 300; round++) {
    let state: EditorState = EMPTY;
    let expected: Model = { text: "", cursor: 0 };
    const names = Object.keys(model);
    for (let step = 0; step < 40; step++) {
      if (random(2) === 0) {
        const piece = pieces[random(pieces.length)] ?? "a";
        state = insert(segmenter, state, piece);
        const text = expected.text.slice(0, expected.cursor) + piece + expected.text.slice(expected.cursor);
        expected = { text, cursor: atOrAfter(text, expected.cursor + piece.length) };
      } else {
        const name = names[random(names.length)] ?? "left";
        state = edit(segmenter, state, name as EditCommand);
        expected = model[name]?.(expected) ?? expected;
      }
      expect({ text: state.text, cursor: state.cursor }).toEqual(expected);
    }
    for (let back = 0; back < 41; back++) state = edit(segmenter, state, "undo");
    expect(state.text).toBe("");
  }
});

function typed(text: string, ...commands: EditCommand[]): string {
  const marked = text.indexOf("|");
  let state = withText(EMPTY, text.replace("|", ""), marked === -1 ? text.length : marked);
  for (const command of commands) state = edit(segmenter, state, command);
  return `${state.text.slice(0, state.cursor)}|${state.text.slice(state.cursor)}`;
}

test("readline keys", () => {
  expect(typed("one two| three", "word-left")).toBe("one |two three");
  expect(typed("one |two three", "word-right")).toBe("one two| three");
  expect(typed("one two-three|", "kill-blank-left")).toBe("one |");
  // Alt+Backspace: the part of it that Alt+B goes back over.
  expect(typed("one two-three. |", "kill-word-left")).toBe("one two-|");
  expect(typed("one two-three|", "kill-word-left", "kill-word-left", "yank")).toBe("one two-three|");
  expect(typed("one two-three|", "kill-blank-left", "yank", "yank")).toBe("one two-threetwo-three|");
  // Cuts with nothing between them are one, in the order in which it stood.
  expect(typed("one two three|", "kill-blank-left", "kill-blank-left", "yank")).toBe("one two three|");
  expect(typed("one |two three", "kill-word-right", "kill-word-right", "line-end", "yank")).toBe("one two three|");
  expect(typed("ab\nc|d\nef", "kill-to-end", "kill-to-end", "kill-to-start", "kill-to-start", "text-end", "yank")).toBe(
    "abef\ncd\n|",
  );
  expect(typed("one two|", "kill-blank-left", "left", "kill-to-start", "yank")).toBe("one| ");
  expect(typed("one two|", "kill-blank-left", "yank", "kill-blank-left", "yank")).toBe("one two|");
  expect(typed("one two|", "kill-to-start", "kill-to-start", "yank")).toBe("one two|");
  expect(typed("ab|cd\nef", "kill-to-end")).toBe("ab|\nef");
  expect(typed("ab|\nef", "kill-to-end")).toBe("ab|ef");
  expect(typed("ab\nc|d", "kill-to-start")).toBe("ab\n|d");
  expect(typed("a|b", "transpose")).toBe("ba|");
  expect(typed("ab|", "transpose")).toBe("ba|");
  expect(typed("one |two", "kill-word-right")).toBe("one |");
});

test("L05 Left three times and Backspace delete one character of 日本語🌲é", () => {
  expect(typed("日本語🌲é|", "left", "left", "left", "delete-left")).toBe("日|語🌲é");
});

test("layout: rows fit the width, the cursor is where its character is, up and down keep the column", () => {
  const layout = createInputLayout(segmenter);
  const text = "日本語🌲é and a line that is longer\n\nshort 👨‍👩‍👧 end";
  for (const width of [4, 7, 19, 79]) {
    for (const row of layout.rows(text, width)) expect(Bun.stringWidth(row.shown)).toBeLessThanOrEqual(width);
    for (const at of boundaries(text)) {
      const { row, column } = layout.place(text, width, at);
      const found = layout.rows(text, width)[row];
      expect(found && found.start <= at && at <= found.end).toBe(true);
      expect(column).toBeLessThanOrEqual(width);
      const below = layout.vertical(text, width, at, 1);
      if (below !== undefined) {
        expect(boundaries(text)).toContain(below);
        expect(layout.place(text, width, below).row).toBe(row + 1);
      }
    }
  }
  expect(layout.vertical("abc\nde", 10, 1, 1)).toBe(5);
  expect(layout.vertical("abc\nde", 10, 1, -1)).toBeUndefined();
});

test("layout: controls and invisible characters are shown, never sent", () => {
  const layout = createInputLayout(segmenter);
  const shown = layout.rows("a\x1b[31m\u202eb\u200bc\td", 60).map((row) => row.shown);
  expect(shown).toEqual(["a␛[31m<U+202E>b<U+200B>c    d"]);
});

test("a text of 200 KB is laid out and edited quickly", () => {
  const layout = createInputLayout(segmenter);
  const started = performance.now();
  let state = insert(segmenter, EMPTY, "word 日本 and more text\n".repeat(9000));
  for (let i = 0; i < 20; i++) {
    state = insert(segmenter, state, "x");
    layout.place(state.text, 79, state.cursor);
  }
  expect(performance.now() - started).toBeLessThan(4000);
});

test("vowel signs beside their letters: the cursor stands where terminals that count as wcwidth have it", () => {
  const layout = createInputLayout(segmenter, true);
  // As tmux 3.3a says after it was sent these.
  for (const [text, cells] of [
    ["हिन्दी", 5],
    ["नमस्ते", 4],
    ["यह हिंदी में", 9],
    ["क्षत्रिय", 6],
    ["বাংলা", 5],
    ["தமிழ்", 4],
    ["ไทย", 3],
    ["दुःख", 3],
    ["ကျော်", 4],
    ["日本 e\u0301", 6],
  ] as const) {
    expect([text, layout.place(text, 80, text.length).column]).toEqual([text, cells]);
    for (const row of layout.rows(text, 4)) expect(layout.place(row.shown, 80, row.shown.length).column).toBeLessThanOrEqual(4);
  }
  expect(layout.vertical("यह हिंदी\nabcdefghi", 80, 8, 1)).toBe(9 + 7);
  expect(createInputLayout(segmenter).place("हिन्दी", 80, 6).column).toBe(3);
});

test("at the very start of a text that begins with a line end, Home stays and Ctrl+U cuts nothing", () => {
  const start = edit(segmenter, insert(segmenter, EMPTY, "\nabc"), "text-start");
  expect(edit(segmenter, start, "line-start").cursor).toBe(0);
  expect(edit(segmenter, start, "kill-to-start")).toMatchObject({ text: "\nabc", cursor: 0, killed: "" });
});
