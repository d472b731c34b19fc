/**
 * A nested instruction file that came with a tool result which gave way before the model saw it came only with the next touch
 * of its directory.
 */
import { expect, test } from "bun:test";
import { contentHash } from "../../src/base/hash.ts";
import { bench, states } from "../context/bench.ts";
import type { Script } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";

const read = (path: string) => ({ name: "read_file_range", arguments: { path } });

test("what came with a result that is left out at once comes with the next request all the same", async () => {
  await using config = await tempDir({
    "config.toml": '[models."openrouter/mock"]\ncontext_window = 12000\nmax_output = 1000\n',
  });
  await using dir = await tempDir({
    "AGENTS.md": "ROOT",
    "api/AGENTS.md": "API-RULES",
    "api/big.txt": "line of text\n".repeat(500),
    ...Object.fromEntries(["a", "b", "c", "d"].map((name) => [`${name}.txt`, `${name} word\n`.repeat(900)])),
  });
  initGit(dir.path);
  const calls = ["api/big.txt", "a.txt", "b.txt", "c.txt", "d.txt"].map(read);
  let turn = 0;
  const script: Script = (seen) => {
    if (seen.body.tools === undefined) return { text: "## Objective\n- go on" };
    turn += 1;
    return turn === 1 ? { calls } : { text: "done" };
  };
  await using model = await startModel(script);
  const env = { ...model.env, THNDRS_HOME: config.path };
  const result = await runThndrs({ args: ["-p", "Work in there."], cwd: dir.path, env });
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: 0, stdout: "done\n" });
  const last = JSON.stringify(model.server.requests.at(-1)?.body.messages);
  expect(last).toContain("[older result of read_file_range");
  expect(last.split("API-RULES").length - 1).toBe(1);
});

test("of the texts that are lost those come again that nobody saw, and their twins with them", async () => {
  await using b = await bench({
    "repo/AGENTS.md": "ROOT",
    "repo/a/AGENTS.md": "SAME",
    "repo/b/AGENTS.md": "SAME",
    "repo/c/AGENTS.md": "OLD",
  });
  await b.engine.start();
  for (const name of ["a", "b", "c"]) await b.engine.touched([{ path: b.at(name, "x"), kind: "read" }]);
  const lost = [
    { path: b.at("a/AGENTS.md"), contentHash: contentHash("SAME") },
    { path: b.at("c/AGENTS.md"), contentHash: contentHash("OLD") },
  ];
  const { text, sources } = await b.engine.lost(lost, lost.slice(0, 1));
  expect(text).toContain("Project instructions met on the way");
  expect([text.split("SAME").length - 1, text.includes("OLD")]).toEqual([1, false]);
  expect(sources.map(({ path }) => path)).toEqual([b.at("a/AGENTS.md"), b.at("b/AGENTS.md")]);
  expect(states(b)).toMatchObject({ "repo/a/AGENTS.md": "visible", "repo/c/AGENTS.md": "candidate" });
  expect((await b.engine.touched([{ path: b.at("c", "x"), kind: "read" }])).text).toContain("OLD");
});
