/** Some servers send a reason to end with every piece of an answer: a pause between two of them ended it after three seconds. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { startThndrs } from "../support/run.ts";

const piece = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: "stop" }] })}\n\n`;

/** Longer than what is waited behind an end. */
const PAUSE_MS = 3_300;

test.each([
  ["the first piece", [piece({ role: "assistant", content: "" }), piece({ content: "one " })], 1],
  ["the second piece", [piece({ content: "one " }), piece({ content: "two " })], 1],
  ["the third piece", [piece({ content: "one " }), piece({ content: "two " }), piece({ content: "three " })], 2],
])("a pause before %s is none", async (_, pieces, at) => {
  const raw = [...pieces, piece({ content: "end" }), "data: [DONE]\n\n"];
  await using model = await startModel([{ raw, hold: { gate: "pause", at } }]);
  await using run = await startThndrs({ args: ["-p", "x"], env: model.env });
  await model.server.request(1);
  await Promise.race([run.exited, Bun.sleep(PAUSE_MS)]);
  model.server.release("pause");
  const result = await run.exited;
  expect([result.code, result.stdout]).toEqual([0, expect.stringMatching(/^one .*end\n$/) as never]);
});
