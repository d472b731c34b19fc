/** `thndrs config path|show|edit`. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runConfig } from "../../src/cli/config.ts";
import { keys } from "../../src/config/keys.ts";
import { makeStage } from "./stage.ts";

test("path names the user's file, and the project's", async () => {
  using stage = makeStage();
  expect((await stage.play(runConfig, ["config", "path"])).stdout).toBe(`${stage.userFile}\n`);
  expect((await stage.play(runConfig, ["config", "path", "--project"])).stdout).toBe(`${stage.projectFile}\n`);
  expect(JSON.parse((await stage.play(runConfig, ["config", "path", "--json"])).stdout)).toEqual({
    user: stage.userFile,
    project: stage.projectFile,
  });
});

test("show prints every key with its value and where it came from", async () => {
  using stage = makeStage();
  stage.user(
    'stall_timeout = 90\n[context]\nmax_chars = 5\n[models."a/b"]\nprice = { input = 1, output = 2, cache_read = 0.5 }\n',
  );
  const { stdout, code } = await stage.play(runConfig, ["config", "show", "--authority", "read-only"], { THNDRS_MODEL: "a/b" });
  expect(code).toBe(0);
  expect(stdout).toContain(`# user: ${stage.userFile}\n`);
  expect(stdout).toMatch(/^model = "a\/b" +# environment: \$THNDRS_MODEL$/m);
  expect(stdout).toMatch(/^authority = "read-only" +# flag: --authority$/m);
  expect(stdout).toMatch(/^stall_timeout = "1m30s" +# user: \S+config\.toml:1$/m);
  expect(stdout).toMatch(/^context\.max_chars = 5 +# user: \S+config\.toml:3$/m);
  expect(stdout).toMatch(/^context\.max_discovered_chars = 8000 +# default$/m);
  expect(stdout).toMatch(/^models\."a\/b"\.price = \{ input = 1, output = 2, cache_read = 0\.5 \} +# user/m);
  expect(stdout).toMatch(/^# reasoning_effort +# not set$/m);
  for (const key of keys()) if (!key.name.includes("*")) expect(stdout).toContain(key.name);
});

test("what show prints is a configuration with the same meaning", async () => {
  using stage = makeStage();
  stage.user(
    'skill_dirs = ["a"]\n[compaction]\nthreshold = 80\n[mcp.servers."x y"]\ncommand = "c"\nenv = { "A B" = "@{V}" }\n'.replaceAll(
      "@{",
      "$" + "{",
    ),
  );
  const before = await stage.load();
  const { stdout } = await stage.play(runConfig, ["config", "show"]);
  const text = stdout.split("\n").filter((line) => !line.startsWith("session_dir") && !line.startsWith("#"));
  stage.user(text.join("\n"));
  const after = await stage.load();
  expect({ ...after.config, origins: {}, files: [] }).toEqual({ ...before.config, origins: {}, files: [] });
});

test("show says what of the project was ignored, on stderr", async () => {
  using stage = makeStage();
  stage.project('model = "evil/x"\n');
  const { stdout, stderr } = await stage.play(runConfig, ["config", "show"]);
  expect(stdout).toContain("config.toml (not trusted)");
  expect(stdout).not.toContain("evil/x");
  expect(stderr).toMatch(/^thndrs: warning: .*is not trusted; ignored: model/);
  const json = JSON.parse((await stage.play(runConfig, ["config", "show", "--json"])).stdout);
  expect(json.files[0]).toMatchObject({ source: "project", trusted: false });
  expect(json.keys.find((shown: { key: string }) => shown.key === "model")).toEqual({
    key: "model",
    value: null,
    origin: "default",
  });
});

test("show prints no secret and no control sequence", async () => {
  using stage = makeStage();
  stage.user(
    'skill_dirs = ["sekrit-value-123"]\nmodel = "a/\\u001b[31mred"\n[mcp.servers.x]\ncommand = "c"\nargs = ["--token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"]\n',
  );
  const { stdout } = await stage.play(runConfig, ["config", "show"], { MY_TOKEN: "sekrit-value-123" });
  expect(stdout).not.toContain("sekrit-value-123");
  expect(stdout).not.toContain("ghp_abcdef");
  expect(stdout).not.toContain("\u001b");
});

test("edit makes a template, runs $EDITOR with its arguments, and checks the result", async () => {
  using stage = makeStage();
  const editor = stage.write(
    join(stage.home, "an editor"),
    '#!/bin/sh\nprintf \'%s\\n\' "$@" > "$HOME/argv"\ncat "$2" > "$HOME/seen"\nprintf \'modle = 1\\n\' >> "$2"\n',
  );
  chmodSync(editor, 0o755);
  const env = { HOME: stage.home, EDITOR: `"${editor}" --wait` };
  await expect(stage.play(runConfig, ["config", "edit"], env)).rejects.toThrow(/unknown key "modle"; did you mean "model"/);
  expect(readFileSync(join(stage.home, "argv"), "utf8")).toBe(`--wait\n${stage.userFile}\n`);
  const template = readFileSync(join(stage.home, "seen"), "utf8");
  for (const key of keys()) if (!key.name.includes("*")) expect(template).toContain(`# ${key.name.split(".").at(-1)} = `);
  expect(statSync(stage.userFile).mode & 0o777).toBe(0o600);
  stage.user(template);
  expect((await stage.load()).settings).toEqual([]);
  // Uncommented as it stands, the template is a valid file too.
  const lines = template.split("\n").filter((line) => /^# (\[[a-z]+\]|\w+ = (?!…))/.test(line));
  stage.user(lines.map((line) => line.slice(2)).join("\n"));
  expect((await stage.load()).settings.length).toBeGreaterThan(20);
});

test("edit: a failing editor, a missing one, none at all", async () => {
  using stage = makeStage();
  const failed = await stage.play(runConfig, ["config", "edit"], { EDITOR: "false" });
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("false ended with exit code 1");
  await expect(stage.play(runConfig, ["config", "edit"], { EDITOR: "no-such-editor-here" })).rejects.toThrow("cannot be started");
  await expect(stage.play(runConfig, ["config", "edit"])).rejects.toThrow("needs a terminal or $EDITOR");
});

test("edit --project works on the project's file; a broken configuration can be repaired", async () => {
  using stage = makeStage();
  stage.user("modle = 1\n");
  const env = { EDITOR: "true" };
  await expect(stage.play(runConfig, ["config", "edit", "--project"], env)).rejects.toThrow("unknown key");
  expect(existsSync(stage.projectFile)).toBe(true);
  stage.user("");
  expect((await stage.play(runConfig, ["config", "edit", "--project"], env)).code).toBe(0);
});
