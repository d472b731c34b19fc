/** 012: in a large repository the answer waited for the index of instruction files, up to two seconds. */
import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("012 an index that is not done in time holds up neither the answer nor the end, and is not left running", async () => {
  await using programs = await tempDir({ rg: "#!/bin/sh\nsleep 20\n" });
  chmodSync(programs.at("rg"), 0o755);
  await using dir = await tempDir({ "AGENTS.md": "Be brief.\n", "sub/AGENTS.md": "Briefer.\n" });
  await using model = await startModel([{ text: "hello" }]);
  const result = await runThndrs({
    args: ["-p", "hi"],
    cwd: dir.path,
    env: model.env,
    path: `${programs.path}:/usr/bin:/bin`,
  });
  expect(result).toMatchObject({ code: 0, stdout: "hello\n", leftovers: [] });
  expect(result.elapsedMs).toBeLessThan(1900);
});
