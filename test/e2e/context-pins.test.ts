/** Pins and the recorded ledger through the binary. */
import { expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, type TempDir, tempDir } from "../support/temp.ts";

const PROJECT = {
  "AGENTS.md": "ROOT-RULES",
  "api/AGENTS.md": "API-RULES",
  "api/notes.md": "NOTES-ONE",
  "odd/AGENTS.md/x": "",
};

function log(dir: TempDir): { readonly path: string; readonly id: string; readonly records: Record<string, unknown>[] } {
  const place = dir.at(".thndrs", "sessions");
  const name = readdirSync(place).find((one) => one.endsWith(".jsonl")) ?? "";
  const path = `${place}/${name}`;
  const records = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { path, id: name.replace(/\.jsonl$/, ""), records };
}

test("--pin: the file's text heads the first message behind what governs it, is not logged, comes again when resumed", async () => {
  await using dir = await tempDir(PROJECT);
  initGit(dir.path);
  await using model = await startModel(() => ({ text: "ok" }));
  const run = (...args: string[]) => runThndrs({ args: [...args, "-p", "hi"], cwd: dir.path, env: model.env });
  const sent = (): string => model.server.requests.at(-1)?.body.messages.at(-1)?.content ?? "";
  expect((await run("--pin", "api/notes.md")).code).toBe(0);
  expect(sent()).toMatch(
    /ROOT-RULES[\s\S]*API-RULES[\s\S]*kind="pinned_file">\nNOTES-ONE\n<\/source>\n<\/project_context>\n\nhi$/,
  );
  const { records, path } = log(dir);
  expect(JSON.stringify(records)).not.toMatch(/NOTES-ONE|-RULES/);
  expect(records[1]).toMatchObject({
    type: "context_pin",
    item: { id: expect.stringMatching(/^ctx_pinned_file_[0-9a-f]{16}$/), path: "api/notes.md" },
    reason: "user_pin",
  });
  expect(records.find((record) => record.type === "context")?.sources).toMatchObject([
    { origin: "root" },
    { origin: "nested" },
    { origin: "pin", scope: "api", byte_count: 9 },
  ]);
  await dir.write({ "api/notes.md": "NOTES-TWO" });
  expect((await run("--continue")).code).toBe(0);
  expect(sent()).toMatch(/status="changed">\nNOTES-TWO/);
  // A drop in the log holds for the content it names.
  const hash = Bun.hash.xxHash64("ROOT-RULES").toString(16).padStart(16, "0");
  const item = { id: "x", kind: "project_instruction", path: "AGENTS.md", content_hash: `xxh64:${hash}` };
  const seq = log(dir).records.length;
  const drop = { schema_version: 1, seq, time: "2026-01-02T03:04:05.000Z", type: "context_drop", item, reason: "explicit_drop" };
  appendFileSync(path, `${JSON.stringify(drop)}\n`);
  await run("--continue");
  expect(sent()).not.toContain("ROOT-RULES");
  expect(sent()).toContain("NOTES-TWO");
  await dir.write({ "AGENTS.md": "NEW-ROOT" });
  await run("--continue");
  expect(sent()).toContain("NEW-ROOT");
});

test("--pin with --no-context, or a path outside, is refused before anything is sent", async () => {
  await using dir = await tempDir(PROJECT);
  await using model = await startModel(() => ({ text: "ok" }));
  for (const args of [
    ["--pin", "api", "--no-context"],
    ["--pin", "/etc/hostname"],
    ["--pin", "../x"],
  ]) {
    const result = await runThndrs({ args: [...args, "-p", "hi"], cwd: dir.path, env: model.env });
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(`--pin ${args[1]}: `);
  }
  expect(model.server.requests.length).toBe(0);
  const typo = await runThndrs({ args: ["--pin", "api/ntoes.md", "-p", "hi"], cwd: dir.path, env: model.env });
  expect(typo).toMatchObject({ code: 0, stdout: "ok\n" });
  expect(typo.stderr).toContain("--pin api/ntoes.md: there is no such file or directory");
});

test("thndrs context --pin shows the pinned text; with paths only what governs them", async () => {
  await using dir = await tempDir(PROJECT);
  initGit(dir.path);
  const show = async (...args: string[]): Promise<string> =>
    (await runThndrs({ args: ["context", "--show", ...args], cwd: dir.path })).stdout;
  expect(await show("--pin", "api/notes.md")).toMatch(/API-RULES[\s\S]*NOTES-ONE/);
  expect(await show("api/notes.md")).not.toContain("NOTES-ONE");
  const json = JSON.parse((await runThndrs({ args: ["context", "--json", "--pin", "api/notes.md"], cwd: dir.path })).stdout);
  expect(json.sent).toEqual(["AGENTS.md", "api/AGENTS.md", "api/notes.md"].map((path) => dir.at(path)));
});

test("thndrs context --session: the last recorded ledger, with pins and drops; what was skipped has no hash", async () => {
  await using dir = await tempDir(PROJECT);
  initGit(dir.path);
  await using model = await startModel(() => ({ text: "ok" }));
  await runThndrs({ args: ["--pin", "api/notes.md", "-p", "hi"], cwd: dir.path, env: model.env });
  const { id, records } = log(dir);
  const json = await runThndrs({ args: ["context", "--session", id, "--json"], cwd: dir.path });
  expect(json.code).toBe(0);
  const report = JSON.parse(json.stdout);
  expect(report).toMatchObject({ version: 1, session_id: id, pins: ["api/notes.md"], drops: [], handles: [] });
  expect(report.ledger).toEqual(records.findLast((record) => record.type === "context_ledger"));
  const items: Record<string, string>[] = report.ledger.items;
  const kinds = new Set(items.map((item) => item.kind));
  expect([...kinds].sort()).toEqual(["harness", "pinned_file", "project_instruction", "transcript"]);
  expect(items.filter((item) => !("content_hash" in item) && item.path !== undefined).map((item) => item.state)).toEqual([
    "skipped",
  ]);
  const text = await runThndrs({ args: ["context", "--session", "latest"], cwd: dir.path });
  expect(text.stdout).toMatch(/^Session session-.*\nAbout \d+ of \d+ tokens used.*\nPinned: api\/notes\.md\n\n/);
  expect(text.stdout).toMatch(/\nproject_instruction\tskipped\t0\t.*odd\/AGENTS\.md\tit is a directory\n/);
  expect(text.stdout).not.toMatch(/-RULES|NOTES/);
  expect((await runThndrs({ args: ["context", "--session", "nope"], cwd: dir.path })).code).toBe(2);
  expect((await runThndrs({ args: ["context", "x", "--session", id], cwd: dir.path })).code).toBe(2);
});
