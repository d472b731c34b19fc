/** The model of a conversation: another one from the next turn on, never within one. */
import { expect, test } from "bun:test";
import { createActiveModel } from "../../src/app/active-model.ts";
import type { ChosenModel } from "../../src/app/model.ts";

const model = (name: string): ChosenModel =>
  ({ name, window: { contextWindow: 100_000, outputReserve: 1000, source: "default" } }) as unknown as ChosenModel;

test("a model is not put in another's place while a turn runs", () => {
  let running = true;
  const active = createActiveModel(
    model("one"),
    0.8,
    {},
    () => running,
    () => {},
  );
  expect(() => active.use(model("two"))).toThrow("a turn is running");
  expect(active.chosen.name).toBe("one");
  running = false;
  active.use(model("two"));
  expect(active.chosen.name).toBe("two");
});
