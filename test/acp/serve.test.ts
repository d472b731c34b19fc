/** `thndrs acp serve`: what an editor sees and decides. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { McpServer, SessionUpdate } from "@agentclientprotocol/sdk";
import { fakeCommand } from "../mcp/fleet.ts";
import { openEditor } from "./editor.ts";
import { fakeConfig } from "./stage.ts";

type Kind = SessionUpdate["sessionUpdate"];

function ofKind<K extends Kind>(updates: readonly SessionUpdate[], kind: K): Extract<SessionUpdate, { sessionUpdate: K }>[] {
  return updates.filter((update): update is Extract<SessionUpdate, { sessionUpdate: K }> => update.sessionUpdate === kind);
}

/** Every line is one JSON-RPC message. */
function expectProtocolOnly(wire: string): void {
  expect(wire.endsWith("\n")).toBe(true);
  for (const line of wire.trimEnd().split("\n")) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
}

async function refusal(work: Promise<unknown>): Promise<{ code: number; message: string; data?: unknown }> {
  try {
    await work;
  } catch (error) {
    return error as { code: number; message: string; data?: unknown };
  }
  throw new Error("it was not refused");
}

test("text, thoughts, tool calls with kind, place and diff arrive in order, before the answer to the prompt", async () => {
  await using editor = await openEditor({
    files: { "src/a.txt": "hello\nworld\n" },
    script: [
      {
        reasoning: "thinking",
        text: "I look.",
        calls: [{ name: "read_file_range", arguments: { path: "src/a.txt", start_line: 2 } }],
      },
      { calls: [{ name: "replace_range", arguments: { path: "src/a.txt", old_string: "world", new_string: "there" } }] },
      { calls: [{ name: "create_file", arguments: { path: "b.txt", content: "new\n" } }] },
      { text: ["All ", "done."] },
    ],
  });
  const id = await editor.open();
  expect(await editor.prompt(id, "change it\nplease")).toEqual({ stopReason: "end_turn" });
  const order = editor.updates.map((update) => update.sessionUpdate).filter((kind) => kind !== "usage_update");
  expect(order.filter((kind, index) => kind !== order[index - 1])).toEqual([
    "agent_thought_chunk",
    "agent_message_chunk",
    "tool_call",
    "tool_call_update",
    "tool_call",
    "tool_call_update",
    "tool_call",
    "tool_call_update",
    "agent_message_chunk",
    "session_info_update",
  ]);
  expect(ofKind(editor.updates, "tool_call")).toEqual([
    expect.objectContaining({
      title: "Read src/a.txt:2-",
      kind: "read",
      status: "in_progress",
      locations: [{ path: editor.place.at("src/a.txt"), line: 2 }],
    }),
    expect.objectContaining({ title: "Edit src/a.txt", kind: "edit", locations: [{ path: editor.place.at("src/a.txt") }] }),
    expect.objectContaining({ title: "Create b.txt", kind: "edit" }),
  ]);
  const ends = ofKind(editor.updates, "tool_call_update");
  expect(ends.map((update) => update.status)).toEqual(["completed", "completed", "completed"]);
  expect(ends[1]?.content).toEqual([
    { type: "diff", path: editor.place.at("src/a.txt"), oldText: "hello\nworld\n", newText: "hello\nthere\n" },
  ]);
  expect(ends[2]?.content).toEqual([{ type: "diff", path: editor.place.at("b.txt"), oldText: null, newText: "new\n" }]);
  expect(editor.text()).toBe("I look.All done.");
  expect(ofKind(editor.updates, "session_info_update")[0]).toMatchObject({ title: "change it" });
  expect(ofKind(editor.updates, "usage_update")[0]).toMatchObject({ used: expect.any(Number), size: expect.any(Number) });
  // An ordinary session.
  expect(editor.records(id).map((record) => record.type)).toContain("file_write");
  expectProtocolOnly(editor.wire());
});

