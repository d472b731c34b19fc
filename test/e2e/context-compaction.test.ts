import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contentHash } from "../../src/base/hash.ts";
import type { Script, Seen, Step } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";

const SUMMARY =
  "## Objective\n- work\n## Decisions\n- none\n## Findings\n- none\n## Files touched\n- none\n## Failures\n- none\n## Verification\n- none\n## Open work\n- more";

const OVERFLOW: Step = {
  status: 400,
  body: { error: { message: "This model's maximum context length is 9000 tokens.", code: "context_length_exceeded" } },
};

const read = (path: string) => ({ name: "read_file_range", arguments: { path } });
const thinking = "thinking about it ".repeat(200);

export function records(cwd: string): Record<string, unknown>[] {
  const dir = join(cwd, ".thndrs", "sessions");
  const file = readdirSync(dir).find((name) => name.endsWith(".jsonl")) ?? "";
  return readFileSync(join(dir, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Plays `steps`; a summary is answered whenever it is asked for. */
function withSummaries(steps: readonly Step[]): Script {
  let at = 0;
  return (seen: Seen) => ((seen.body.tools ?? []).length === 0 ? { text: SUMMARY } : (steps[at++] ?? { text: "done" }));
}

test("C11 after compaction: the root from disk, recently used nested files, the others as paths, not what the tail holds", async () => {
  const nested = Array.from({ length: 7 }, (_, n) => `n${n}`);
  await using dir = await tempDir({
    "AGENTS.md": "OLD-ROOT",
    ...Object.fromEntries(
      nested.flatMap((name) => [
        [`${name}/AGENTS.md`, `RULES-${name}`],
        [`${name}/f.ts`, `file ${name}\n`],
      ]),
    ),
    "never/AGENTS.md": "RULES-never",
  });
  initGit(dir.path);
  const work = nested.slice(0, 6).map((name): Step => ({ text: thinking, calls: [read(`${name}/f.ts`)] }));
  const change: Step = {
    text: thinking,
    calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "printf NEW-ROOT > AGENTS.md"] } }],
  };
  const script = withSummaries([...work, change, { calls: [read("n6/AGENTS.md")] }, OVERFLOW, { text: "done" }]);
  await using model = await startModel(script);
  const result = await runThndrs({ args: ["-p", "Do the work."], cwd: dir.path, env: model.env });
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: 0, stdout: "done\n" });
  const messages = model.server.requests.at(-1)?.body.messages ?? [];
  const head: string = messages[1].content;
  expect(head).toContain("\nNEW-ROOT\n</source>");
  expect(head).toContain("<conversation_summary>");
  expect(JSON.stringify(messages)).not.toContain("OLD-ROOT");
  const sent = [...head.matchAll(/\nRULES-(\w+)\n<\/source>/g)].map((match) => match[1]);
  // Of the five used last, n5 stands in the kept part as it was delivered, n6 as it was read.
  expect(sent).toEqual(["n2", "n3", "n4"]);
  const listed = head.slice(head.indexOf("Other instruction files")).match(/^- .*\/(\w+)\/AGENTS\.md \(scope \1\)$/gm) ?? [];
  expect(listed.map((line) => /scope (\w+)/.exec(line)?.[1]).sort()).toEqual(["n0", "n1", "never"]);
  for (const name of ["n2", "n3", "n4", "n5", "n6"]) expect(JSON.stringify(messages).split(`RULES-${name}`).length).toBe(2);
  const { source_hashes } = records(dir.path).find((record) => record.type === "compaction") ?? {};
  expect(source_hashes).toEqual(["OLD-ROOT", ...nested.map((name) => `RULES-${name}`)].map(contentHash));
  const ledger = records(dir.path).findLast((record) => record.type === "context_ledger") as { items: Record<string, string>[] };
  const state = (path: string) => ledger.items.find((item) => item.path === dir.at(path))?.state;
  expect(["AGENTS.md", "n5/AGENTS.md", "n6/AGENTS.md", "n0/AGENTS.md"].map(state)).toEqual([
    "visible",
    "visible",
    "visible",
    "path_only",
  ]);
  expect(ledger.items.find((item) => item.kind === "summary")).toMatchObject({
    state: "visible",
    reason: expect.stringMatching(/latest_compaction_summary: recover "records \d+-\d+"/),
  });
});

