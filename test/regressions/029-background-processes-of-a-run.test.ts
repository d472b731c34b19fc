/** Print mode ended the processes it owned without a word (tools.md: the result says so). */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

test("what ran in the background is named when it ends, by itself or with the run", async () => {
  const shell = (argv: string[], background: boolean) => ({ name: "run_shell", arguments: { argv, background } });
  await using model = await startModel([
    { calls: [shell(["sleep", "77"], true)] },
    { calls: [shell(["sh", "-c", "exit 3"], true)] },
    { calls: [shell(["sleep", "0.3"], false)] },
    { text: "done" },
  ]);
  const result = await runThndrs({ args: ["-p", "x"], env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n", leftovers: [] });
  expect(result.stderr).toMatch(/^thndrs: bg2 \(sh -c exit 3\): exit 3, /m);
  expect(result.stderr).toMatch(/^thndrs: bg1 \(sleep 77\): ended with the run, /m);
});
