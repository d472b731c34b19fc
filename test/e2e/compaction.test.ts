import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Seen, Step } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

function records(cwd: string): { type: string; [field: string]: unknown }[] {
  const dir = join(cwd, ".thndrs", "sessions");
  const file = readdirSync(dir).find((name) => name.endsWith(".jsonl")) ?? "";
  return readFileSync(join(dir, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const SUMMARY =
  "## Objective\n- work\n## Decisions\n- none\n## Findings\n- none\n## Files touched\n- none\n## Failures\n- none\n## Verification\n- none\n## Open work\n- more";

const isSummary = (seen: Seen): boolean => (seen.body.tools ?? []).length === 0;

async function home(window: number): Promise<Awaited<ReturnType<typeof tempDir>>> {
  return tempDir({ "config.toml": `[models."openrouter/mock"]\ncontext_window = ${window}\nmax_output = 1000\n` });
}

test("P16 overflow is recognised, room is made, the work goes on; the log stays append-only and resumes", async () => {
  await using config = await home(200_000);
  await using dir = await tempDir({ "AGENTS.md": "Whistle.\n", "big.txt": `${"line of text\n".repeat(1500)}` });
  const limit = 60_000;
  let reads = 0;
  const script = (seen: Seen): Step => {
    if (Buffer.byteLength(seen.raw) > limit) {
      return {
        status: 400,
        body: { error: { message: "This model's maximum context length is 15000 tokens.", code: "context_length_exceeded" } },
      };
    }
    if (isSummary(seen)) return { text: SUMMARY };
    reads += 1;
    if (reads > 8) return { text: "done" };
    return { calls: [{ name: "read_file_range", arguments: { path: "big.txt", start_line: reads } }] };
  };
  await using model = await startModel(script);
  const env = { ...model.env, THNDRS_HOME: config.path };
  const result = await runThndrs({ args: ["-p", "You must never push. Read it all."], cwd: dir.path, env });
  expect(result.stderr).not.toContain("error:");
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  const log = records(dir.path);
  expect(log.map((record) => record.seq)).toEqual(log.map((_, index) => index));
  const last = model.server.requests.at(-1)?.body.messages ?? [];
  expect(JSON.stringify(last)).toContain("You must never push");
});

test("P17 fixed overhead over the window: a few tries, then a stop that names it", async () => {
  await using config = await home(2000);
  await using dir = await tempDir({ "AGENTS.md": "x ".repeat(9000) });
  await using model = await startModel((seen) => (isSummary(seen) ? { text: SUMMARY.repeat(40) } : { text: "ok" }));
  const result = await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: { ...model.env, THNDRS_HOME: config.path } });
  expect(result).toMatchObject({ code: 1, stdout: "" });
  expect(result.stderr).toMatch(/does not fit the model any more .*\d+ of them fixed \(system prompt and tools\)/);
  expect(model.server.requests.length).toBeLessThanOrEqual(3);
});

test("a long run in a small window: never over it, instructions and constraints always there", async () => {
  const window = 12_000;
  await using config = await home(window);
  await using dir = await tempDir({ "AGENTS.md": "Always whistle while working.\n", "f.txt": "word ".repeat(700) });
  let turn = 0;
  const script = (seen: Seen): Step => {
    const usage = { input: Math.ceil(Buffer.byteLength(seen.raw) / 4), output: 50 };
    if (isSummary(seen)) return { text: SUMMARY, usage };
    turn += 1;
    if (turn >= 120) return { text: "all done", usage };
    return {
      calls: [
        {
          name: turn % 3 === 0 ? "search_text" : "read_file_range",
          arguments: turn % 3 === 0 ? { pattern: `word${turn}` } : { path: "f.txt" },
        },
      ],
      text: `step ${turn} ${"thinking ".repeat(40)}`,
      usage,
    };
  };
  await using model = await startModel(script);
  const result = await runThndrs({
    args: ["-p", "Refactor everything. Under no circumstances delete f.txt."],
    cwd: dir.path,
    env: { ...model.env, THNDRS_HOME: config.path },
    timeoutMs: 25_000,
  });
  expect(result.stderr).not.toContain("error:");
  expect(result).toMatchObject({ code: 0, stdout: "all done\n" });
  for (const seen of model.server.requests) expect(Math.ceil(Buffer.byteLength(seen.raw) / 4)).toBeLessThan(window);
  for (const seen of model.server.requests.filter((one) => !isSummary(one))) {
    const text = JSON.stringify(seen.body.messages);
    expect(text).toContain("Always whistle while working.");
    expect(text).toContain("Under no circumstances delete f.txt");
    expect(text).toContain("Refactor everything");
  }
  const compactions = records(dir.path).filter((record) => record.type === "compaction");
  expect(compactions.length).toBeGreaterThan(1);
  expect(compactions[0]).toMatchObject({ trigger: "automatic", review: "not_required", model: "openrouter/mock" });
  const resumed = await runThndrs({
    args: ["-p", "go on", "--continue"],
    cwd: dir.path,
    env: { ...model.env, THNDRS_HOME: config.path },
  });
  expect(resumed.code).toBe(0);
  const first = JSON.stringify(model.server.requests.at(-1)?.body.messages);
  expect(first).toContain("<conversation_summary>");
  expect(first).toContain("Always whistle while working.");
});

test("an assumed window refuses nothing: a prompt that looks too long is sent", async () => {
  await using model = await startModel([{ text: "ok" }]);
  const result = await runThndrs({ args: ["-p"], stdin: { text: "word ".repeat(200_000) }, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "ok\n" });
});
