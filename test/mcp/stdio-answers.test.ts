/** Answers over stdio slightly off the protocol, and calls that report progress. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { tempDir } from "../support/temp.ts";
import { fakeCommand, openFleet, stdioPlan } from "./fleet.ts";

const RESULT = { content: [{ type: "text", text: "pong" }] };
const failure = (reason: string) => `echo of MCP server fake failed: ${reason}.`;

test.each([
  ["an error that is null", { jsonrpc: "2.0", result: RESULT, error: null }, "ok", "pong"],
  ["_meta: null", { jsonrpc: "2.0", result: { ...RESULT, _meta: null, isError: null } }, "ok", "pong"],
  ["no version", { result: RESULT }, "ok", "pong"],
  ["a text error", { jsonrpc: "2.0", error: "just text" }, "failed", failure("it answers with an error: just text")],
  [
    "a text error code",
    { jsonrpc: "2.0", error: { code: "E", message: "text code" } },
    "failed",
    failure("it answers with an error: text code (E)"),
  ],
  ["no result", { jsonrpc: "2.0", result: null }, "failed", failure("its answer holds neither a result nor an error")],
  ["a result that is a list", { jsonrpc: "2.0", result: [] }, "failed", failure("the result it answers with is no object")],
] as const)("a reply with %s settles the call", async (_what, reply, status, text) => {
  await using fleet = await openFleet([stdioPlan("fake", fakeCommand({ reply }), { timeoutMs: 60_000 })]);
  await fleet.ready();
  expect(await fleet.call("mcp__fake__echo")).toMatchObject({ status, text });
});

test("nulls in a handshake cost nothing", async () => {
  const handshake = {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {}, resources: null, prompts: null, logging: null },
    serverInfo: { name: "s", version: "1" },
    instructions: null,
    _meta: null,
  };
  await using fleet = await openFleet([stdioPlan("fake", fakeCommand({ handshake }))]);
  await fleet.ready();
  expect(fleet.diagnostics).toEqual([]);
  expect(fleet.names()).toEqual(["mcp__fake__echo"]);
});

test("a call that reports progress may take longer than the limit", async () => {
  const manners = { progress: { everyMs: 100, times: 25 } };
  await using fleet = await openFleet([stdioPlan("fake", fakeCommand(manners), { timeoutMs: 2000 })]);
  await fleet.ready();
  expect(await fleet.call("mcp__fake__echo", { a: 1 })).toMatchObject({ status: "ok", text: '{"a":1}' });
});

test("but not for ever: it is told to stop", async () => {
  await using dir = await tempDir();
  const log = dir.at("log");
  const manners = { progress: { everyMs: 20 }, log };
  await using fleet = await openFleet([stdioPlan("fake", fakeCommand(manners), { timeoutMs: 500 })], { maxCallMs: 600 });
  await fleet.ready();
  expect(await fleet.call("mcp__fake__echo")).toMatchObject({
    status: "failed",
    text: failure("it was still at work after 600 ms and was told to stop"),
  });
  while (!readFileSync(log, "utf8").includes("notifications/cancelled")) await Bun.sleep(2);
});
