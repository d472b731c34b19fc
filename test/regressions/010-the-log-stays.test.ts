/**
 * A command that deletes what git ignores (`git clean -fdx`), or the sessions directory itself, took the log of the running session
 * along without a word, and the session could not be gone on with. The file tools replaced logs, although a log is only appended to.
 */
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, type TempDir, tempDir } from "../support/temp.ts";

const SESSIONS = ".thndrs/sessions";
const logOf = (dir: TempDir): string => readdirSync(dir.at(SESSIONS)).find((name) => name.endsWith(".jsonl")) ?? "";

test("git clean -fdx: the session is written again, whole, and goes on", async () => {
  await using dir = await tempDir({ kept: "" });
  initGit(dir.path);
  const clean = (argv: readonly string[]) => ({ calls: [{ name: "run_shell", arguments: { argv } }] });
  await using model = await startModel([
    clean(["git", "clean", "-fdx"]),
    clean(["rm", "-rf", ".thndrs"]),
    { text: "done" },
    { text: "again" },
  ]);
  expect(await runThndrs({ args: ["-p", "tidy up"], cwd: dir.path, env: model.env })).toMatchObject({ code: 0 });
  const names = readdirSync(dir.at(SESSIONS)).sort();
  expect(names).toEqual([".gitignore", logOf(dir)]);
  expect(statSync(dir.at(SESSIONS, logOf(dir))).mode & 0o777).toBe(0o600);
  const records = (await dir.read(`${SESSIONS}/${logOf(dir)}`))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(records.map((record) => record.seq)).toEqual(records.map((_, index) => index));
  expect(records.filter((record) => record.type === "tool_finished")).toHaveLength(2);
  const next = await runThndrs({ args: ["-p", "go on", "-c"], cwd: dir.path, env: model.env });
  expect(next).toMatchObject({ code: 0, stdout: "again\n" });
  expect(model.server.requests.at(-1)?.raw).toContain("tidy up");
});

test("another file in its place is not touched, and the person is told", async () => {
  await using dir = await tempDir();
  const script = `for f in ${SESSIONS}/*.jsonl; do rm $f; echo mine > $f; done`;
  await using model = await startModel([
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", script] } }] },
    { text: "done" },
  ]);
  const result = await runThndrs({ args: ["-p", "go"], cwd: dir.path, env: model.env });
  expect(result.stderr).toContain("not being saved from here on");
  expect(await dir.read(`${SESSIONS}/${logOf(dir)}`)).toBe("mine\n");
});

test("a directory that is gone for good is not made again", async () => {
  await using dir = await tempDir({ "w/a": "" });
  const calls = [{ name: "run_shell", arguments: { argv: ["sh", "-c", "cd .. && rm -rf w"] } }];
  await using model = await startModel([{ calls }, { text: "done" }]);
  const result = await runThndrs({ args: ["-p", "go"], cwd: dir.at("w"), env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(result.stderr).toContain("not being saved from here on");
  expect(readdirSync(dir.path)).toEqual([]);
});

test("no file tool writes a log", async () => {
  await using dir = await tempDir();
  await using model = await startModel(({ number }) => {
    const path = `${SESSIONS}/${logOf(dir)}`;
    const tries = [
      { name: "write_patch", arguments: { patches: [{ op: "replace", path, content: "x" }] } },
      { name: "replace_range", arguments: { path: dir.at(path), old_string: '"seq":0', new_string: '"seq":7' } },
      { name: "create_file", arguments: { path: `${SESSIONS}/session-20260101-000000-aaaa.jsonl`, content: "x" } },
    ];
    return number === 1 ? { calls: tries } : { text: "done" };
  });
  await runThndrs({ args: ["-p", "go"], cwd: dir.path, env: model.env });
  const records = (await dir.read(`${SESSIONS}/${logOf(dir)}`))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const results = records.filter((record) => record.type === "tool_finished");
  expect(results.map((record) => record.status)).toEqual(["failed", "failed", "failed"]);
  expect(results[0].output).toContain("is a session log of thndrs");
  expect(readdirSync(dir.at(SESSIONS))).toHaveLength(2);
});
