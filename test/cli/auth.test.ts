/** `thndrs login`, `logout`, `auth status`: keys are stored, found, forgotten, and never shown. */
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { keyProblem, runAuth, runLogout } from "../../src/cli/auth.ts";
import { createCredentials } from "../../src/config/credentials.ts";
import { runEntry } from "./entry.ts";
import { makeStage } from "./stage.ts";

const KEY = "sk-test-0123456789abcdefghij";

test("login takes the key from stdin in a pipe, and prints none of it", async () => {
  using stage = makeStage();
  const run = await runEntry(stage, ["login", "openai"], { stdin: `${KEY}\n` });
  expect(run).toMatchObject({ code: 0, stderr: "" });
  expect(run.stdout).toContain("the key of openai is stored");
  expect(run.stdout).not.toContain(KEY);
  const file = join(stage.home, "credentials.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const credentials = createCredentials({ env: {}, configHome: stage.home });
  expect(await credentials.lookup("openai")).toBe(KEY);
  const status = await stage.play(runAuth, ["auth", "status"]);
  expect(status.stdout).toMatch(/^openai {2}(keychain|file .*credentials\.json)$/m);
  expect(status.stdout).toMatch(/^without a key: anthropic, /m);
  expect(status.stdout).not.toContain(KEY);
  expect((await stage.play(runLogout, ["logout", "openai"])).stdout).toBe("the stored key of openai is gone\n");
  expect(readFileSync(file, "utf8")).not.toContain(KEY);
  expect((await stage.play(runLogout, ["logout", "openai"])).stdout).toBe("no key of openai was stored\n");
});

test("login refuses what is no key, an unknown provider, a key as an argument", async () => {
  using stage = makeStage();
  const login = (argv: readonly string[], stdin: string) => runEntry(stage, argv, { stdin });
  expect(await login(["login", "openai"], "")).toMatchObject({ code: 2, stderr: expect.stringContaining("the key is empty") });
  expect(await login(["login", "openai"], "two words\n")).toMatchObject({ code: 2 });
  expect(await login(["login", "openai"], "x".repeat(20_000))).toMatchObject({ code: 2 });
  expect((await login(["login", "opnai"], KEY)).stderr).toContain('did you mean "openai"?');
  expect((await login(["login", "ollama"], KEY)).stderr).toContain("needs no key");
  expect((await login(["login"], KEY)).stderr).toContain("which provider?");
  const argument = await login(["login", "openai", KEY], "");
  expect(argument.stderr).toContain("never given as an argument");
  expect(argument.stderr).not.toContain(KEY);
  expect(keyProblem("ключ")).toBeDefined();
});

test("the environment comes first, and status, login and logout say so", async () => {
  using stage = makeStage();
  const env = { OPENAI_API_KEY: KEY };
  const status = await stage.play(runAuth, ["auth", "status", "--json"], env);
  const rows = JSON.parse(status.stdout) as { provider: string; variable: string | null; source: string | null }[];
  expect(rows.find((row) => row.provider === "openai")).toEqual({
    provider: "openai",
    variable: "OPENAI_API_KEY",
    source: "environment ($OPENAI_API_KEY)",
  });
  expect(rows.find((row) => row.provider === "ollama")).toEqual({ provider: "ollama", variable: null, source: null });
  expect(status.stdout).not.toContain(KEY);
  expect((await stage.play(runLogout, ["logout", "openai"], env)).stderr).toContain("$OPENAI_API_KEY is still set");
  const run = await runEntry(stage, ["login", "openai"], { stdin: KEY, env });
  expect(run.stderr).toContain("$OPENAI_API_KEY is set and comes first");
});

test("a configured provider has its own variable", async () => {
  using stage = makeStage();
  stage.user('[providers.corp]\nbase_url = "https://llm.example.org/v1"\napi_key_env = "CORP_SECRET"\n');
  const { stdout } = await stage.play(runAuth, ["auth", "status"], { CORP_SECRET: KEY });
  expect(stdout).toContain("corp  environment ($CORP_SECRET)\n");
});

test("a key file that others can read is named", async () => {
  using stage = makeStage();
  stage.write(
    join(stage.home, "credentials.json"),
    JSON.stringify({ version: 1, credentials: { openai: { in: "file", value: KEY } } }),
  );
  const { stderr } = await stage.play(runAuth, ["auth", "status"]);
  expect(stderr).toContain("can be read by others");
});
