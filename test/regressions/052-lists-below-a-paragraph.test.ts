/**
 * A list directly below a paragraph lost its structure at its first blank line: the block was taken for a paragraph, because
 * it began with one.
 */
import { expect, test } from "bun:test";
import { createStyle } from "../../src/ui/style.ts";
import { createTranscript } from "../../src/ui/transcript.ts";

function shown(pieces: readonly string[]): string[] {
  const lines: string[] = [];
  const transcript = createTranscript({
    style: createStyle(false),
    color: false,
    columns: () => 80,
    settle: (text) => void lines.push(...text.split("\n")),
    now: () => 0,
  });
  for (const text of pieces) transcript.event({ type: "text_delta", turnId: "turn-1", text });
  transcript.event({ type: "turn_finished", turnId: "turn-1" });
  return lines;
}

test.each([
  [
    "Steps:\n1. Open the file\n\n   Then look at it\n2. Close it\n\nDone.",
    ["Steps:", "   1. Open the file", "", "      Then look at it", "   2. Close it", "", "Done."],
  ],
  ["> said\n- one\n\n  still one\n- two", ["| said", "  * one", "", "    still one", "  * two"]],
  ["***\n- one\n\n  still one", ["-".repeat(60), "  * one", "", "    still one"]],
  ["words\n2. no list\n\nmore", ["words 2. no list", "", "more"]],
  ["Title\n-\n\nmore", ["Title", "-----", "", "more"]],
  ["* * *\n\n- one", ["-".repeat(60), "", "  * one"]],
  ["- one\n\n  ## inside\n- two", ["  * one", "", "    inside", "    ------", "  * two"]],
  ["    code\n\n    more code\n\nwords", ["+-", "| code", "| ", "| more code", "+-", "", "words"]],
])("%j", (text, expected) => {
  expect(shown([text])).toEqual(expected);
  expect(shown([...text])).toEqual(expected);
});
