/** Usage of a failed attempt was merged into the next one's or lost, so that a run could spend many times its `--max-cost`. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

test("attempts add up", async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 900 }, cost: 0.5 };
  const broken = [
    sse({ choices: [{ index: 0, delta: { content: "x" }, finish_reason: null }], usage }),
    sse({ error: { message: "overloaded", code: 529 } }),
  ];
  await using model = await startModel([{ raw: broken }, { text: "ok", usage: { input: 100, output: 7 } }]);
  const env = { ...model.env, THNDRS_RETRY_CAP: "10ms" };
  const result = await runThndrs({ args: ["-p", "x", "--output-format", "json"], env });
  const { usage: told, cost_usd } = JSON.parse(result.stdout);
  expect(told).toEqual({ input_tokens: 1100, output_tokens: 12, cache_read_tokens: 900 });
  expect(cost_usd).toBe(0.5);
});

test("--max-cost ends a request between two attempts", async () => {
  const paid = { text: ["x", "y", "z"], cut: { after: 4, how: "clean" as const }, usage: { input: 1_000_000, output: 5 } };
  await using model = await startModel([paid, paid, paid, { text: "ok" }], { wire: "anthropic" });
  await using home = await tempDir({ "config.toml": '[models."anthropic/mock"]\nprice = { input = 1, output = 1 }\n' });
  const env = { ...model.env, THNDRS_HOME: home.path, THNDRS_RETRY_CAP: "10ms" };
  const result = await runThndrs({ args: ["-p", "x", "--max-cost", "1.5", "--output-format", "json"], env });
  expect(result.code).toBe(4);
  expect(JSON.parse(result.stdout)).toMatchObject({ status: "limit", error: { class: "max_cost" } });
  expect(model.server.requests).toHaveLength(2);
});
