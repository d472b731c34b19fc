import { expect, test } from "bun:test";
import { createWarmUp } from "../../src/app/warm-up.ts";

test("a run is long after many requests or much text, and that is noticed once", () => {
  let calls = 0;
  const byRequests = createWarmUp(() => calls++);
  for (let n = 1; n <= 23; n++) byRequests({ type: "request_started", turnId: "t", request: n });
  expect(calls).toBe(0);
  for (let n = 24; n <= 40; n++) byRequests({ type: "request_started", turnId: "t", request: n });
  expect(calls).toBe(1);
  const byText = createWarmUp(() => calls++);
  const delta = { type: "text_delta", turnId: "t", text: "x".repeat(1024) } as const;
  for (let n = 1; n < 1024; n++) byText(delta);
  expect(calls).toBe(1);
  for (let n = 0; n < 100; n++) byText(delta);
  expect(calls).toBe(2);
});
