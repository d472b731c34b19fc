import { expect, test } from "bun:test";
import { format, percentOf } from "../src/money.ts";

test("a percentage is rounded half up", () => {
  expect(percentOf(1000, 19)).toBe(190);
  expect(percentOf(999, 19)).toBe(190);
});

test("amounts are grouped", () => {
  expect(format(123456)).toBe("1,234.56");
  expect(format(-5)).toBe("-0.05");
});