test("a slow reader gets everything in order: the answer to the prompt is the last of its turn", async () => {
  const gate = Promise.withResolvers<void>();
  let slow = false;
  await using editor = await openEditor({
    script: [
      { text: ["first ", ...Array.from({ length: 500 }, (_, index) => `${index} `), "last"], hold: { gate: "rest", at: 2 } },
    ],
    pace: () => (slow ? gate.promise : undefined),
  });
  const id = await editor.open();
  const turn = editor.prompt(id, "talk");
  await editor.update((update) => update.sessionUpdate === "agent_message_chunk");
  slow = true;
  editor.model.server.release("rest");
  while (!editor.events.some((event) => event.type === "turn_finished")) await Bun.sleep(1);
  // Time in which a hasty answer would have been written.
  await Bun.sleep(20);
  slow = false;
  gate.resolve();
  expect(await turn).toEqual({ stopReason: "end_turn" });
  const lines = editor.wire().trimEnd().split("\n");
  expect(lines.findIndex((line) => line.includes("end_turn"))).toBe(lines.length - 1);
  expect(editor.text()).toEndWith("498 499 last");
  // Text that waited was joined.
  expect(lines.length).toBeLessThan(20);
});

test("a failed call is failed, a failed turn is an error with its class, a refusal and a cut answer are stop reasons", async () => {
  await using editor = await openEditor({
    env: { THNDRS_RETRY_MAX_TRIES: "1" },
    script: [
      { calls: [{ name: "read_file_range", arguments: { path: "../outside" } }] },
      { text: "so be it" },
      { status: 401, body: { error: { message: "bad key" } } },
      { text: "no", stop: "refusal" },
      { text: "much", stop: "length" },
      { text: "more", stop: "length" },
    ],
  });
  const id = await editor.open();
  expect(await editor.prompt(id, "one")).toEqual({ stopReason: "end_turn" });
  expect(ofKind(editor.updates, "tool_call_update")[0]).toMatchObject({ status: "failed" });
  const failed = await refusal(editor.prompt(id, "two"));
  expect(failed).toMatchObject({ code: -32603, data: { class: "auth" } });
  expect(await editor.prompt(id, "three")).toEqual({ stopReason: "refusal" });
  expect(await editor.prompt(id, "four")).toEqual({ stopReason: "max_tokens" });
  expect(editor.wire()).not.toContain("sk-test");
  expectProtocolOnly(editor.wire());
});

const EDIT = { calls: [{ name: "create_file", arguments: { path: "x.txt", content: "x" } }] } as const;
const RUN = { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "echo ran >> runs"] } }] } as const;

test("permission: asked under the approval setting, allowed once, for the session, or rejected", async () => {
  const titles: string[] = [];
  const answers = ["allow", "always", "reject"];
  await using editor = await openEditor({
    config: 'approval = "writes"',
    script: [
      EDIT,
      { text: "1" },
      RUN,
      { text: "2" },
      RUN,
      { text: "3" },
      { calls: [{ name: "run_shell", arguments: { argv: ["true"] } }] },
      { text: "4" },
    ],
    permission: (title) => {
      titles.push(title);
      return answers[titles.length - 1] ?? "cancelled";
    },
  });
  const id = await editor.open();
  for (const text of ["one", "two", "three", "four"]) await editor.prompt(id, text);
  // The third turn's command was allowed for the session.
  expect(titles).toEqual(["Create x.txt", 'Run sh -c "echo ran >> runs"', "Run true"]);
  expect(readFileSync(editor.place.at("x.txt"), "utf8")).toBe("x");
  expect(readFileSync(editor.place.at("runs"), "utf8")).toBe("ran\nran\n");
  const ends = ofKind(editor.updates, "tool_call_update");
  expect(ends.map((update) => update.status)).toEqual(["completed", "completed", "completed", "failed"]);
  expect(JSON.stringify(ends[3])).toContain("The user said no");
});

