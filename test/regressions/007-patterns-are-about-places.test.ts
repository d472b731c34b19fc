/**
 * `--allow-tool 'create_file(src/*)'` let `src/../package.json` and a link below src/ pass, `--deny-tool 'create_file(.github/*)'`
 * did not see `./.github/x`, an absolute path or a link; a misspelled `--deny-tool` denied nothing without a word.
 */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createPolicy } from "../../src/agent/policy.ts";
import { placesOf } from "../../src/base/workspace.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("allow covers a place, deny meets it, however it is spelled", async () => {
  await using dir = await tempDir({ "src/a": "", "etc/b": "" });
  symlinkSync("../etc", dir.at("src/link"));
  symlinkSync("src", dir.at("alias"));
  const places = (path: string) => placesOf(dir.path, path);
  const allow = createPolicy("workspace-write", ["create_file(src/*)"], [], places);
  const may = (path: string): boolean => allow.refuses("create_file", { path }) === undefined;
  for (const path of ["src/new", "./src/new", "src/./x/../y", dir.at("src/new")]) expect([path, may(path)]).toEqual([path, true]);
  for (const path of ["src/../x", "src/link/b", "srcs/x", "", "alias/../x", join(dir.path, "src/../etc/b"), "src/../../out"])
    expect([path, may(path)]).toEqual([path, false]);
  const deny = createPolicy("workspace-write", [], ["*(etc/*)"], places);
  for (const path of ["etc/b", "./etc/new", "src/../etc/b", dir.at("etc/b"), "src/link/b", "alias/link/new", "etc"]) {
    expect([path, deny.refuses("read_file_range", { path })]).toEqual([path, expect.stringContaining("*(etc/*)")]);
    expect(deny.refuses("write_patch", { patches: [{ path: "src/a" }, { path }] })).toBeDefined();
    expect(deny.refuses("mcp__files__read", { path, argv: ["src/a"] })).toBeDefined();
  }
  expect(deny.refuses("read_file_range", { path: "src/a" })).toBeUndefined();
});

test("the binary: an allowed directory is not left", async () => {
  await using dir = await tempDir({ "src/a": "" });
  mkdirSync(dir.at("other"));
  symlinkSync("../other", dir.at("src/link"));
  const calls = ["src/../x", "src/link/x", "src/x"].map((path) => ({ name: "create_file", arguments: { path, content: "1" } }));
  await using model = await startModel([{ calls }, { text: "done" }]);
  await runThndrs({ args: ["-p", "hi", "--allow-tool", "create_file(src/*)"], cwd: dir.path, env: model.env });
  const made = [...new Bun.Glob("**/x").scanSync({ cwd: dir.path, followSymlinks: false })];
  expect(made).toEqual(["src/x"]);
});

test("a tool that does not exist is a usage error", async () => {
  await using model = await startModel([]);
  for (const flag of ["--deny-tool", "--allow-tool"]) {
    const result = await runThndrs({ args: ["-p", "hi", flag, "run_shel(rm*)"], env: model.env });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(`${flag}: there is no tool run_shel; did you mean run_shell?`);
  }
  await using free = await startModel([{ text: "ok" }]);
  const args = ["-p", "hi", "--deny-tool", "mcp__x__y", "--deny-tool", "read_*"];
  expect(await runThndrs({ args, env: free.env })).toMatchObject({ code: 0 });
});

test("a denied program is denied by its path too; an allowed one is not another of the same name", () => {
  const deny = createPolicy("workspace-write", [], ["run_shell(rm *)"]);
  for (const argv of [
    ["rm", "x"],
    ["/bin/rm", "x"],
    ["../bin/rm", "-rf", "x"],
  ])
    expect(deny.refuses("run_shell", { argv })).toBeDefined();
  expect(deny.refuses("run_shell", { argv: ["/bin/ls", "rm x"] })).toBeUndefined();
  const allow = createPolicy("workspace-write", ["run_shell(git *)"], []);
  expect(allow.refuses("run_shell", { argv: ["git", "status"] })).toBeUndefined();
  expect(allow.refuses("run_shell", { argv: ["./git", "status"] })).toBeDefined();
});
