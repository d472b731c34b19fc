/**
 * With run_shell denied, a model could still have code run later by writing a hook or a setting below .git. File tools
 * leave git's own files alone, whatever the spelling and through links.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";

test("no file tool writes below .git", async () => {
  await using dir = await tempDir({ "a.txt": "x\n", ".gitignore": "dist\n" });
  initGit(dir.path);
  symlinkSync(".git", dir.at("alias"));
  const config = readFileSync(dir.at(".git/config"), "utf8");
  const create = (path: string) => ({ name: "create_file", arguments: { path, content: "#!/bin/sh\ntouch HIT\n" } });
  await using model = await startModel([
    {
      calls: [
        create(".git/hooks/pre-commit"),
        create("sub/.git/hooks/x"),
        create("alias/hooks/post-checkout"),
        {
          name: "replace_range",
          arguments: { path: ".git/config", old_string: "[core]", new_string: "[core]\n\thooksPath = h" },
        },
        { name: "write_patch", arguments: { patches: [{ op: "replace", path: ".git/config", content: "x" }] } },
        {
          name: "write_patch",
          arguments: { patches: [{ op: "edit", path: ".gitignore", old_string: "dist", new_string: "out" }] },
        },
      ],
    },
    { text: "done" },
  ]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  const results: { content: string }[] = model.server.requests[1]?.body.messages.filter(
    (one: { role: string }) => one.role === "tool",
  );
  for (const { content } of results.slice(0, 5)) expect(content).toContain("are not written by file tools");
  expect(readFileSync(dir.at(".gitignore"), "utf8")).toBe("out\n");
  expect(readFileSync(dir.at(".git/config"), "utf8")).toBe(config);
  expect(
    existsSync(dir.at(".git/hooks/pre-commit")) || existsSync(dir.at("sub")) || existsSync(dir.at(".git/hooks/post-checkout")),
  ).toBe(false);
});
