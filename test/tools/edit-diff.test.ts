import { expect, test } from "bun:test";
import { differingSpan, diffText, MAX_DIFF_LINES } from "../../src/tools/diff-text.ts";

const diff = (before: string | Buffer, after: string | Buffer) => {
  const [old, fresh] = [Buffer.from(before), Buffer.from(after)];
  return diffText("f", old, old.equals(fresh) ? [] : [differingSpan(old, fresh)], false);
};

test("the same content has no diff", () => {
  expect(diff("a\n", "a\n")).toEqual({ text: "", added: 0, removed: 0 });
});

test("missing final newlines are marked on the side that lacks them", () => {
  expect(diff("a\nb", "a\nb\n").text).toBe("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b");
  expect(diff("x\n", "").text).toBe("--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x");
  expect(diff("", "x").text).toBe("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file");
});

test("CR is shown where line ends differ and hidden where all have it", () => {
  expect(diff("a\r\nb\r\n", "a\r\nB\r\n").text).not.toContain("␍");
  expect(diff("a\r\nb\r\n", "a\nb\n").text).toContain("-a␍\n-b␍\n+a\n+b");
});

test("two large contents with nothing in common: quick, capped, counted", () => {
  const make = (word: string) => Buffer.from(Array.from({ length: 400_000 }, (_, index) => `${word} ${index * 7}\n`).join(""));
  const { text, added, removed } = diff(make("old"), make("new"));
  expect([added, removed]).toEqual([400_000, 400_000]);
  expect(text.split("\n")).toHaveLength(MAX_DIFF_LINES + 1);
  expect(text).toEndWith("[diff cut: 120 of 800003 lines shown; read_file_range shows the file]");
});

test("two medium contents with nothing in common: quick as well", () => {
  const make = (word: string) => Buffer.from(Array.from({ length: 20_000 }, (_, index) => `${word} ${index * 7}\n`).join(""));
  expect(diff(make("old"), make("new")).added).toBe(20_000);
});

test("one line without end on each side", () => {
  const { text } = diff("a".repeat(5_000_000), "b".repeat(5_000_000));
  expect(text.length).toBeLessThan(3000);
  expect(text).toContain("line cut at 512 characters");
});
