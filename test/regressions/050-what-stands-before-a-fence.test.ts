/**
 * The commonest shape of an answer, a paragraph directly followed by a fence, was shown as code in a frame that never closed:
 * the block before the fence was labelled by the fence that ended it.
 */
import { expect, test } from "bun:test";
import { createStyle } from "../../src/ui/style.ts";
import { createTranscript } from "../../src/ui/transcript.ts";

function shown(pieces: readonly string[]): string[] {
  const lines: string[] = [];
  const transcript = createTranscript({
    style: createStyle(false),
    color: true,
    columns: () => 80,
    settle: (text) => void lines.push(...Bun.stripANSI(text).split("\n")),
    now: () => 0,
  });
  for (const text of pieces) {
    transcript.event({ type: "text_delta", turnId: "turn-1", text });
    transcript.moving("*", 8);
  }
  transcript.event({ type: "turn_finished", turnId: "turn-1" });
  return lines;
}

const FRAME = ["", "┌─ ts", "│ const a = 1;", "└─"];
const FENCE = "```ts\nconst a = 1;\n```\n";

test.each([
  ["a paragraph", "Here is the code:\n", ["Here is the code:"]],
  [
    "a table",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    ["┌─────┬─────┐", "│ a   │ b   │", "├─────┼─────┤", "│ 1   │ 2   │", "└─────┴─────┘"],
  ],
  ["a rule", "***\n", ["─".repeat(60)]],
  ["a quote", "> said\n", ["│ said"]],
  ["a list", "- one\n- two\n", ["  • one", "  • two"]],
  ["a heading", "## Code\n", ["Code", "────"]],
])("%s, then a fence, without a blank line", (_what, before, rows) => {
  const text = `${before}${FENCE}After.\n`;
  const expected = [...rows, ...FRAME, "", "After."];
  expect(shown([text])).toEqual(expected);
  expect(shown([...text])).toEqual(expected);
});

test("a fence inside the list that comes before it keeps both frames", () => {
  const text = `- one\n  \`\`\`ts\n  inner\n  \`\`\`\n${FENCE}`;
  expect(shown([text])).toEqual(["  • one", "", "    ┌─ ts", "    │ inner", "    └─", ...FRAME]);
});
