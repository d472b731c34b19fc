/**
 * `--timeout` only counted the turn: `thndrs -p - --timeout 1s` on a pipe that nobody closes waited for ever.
 */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

test("waiting for stdin is within --timeout", async () => {
  await using model = await startModel([]);
  for (const args of [["-p", "-"], ["-p"], ["-p", "hi", "--stdin", "require"]]) {
    const all = [...args, "--timeout", "300ms", "--output-format", "json"];
    const result = await runThndrs({ args: all, env: model.env, stdin: "open" });
    expect(JSON.parse(result.stdout)).toMatchObject({ status: "timeout", exit_code: 124 });
    expect(result.code).toBe(124);
  }
  expect(model.server.requests).toHaveLength(0);
});
