/**
 * `--output`, `--last-message`, `--record` and `--capture` over a session's log destroyed it; two of them at one file lost one without
 * a word; `--last-message` kept yesterday's answer where the log could not be kept.
 */
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { giveTo, tempDir } from "../support/temp.ts";

test("nothing but the log itself is written where a log is", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "a" }]);
  const run = (...args: string[]) => runThndrs({ args, cwd: dir.path, env: model.env });
  await run("-p", "first");
  const [name = ""] = readdirSync(dir.at(".thndrs/sessions")).filter((file) => file.endsWith(".jsonl"));
  const log = dir.at(`.thndrs/sessions/${name}`);
  symlinkSync(log, dir.at("link.md"));
  const before = readFileSync(log, "utf8");
  for (const target of [log, "link.md"]) {
    for (const args of [
      ["sessions", "export", "latest", "--format", "markdown", "--output", target],
      ["-p", "x", "--last-message", target],
      ["-p", "x", "--record", target],
      ["-p", "x", "--capture", target],
    ]) {
      const result = await run(...args);
      expect(result).toMatchObject({ code: 2, stdout: "" });
      expect(result.stderr).toContain("is the log of a session");
    }
  }
  expect(readFileSync(log, "utf8")).toBe(before);
  expect(model.server.requests).toHaveLength(1);
});

test("one file holds one thing", async () => {
  await using dir = await tempDir({ "real/a": "" });
  await using model = await startModel([]);
  symlinkSync("real", dir.at("other"));
  for (const [one, two] of [
    ["--record", "--last-message"],
    ["--capture", "--record"],
    ["--capture", "--last-message"],
  ] as const) {
    const args = ["-p", "x", one, "real/f", two, "other/../other/f"];
    const result = await runThndrs({ args, cwd: dir.path, env: model.env });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain("name the same file");
  }
});

test("the answer is kept although the log could not be", async () => {
  await using dir = await tempDir({ answer: "answer of yesterday" });
  mkdirSync(dir.at("closed"));
  giveTo(dir.path, 65534);
  chmodSync(dir.at("closed"), 0o555);
  await using model = await startModel([{ text: "ANSWER" }]);
  const args = ["-p", "x", "--session-dir", "closed", "--last-message", "answer"];
  const options = { args, cwd: dir.path, env: model.env, user: "nobody" } as const;
  expect(await runThndrs(options)).toMatchObject({ code: 1, stdout: "ANSWER\n" });
  expect(await dir.read("answer")).toBe("ANSWER");
  chmodSync(dir.at("closed"), 0o755);
});

test("a run that fails leaves no answer of an earlier one", async () => {
  await using dir = await tempDir({ answer: "answer of yesterday" });
  await using model = await startModel([{ status: 400, body: { error: { message: "no" } } }]);
  const result = await runThndrs({ args: ["-p", "x", "--last-message", "answer"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 1, stdout: "" });
  expect(await dir.read("answer")).toBe("");
});
