/** A git directory that is not called `.git` (`--separate-git-dir`, a bare clone with worktrees) could be written: its hooks ran. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("no file tool writes into a git directory, whatever its name", async () => {
  await using dir = await tempDir({ "src/HEAD": "not git\n" });
  const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { cwd: dir.path, stderr: "ignore", stdout: "ignore" });
  git("init", "-q", "--separate-git-dir", ".bare", ".");
  git("init", "-q", "--bare", "deep/other.git");
  symlinkSync(".bare/hooks", dir.at("alias"));
  const config = readFileSync(dir.at(".bare/config"), "utf8");
  const create = (path: string) => ({ name: "create_file", arguments: { path, content: "#!/bin/sh\ntouch HIT\n" } });
  const edit = (path: string) => ({
    name: "replace_range",
    arguments: { path, old_string: "[core]", new_string: "[core]\n\tfsmonitor = touch HIT" },
  });
  const refused = [
    create(".bare/hooks/post-checkout"),
    create("alias/pre-commit"),
    create("deep/other.git/hooks/new/x"),
    edit(".bare/config"),
    edit("deep/other.git/config"),
  ];
  await using model = await startModel([{ calls: [...refused, create("src/hooks/x"), create("deep/x")] }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  const results: { content: string }[] = model.server.requests[1]?.body.messages.filter(
    (one: { role: string }) => one.role === "tool",
  );
  expect(results.map(({ content }) => content.includes("are not written by file tools"))).toEqual([
    ...refused.map(() => true),
    false,
    false,
  ]);
  expect(readFileSync(dir.at(".bare/config"), "utf8")).toBe(config);
  expect(
    [".bare/hooks/post-checkout", ".bare/hooks/pre-commit", "deep/other.git/hooks/new"].filter((path) =>
      existsSync(dir.at(path)),
    ),
  ).toEqual([]);
  expect(["src/hooks/x", "deep/x"].every((path) => existsSync(dir.at(path)))).toBe(true);
});
