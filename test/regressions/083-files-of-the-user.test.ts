/**
 * Of several `mcp add` at once most were lost; a comment above the next table went with the table before it; a BOM and the mode of the
 * file went with any change. A template's lines could not all be uncommented. A project could have sessions kept in `.git`.
 */
import { expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("servers that are added at once are all there", async () => {
  await using home = await tempDir();
  const env = { THNDRS_HOME: home.path };
  const names = Array.from({ length: 8 }, (_, at) => `s${at}`);
  const results = await Promise.all(names.map((name) => runThndrs({ args: ["mcp", "add", name, "--command", "x"], env })));
  expect(results.map(({ code }) => code)).toEqual(names.map(() => 0));
  const text = readFileSync(home.at("config.toml"), "utf8");
  expect(names.filter((name) => !text.includes(`[mcp.servers.${name}]`))).toEqual([]);
});

test("a change leaves the rest as it is: comments, byte order mark, mode", async () => {
  const toml = '\ufeff# top\n[mcp.servers.a]\ncommand = "x"\n# inside\nargs = []\n\n# about b\n[mcp.servers.b]\ncommand = "y"\n';
  await using home = await tempDir({ "config.toml": toml });
  chmodSync(home.at("config.toml"), 0o640);
  const env = { THNDRS_HOME: home.path };
  expect((await runThndrs({ args: ["mcp", "remove", "a"], env })).code).toBe(0);
  expect(readFileSync(home.at("config.toml"), "utf8")).toBe('\ufeff# top\n# about b\n[mcp.servers.b]\ncommand = "y"\n');
  expect((await runThndrs({ args: ["mcp", "add", "c", "--command", "z"], env })).code).toBe(0);
  expect(readFileSync(home.at("config.toml"), "utf8")).toStartWith("\ufeff# top\n# about b\n");
  expect(statSync(home.at("config.toml")).mode & 0o777).toBe(0o640);
});

test("every line of the template that has a value can be uncommented", async () => {
  await using home = await tempDir();
  const env = { THNDRS_HOME: home.path, EDITOR: "true" };
  await runThndrs({ args: ["config", "edit"], env });
  const text = await home.read("config.toml");
  const lines = text.split("\n").map((line) => (/^# (?:\[[a-z_.]+\]|\w+ = (?!…))/.test(line) ? line.slice(2) : line));
  await home.write({ "config.toml": lines.join("\n") });
  const shown = await runThndrs({ args: ["config", "show", "--json"], env });
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect((JSON.parse(shown.stdout).keys as { from?: string }[]).filter(({ from }) => from).length).toBeGreaterThan(20);
});

test("a repository cannot have sessions kept among git's files", async () => {
  await using dir = await tempDir({ ".thndrs/config.toml": 'session_dir = "../.git/hooks"\n', ".git/HEAD": "ref: x\n" });
  await using home = await tempDir();
  const shown = await runThndrs({ args: ["config", "show"], cwd: dir.path, env: { THNDRS_HOME: home.path } });
  expect(shown.stderr).toContain("ignored: session_dir");
});

test("a variable that the configuration names is no unknown setting", async () => {
  const toml = '[providers.corp]\nbase_url = "https://x.invalid"\napi_key_env = "THNDRS_CORP_KEY"\n';
  await using home = await tempDir({ "config.toml": toml });
  const env = { THNDRS_HOME: home.path, THNDRS_CORP_KEY: "k" };
  expect((await runThndrs({ args: ["config", "show"], env })).code).toBe(0);
  expect((await runThndrs({ args: ["config", "show"], env: { ...env, THNDRS_CROP_KEY: "k" } })).code).toBe(2);
  const odd = await runThndrs({ args: ["config", "show"], env: { THNDRS_CONTEXT_ANCESTORS: "constructor" } });
  expect(odd.code).toBe(2);
});
