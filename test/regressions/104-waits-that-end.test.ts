/**
 * Waits for a keychain and for another process's lock knew no signal: Ctrl+C and --timeout were heeded when they were over, and
 * a keychain that never answered kept the program for good. The keychain here is a library that says when it is asked.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { noCompiler, stuckKeychain } from "../support/keychain.ts";
import { startThndrs } from "../support/run.ts";

test.skipIf(noCompiler)("a run that waits for a keychain: Ctrl+C ends it, --timeout ends it", async () => {
  await using keychain = await stuckKeychain();
  const { place } = keychain;
  const env = { ...keychain.env, THNDRS_MODEL: "openai/mock", OPENAI_BASE_URL: "https://192.0.2.1/v1" };
  await using run = await startThndrs({ args: ["-p", "x"], cwd: place.path, env });
  await keychain.asked();
  run.signal("SIGINT");
  expect(await run.exited).toMatchObject({ code: 130, signal: null, stdout: "" });
  await using late = await startThndrs({ args: ["-p", "x", "--timeout", "1s"], cwd: place.path, env });
  expect(await late.exited).toMatchObject({ code: 124, signal: null, stdout: "" });
});

test.skipIf(noCompiler)("login that waits for a keychain: Ctrl+C ends it, and the key is kept nowhere", async () => {
  await using keychain = await stuckKeychain();
  const { place } = keychain;
  const key = "sk-test-0123456789abcdefghij";
  const env = { ...keychain.env, THNDRS_HOME: place.at("empty") };
  await using run = await startThndrs({ args: ["login", "openai"], cwd: place.path, env, stdin: { text: key } });
  await keychain.asked();
  run.signal("SIGINT");
  expect(await run.exited).toMatchObject({ code: 130, signal: null, stdout: "", stderr: "" });
  expect(existsSync(place.at("empty", "credentials.json"))).toBe(false);
});