test("recovery through the binary: what a summary covers, bounded, redacted, nothing replayed; unknown handles are named", async () => {
  await using dir = await tempDir({ "secret.txt": "token = ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5\nplain words\n" });
  const steps: Step[] = [
    { text: `FIRST ${thinking}`, calls: [read("secret.txt")] },
    ...Array.from(
      { length: 5 },
      (_, n): Step => ({ text: thinking, calls: [{ name: "find_files", arguments: { pattern: `x${n}` } }] }),
    ),
    OVERFLOW,
    { text: "done" },
  ];
  await using model = await startModel(withSummaries(steps));
  await runThndrs({ args: ["-p", "Do the work."], cwd: dir.path, env: model.env });
  const before = records(dir.path);
  const handle = String(before.find((record) => record.type === "compaction")?.recovery_handle);
  expect(handle).toMatch(/^records \d+-\d+$/);
  const requests = model.server.requests.length;
  const shown = await runThndrs({ args: ["context", "recover", ...handle.split(" "), "--session", "latest"], cwd: dir.path });
  expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: "" });
  expect(shown.stdout).toContain("FIRST thinking");
  expect(shown.stdout).toContain("plain words");
  expect(shown.stdout).not.toContain("ghp_");
  const json = JSON.parse((await runThndrs({ args: ["context", "recover", handle, "--json"], cwd: dir.path })).stdout);
  expect(json).toMatchObject({ version: 1, handle, truncated: false });
  expect(records(dir.path)).toEqual(before);
  expect(model.server.requests.length).toBe(requests);
  const wrong = await runThndrs({ args: ["context", "recover", "records", "5-99999"], cwd: dir.path });
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain(`no recovery handle "records 5-99999" in this session: its summaries are "${handle}"`);
  expect((await runThndrs({ args: ["context", "recover"], cwd: dir.path })).code).toBe(2);
});

test("an instruction file that left with a trimmed tool result is sent again when its directory is touched", async () => {
  await using config = await tempDir({
    "config.toml": '[models."openrouter/mock"]\ncontext_window = 12000\nmax_output = 1000\n',
  });
  await using dir = await tempDir({
    "AGENTS.md": "ROOT",
    "api/AGENTS.md": "API-RULES",
    "api/big.txt": "line of text\n".repeat(500),
    "big.txt": "word\n".repeat(1500),
  });
  initGit(dir.path);
  const bulk = Array.from(
    { length: 5 },
    (_, n): Step => ({ calls: [{ name: "read_file_range", arguments: { path: "big.txt", start_line: n + 1 } }] }),
  );
  const script = withSummaries([{ calls: [read("api/big.txt")] }, ...bulk, { calls: [read("api/big.txt")] }, { text: "done" }]);
  await using model = await startModel(script);
  const result = await runThndrs({
    args: ["-p", "Work in there."],
    cwd: dir.path,
    env: { ...model.env, THNDRS_HOME: config.path },
  });
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: 0, stdout: "done\n" });
  const texts = model.server.requests
    .filter((seen) => (seen.body.tools ?? []).length > 0)
    .map((seen) => JSON.stringify(seen.body.messages));
  const times = texts.map((text) => text.split("API-RULES").length - 1);
  expect(times[1]).toBe(1);
  expect(times).toContain(0);
  expect(times.at(-1)).toBe(1);
  expect(Math.max(...times)).toBe(1);
  const ledgers = records(dir.path).filter((record) => record.type === "context_ledger") as { items: Record<string, string>[] }[];
  const archived = ledgers.at(-1)?.items.find((item) => item.kind === "tool_archive");
  expect(archived).toMatchObject({
    state: "archived",
    reason: expect.stringMatching(/read_file_range .* recover "records \d+-\d+"/),
  });
});

test("a skill that left with a trimmed tool result comes again when it is read again", async () => {
  await using config = await tempDir({
    "config.toml": '[models."openrouter/mock"]\ncontext_window = 12000\nmax_output = 1000\n',
  });
  const head = "---\nname: release\ndescription: how to release\nreferences: [steps.md]\n---\n";
  await using skills = await tempDir({
    "release/SKILL.md": `${head}${"Tag it.\n".repeat(300)}`,
    "release/steps.md": "SKILL-STEPS\n",
  });
  await using dir = await tempDir({ "big.txt": "word\n".repeat(1500) });
  const bulk = Array.from(
    { length: 5 },
    (_, n): Step => ({ calls: [{ name: "read_file_range", arguments: { path: "big.txt", start_line: n + 1 } }] }),
  );
  const skill = read(skills.at("release/SKILL.md"));
  const script = withSummaries([{ calls: [skill] }, ...bulk, { calls: [skill] }, { text: "done" }]);
  await using model = await startModel(script);
  const env = { ...model.env, THNDRS_HOME: config.path };
  const first = await runThndrs({ args: ["--skill-dir", skills.path, "-p", "Work."], cwd: dir.path, env });
  expect({ code: first.code, stdout: first.stdout }).toEqual({ code: 0, stdout: "done\n" });
  const times = model.server.requests.map((seen) => JSON.stringify(seen.body.messages).split("SKILL-STEPS").length - 1);
  expect([times[1], times.at(-2), times.at(-1)]).toEqual([1, 0, 1]);
  const ledger = records(dir.path).findLast((record) => record.type === "context_ledger") as { items: Record<string, string>[] };
  expect(ledger.items.find((item) => item.kind === "skill")).toMatchObject({ state: "visible", reason: "skill_loaded: release" });
});
