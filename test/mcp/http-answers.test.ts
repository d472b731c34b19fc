/** Answers over HTTP that were run again, waited for or lost: each settles its call, once, with the server's own words. */
import { expect, test } from "bun:test";
import { httpPlan, openFleet } from "./fleet.ts";
import { type Message, startHttp } from "./http-server.ts";

const rpc = (body: object, status = 200): Response => Response.json({ jsonrpc: "2.0", ...body }, { status });
const events = (text: string): Response => new Response(text, { headers: { "content-type": "text/event-stream" } });
const pong = (id: Message["id"]) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "pong" }] } });

/** What one call comes to, and how often the server was asked. */
async function callOnce(answer: (message: Message, count: number) => Response | undefined, timeoutMs = 60_000) {
  await using server = startHttp({
    instead: (message, count) => (message.method === "tools/call" ? answer(message, count) : undefined),
  });
  await using fleet = await openFleet([httpPlan("h", server.url, { timeoutMs })]);
  await fleet.ready();
  const { status, text } = await fleet.call("mcp__h__echo", { a: 1 });
  return { status, text, calls: server.seen.filter((line) => line.startsWith("tools/call")) };
}

test.each([
  [400, -32602, "Invalid params: a missing"],
  [404, -32602, "document not found"],
  [500, -32603, "out of paper"],
])("HTTP %d with a JSON-RPC error for the request is the answer: no second run", async (status, code, message) => {
  const result = await callOnce(({ id }) => rpc({ id, error: { code, message } }, status));
  expect(result).toEqual({
    status: "failed",
    text: `echo of MCP server h failed: it answers with an error: ${message} (${code}).`,
    calls: ["tools/call s1"],
  });
});

test.each([400, 500])("HTTP %d on the older transport ends the call, whatever its body says", async (status) => {
  await using server = startHttp({
    older: true,
    instead: ({ id, method }) =>
      method === "tools/call" ? rpc({ id, error: { code: -32602, message: "bad arguments" } }, status) : undefined,
  });
  await using fleet = await openFleet([httpPlan("h", server.url, { timeoutMs: 60_000 })]);
  await fleet.ready();
  const { status: ended, text } = await fleet.call("mcp__h__echo", { a: 1 });
  expect([ended, text]).toEqual(["failed", expect.stringMatching(new RegExp(`HTTP ${status}.*bad arguments`)) as never]);
  expect(server.seen.filter((line) => line.startsWith("tools/call"))).toEqual(["tools/call older"]);
});

test.each([
  ["an error that names no request", { id: null, error: { code: -32000, message: "no valid session" } }, 400],
  ["an error with a name of its own", { id: "server-error", error: { code: -32600, message: "Session not found" } }, 404],
])("M12 %s is still an expired session", async (_what, body, status) => {
  const result = await callOnce((_message, count) => (count === 0 ? rpc(body, status) : undefined));
  expect(result).toMatchObject({ status: "ok", calls: ["tools/call s1", "tools/call s2"] });
});

test.each([
  [-32001, "Session not found"],
  [-32000, "gone"],
  [-32602, "Session abc-123 has expired"],
  [-32600, "Unknown session"],
  [404, "The session could not be found."],
])("M12 404 with %d, %j is a session that is not known, whatever request it names", async (code, message) => {
  const result = await callOnce(({ id }, count) => (count === 0 ? rpc({ id, error: { code, message } }, 404) : undefined));
  expect(result).toMatchObject({ status: "ok", calls: ["tools/call s1", "tools/call s2"] });
});

test("a refusal that comes again is said in its own words", async () => {
  const body = { id: null, error: { code: -32000, message: "Bad Request: no valid session" } };
  expect(await callOnce(() => rpc(body, 400))).toMatchObject({
    text: "echo of MCP server h failed: it answers with HTTP 400: Bad Request: no valid session.",
    calls: ["tools/call s1", "tools/call s2"],
  });
});

test.each([
  ["with nothing", ": hi\n\n"],
  ["with an id to go on from, where nothing can be gone on with", "id: 5\nretry: 1\ndata:\n\n"],
  ["with something else", "data: no json\n\n"],
])("a stream of events that ends %s ends the call", async (_how, text) => {
  expect(await callOnce(() => events(text))).toMatchObject({
    status: "failed",
    text: "echo of MCP server h failed: its stream of events ended without an answer.",
  });
});

test.each([
  ["a last event without a blank line", ({ id }: Message) => events(`data: ${JSON.stringify(pong(id))}`)],
  [
    "an event with an error that is null",
    ({ id }: Message) => events(`data: ${JSON.stringify({ ...pong(id), error: null })}\n\n`),
  ],
  ["a body with _meta: null", ({ id }: Message) => rpc({ id, result: { ...pong(id).result, _meta: null } })],
  ["a body without a version", ({ id }: Message) => Response.json({ id, result: pong(id).result })],
])("%s is an answer", async (_what, answer) => {
  expect(await callOnce(answer)).toMatchObject({ status: "ok", text: "pong" });
});

test.each([
  [
    "an error without an id",
    { jsonrpc: "2.0", id: null, error: { code: -1, message: "no" } },
    "it answers with an error: no (-1)",
  ],
  ["other JSON", { foo: 1 }, "what it answers with is no answer to what was asked"],
  [
    "an answer to something else",
    { jsonrpc: "2.0", id: 4711, result: {} },
    "what it answers with is no answer to what was asked",
  ],
])("%s settles the call", async (_what, body, reason) => {
  expect(await callOnce(() => Response.json(body))).toMatchObject({
    status: "failed",
    text: `echo of MCP server h failed: ${reason}.`,
  });
});

test.each([
  ["nulls", { _meta: null, instructions: null }, []],
  ["another shape", { protocolVersion: 5 }, ["MCP server h: its answer to the handshake is not what the protocol says"]],
])("a handshake with %s", async (_what, more, said) => {
  const serverInfo = { name: "h", version: "1" };
  const capabilities = { tools: {}, experimental: null };
  await using server = startHttp({
    instead: ({ id, method, params }) =>
      method === "initialize"
        ? rpc({ id, result: { protocolVersion: params?.protocolVersion, capabilities, serverInfo, ...more } })
        : method === "tools/list"
          ? rpc({ id, result: { tools: [{ name: "echo" }] } })
          : undefined,
  });
  await using fleet = await openFleet([httpPlan("h", server.url)]);
  await fleet.ready();
  const warnings = fleet.diagnostics.filter(({ severity }) => severity === "warning");
  expect(warnings.map(({ message }) => message)).toEqual(said);
  expect(fleet.names()).toEqual(said.length === 0 ? ["mcp__h__echo"] : []);
});
