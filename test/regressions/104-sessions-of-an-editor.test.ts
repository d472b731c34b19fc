/** What an editor was told of its sessions: deleted although they were not, titles that were none, sizes from before. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { openEditor, type TestEditor } from "../acp/editor.ts";
import { fakeCommand } from "../mcp/fleet.ts";
import { tempDir } from "../support/temp.ts";

/** The last answer on the wire; the library takes "not found" for success. */
function lastAnswer(editor: TestEditor): Record<string, unknown> {
  const lines = editor.wire().trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line)).findLast((message) => "id" in message && !("method" in message));
}

test("a closed session of another directory is deleted where it is", async () => {
  await using other = await tempDir({ ".git/HEAD": "" });
  await using editor = await openEditor({ files: { ".git/HEAD": "" }, script: [{ text: "one" }] });
  const { sessionId } = await editor.agent.request("session/new", { cwd: other.path, mcpServers: [] });
  await editor.prompt(sessionId, "hi");
  await editor.agent.request("session/close", { sessionId });
  const log = other.at(".thndrs", "sessions", `${sessionId}.jsonl`);
  expect(existsSync(log)).toBe(true);
  await editor.agent.request("session/delete", { sessionId });
  expect(lastAnswer(editor).result).toEqual({});
  expect(existsSync(log)).toBe(false);
  // A second time is no mistake.
  await editor.agent.request("session/delete", { sessionId });
  expect(lastAnswer(editor).result).toEqual({});
});

test("one that was only listed is found, one that nobody told of is an error", async () => {
  await using other = await tempDir({ ".git/HEAD": "" });
  const id = "session-20260101-000000-aaaa";
  const meta = {
    type: "session_meta",
    session_id: id,
    cwd: other.path,
    workspace: other.path,
    title: "old",
    provider: "p",
    model: "m",
  };
  const more = { websearch: "none", app_version: "1", config: { files: [], origins: {} } };
  const line = JSON.stringify({ schema_version: 1, seq: 0, time: "2026-01-01T00:00:00.000Z", ...meta, ...more });
  await other.write({ [`.thndrs/sessions/${id}.jsonl`]: `${line}\n` });
  await using editor = await openEditor({ files: { ".git/HEAD": "" }, script: [] });
  await editor.agent.request("session/delete", { sessionId: id });
  expect(lastAnswer(editor).error).toMatchObject({ code: -32002 });
  expect((await editor.agent.request("session/list", { cwd: other.path })).sessions).toHaveLength(1);
  await editor.agent.request("session/delete", { sessionId: id });
  expect(lastAnswer(editor).result).toEqual({});
  expect((await editor.agent.request("session/list", { cwd: other.path })).sessions).toEqual([]);
});

test("the title is that of the list, not the instructions before the prompt", async () => {
  const read = { calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] };
  for (const flags of [{}, { ephemeral: true }]) {
    await using editor = await openEditor({
      files: { ".git/HEAD": "", "AGENTS.md": "RULES\n", "a.txt": "hello\n" },
      script: [read, { text: "done" }, { text: "two" }],
      flags,
    });
    const id = await editor.open();
    await editor.prompt(id, "fix the bug");
    await editor.prompt(id, "second");
    const titles = editor.updates.flatMap((update) => (update.sessionUpdate === "session_info_update" ? [update.title] : []));
    expect(titles).toEqual(["fix the bug", "fix the bug"]);
  }
});

test("tools that come later count in what the context holds", async () => {
  const tools = Array.from({ length: 20 }, (_, index) => ({
    name: `t${index}`,
    description: "d".repeat(1400),
    inputSchema: { type: "object" as const },
  }));
  const [command, ...args] = fakeCommand({ tools });
  await using editor = await openEditor({
    files: { ".git/HEAD": "" },
    flags: { trustProject: true },
    script: [{ text: "one" }, { text: "two" }],
  });
  const id = await editor.open();
  await editor.prompt(id, "first");
  await editor.place.write({ ".mcp.json": JSON.stringify({ mcpServers: { fake: { command, args } } }) });
  await editor.prompt(id, "second");
  const sent = editor.model.server.requests.map(({ body }) => JSON.stringify(body.tools).length);
  const told = editor.records(id).flatMap((record) => (record.type === "context_ledger" ? [record] : []));
  const sizes = told.map(
    (record) =>
      (record.items as { id: string; byte_count: number }[]).find((item) => item.id === "ctx_harness_tools")?.byte_count ?? 0,
  );
  const [before = 0, after = 0] = [sizes[0], sizes.at(-1)];
  const [first = 0, second = 0] = sent;
  expect(second - first).toBeGreaterThan(25_000);
  // The wire puts some words round each tool.
  expect(after - before).toBeGreaterThan((second - first) * 0.9);
  expect(Number(told.at(-1)?.used) - Number(told[0]?.used)).toBeGreaterThan(5000);
});
