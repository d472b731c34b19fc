/**
 * A recording (`--record`, `--capture`) that could not be written at the end made the JSON formats print two result objects, the
 * first with exit_code 0, the second with another code, no session and no text; the lock of the session stayed. It is now found
 * before the first request, and what fails later is part of the one result. A run without an answer does not empty an older file.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { NO_WAIT, startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

for (const flag of ["--record", "--capture", "--last-message"]) {
  test(`${flag} at a place that cannot be written is told before anything is asked`, async () => {
    await using model = await startModel([{ text: "never" }]);
    for (const place of [".", "file/below", "/dev/null"]) {
      const args = ["-p", "hi", flag, place, "--output-format", "json"];
      const result = await runThndrs({ args, env: model.env, files: { file: "" } });
      expect(JSON.parse(result.stdout)).toMatchObject({ status: "usage", exit_code: 2 });
      expect(result.code).toBe(2);
    }
    expect(model.server.requests).toHaveLength(0);
  });
}

test("a recording that fails at the end is in the one result, and the session is unlocked", async () => {
  await using dir = await tempDir({ "sub/keep": "" });
  const calls = [{ name: "run_shell", arguments: { argv: ["sh", "-c", "rm -r sub; echo x > sub"] } }];
  await using model = await startModel([{ calls }, { text: "done" }]);
  const args = ["-p", "hi", "--record", "sub/tape.jsonl", "--output-format", "json"];
  const result = await runThndrs({ args, cwd: dir.path, env: model.env });
  expect(JSON.parse(result.stdout)).toMatchObject({ status: "failed", exit_code: 1, text: "done", error: { class: "internal" } });
  expect(result.code).toBe(1);
  expect(readdirSync(dir.at(".thndrs/sessions")).filter((name) => name.endsWith(".lock"))).toEqual([]);
});

test("a run that got no answer leaves an older recording as it was", async () => {
  await using dir = await tempDir({ "tape.jsonl": "old" });
  await using model = await startModel([]);
  const env = { ...model.env, ...NO_WAIT };
  await runThndrs({ args: ["-p", "hi", "--record", "tape.jsonl", "--print-prompt"], cwd: dir.path, env });
  expect(await dir.read("tape.jsonl")).toBe("old");
});
