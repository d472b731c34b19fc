/** `thndrs tools`: the list for people, for pipes, and what a provider gets. */
import { afterAll, expect, test } from "bun:test";
import { runTools } from "../../src/cli/tools.ts";
import { toolNames, toolSpecs } from "../../src/tools/registry.ts";
import { makeStage } from "./stage.ts";

const stage = makeStage();
afterAll(() => stage[Symbol.dispose]());

test("--json prints exactly what a provider gets", async () => {
  const { code, stdout } = await stage.play(runTools, ["tools", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual(toolSpecs() as unknown[]);
  expect(Object.keys(JSON.parse(stdout)[0])).toEqual(["name", "description", "parameters"]);
});

test("in a pipe: one line per tool, tab-separated", async () => {
  const { stdout } = await stage.play(runTools, ["tools"]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.split("\t")[0] ?? "")).toEqual([...toolNames()]);
  expect(lines[2]).toBe(
    "search_text\tread\tpattern* path glob extensions literal ignore_case context_lines include_hidden include_ignored limit\t" +
      "finds lines that match a regular expression, in files.",
  );
});

test("what the configuration and the flags take away is not listed", async () => {
  const names = async (argv: readonly string[], env?: Record<string, string>) => {
    const { stdout } = await stage.play(runTools, ["tools", ...argv], env);
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t")[0]);
  };
  const reading = ["find_files", "list_searchable_files", "search_text", "read_file_range"];
  expect(await names(["--authority", "read-only"])).toEqual(reading);
  expect(await names([], { THNDRS_AUTHORITY: "read-only" })).toEqual(reading);
  expect(await names(["--allow-tool", "run_shell(git status*)"])).toEqual(["run_shell"]);
  expect(await names(["--deny-tool", "run_shell"])).not.toContain("run_shell");
  expect(await names([], { THNDRS_WEB_SEARCH: "none" })).not.toContain("web_search");
  const keyless = await stage.play(runTools, ["tools", "--json"], { THNDRS_WEB_SEARCH: "brave" });
  expect(keyless.stdout).not.toContain(`"name": "web_search"`);
  expect(keyless.stderr).toContain("BRAVE_API_KEY is not set");
  await expect(stage.play(runTools, ["tools", "--deny-tool", "run_shel"])).rejects.toThrow("did you mean run_shell?");
  await expect(stage.play(runTools, ["tools", "more"])).rejects.toThrow("takes no words");
});

test("on a terminal: aligned, within the width", async () => {
  const { stdout } = await stage.play(
    async (context) => {
      const terminal = { ...context.output.stdout, isTerminal: true, columns: 70 };
      return runTools({ ...context, output: { ...context.output, stdout: terminal } });
    },
    ["tools"],
  );
  const lines = stdout.trimEnd().split("\n");
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(70);
  const column = lines[0]?.indexOf("lists files by name") ?? -1;
  expect(column).toBeGreaterThan(0);
  for (const line of lines) expect(line.slice(column - 1, column + 1)).toMatch(/^ \S/);
});
