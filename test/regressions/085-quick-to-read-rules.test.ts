/** An ignore rule of a few ten kilobytes of one character held everything up for seconds. */
import { expect, test } from "bun:test";
import { isReadOtherwise } from "../../src/base/ignore-dialect.ts";

const MANY = 1_000_000;

test.each([
  ["open brackets", `${"[".repeat(MANY)}x`, true],
  ["spaces", `x${" ".repeat(MANY)}x`, false],
  ["tabs", `x${"\t".repeat(MANY)}x`, false],
  ["tabs at the end", `x${"\t".repeat(MANY)}`, true],
  ["spaces at the end", `x${" ".repeat(MANY)}`, false],
  ["classes", `${"[a]".repeat(MANY / 4)}x`, false],
])("a rule of a million %s is looked at once, not once from each of them", (_, rule, expected) => {
  expect(isReadOtherwise(rule)).toBe(expected);
});
