/** Messages slightly off JSON-RPC: each becomes one the protocol's client takes, and a good one stays the same object. */
import { expect, test } from "bun:test";
import { isJSONRPCErrorResponse, isJSONRPCNotification, isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import { mendedEvents } from "../../src/mcp/mended-events.ts";
import { mendMessage, WHOLE_SENTENCE } from "../../src/mcp/mended-messages.ts";

const RESULT = { content: [{ type: "text", text: "x" }] };

test.each([
  ["an error that is null", { jsonrpc: "2.0", id: 1, result: RESULT, error: null }],
  ["no version", { id: 1, result: RESULT }],
  ["another version", { jsonrpc: "1.0", id: 1, result: RESULT }],
  ["a member more", { jsonrpc: "2.0", id: 1, result: RESULT, extra: true }],
  ["_meta: null", { jsonrpc: "2.0", id: 1, result: { ...RESULT, _meta: null } }],
  ["_meta that is none", { jsonrpc: "2.0", id: 1, result: { ...RESULT, _meta: "x" } }],
])("a result with %s is read", (_what, message) => {
  const mended = mendMessage(message);
  expect(mended).toEqual({ jsonrpc: "2.0", id: 1, result: RESULT });
  expect(isJSONRPCResultResponse(mended)).toBe(true);
});

test.each([
  [{ error: "just text" }, WHOLE_SENTENCE, "it answers with an error: just text"],
  [{ error: { code: "E", message: "text code" } }, WHOLE_SENTENCE, "it answers with an error: text code (E)"],
  [{ error: { code: "-32000", message: "a number as text" } }, -32000, "a number as text"],
  [{ error: { code: 5 } }, 5, '{"code":5}'],
  [{ error: { code: 1.5, message: null } }, WHOLE_SENTENCE, 'it answers with an error: {"code":1.5,"message":null} (1.5)'],
  [{ error: ["a"], result: {} }, WHOLE_SENTENCE, 'it answers with an error: ["a"]'],
  [{ error: { code: 7, message: "m" }, result: null }, 7, "m"],
  [{ result: null }, WHOLE_SENTENCE, "its answer holds neither a result nor an error"],
  [{}, WHOLE_SENTENCE, "its answer holds neither a result nor an error"],
  [{ result: [] }, WHOLE_SENTENCE, "the result it answers with is no object"],
])("the reply %j is an error with the server's own words", (members, code, message) => {
  const mended = mendMessage({ jsonrpc: "2.0", id: 1, ...members });
  expect(mended?.error).toMatchObject({ code, message });
  expect(isJSONRPCErrorResponse(mended)).toBe(true);
});

test("nulls in a handshake are absent", () => {
  const result = {
    protocolVersion: "2025-06-18",
    capabilities: { tools: { listChanged: null }, prompts: null, experimental: { a: null } },
    serverInfo: { name: "s", version: "1", title: null },
    instructions: null,
    _meta: null,
  };
  expect(mendMessage({ jsonrpc: "2.0", id: 1, result })?.result).toEqual({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {}, experimental: {} },
    serverInfo: { name: "s", version: "1" },
  });
  const good = { jsonrpc: "2.0", id: 1, result: { protocolVersion: "x", capabilities: {}, serverInfo: { name: "s" } } };
  expect(mendMessage(good)).toBe(good as never);
});

test("nulls in a notification are absent", () => {
  const progress = { progressToken: 1, progress: 2, total: null, message: null, _meta: null };
  const mended = mendMessage({ jsonrpc: "2.0", id: null, method: "notifications/progress", params: progress });
  expect(mended).toEqual({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 2 } });
  expect(isJSONRPCNotification(mended)).toBe(true);
  expect(mendMessage({ jsonrpc: "2.0", method: "m", params: null })).toEqual({ jsonrpc: "2.0", method: "m" });
});

async function stream(chunks: readonly (string | Uint8Array)[]): Promise<string> {
  const bytes = new TextEncoder();
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === "string" ? bytes.encode(chunk) : chunk);
      controller.close();
    },
  });
  return new Response(source.pipeThrough(mendedEvents())).text();
}

test("events: messages are mended, whatever the line ends and the pieces; the rest passes", async () => {
  const text =
    ': hello\n\nevent: endpoint\ndata: /messages\n\nid: 5\nretry: 100\ndata:\n\nid: 6\r\ndata: {"jsonrpc":"2.0","id":1,\r\ndata: "result":{"t":"é"},"error":null}\r\n\r\ndata: no json\r\rdata: [{"id":2,"result":{}},{"id":3,"result":{}}]\n\nevent: message\ndata: {"jsonrpc":"2.0","method":"m"}';
  const want =
    ': hello\n\nevent: endpoint\ndata: /messages\n\nid: 5\nretry: 100\ndata:\n\nid: 6\ndata: {"jsonrpc":"2.0","id":1,"result":{"t":"é"}}\n\ndata: no json\n\ndata: {"jsonrpc":"2.0","id":2,"result":{}}\n\ndata: {"jsonrpc":"2.0","id":3,"result":{}}\n\nevent: message\ndata: {"jsonrpc":"2.0","method":"m"}\n\n';
  expect(await stream([text])).toBe(want);
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.slice(n * size, (n + 1) * size));
    expect(await stream(pieces)).toBe(want);
  }
});

test("an event that never ends is not held", async () => {
  const part = `data: ${"x".repeat(1024 * 1024)}\n`;
  const chunks = Array.from({ length: 34 }, () => part);
  expect(await stream(chunks).catch((error: Error) => error.name)).toBe("MessageTooLong");
});
