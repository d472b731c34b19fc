/** The small parts: lines of a pipe, text on its way to an editor, waiting, titles. */
import { expect, test } from "bun:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { promptText } from "../../src/acp/prompt-text.ts";
import { createSender } from "../../src/acp/sender.ts";
import { createTerminals } from "../../src/acp/terminals.ts";
import { kindOf, titleOf } from "../../src/acp/tool-calls.ts";
import { bounded } from "../../src/acp/wait.ts";
import { createAgentWire } from "../../src/acp/wire.ts";
import { createProcessOwner } from "../../src/base/process.ts";

const message = (id: number, more: object = {}): string => JSON.stringify({ jsonrpc: "2.0", id, method: "x", ...more });

async function readAll(stream: ReadableStream<unknown>): Promise<unknown[]> {
  return Array.fromAsync(stream);
}

test("X04 messages survive any chunking and any junk; junk is counted, not kept", async () => {
  const junk = [
    "banner",
    "",
    "  ",
    '{"not":"rpc"}',
    "[1]",
    "null",
    "{",
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"1.0","id":1,"method":"x"}',
    "\u0000",
  ];
  const text = junk.map((line, index) => `${line}\r\n${message(index, { params: "é🎉\u2028" })}\n`).join("");
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 10]), Buffer.from(text)]);
  for (const size of [1, 2, 3, 7, 64, bytes.length]) {
    const wire = createAgentWire(
      async () => undefined,
      () => undefined,
    );
    const read = readAll(wire.stream.readable);
    for (let at = 0; at < bytes.length; at += size) wire.push(bytes.subarray(at, at + size));
    wire.finish();
    const got = await read;
    expect(got.map((one) => (one as { id: number }).id)).toEqual(junk.map((_, index) => index));
    expect(got[0]).toMatchObject({ params: "é🎉\u2028" });
    expect(wire.junk()).toMatchObject({ lines: 9, sample: expect.stringContaining("\ufffd") });
  }
});

test("X04 a line over the cap is swallowed in bounded memory, the next one is read", async () => {
  const wire = createAgentWire(
    async () => undefined,
    () => undefined,
  );
  const read = readAll(wire.stream.readable);
  const block = Buffer.alloc(1024 * 1024, 120);
  for (let index = 0; index < 40; index++) wire.push(block);
  wire.push(Buffer.from(`\n${message(7)}\n`));
  wire.finish();
  expect(await read).toEqual([JSON.parse(message(7))]);
  expect(wire.junk().lines).toBe(1);
});

test("X01 an answer is taken once: strays and repeats go nowhere; updates are handed over in order", async () => {
  const updates: unknown[] = [];
  const wire = createAgentWire(
    async () => undefined,
    (params) => updates.push(params),
  );
  const read = readAll(wire.stream.readable);
  const writer = wire.stream.writable.getWriter();
  await writer.write({ jsonrpc: "2.0", id: 1, method: "ask" });
  const lines = [
    { id: 2, result: "stray" },
    { method: "session/update", params: 1 },
    { id: 1, result: "mine" },
    { id: 1, result: "again" },
    { method: "session/update", params: 2 },
  ];
  wire.push(Buffer.from(lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join("")));
  wire.finish();
  expect(await read).toEqual([{ jsonrpc: "2.0", id: 1, result: "mine" }]);
  expect(updates).toEqual([1, 2]);
});

const chunk = (text: string, messageId = "m"): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: { type: "text", text },
});

test("text that waits for a slow reader is joined, nothing is lost or reordered", async () => {
  const sent: SessionUpdate[] = [];
  const gate = Promise.withResolvers<void>();
  const sender = createSender(async (update) => {
    sent.push(update);
    await gate.promise;
  });
  sender.push(chunk("a"));
  for (const letter of "bcd") sender.push(chunk(letter));
  sender.push({ sessionUpdate: "tool_call", toolCallId: "1", title: "t", content: [] });
  sender.push({ sessionUpdate: "tool_call", toolCallId: "2", title: "t", content: [] });
  sender.push(chunk("e"));
  sender.push(chunk("f", "n"));
  gate.resolve();
  await sender.settled();
  expect(sent).toEqual([
    chunk("a"),
    chunk("bcd"),
    { sessionUpdate: "tool_call", toolCallId: "1", title: "t", content: [] },
    { sessionUpdate: "tool_call", toolCallId: "2", title: "t", content: [] },
    chunk("e"),
    chunk("f", "n"),
  ]);
});

