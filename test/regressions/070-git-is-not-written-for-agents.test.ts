/**
 * An agent that drives a turn (`--model acp:NAME`) writes files through us: what no file tool writes is not written for it
 * either, whatever the spelling and through links, and nobody is asked about it.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openStage } from "../acp/stage.ts";
import { initGit } from "../support/temp.ts";

test("an external agent writes neither below .git nor into a session log", async () => {
  const asked: string[] = [];
  await using stage = await openStage({
    mode: "plain",
    files: { "a.txt": "x\n", ".gitignore": "dist\n" },
    config: 'approval = "writes"',
    ask: async (name) => {
      asked.push(name);
      return { allowed: true };
    },
  });
  const { workspace, opened } = stage;
  initGit(workspace);
  symlinkSync(".git", join(workspace, "alias"));
  const log = opened.runtime.sessionPath ?? "";
  symlinkSync(log, join(workspace, "log.jsonl"));
  const config = readFileSync(join(workspace, ".git/config"), "utf8");
  const write = (path: string) => ["fs/write_text_file", { path, content: "#!/bin/sh\ntouch HIT\n" }];
  const outcome = await opened.runtime.submit(
    JSON.stringify([
      write(".git/hooks/pre-commit"),
      write(join(workspace, ".git/config")),
      write("sub/../.git/config"),
      write("sub/.GIT/hooks/x"),
      write("alias/hooks/post-checkout"),
      write("log.jsonl"),
      write(".gitignore"),
    ]),
  );
  const answers = JSON.parse(outcome.text) as { message?: string }[];
  for (const answer of answers.slice(0, 5)) expect(answer.message).toContain("are not written by file tools");
  expect(answers[5]?.message).toMatch(/only ever appended to/);
  expect(answers[6]).toEqual({});
  expect(readFileSync(join(workspace, ".git/config"), "utf8")).toBe(config);
  for (const path of [".git/hooks/pre-commit", "sub", ".git/hooks/post-checkout"]) {
    expect(existsSync(join(workspace, path))).toBe(false);
  }
  // Of the last one only.
  expect(asked).toHaveLength(1);
});