test("permission: what comes of a rejected call is a stop reason and no error: a refusal, or just the end", async () => {
  await using editor = await openEditor({
    config: 'approval = "all"',
    env: { THNDRS_RETRY_MAX_TRIES: "1" },
    script: [RUN, { text: "no", stop: "refusal" }, RUN, { text: "" }, { text: "" }, { text: "" }],
    permission: () => "reject",
  });
  const id = await editor.open();
  expect(await editor.prompt(id, "one")).toEqual({ stopReason: "refusal" });
  expect(await editor.prompt(id, "two")).toEqual({ stopReason: "end_turn" });
  expectProtocolOnly(editor.wire());
});

test("permission: a client that fails to answer is a no; nothing is asked under never", async () => {
  await using silent = await openEditor({ config: 'approval = "all"', script: [EDIT, { text: "ok" }] });
  await silent.prompt(await silent.open(), "go");
  expect(existsSync(silent.place.at("x.txt"))).toBe(false);
  await using free = await openEditor({ script: [EDIT, { text: "ok" }] });
  await free.prompt(await free.open(), "go");
  expect(existsSync(free.place.at("x.txt"))).toBe(true);
});

test("cancel while the model streams, while a command runs, while a question is open: stop reason cancelled, then it goes on", async () => {
  const asked = Promise.withResolvers<void>();
  await using editor = await openEditor({
    config: 'approval = "shell"',
    script: [{ text: ["one ", "two"], hold: { gate: "never", at: 2 } }, RUN, { text: "fine" }],
    permission: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const id = await editor.open();
  const first = editor.prompt(id, "one");
  await editor.update((update) => update.sessionUpdate === "agent_message_chunk");
  await editor.agent.notify("session/cancel", { sessionId: id });
  expect(await first).toEqual({ stopReason: "cancelled" });
  const second = editor.prompt(id, "two");
  await asked.promise;
  await editor.agent.notify("session/cancel", { sessionId: id });
  expect(await second).toEqual({ stopReason: "cancelled" });
  expect(await editor.prompt(id, "three")).toEqual({ stopReason: "end_turn" });
  const cancels = editor.records(id).filter((record) => record.type === "cancelled");
  expect(cancels.map((record) => record.reason)).toEqual(["user", "user"]);
  expect(editor.text()).toContain("fine");
  // Between turns, and for sessions nobody knows, a cancel is nothing.
  await editor.agent.notify("session/cancel", { sessionId: id });
  await editor.agent.notify("session/cancel", { sessionId: "nobody" });
  expect(editor.bugs).toEqual([]);
});

test("one prompt at a time in a session; several sessions at once", async () => {
  await using editor = await openEditor({
    script: [
      { match: "slow", text: ["s", "low"], hold: { gate: "go", at: 2 } },
      { match: "quick", text: "quick" },
    ],
  });
  const [one, two] = [await editor.open(), await editor.open()];
  expect(one).not.toBe(two);
  const slow = editor.prompt(one, "slow");
  await editor.update((update) => update.sessionUpdate === "agent_message_chunk");
  expect((await refusal(editor.prompt(one, "again"))).message).toContain("already running");
  expect(await editor.prompt(two, "quick")).toEqual({ stopReason: "end_turn" });
  editor.model.server.release("go");
  expect(await slow).toEqual({ stopReason: "end_turn" });
  expect(editor.records(one)[0]).toMatchObject({ session_id: one, title: "slow" });
  expect(editor.records(two)[0]).toMatchObject({ session_id: two, title: "quick" });
});

test("blocks: links become paths, text resources follow, images, sound and binary are refused in words", async () => {
  await using editor = await openEditor({ files: { "src/a.ts": "const a = 1;\n" }, script: [{ text: "seen" }] });
  const id = await editor.open();
  const file = pathToFileURL(editor.place.at("src/a.ts")).href;
  await editor.agent.request("session/prompt", {
    sessionId: id,
    prompt: [
      { type: "text", text: "Look at " },
      { type: "resource_link", name: "a.ts", uri: `${file}#L3-5` },
      { type: "text", text: " and " },
      { type: "resource_link", name: "docs", uri: "https://example.invalid/docs" },
      { type: "text", text: " and " },
      { type: "resource", resource: { uri: "file:///elsewhere/n.md", text: "```\ninner\n```" } },
    ],
  });
  const { body } = await editor.model.server.request(1);
  const asked = String(body.messages.at(-1).content);
  expect(asked).toContain("Look at `src/a.ts` (lines 3-5) and [docs](https://example.invalid/docs) and `/elsewhere/n.md`");
  expect(asked).toContain("`/elsewhere/n.md`:\n````\n```\ninner\n```\n````");
  for (const block of [
    { type: "image", data: "AAAA", mimeType: "image/png" } as const,
    { type: "audio", data: "AAAA", mimeType: "audio/wav" } as const,
    { type: "resource", resource: { uri: "file:///a.bin", blob: "AAAA" } } as const,
    { type: "text", text: "  " } as const,
  ]) {
    const refused = await refusal(editor.agent.request("session/prompt", { sessionId: id, prompt: [block] }));
    expect(refused.code).toBe(-32602);
    expect(refused.message).toMatch(/images|sound|not text|empty/);
  }
});

test("load shows the session again and goes on with it; list, resume, close and delete", async () => {
  await using editor = await openEditor({
    files: { "a.txt": "text\n" },
    script: [
      { reasoning: "hm", text: "Reading.", calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] },
      { text: "It says text." },
      { text: "Before: text." },
      { text: "Still here." },
    ],
  });
  const id = await editor.open();
  await editor.prompt(id, "read it");
  await editor.agent.request("session/close", { sessionId: id });
  expect((await refusal(editor.prompt(id, "closed"))).code).toBe(-32002);
  const before = editor.updates.length;
  const place = { cwd: editor.place.path, mcpServers: [] };
  const loaded = await editor.agent.request("session/load", { ...place, sessionId: id });
  expect(loaded.modes?.currentModeId).toBe("workspace-write");
  const shown = editor.updates.slice(before);
  expect(shown.map((update) => update.sessionUpdate)).toEqual([
    "user_message_chunk",
    "agent_thought_chunk",
    "agent_message_chunk",
    "tool_call",
    "tool_call_update",
    "agent_message_chunk",
  ]);
  expect(shown[0]).toMatchObject({ content: { text: "read it" } });
  expect(shown[3]).toMatchObject({ title: "Read a.txt", kind: "read" });
  expect(shown[4]).toMatchObject({ status: "completed" });
  expect(await editor.prompt(id, "what did it say?")).toEqual({ stopReason: "end_turn" });
  const { body } = await editor.model.server.request(3);
  expect(JSON.stringify(body.messages)).toContain("It says text.");

  const other = await editor.open();
  const listed = await editor.agent.request("session/list", { cwd: editor.place.path });
  // A session without a turn has no log.
  expect(listed.sessions).toEqual([
    { sessionId: id, cwd: editor.place.path, title: "read it", updatedAt: expect.stringMatching(/^20/) },
  ]);
  await editor.agent.request("session/close", { sessionId: id });
  const count = editor.updates.length;
  await editor.agent.request("session/resume", { ...place, sessionId: id });
  expect(editor.updates).toHaveLength(count);
  await editor.prompt(id, "again");
  await editor.agent.request("session/delete", { sessionId: id });
  expect((await editor.agent.request("session/list", {})).sessions).toEqual([]);
  await editor.agent.request("session/delete", { sessionId: id });
  await editor.agent.request("session/close", { sessionId: other });
  for (const sessionId of ["session-20200101-000000-aaaa", "../../etc/passwd", ""]) {
    expect((await refusal(editor.agent.request("session/load", { ...place, sessionId }))).code).toBe(-32002);
  }
  expect(editor.bugs).toEqual([]);
});

test("list comes in pages", async () => {
  await using editor = await openEditor({ script: [{ text: "never" }] });
  const head = (id: string) =>
    `${JSON.stringify({ schema_version: 1, seq: 0, time: "2026-01-01T00:00:00.000Z", type: "session_meta", session_id: id, cwd: editor.place.path, workspace: editor.place.path, title: `t ${id}`, provider: "p", model: "m", websearch: "none", app_version: "0", config: { files: [], origins: {} } })}\n`;
  const ids = Array.from({ length: 120 }, (_, index) => `session-20260101-000000-${String(index).padStart(4, "0")}`);
  for (const id of ids) await editor.place.write({ [`.thndrs/sessions/${id}.jsonl`]: head(id) });
  const seen: string[] = [];
  let cursor: string | null | undefined;
  let pages = 0;
  do {
    const page: { sessions: { sessionId: string }[]; nextCursor?: string | null } = await editor.agent.request("session/list", {
      cwd: editor.place.path,
      ...(cursor && { cursor }),
    });
    seen.push(...page.sessions.map((session) => session.sessionId));
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor);
  expect(pages).toBe(3);
  expect(seen.toSorted()).toEqual(ids);
  expect((await refusal(editor.agent.request("session/list", { cursor: "nonsense" }))).code).toBe(-32602);
});

test("modes are authority: read-only takes the writing tools away at the next request, and never gives more than configured", async () => {
  await using editor = await openEditor({ script: [{ text: "1" }, EDIT, { text: "2" }, { text: "3" }] });
  const id = await editor.open();
  await editor.prompt(id, "one");
  await editor.agent.request("session/set_mode", { sessionId: id, modeId: "read-only" });
  expect(ofKind(editor.updates, "current_mode_update")).toEqual([
    { sessionUpdate: "current_mode_update", currentModeId: "read-only" },
  ]);
  await editor.prompt(id, "two");
  const names = async (n: number): Promise<string[]> =>
    (await editor.model.server.request(n)).body.tools.map((tool: { function: { name: string } }) => tool.function.name);
  expect(await names(1)).toContain("create_file");
  expect(await names(2)).not.toContain("create_file");
  expect(existsSync(editor.place.at("x.txt"))).toBe(false);
  const { configOptions } = await editor.agent.request("session/set_config_option", {
    sessionId: id,
    configId: "mode",
    value: "workspace-write",
  });
  expect(configOptions.find((option) => option.id === "mode")).toMatchObject({ currentValue: "workspace-write" });
  await editor.prompt(id, "three");
  expect(await names(4)).toContain("create_file");

  await using bound = await openEditor({ flags: { authority: "read-only" }, script: [{ text: "x" }] });
  const session = await bound.agent.request("session/new", { cwd: bound.place.path, mcpServers: [] });
  expect(session.modes).toMatchObject({ currentModeId: "read-only", availableModes: [{ id: "read-only" }] });
  const more = bound.agent.request("session/set_mode", { sessionId: session.sessionId, modeId: "workspace-write" });
  expect((await refusal(more)).code).toBe(-32602);
});

test("models and effort are chosen by the editor", async () => {
  await using editor = await openEditor({
    config: '[models."openrouter/other"]\ncontext_window = 100000',
    script: [{ text: "1" }, { text: "2" }],
  });
  const session = await editor.agent.request("session/new", { cwd: editor.place.path, mcpServers: [] });
  const id = session.sessionId;
  const model = session.configOptions?.find((option) => option.category === "model");
  expect(model).toMatchObject({ id: "model", currentValue: "openrouter/mock" });
  expect(JSON.stringify(model)).toContain("openrouter/other");
  await editor.prompt(id, "one");
  const set = (configId: string, value: string) =>
    editor.agent.request("session/set_config_option", { sessionId: id, configId, value });
  await set("model", "openrouter/other");
  const { configOptions } = await set("effort", "high");
  expect(configOptions).toMatchObject([{}, { currentValue: "openrouter/other" }, { currentValue: "high" }]);
  await editor.prompt(id, "two");
  expect((await editor.model.server.request(1)).body.model).toBe("mock");
  expect((await editor.model.server.request(2)).body.model).toBe("other");
  expect((await refusal(set("model", "nobody/x"))).message).toContain("no provider");
  expect((await refusal(set("effort", "enormous"))).code).toBe(-32602);
  expect((await refusal(set("colour", "red"))).code).toBe(-32602);
});

test("the editor's unsaved text is what is read; an edit saves it first and the editor learns of the change", async () => {
  const buffers = new Map<string, string>();
  const saved: string[] = [];
  await using editor = await openEditor({
    files: { "a.txt": "one\ntwo\n", "crlf.txt": "one\r\ntwo\r\n" },
    script: [
      {
        calls: [
          { name: "read_file_range", arguments: { path: "a.txt" } },
          { name: "read_file_range", arguments: { path: "crlf.txt" } },
        ],
      },
      { calls: [{ name: "replace_range", arguments: { path: "a.txt", old_string: "unsaved", new_string: "agreed" } }] },
      { text: "done" },
    ],
    readText: (path) => buffers.get(path) ?? readFileSync(path, "utf8").replaceAll("\r\n", "\n"),
    writeText: (path, content) => {
      saved.push(content);
      buffers.delete(path);
      writeFileSync(path, content);
    },
  });
  buffers.set(editor.place.at("a.txt"), "one\nunsaved\n");
  const id = await editor.open();
  await editor.prompt(id, "edit");
  const { body } = await editor.model.server.request(2);
  const results = body.messages.filter((message: { role: string }) => message.role === "tool");
  expect(results[0].content).toContain("2: unsaved");
  expect(results[0].content).toContain("unsaved in the editor");
  // Line ends are not a change.
  expect(results[1].content).toContain("xxh64:");
  expect(readFileSync(editor.place.at("a.txt"), "utf8")).toBe("one\nagreed\n");
  expect(saved).toEqual(["one\nunsaved\n", "one\nagreed\n"]);
  const edit = ofKind(editor.updates, "tool_call_update").at(-1);
  expect(edit?.content).toEqual([
    { type: "diff", path: editor.place.at("a.txt"), oldText: "one\nunsaved\n", newText: "one\nagreed\n" },
  ]);
});

test("a whole replace counts the editor's text as seen, and is refused over what was typed since", async () => {
  let buffer: string | undefined = "one\nunsaved\n";
  const replace = (content: string) => ({
    name: "write_patch",
    arguments: { patches: [{ op: "replace", path: "a.txt", content }] },
  });
  const read = { name: "read_file_range", arguments: { path: "a.txt" } };
  await using editor = await openEditor({
    files: { "a.txt": "one\n" },
    script: [{ calls: [read] }, { calls: [replace("2\n")] }, { calls: [replace("3\n")] }, { text: "done" }],
    readText: (path) => buffer ?? readFileSync(path, "utf8"),
    writeText: (path, content) => {
      writeFileSync(path, content);
      buffer = content === "2\n" ? "2\ntyped\n" : undefined;
    },
  });
  await editor.prompt(await editor.open(), "edit");
  const ends = ofKind(editor.updates, "tool_call_update").filter(({ status }) => status === "completed" || status === "failed");
  expect(ends.map(({ status }) => status)).toEqual(["completed", "completed", "failed"]);
  // Nothing is saved for a call that is refused: what was typed is still the editor's.
  expect([readFileSync(editor.place.at("a.txt"), "utf8"), buffer]).toEqual(["2\n", "2\ntyped\n"]);
});

test("unsaved text that cannot be saved stops the edit; paths outside are refused whatever the editor lends", async () => {
  await using editor = await openEditor({
    files: { "a.txt": "one\n" },
    script: [
      { calls: [{ name: "replace_range", arguments: { path: "a.txt", old_string: "one", new_string: "two" } }] },
      { calls: [{ name: "create_file", arguments: { path: "../outside.txt", content: "x" } }] },
      { text: "done" },
    ],
    readText: () => "one\nunsaved\n",
  });
  await editor.prompt(await editor.open(), "edit");
  expect(readFileSync(editor.place.at("a.txt"), "utf8")).toBe("one\n");
  const ends = ofKind(editor.updates, "tool_call_update");
  expect(JSON.stringify(ends[0])).toContain("unsaved changes in the editor");
  expect(ends.map((update) => update.status)).toEqual(["failed", "failed"]);
  expect(existsSync(editor.place.at("../outside.txt"))).toBe(false);
});

test("commands run in the terminal the editor lends, are killed at cancel, and recorded", async () => {
  const exit = Promise.withResolvers<number>();
  const calls: string[] = [];
  await using editor = await openEditor({
    script: [RUN, { text: "one" }, RUN],
    terminal: { output: "from the editor\n", exit: exit.promise, calls },
  });
  const id = await editor.open();
  const first = editor.prompt(id, "run");
  const shown = await editor.update((update) => update.sessionUpdate === "tool_call_update");
  expect(shown).toMatchObject({ content: [{ type: "terminal", terminalId: "lent-1" }] });
  exit.resolve(4);
  await first;
  expect(calls).toEqual([`create ${editor.place.path} sh -c echo ran >> runs`, "release"]);
  const { body } = await editor.model.server.request(2);
  expect(body.messages.at(-1).content).toContain("exit 4");
  expect(body.messages.at(-1).content).toContain("from the editor");
  expect(editor.records(id).find((record) => record.type === "shell_exec")).toMatchObject({
    exit_code: 4,
    process_status: "failed",
  });
  expect(existsSync(editor.place.at("runs"))).toBe(false);
});

test("cancel kills the command in the editor's terminal", async () => {
  const calls: string[] = [];
  await using editor = await openEditor({
    script: [RUN],
    terminal: { output: "", exit: new Promise(() => undefined), calls },
  });
  const id = await editor.open();
  const turn = editor.prompt(id, "run");
  await editor.update((update) => update.sessionUpdate === "tool_call_update");
  await editor.agent.notify("session/cancel", { sessionId: id });
  expect(await turn).toEqual({ stopReason: "cancelled" });
  expect(calls.slice(1)).toEqual(["kill", "release"]);
}, 10_000);

test("cancel does not wait for an editor that never opens the terminal it offers", async () => {
  const asked = Promise.withResolvers<void>();
  const opening = (): Promise<void> => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  await using editor = await openEditor({
    script: [RUN],
    terminal: { output: "", exit: Promise.resolve(0), calls: [], opening },
  });
  const id = await editor.open();
  const turn = editor.prompt(id, "run");
  await asked.promise;
  await editor.agent.notify("session/cancel", { sessionId: id });
  expect(await turn).toEqual({ stopReason: "cancelled" });
}, 10_000);

test("a login in a terminal is offered where the editor can open one", async () => {
  await using editor = await openEditor({ script: [{ text: "x" }], capabilities: { auth: { terminal: true } } });
  const answer = JSON.parse(editor.wire().split("\n")[0] ?? "").result;
  expect(answer.authMethods).toEqual([
    expect.objectContaining({ id: "key" }),
    { type: "terminal", id: "setup", name: "thndrs setup", args: ["setup"] },
  ]);
});

test("an editor may drive an external agent through thndrs; always covers one command of it, not all", async () => {
  const titles: string[] = [];
  await using editor = await openEditor({
    script: [{ text: "unused" }],
    config: fakeConfig(["plain"], "/dev/null"),
    flags: { model: "acp:plain" },
    permission: (title) => {
      titles.push(title);
      return "always";
    },
  });
  const id = await editor.open();
  const question = (command: string) => [
    "session/request_permission",
    {
      toolCall: { toolCallId: "c", title: "Tidy up", kind: "execute", rawInput: { command } },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
    },
  ];
  const talk = [
    question("ls"),
    question("ls"),
    question("rm -rf /"),
    ["update", { sessionUpdate: "tool_call", toolCallId: "c", title: "Tidy up", kind: "execute", status: "completed" }],
  ];
  expect(await editor.prompt(id, JSON.stringify(talk))).toEqual({ stopReason: "end_turn" });
  expect(titles).toEqual(["acp:plain execute: sh -c ls", 'acp:plain execute: sh -c "rm -rf /"']);
  expect(ofKind(editor.updates, "tool_call")).toEqual([
    expect.objectContaining({ toolCallId: "c", title: "execute: Tidy up", kind: "execute" }),
  ]);
  expect(editor.records(id).map((record) => record.type)).toContain("acp_session");
});

test("limits and logs as the flags of serve say", async () => {
  await using editor = await openEditor({ flags: { maxTurns: 1, ephemeral: true }, script: [RUN] });
  const id = await editor.open();
  expect(await editor.prompt(id, "go")).toEqual({ stopReason: "max_turn_requests" });
  expect(existsSync(editor.place.at(".thndrs"))).toBe(false);
});

test("MCP servers the editor passes are used; read-only has none of them", async () => {
  await using editor = await openEditor({
    script: [{ calls: [{ name: "mcp__passed__echo", arguments: { a: 1 } }] }, { text: "done" }, { text: "reading" }],
  });
  const [command = "", ...args] = fakeCommand({});
  const passed: McpServer = { name: "passed", command, args, env: [{ name: "GIVEN", value: "yes" }] };
  const { sessionId } = await editor.agent.request("session/new", { cwd: editor.place.path, mcpServers: [passed] });
  expect(await editor.prompt(sessionId, "go")).toEqual({ stopReason: "end_turn" });
  const { body } = await editor.model.server.request(2);
  expect(body.messages.at(-1).content).toContain('{"a":1}');
  expect(ofKind(editor.updates, "tool_call")[0]).toMatchObject({ title: "mcp__passed__echo", kind: "other" });
  await editor.agent.request("session/set_mode", { sessionId, modeId: "read-only" });
  await editor.prompt(sessionId, "read");
  expect(JSON.stringify((await editor.model.server.request(3)).body.tools)).not.toContain("mcp__");
}, 10_000);

test("sessions that cannot be opened say why: no key asks for a login, a bad place is refused", async () => {
  await using editor = await openEditor({ script: [{ text: "x" }], env: { THNDRS_MODEL: "openai/gpt-5.5" } });
  const unkeyed = await refusal(editor.open());
  expect(unkeyed).toMatchObject({ code: -32000 });
  expect(unkeyed.message).toContain("OPENAI_API_KEY");
  expect(await editor.agent.request("authenticate", { methodId: "key" })).toEqual({});
  for (const cwd of ["relative", "/no/such/directory"]) {
    expect((await refusal(editor.agent.request("session/new", { cwd, mcpServers: [] }))).code).toBe(-32602);
  }
  expect((await refusal(editor.agent.request("authenticate", { methodId: "other" }))).code).toBe(-32602);
});

test("when the client goes, the turn ends, the log says so, and nothing is left open", async () => {
  await using editor = await openEditor({ script: [{ text: ["one ", "two"], hold: { gate: "never", at: 2 } }] });
  const id = await editor.open();
  const turn = editor.prompt(id, "go").catch(() => "lost");
  await editor.update((update) => update.sessionUpdate === "agent_message_chunk");
  await editor.leave();
  await turn;
  expect(editor.records(id).filter((record) => record.type === "cancelled")).toEqual([
    expect.objectContaining({ reason: "client gone" }),
  ]);
  expect(existsSync(editor.place.at(".thndrs", "sessions", `${id}.lock`))).toBe(false);
});

test("a long conversation in an editor is summarised without a review that nobody could give there", async () => {
  const summary = ["Objective", "Decisions", "Findings", "Files touched", "Failures", "Verification", "Open work"]
    .map((name) => `## ${name}\n- none`)
    .join("\n");
  await using editor = await openEditor({
    config:
      '[compaction]\nreview = "always"\nkeep_recent_tokens = 500\n[models."openrouter/mock"]\ncontext_window = 12000\nmax_output = 1000\n',
    script: (seen) => ({ text: (seen.body.tools ?? []).length === 0 ? summary : "many words ".repeat(800) }),
  });
  const id = await editor.open();
  for (let turn = 1; turn <= 8; turn++) expect(await editor.prompt(id, `turn ${turn}`)).toEqual({ stopReason: "end_turn" });
  const compactions = editor.records(id).filter((record) => record.type === "compaction");
  expect(compactions.length).toBeGreaterThan(0);
  expect(new Set(compactions.map((record) => record.review))).toEqual(new Set(["not_required"]));
});