test("a reader that is gone ends the sending, quietly", async () => {
  let tries = 0;
  const sender = createSender(async () => {
    tries += 1;
    throw new Error("gone");
  });
  sender.push(chunk("a"));
  await sender.settled();
  sender.push(chunk("b"));
  await sender.settled();
  expect(tries).toBe(1);
});

test("waiting ends with the work, the limit or the abort, whichever is first", async () => {
  expect(await bounded(Promise.resolve("done"), { ms: 1000 })).toBe("done");
  expect(await bounded(new Promise(() => undefined), { ms: 1 })).toBe("late");
  const controller = new AbortController();
  const waiting = bounded(new Promise(() => undefined), { signal: controller.signal });
  controller.abort();
  expect(await waiting).toBe("cancelled");
  expect(await bounded(Promise.resolve("done"), { signal: controller.signal })).toBe("cancelled");
});

test("a terminal keeps the end of its output, whole characters, within its limit", async () => {
  const processes = createProcessOwner();
  const terminals = createTerminals(processes, () => undefined);
  const env = { PATH: "/usr/bin:/bin" };
  const argv = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do printf é; i=$((i+1)); done; printf end"];
  const id = await terminals.create({ argv, cwd: "/tmp", relativeCwd: ".", env, outputBytes: 1000 });
  expect(await terminals.wait(id)).toEqual({ exitCode: 0, signal: null });
  const { output, truncated } = terminals.output(id);
  expect(truncated).toBe(true);
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(1000);
  expect(Buffer.byteLength(output)).toBeGreaterThan(990);
  expect(output).toMatch(/^é+end$/);
  await terminals.releaseAll();
  await processes.reapAll();
});

test("names that objects have by birth are names like any other", () => {
  for (const name of ["constructor", "__proto__", "toString"]) expect(kindOf(name)).toBe("other");
  expect(kindOf("run_shell")).toBe("execute");
});

test("titles say in one line what a call does", () => {
  const cases: [string, Record<string, unknown>, string][] = [
    ["run_shell", { argv: ["git", "commit", "-m", "two words\n"] }, 'Run git commit -m "two words\\n"'],
    ["run_shell", { argv: ["make"], cwd: "app" }, "Run make (in app)"],
    ["write_patch", { patches: [{ path: "a" }, { path: "a" }] }, "Edit a"],
    ["search_text", { pattern: "x y", path: "src" }, 'Search "x y" in src'],
    ["read_file_range", { path: "a", start_line: 3, end_line: 9 }, "Read a:3-9"],
    ["mcp__files__read", {}, "mcp__files__read"],
    ["mcp__files__do", { action: "delete" }, "mcp__files__do"],
    ["background_process", { action: "output", process_id: "bg-1" }, "background_process: output"],
    ["acp:other execute", { argv: ["rm", "-rf", "x"] }, "acp:other execute: rm -rf x"],
    ["edit", { action: "Edit the file", kind: "edit" }, "edit: Edit the file"],
    ["read_file_range", { path: 7 }, "Read a file"],
    ["create_file", { path: `a\nb${"c".repeat(400)}` }, `Create a b${"c".repeat(150)}`],
  ];
  for (const [name, input, title] of cases) expect(titleOf(name, input)).toBe(title);
  expect(kindOf("mcp__files__read")).toBe("other");
  expect(kindOf("execute")).toBe("execute");
});

test("odd addresses and texts of an editor are taken as they are", () => {
  const link = (uri: string) => promptText([{ type: "resource_link", uri, name: "it" }], "/ws");
  expect(link("file:///ws/a%20b.ts#L3-5")).toEqual({ ok: true, text: "`a b.ts` (lines 3-5)" });
  expect(link("file:///ws/a b.ts#L 3")).toEqual({ ok: true, text: "`a b.ts` (lines  3)" });
  for (const uri of ["file:///ws/a#%zz", "file://host/a", "file://:"]) {
    expect(link(uri)).toEqual({ ok: true, text: `[it](${uri})` });
  }
  const text = "```\n".repeat(200_000);
  const given = promptText([{ type: "resource", resource: { uri: "file:///ws/f.md", text } }], "/ws");
  expect(given.ok && given.text.endsWith("\n````")).toBe(true);
});
