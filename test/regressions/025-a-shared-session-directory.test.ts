/** With one sessions directory for all projects, `--continue` went on with another workspace's conversation. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("latest is the latest of this workspace", async () => {
  await using a = await tempDir();
  await using b = await tempDir();
  await using shared = await tempDir();
  await using model = await startModel([{ text: "one" }, { text: "two" }, { text: "three" }]);
  const env = { ...model.env, THNDRS_SESSION_DIR: shared.path };
  const run = (cwd: string, ...args: string[]) => runThndrs({ args, cwd, env });
  await run(a.path, "-p", "work in A");
  await run(b.path, "-p", "work in B");
  expect((await run(a.path, "-p", "go on", "-c")).stdout).toBe("three\n");
  const sent = JSON.stringify(model.server.requests[2]?.body.messages);
  expect([sent.includes("work in A"), sent.includes("work in B")]).toEqual([true, false]);
  expect((await run(b.path, "sessions", "show", "latest")).stdout).toContain("work in B");
  await using none = await tempDir();
  const nothing = await run(none.path, "-p", "go on", "-c");
  expect(nothing.code).toBe(2);
  expect(nothing.stderr).toContain("There are no sessions of ");
});
