/**
 * The stop for a model that repeats itself never came for commands: their result says how long they took, so no two were the same.
 * Two calls made in turn for ever were not seen at all.
 */
import { expect, test } from "bun:test";
import { createProgress } from "../../src/agent/progress.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

const shell = (...argv: string[]) => ({ calls: [{ name: "run_shell", arguments: { argv } }] });

test("the same command with the same output stops at the sixth, however long each took", async () => {
  await using model = await startModel(() =>
    shell("sh", "-c", "head -c $(($$ % 5 * 900000)) /dev/zero | wc -c > /dev/null; echo same"),
  );
  const result = await runThndrs({ args: ["-p", "hi", "--max-turns", "30", "--output-format", "json"], env: model.env });
  expect(JSON.parse(result.stdout)).toMatchObject({ status: "failed", turns: 6, error: { class: "no_progress" } });
});

test("two commands in turn for ever stop too", async () => {
  await using model = await startModel(({ number }) => shell("echo", String(number % 2)));
  const result = await runThndrs({ args: ["-p", "hi", "--max-turns", "60", "--output-format", "json"], env: model.env });
  expect(JSON.parse(result.stdout)).toMatchObject({ status: "failed", turns: 24, error: { class: "no_progress" } });
});

test("work that changes something is no repetition; a round is given twice the patience", () => {
  const changing = createProgress();
  const counts = Array.from({ length: 200 }, (_, step) => changing.note(step % 2 ? "edit" : "test", "{}", `${step}`));
  expect(Math.max(...counts)).toBe(1);
  const round = createProgress();
  const times = Array.from({ length: 36 }, (_, step) => round.note("t", `${step % 3}`, "same"));
  expect(times.indexOf(3)).toBe(17);
  expect(times.indexOf(6)).toBe(35);
});
