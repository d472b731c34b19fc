import { expect, test } from "bun:test";
import type { ContextLedger } from "../../src/app/ledger.ts";
import { beginTurnLedger } from "../../src/app/turn-ledger.ts";
import type { RunEvent } from "../../src/types/event.ts";

const item = (id: string) => ({ id, kind: "transcript" as const, byteCount: 1, tokenEstimate: 1, state: "visible", reason: "" });
const ledgerOf = (...ids: string[]): ContextLedger => ({
  items: ids.map(item),
  availableInput: 1,
  target: 1,
  autoCompactionThreshold: 1,
  used: 1,
  limitSource: "static",
});

function begin(indexed: Promise<void>, ids: () => string[]) {
  const events: RunEvent[] = [];
  const ledger = beginTurnLedger({
    turnId: "turn-1",
    ledger: () => ledgerOf(...ids()),
    indexed: () => indexed,
    emit: (event) => events.push(event),
  });
  return { ledger, events };
}

test("written when the index is there, once more when the turn changed it", async () => {
  const ids = ["a"];
  const { ledger, events } = begin(Promise.resolve(), () => ids);
  await Promise.resolve();
  await ledger.finish(true);
  expect(events).toHaveLength(1);
  const second = begin(Promise.resolve(), () => ids);
  await Bun.sleep(0);
  ids.push("b");
  await second.ledger.finish(true);
  expect(second.events).toHaveLength(2);
});

test("an index that takes its time holds up neither the answer nor, for long, the end; its ledger comes when it comes", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { ledger, events } = begin(promise, () => ["a"]);
  const began = performance.now();
  await ledger.finish(true);
  expect(performance.now() - began).toBeLessThan(5000);
  expect(events).toHaveLength(0);
  const end = ledger.settle();
  resolve();
  await end;
  expect(events).toMatchObject([{ type: "context_ledger", turnId: "turn-1" }]);

  const stuck = begin(new Promise<void>(() => undefined), () => ["a"]);
  await stuck.ledger.finish(true);
  await stuck.ledger.settle();
  expect(performance.now() - began).toBeLessThan(3000);
  expect(stuck.events).toHaveLength(0);
});

test("nothing is written for a turn that did not end well, or after the next one has begun", async () => {
  for (const stop of ["finish", "drop"] as const) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { ledger, events } = begin(promise, () => ["a"]);
    if (stop === "finish") await ledger.finish(false);
    else ledger.drop();
    resolve();
    await ledger.settle();
    expect(events).toHaveLength(0);
  }
});
