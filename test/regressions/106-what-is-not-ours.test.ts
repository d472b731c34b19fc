/**
 * In a sessions directory that several workspaces share, `prune` removed the conversations of all. And a `.gitignore` that came with
 * a repository let git take the logs, without a word.
 */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("prune leaves the sessions of other workspaces alone, and says so", async () => {
  await using a = await tempDir();
  await using b = await tempDir();
  await using shared = await tempDir();
  await using model = await startModel([{ text: "one" }, { text: "two" }, { text: "three" }]);
  const env = { ...model.env, THNDRS_SESSION_DIR: shared.path };
  const run = (cwd: string, ...args: string[]) => runThndrs({ args, cwd, env });
  for (const dir of [a, a, b]) await run(dir.path, "-p", "work");
  const idsOf = async () => JSON.parse((await run(a.path, "sessions", "list", "--json")).stdout) as { workspace: string }[];
  const tried = await run(a.path, "sessions", "prune", "--keep", "1", "--dry-run");
  expect(tried.stdout.match(/would delete/g)).toHaveLength(1);
  expect(tried.stderr).toBe(
    `thndrs: 1 of the 3 sessions in ${shared.path} are not of this workspace and stay (thndrs sessions delete ID removes one)\n`,
  );
  expect((await run(a.path, "sessions", "prune", "--keep", "1")).stdout.match(/deleted/g)).toHaveLength(1);
  expect((await idsOf()).map(({ workspace }) => workspace).sort()).toEqual([a.path, b.path].sort());
});

test.each([
  ["", true],
  ["!*\n", true],
  ["*\n!*.jsonl\n", true],
  ["# ours\n*\n!.gitignore\n", false],
  ["*.jsonl\r\n", false],
])("a .gitignore of somebody else that says %j is not written over; told: %p", async (text, told) => {
  await using dir = await tempDir({ ".thndrs/sessions/.gitignore": text });
  await using model = await startModel([{ text: "done" }]);
  const result = await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(result.stderr.includes("does not keep session logs out of git; put a line with * at its end")).toBe(told);
  expect(await dir.read(".thndrs/sessions/.gitignore")).toBe(text);
});
