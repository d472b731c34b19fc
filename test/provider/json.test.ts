/** Reading unknown values: total, nothing thrown. */
import { expect, test } from "bun:test";
import { count, field, filled, isObject, list, object, parseJson, text, wellFormed } from "../../src/base/json.ts";

const STRANGE: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  "",
  "x",
  [],
  [1],
  {},
  { a: 1 },
  () => 1,
];

test("every reader takes every value", () => {
  for (const value of STRANGE) {
    expect(typeof isObject(value)).toBe("boolean");
    expect(isObject(object(value))).toBe(true);
    expect(Array.isArray(list(value))).toBe(true);
    expect(["undefined", "number"]).toContain(typeof field(value, "a"));
    expect(["undefined", "string"]).toContain(typeof text(value));
    expect(filled(value)).not.toBe("");
    expect(count(value) ?? 0).toBeGreaterThanOrEqual(0);
  }
  expect([parseJson("{"), parseJson(""), parseJson("null"), count(-1), count(Number.NaN), count(3)]).toEqual([
    undefined,
    undefined,
    null,
    undefined,
    undefined,
    3,
  ]);
});

test("wellFormed mends deeply and keeps what is healthy", () => {
  const healthy = { a: ["x", { b: "🌲" }], n: 1, z: null };
  expect(wellFormed(healthy)).toBe(healthy);
  expect(wellFormed({ "k\ud800": ["\udc00", { b: "x\ud83c" }], n: 1 })).toEqual({
    "k\ufffd": ["\ufffd", { b: "x\ufffd" }],
    n: 1,
  });
});
