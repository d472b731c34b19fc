/** Run from a git hook, a command that made a repository elsewhere committed into the user's: git told it where the hook's one is. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { initGit, tempDir } from "../support/temp.ts";

test("a pre-commit hook of a worktree: what a command does in a repository of its own stays there", async () => {
  await using dir = await tempDir({ "main/a.txt": "a\n" });
  const script =
    "mkdir -p ../f && cd ../f && git init -q . && echo fx >fx.txt && git add . && git commit -qm fixture && git log --oneline";
  await using model = await startModel([
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", script] } }] },
    { text: "done" },
  ]);
  initGit(dir.at("main"));
  const person = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: dir.at("gitconfig") };
  const env = { PATH: process.env.PATH ?? "", HOME: dir.path, ...person, ...model.env };
  await dir.write({
    gitconfig: "[user]\n\tname = u\n\temail = u@example.invalid\n",
    "main/.git/hooks/pre-commit": `#!/bin/sh\n"${binary}" -p x >"${dir.at("said")}" 2>&1\n`,
  });
  chmodSync(dir.at("main/.git/hooks/pre-commit"), 0o755);
  const git = async (cwd: string, ...args: string[]): Promise<string> => {
    const child = Bun.spawn(["git", ...args], { cwd: dir.at(cwd), env, stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if ((await child.exited) !== 0) throw new Error(err);
    return out;
  };
  await git("main", "worktree", "add", "-q", "../wt");
  await dir.write({ "wt/a.txt": "a\nmine\n" });
  await git("wt", "commit", "-qam", "my change");
  expect(readFileSync(dir.at("said"), "utf8")).toContain("done");
  expect(await git("wt", "log", "--format=%s", "--name-only", "-1")).toBe("my change\n\na.txt\n");
  expect(await git("wt", "log", "--format=%s")).not.toContain("fixture");
  expect(spawnSync("git", ["log", "--format=%s"], { cwd: dir.at("f"), env, encoding: "utf8" }).stdout).toBe("fixture\n");
});
