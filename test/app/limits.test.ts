import { expect, test } from "bun:test";
import { createLimits } from "../../src/app/limits.ts";
import type { RunEvent } from "../../src/types/event.ts";

const request = (n: number): RunEvent => ({ type: "request_started", turnId: "t", request: n });
const price = { input: 1, output: 10 };

test("C17 --max-turns counts requests", () => {
  const limits = createLimits({ maxTurns: 2, maxCostUsd: undefined, price: undefined, requestBytes: () => 0 });
  expect(limits.check(0)).toBeUndefined();
  expect(limits.check(1)).toBeUndefined();
  expect(limits.check(2)).toMatchObject({ class: "max_turns" });
});

test("--max-cost adds up reported cost", () => {
  const limits = createLimits({ maxTurns: undefined, maxCostUsd: 0.01, price, requestBytes: () => 1e9 });
  for (const n of [1, 2]) {
    expect(limits.check(n - 1)).toBeUndefined();
    limits.event(request(n));
    limits.event({ type: "usage", turnId: "t", usage: { inputTokens: 10, outputTokens: 1, costUsd: 0.005 } });
  }
  expect(limits.check(2)?.message).toBe("the limit of $0.01 (--max-cost) was reached: $0.0100 spent");
});

test("P14 a request without usage is estimated, never free", () => {
  const limits = createLimits({ maxTurns: undefined, maxCostUsd: 0.5, price, requestBytes: () => 350_000 });
  limits.event(request(1));
  limits.event({ type: "text_delta", turnId: "t", text: "x".repeat(140_000) });
  // 100,000 tokens in at $1 and 40,000 out at $10 a million.
  expect(limits.check(1)?.message).toContain("about $0.5000 spent");
  const cheap = createLimits({ maxTurns: undefined, maxCostUsd: 0.5, price, requestBytes: () => 350 });
  cheap.event(request(1));
  expect(cheap.check(1)).toBeUndefined();
});

test("a summary, of which no event tells, counts as well; one that came to nothing does not", () => {
  const limits = createLimits({ maxTurns: undefined, maxCostUsd: 0.1, price, requestBytes: () => 350_000 });
  limits.begin();
  limits.drop();
  expect(limits.check(0)).toBeUndefined();
  limits.begin();
  expect(limits.check(0)?.message).toContain("about $0.1000 spent");
});
