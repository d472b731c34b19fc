/**
 * Tables with many columns and headings were left wider than the terminal, which broke them into pieces: the renderer gives every
 * column three cells and wraps no heading. And cells without a column were lost.
 */
import { expect, test } from "bun:test";
import { createBlockSplitter } from "../../src/ui/markdown-blocks.ts";
import { renderBlocks } from "../../src/ui/render-markdown.ts";

function shown(text: string, columns: number, color = true): string[] {
  const splitter = createBlockSplitter();
  const blocks = [...splitter.push(text), ...splitter.end()];
  return renderBlocks(blocks, { color, columns }).flatMap((block) => Bun.stripANSI(block).split("\n"));
}

function table(columns: number, rows: number, before = ""): string {
  const line = (cell: (column: number) => string): string =>
    `| ${Array.from({ length: columns }, (_, column) => cell(column)).join(" | ")} |`;
  const lines = [line((column) => `h${column}`), line(() => "---")];
  for (let row = 0; row < rows; row++) lines.push(line((column) => `c${row}x${column}`));
  return lines.map((text) => before + text).join("\n");
}

const item = (row: number, names: readonly string[], indent: string): string[] =>
  names.map((name, column) => `${indent}${column === 0 ? "• " : "  "}${name}: c${row}x${column}`);
const NAMES = ["h0", "h1", "h2", "h3"];

test.each([true, false])("a table that cannot be narrow enough: its rows as items, colours %p", (color) => {
  const rows = [...item(0, NAMES, "  "), ...item(1, NAMES, "  ")].map((line) => (color ? line : line.replace("•", "*")));
  expect(shown(table(4, 2), 19, color)).toEqual(rows);
});

test("in a list, in a quote, below a paragraph, without cells, without rows", () => {
  expect(shown(`- one\n\n${table(4, 1, "  ")}\n- two`, 22)).toEqual(["  • one", ...item(0, NAMES, "      "), "  • two"]);
  expect(shown(table(4, 1, "> "), 22)).toEqual(item(0, NAMES, "│   "));
  expect(shown(`Words:\n${table(4, 1)}\n\nmore`, 19)).toEqual(["Words:", ...item(0, NAMES, "  "), "more"]);
  expect(shown(`${table(4, 0)}\n| c0x0 |`, 19)).toEqual(["  • h0: c0x0", "    h1:", "    h2:", "    h3:"]);
  expect(shown(table(4, 0), 19)).toEqual(["  • h0", "    h1", "    h2", "    h3"]);
});

test("every cell of every size of table is there, and no row is wider than the terminal", () => {
  for (const columns of [12, 20, 40, 79]) {
    for (let count = 1; count <= 20; count++) {
      const lines = shown(table(count, 2), columns);
      for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
      const cells = lines.join("").replaceAll(/[^chx\d]/g, "");
      if (columns < 79) continue;
      for (let column = 0; column < count; column++) expect(cells).toContain(`c1x${column}`);
    }
  }
});

test("cells without a column stay, bars in code are no borders; nothing of it in code", () => {
  const rows = "| `x || y` | or |\n| 1 | 2 | 3 |\n| `a \\| b` |";
  expect(shown(`| a | b |\n|---|---|\n${rows}`, 40)).toEqual([
    "┌────────┬───────┐",
    "│ a      │ b     │",
    "├────────┼───────┤",
    "│ x || y │ or    │",
    "│ 1      │ 2 | 3 │",
    "│ a | b  │       │",
    "└────────┴───────┘",
  ]);
  const code = ["| a | b |", "|---|---|", "| 1 | 2 | 3 |"];
  const framed = code.map((line) => `    │ ${line}`);
  expect(shown(`- one\n  \`\`\`\n  ${code.join("\n  ")}\n  \`\`\``, 12)).toEqual(["  • one", "", "    ┌─", ...framed, "    └─"]);
  expect(shown(`    ${code.join("\n    ")}`, 12)).toEqual(["┌─", ...code.map((line) => `│ ${line}`), "└─"]);
});

test.each([
  ["# a heading that is longer than it", ["a heading that", "is longer", "than it", "══════════════"]],
  ["### a **heading** that is longer", ["a heading that", "is longer"]],
  ["> ## quoted heading of a text", ["│ quoted", "│ heading of a", "│ text", "│ ────────────"]],
  ["Words of a heading\nin two lines\n===", ["Words of a", "heading in two", "lines", "══════════════"]],
  ["# short", ["short", "═════"]],
])("%j is wrapped", (text, expected) => {
  expect(shown(text, 14)).toEqual(expected);
  expect(shown(`${text}\n\n- item\n\n${text}`, 14)).toEqual([...expected, "  • item", ...expected]);
});

test("what stands behind a table in a list or a quote is no row of it", () => {
  const cells = ["│ a   │ b   │", "├─────┼─────┤", "│ 1   │ 2   │"];
  const framed = ["┌─────┬─────┐", ...cells, "└─────┴─────┘"];
  const rows = (before: string): string => ["| a | b |", "|---|---|", "| 1 | 2 |"].map((row) => `${before}${row}`).join("\n");
  expect(shown(`${rows("")}\n${rows("> ")}`, 40)).toEqual([...framed, "", ...framed.map((row) => `│ ${row}`)]);
  expect(shown(`> 1. one\n>\n${rows(">    ")}\n> after | it | all`, 40)).toEqual([
    "│    1. one",
    "│",
    ...framed.map((row) => `│       ${row}`),
    "│",
    "│ after | it | all",
  ]);
});
