/** 020: a recorded summary was played back as an answer where the replay had room enough, and the run ended with it. */
import { expect, test } from "bun:test";
import type { Seen, Step } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("020 a run that made room is replayed with room to spare, and in the same small window", async () => {
  const window = (name: string): string => `[models."${name}"]\ncontext_window = 8000\nmax_output = 1000\n`;
  await using small = await tempDir({ "config.toml": window("openrouter/mock") });
  await using dir = await tempDir({ "f.txt": "word ".repeat(100) });
  let turn = 0;
  const script = (seen: Seen): Step => {
    if (seen.body.tools === undefined) return { text: "## Objective\n- read on" };
    turn += 1;
    if (turn > 40) return { text: "all read" };
    return {
      text: `turn ${turn}: ${"so it goes ".repeat(30)}`,
      calls: [{ name: "search_text", arguments: { pattern: `w${turn}` } }],
    };
  };
  await using model = await startModel(script);
  const args = ["-p", "read on", "--ephemeral"];
  const env = { ...model.env, THNDRS_HOME: small.path };
  const recorded = await runThndrs({ args: [...args, "--record", "run.jsonl"], cwd: dir.path, env, timeoutMs: 20_000 });
  expect(recorded).toMatchObject({ code: 0, stdout: "all read\n" });
  const text = await dir.read("run.jsonl");
  expect(text).toContain('"side":true');
  const roomy = await runThndrs({ args: [...args, "--replay", "run.jsonl"], cwd: dir.path, timeoutMs: 20_000 });
  expect(roomy).toMatchObject({ code: 0, stdout: "all read\n" });
  await using same = await tempDir({ "config.toml": window("replay/run.jsonl") });
  const narrow = await runThndrs({
    args: [...args, "--replay", "run.jsonl"],
    cwd: dir.path,
    env: { THNDRS_HOME: same.path },
    timeoutMs: 20_000,
  });
  expect(narrow).toMatchObject({ code: 0, stdout: "all read\n" });
});
