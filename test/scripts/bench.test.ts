import { expect, test } from "bun:test";
import { median } from "../../scripts/bench/measure.ts";
import { alone, beside, missed, table } from "../../scripts/bench/rows.ts";
import { createRandom } from "../../scripts/soak/random.ts";

test("a row says its goal, the ratio, and whether it holds", () => {
  const rows = [
    beside("twice", "ms", 20, 10, { times: 2 }),
    beside("a bit more", "ms", 25, 10, { more: 10 }),
    beside("both", "ms", 22, 10, { times: 1.2, more: 10 }),
    beside("only more", "ms", 1.4, 0.3, { times: 0, more: 1.5 }),
    alone("bytes", "bytes", 15_000, 14_336),
    alone("no promise", "MiB", 3),
  ];
  expect(rows.map(missed)).toEqual([false, true, false, false, true, false]);
  expect(rows.map((row) => row.goal)).toEqual([
    "≤ 2×",
    "≤ floor + 10 ms",
    "≤ 1.2× + 10 ms",
    "≤ 1.5 ms",
    "≤ 14336 bytes",
    undefined,
  ]);
  expect(rows[0]?.ratio).toBe(2);
  const lines = table(rows).split("\n");
  expect(lines).toHaveLength(7);
  expect(lines.filter((line) => line.endsWith("MISSED"))).toHaveLength(2);
  expect(lines[5]).toContain("15,000 bytes");
});

test("a row that could not be measured holds no goal", () => {
  expect(missed(beside("nothing", "ms", Number.NaN, 10, { times: 2 }))).toBe(true);
  expect(missed(alone("nothing", "ms", Number.NaN, 5))).toBe(true);
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
});

test("seeded chance is the same again, and spread evenly", () => {
  const numbers = (seed: number): number[] => {
    const random = createRandom(seed);
    return Array.from({ length: 1000 }, () => random.below(10));
  };
  expect(numbers(7)).toEqual(numbers(7));
  expect(numbers(7)).not.toEqual(numbers(8));
  for (let digit = 0; digit < 10; digit++) {
    const times = numbers(3).filter((one) => one === digit).length;
    expect(times).toBeGreaterThan(60);
    expect(times).toBeLessThan(140);
  }
});
