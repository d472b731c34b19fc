/** With `--model acp:NAME` flags were taken that nobody heeded: no limit, no capture, no pinned text, and not a word of it. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { fakeConfig } from "../acp/stage.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const FLAGS: readonly (readonly [string, ...string[]])[] = [
  ["--max-turns", "3"],
  ["--max-cost", "1"],
  ["--reasoning-effort", "high"],
  ["--record", "tape.jsonl"],
  ["--capture", "raw.jsonl"],
  ["--pin", "a.txt"],
  ["--no-context"],
  ["--skill-dir", "skills"],
];

async function place(more = "") {
  const dir = await tempDir({ "a.txt": "hello\n", "skills/x": "" });
  await dir.write({ "home/config.toml": fakeConfig(["plain"], dir.at("heard.jsonl"), more) });
  const run = (...args: string[]) =>
    runThndrs({ args: ["-p", "x", "--model", "acp:plain", ...args], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } });
  return { dir, run };
}

test("each is refused by name, with the reason, before the agent starts", async () => {
  const { dir, run } = await place();
  await using _ = dir;
  for (const flag of FLAGS) {
    const result = await run(...flag);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(`${flag[0]} cannot be kept with acp:plain: `);
  }
  const both = await run("--max-turns", "3", "--pin", "a.txt");
  expect(both.stderr).toMatch(/--max-turns cannot be kept[\s\S]*--pin cannot be kept/);
  expect(existsSync(dir.at("heard.jsonl"))).toBe(false);
}, 60_000);

test("what can be kept goes with an agent, and settings of a file promise nothing", async () => {
  const { dir, run } = await place('reasoning_effort = "high"\nskill_dirs = ["skills"]\n');
  await using _ = dir;
  const result = await run("--timeout", "20s", "--no-mcp", "--authority", "read-only", "--deny-tool", "run_shell");
  expect(result.stderr).not.toContain("cannot be");
  expect(result.code).toBe(0);
});
