/**
 * Said too little or nothing: a current directory whose name is no text ("--cwd undefined"), a `--skill-dir` that is not there, a lock that cannot be read, a sessions directory that is a file, a
 * base URL `thndrs doctor` called ready; `-z` was answered with "did you mean --by?"; `--print-prompt` ignored `--output-format json`.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { binary } from "../support/launch.ts";
import { modelEnv, startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("a --skill-dir that is no directory is a usage error, also beside another error", async () => {
  const files = { file: "" };
  const env = modelEnv("http://127.0.0.1:1");
  for (const path of ["nosuch", "file"]) {
    for (const more of [{}, { THNDRS_MODEL: "nosuch/x" }]) {
      const result = await runThndrs({ args: ["-p", "hi", "--skill-dir", path], files, env: { ...env, ...more } });
      expect(result.code).toBe(2);
      expect(result.stderr).toContain(`--skill-dir ${path}`);
    }
  }
});

test("a lock that says nothing: what to do", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "ok" }]);
  await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
  const sessions = dir.at(".thndrs/sessions");
  const lock = `${(readdirSync(sessions).find((name) => name.endsWith(".jsonl")) ?? "").replace(".jsonl", "")}.lock`;
  await dir.write({ [`.thndrs/sessions/${lock}/x`]: "" });
  const result = await runThndrs({ args: ["-p", "hi", "-c"], cwd: dir.path, env: model.env });
  expect(result.code).toBe(2);
  expect(result.stderr).toContain(`remove ${sessions}/${lock}`);
});

test("a sessions directory that is a file is said in words", async () => {
  await using model = await startModel([{ text: "ok" }]);
  const result = await runThndrs({ args: ["-p", "hi"], files: { ".thndrs/sessions": "" }, env: model.env });
  expect(result.stderr).toContain("a part of the path is no directory");
  expect(result.stderr).not.toContain("ENOTDIR");
});

test("doctor is not ready with an address that is none", async () => {
  const result = await runThndrs({ args: ["doctor"], env: modelEnv("127.0.0.1:1") });
  expect(result.code).not.toBe(0);
  expect(result.stdout + result.stderr).toContain("no http(s) address");
});

test("an unknown letter has no near word; --print-prompt speaks JSON where asked", async () => {
  expect((await runThndrs({ args: ["-p", "hi", "-z"] })).stderr).not.toContain("did you mean");
  const env = modelEnv("http://127.0.0.1:1");
  const result = await runThndrs({ args: ["-p", `say ${TEST_KEY}`, "--print-prompt", "--output-format", "json"], env });
  const shown = JSON.parse(result.stdout);
  expect(shown).toMatchObject({ version: 1, type: "prompt", system: expect.any(String), tools: expect.any(Array) });
  expect(result.stdout).not.toContain(TEST_KEY);
});

test.skipIf(process.platform !== "linux")("a current directory whose name is no text", async () => {
  const script = 'd=$(printf "d\\377"); mkdir "$d"; cd "$d"; exec "$@"';
  const result = await runThndrs({ command: ["/bin/sh", "-c", script, "sh", binary, "-p", "hi"] });
  expect(result.code).toBe(2);
  expect(result.stderr).toContain("the current directory cannot be opened by its name");
});
