/**
 * Definitions of links vanished: they show nothing themselves, and the links that need them stand in blocks that are settled
 * before they come. So did a paragraph that only looks like one (`[Note]: important`).
 */
import { expect, test } from "bun:test";
import { createBlockSplitter } from "../../src/ui/markdown-blocks.ts";
import { renderBlocks } from "../../src/ui/render-markdown.ts";

function shown(text: string, color: boolean): string[] {
  const splitter = createBlockSplitter();
  const blocks = [...splitter.push(text), ...splitter.end()];
  return renderBlocks(blocks, { color, columns: 60 }).flatMap((block) => Bun.stripANSI(block).split("\n"));
}

test.each([
  ["See [here][1].\n\n[1]: https://example.org/a\n", ["See [here][1].", "[1]: https://example.org/a"]],
  ["[1]: https://e.org/a\n[2]: <http://e.org/b> 'T'\nmore", ["[1]: https://e.org/a", "[2]: <http://e.org/b> 'T'", "more"]],
  ["[Note]: important\n", ["[Note]: important"]],
  ["[^1]: word\n", ["[^1]: word"]],
  ["[a\nb]: c\n", ["[a b]: c"]],
  ["[a\\]b]: c\\:d\n", ["[a]b]: c:d"]],
  ["[a]: b\n===\n", ["[a]: b", "═".repeat(6)]],
  ["- one\n\n  [a]: b\n- [b]: c\n  - [c]: d", ["  • one", "", "    [a]: b", "  • [b]: c", "      • [c]: d"]],
  ["> [a]: http://e.org", ["│ [a]: http://e.org"]],
])("%j", (text, expected) => {
  expect(shown(text, true)).toEqual(expected);
});

test("in code nothing is seen of the escapes", () => {
  const text =
    "- one\n  ```ts\n  [key]: http://e.org,\n  [k]: 1\n  ```\n\n  [a]: b\n\n`[x]:` and\n[b]: `[y]: z`\n\n    [indented]: code\n";
  expect(shown(text, true)).toEqual([
    "  • one",
    "",
    "    ┌─ ts",
    "    │ [key]: http://e.org,",
    "    │ [k]: 1",
    "    └─",
    "",
    "    [a]: b",
    "[x]: and [b]: [y]: z",
    "┌─",
    "│ [indented]: code",
    "└─",
  ]);
});

test("a table may begin with what looks like one", () => {
  expect(shown("[a]: b | c\n--- | ---\n[x]: y | z\n", false)[1]).toBe("| [a]: b | c   |");
});
