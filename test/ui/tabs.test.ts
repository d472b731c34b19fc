/** Tabs reach the next stop, whatever stands before them and however the text is cut. */
import { expect, test } from "bun:test";
import { createBlockSplitter } from "../../src/ui/markdown-blocks.ts";
import { expandTabs } from "../../src/ui/tabs.ts";
import { seededRandom } from "../support/random-tree.ts";

test("stops every four columns, counted in cells, colours not counted", () => {
  expect(expandTabs("\ta\tbc\tdefg\t|")).toBe("    a   bc  defg    |");
  expect(expandTabs("日本\t|\n日\t|")).toBe("日本    |\n日  |");
  expect(expandTabs("\x1b[31mab\x1b[0m\t|")).toBe("\x1b[31mab\x1b[0m  |");
  expect(expandTabs("\t|\n\t|", 3)).toBe(" |\n    |");
  expect(expandTabs("no tab")).toBe("no tab");
});

test("the cuts of a stream do not move a stop", () => {
  const chance = seededRandom(5);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const parts = ["\t", "\t", "a", "bcd", "日", " ", "\n", "\n\n", "- ", "é"];
  for (let round = 0; round < 500; round++) {
    const pieces = Array.from({ length: 12 }, () => parts[random(parts.length)] ?? "");
    const whole = createBlockSplitter();
    const cut = createBlockSplitter();
    const expected = [...whole.push(pieces.join("")), ...whole.end()];
    expect([...pieces.flatMap((piece) => cut.push(piece)), ...cut.end()]).toEqual(expected);
    expect(expected.some((block) => block.text.includes("\t"))).toBe(false);
  }
});
