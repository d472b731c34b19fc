/**
 * `--timeout 30d` ended the run at once with exit 124 and a runtime warning on stderr: a delay of more than 2^31 - 1 ms made the
 * timer fire immediately. `--stdin-wait` had the same fault.
 */
import { expect, test } from "bun:test";
import { monotonicClock } from "../../src/base/clock.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

test("a limit of months is a limit of months", async () => {
  await using model = await startModel([{ text: "here" }]);
  const result = await runThndrs({
    args: ["-p", "hi", "--timeout", "60d", "--stdin-wait", "60d"],
    env: model.env,
    stdin: { text: "more" },
  });
  expect(result).toMatchObject({ code: 0, stdout: "here\n" });
  expect(result.stderr.split("\n").filter((line) => line !== "" && !line.startsWith("thndrs: "))).toEqual([]);
});

test("a long timer can be cancelled, and does not fire at once", async () => {
  let fired = false;
  const cancel = monotonicClock.after(2 ** 33, () => {
    fired = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  cancel();
  expect(fired).toBe(false);
});
