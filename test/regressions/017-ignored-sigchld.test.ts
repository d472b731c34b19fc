/**
 * Started by a program that ignores SIGCHLD (some daemons and CI runners do; children inherit it), the first command of a run was an
 * internal error, and the run hung.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

test.skipIf(!existsSync("/bin/bash"))("an ignored SIGCHLD is no trouble, nor are others", async () => {
  const calls = [
    { name: "run_shell", arguments: { argv: ["sh", "-c", "echo out; exit 3"] } },
    { name: "search_text", arguments: { pattern: "needle" } },
  ];
  await using model = await startModel([{ calls }, { text: "done" }]);
  const command = ["/bin/bash", "-c", 'trap "" CHLD PIPE HUP USR1 ALRM; exec "$@"', "sh", binary];
  const result = await runThndrs({ command, args: ["-p", "hi"], files: { "a.txt": "needle\n" }, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  const raw = model.server.requests[1]?.raw ?? "";
  expect(raw).toContain("exit 3");
  expect(raw).toContain("a.txt:1:needle");
});
