/** A pattern of many character classes over many different characters kept a list for each of them: gigabytes. */
import { expect, test } from "bun:test";
import { Alphabet, NOTHING, UNKNOWN } from "../../src/tools/pattern-alphabet.ts";
import { negatedSet, unicodeSet } from "../../src/tools/pattern-sets.ts";

test("characters are told apart by the sets they are in, and the place after the last one is in none", () => {
  const alphabet = new Alphabet();
  const vowel = alphabet.numberOf(unicodeSet("aeiou", false));
  const other = alphabet.numberOf(negatedSet(unicodeSet("aeiou", false)));
  const [a, e, b, lineEnd] = ["a", "e", "b", "\r"].map((text) => alphabet.kindOf(text.charCodeAt(0)));
  expect(e).toBe(a as number);
  const kinds = [a, b, lineEnd, UNKNOWN, NOTHING] as number[];
  expect(kinds.map((kind) => alphabet.has(vowel, kind))).toEqual([true, false, false, false, false]);
  expect(kinds.map((kind) => alphabet.has(other, kind))).toEqual([false, true, false, false, false]);
});

test("what is kept for each character does not grow with the pattern", () => {
  const alphabet = new Alphabet();
  // Each character is in nearly all sets, and in no two of the same ones.
  for (let at = 0; at < 3000; at++) alphabet.numberOf(negatedSet(unicodeSet(`\\u{${(0x4e00 + at).toString(16)}}`, false)));
  Bun.gc(true);
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 3000; at++) alphabet.kindOf(0x4e00 + at);
  Bun.gc(true);
  expect(alphabet.size()).toBe(3002);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(30e6);
}, 60_000);
