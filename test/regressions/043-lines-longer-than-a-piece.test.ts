/**
 * Without rg a line of more than 1 MiB was matched in pieces that knew nothing of each other: what lay further apart than 4 KiB
 * was not found, and `^` and `$` matched where a piece began and ended. Bundles of JavaScript are such lines.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type TempDir, tempDir } from "../support/temp.ts";
import { installed, pathOf, searching } from "../tools/search-place.ts";

// A busy machine is slower than the default allows.
setDefaultTimeout(30_000);

const MIB = 1_048_576;

let place: TempDir;
beforeAll(async () => {
  place = await tempDir({ "ws/.git/HEAD": "" });
  pathOf(place.at("bin"), { find: installed.find });
  // A word on each edge where a piece can end, however the chunks fall, and one at the very end.
  const filler = "var é=1;😀".repeat(40_000).slice(0, MIB / 4 - 8);
  const long = `first ${Array.from({ length: 14 }, (_, n) => `${filler}edge${n} `).join("")}last`;
  writeFileSync(place.at("ws/f.js"), `short edge3\n${long}\r\nafter\n${"x".repeat(2 * MIB)}\r`);
});
afterAll(() => place.remove());

/** Numbers of the lines found, with and without rg. */
async function both(input: Record<string, unknown>): Promise<string[][]> {
  const results: string[][] = [];
  for (const PATH of [process.env.PATH, place.at("bin")]) {
    const { search } = await searching(place.at("ws"), { PATH });
    const { text } = await search(input);
    results.push(text.split("\n").flatMap((line) => /^f\.js[:-]\d+[:-]/.exec(line)?.[0] ?? []));
  }
  return results;
}

test.each([
  ["first.*last", 1],
  ["^first", 1],
  ["^edge|^var", 0],
  ["last$", 1],
  ["edge\\d+$", 1],
  ["é=1;$|😀$", 0],
  ["edge3.*edge12 ", 1],
  ["edge3\\b", 2],
  ["\\bedge13 last", 1],
  ["x{3}$", 1],
  ["^x+$", 1],
  ["[^\\x00-\\u{10ffff}]", 0],
])("%s", async (pattern, count) => {
  const [expected, found] = await both({ pattern });
  expect(found).toEqual(expected ?? []);
  expect(found).toHaveLength(count);
});

test("plain text across the edges, in any case or not, and context", async () => {
  for (const n of [0, 3, 7, 13]) {
    for (const ignore_case of [false, true]) {
      const [expected, found] = await both({ pattern: `edge${n} `, literal: true, ignore_case });
      expect({ n, found }).toEqual({ n, found: expected });
    }
  }
  const [expected, found] = await both({ pattern: "after", context_lines: 1 });
  expect(found).toEqual(expected ?? []);
});

test("the excerpt is of the place of the match; a line around is shown from its beginning", async () => {
  const { search } = await searching(place.at("ws"), { PATH: place.at("bin") });
  for (const pattern of ["edge5 ", "edge9.", "last$"]) {
    const { text } = await search({ pattern });
    expect(text).toContain(pattern.slice(0, 4));
    expect(text.isWellFormed()).toBe(true);
    expect(text).toMatch(/^f\.js:2:….* \[excerpt of a line of /);
  }
  expect((await search({ pattern: "after", context_lines: 1 })).text).toMatch(/^f\.js-2-first var é.*characters\]$/m);
});
