/** Servers over HTTP (cases M12, M13, C10): expired sessions, silent streams, older servers, refusals. */
import { expect, test } from "bun:test";
import { httpPlan, openFleet } from "./fleet.ts";
import { startHttp } from "./http-server.ts";

test("a server over HTTP: headers are sent, a tool answers, the session is ended at close", async () => {
  await using server = startHttp();
  const plan = httpPlan("h", server.url, {
    transport: { kind: "http", url: server.url, headers: { authorization: "Bearer abc", "x-team": "a" }, sse: false },
  });
  await using fleet = await openFleet([plan]);
  await fleet.ready();
  expect(await fleet.call("mcp__h__echo", { a: 1 })).toMatchObject({ status: "ok", text: '{"a":1}' });
  await fleet.servers.close();
  expect(server.seen).toEqual(["initialize -", "notifications/initialized s1", "tools/list s1", "tools/call s1", "DELETE s1"]);
  expect(server.headers.every((headers) => headers.get("x-team") === "a" && headers.get("authorization") === "Bearer abc")).toBe(
    true,
  );
});

for (const status of [404, 400]) {
  test(`M12 an expired session (${status}): a new one without the old id, the call once more`, async () => {
    await using server = startHttp({ expiredStatus: status });
    await using fleet = await openFleet([httpPlan("h", server.url)]);
    await fleet.ready();
    server.expire();
    server.seen.length = 0;
    expect(await fleet.call("mcp__h__echo", { n: 1 })).toMatchObject({ status: "ok", text: '{"n":1}' });
    expect(server.seen).toEqual(["tools/call s1", "initialize -", "notifications/initialized s2", "tools/call s2"]);
    expect(await fleet.call("mcp__h__echo", { n: 2 })).toMatchObject({ status: "ok" });
    expect(server.seen.at(-1)).toBe("tools/call s2");
  });
}

test("M12 the new session is refused as well: an error, no loop", async () => {
  await using server = startHttp({ alwaysExpired: true });
  await using fleet = await openFleet([httpPlan("h", server.url)]);
  await fleet.ready();
  server.expire();
  server.seen.length = 0;
  const result = await fleet.call("mcp__h__echo");
  expect(result).toMatchObject({ status: "failed", text: "echo of MCP server h failed: it answers with HTTP 404." });
  expect(server.seen.filter((line) => line.startsWith("tools/call"))).toEqual(["tools/call s1", "tools/call s2"]);
});

test("M12 several calls at once make one new session", async () => {
  await using server = startHttp();
  await using fleet = await openFleet([httpPlan("h", server.url)]);
  await fleet.ready();
  server.expire();
  const results = await Promise.all([1, 2, 3].map((n) => fleet.call("mcp__h__echo", { n })));
  expect(results.map((result) => result.text)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  expect(server.seen.filter((line) => line.startsWith("initialize"))).toHaveLength(2);
});

test("M13 a stream that starts and stops: the limit ends the call, and the next one works", async () => {
  await using server = startHttp({ silentCall: true });
  await using fleet = await openFleet([httpPlan("h", server.url, { timeoutMs: 300 })]);
  await fleet.ready();
  const began = performance.now();
  expect(await fleet.call("mcp__h__echo")).toMatchObject({
    status: "failed",
    text: "echo of MCP server h failed: no answer within 300 ms.",
  });
  expect(performance.now() - began).toBeLessThan(3000);
  while (!server.seen.includes("notifications/cancelled s1")) await Bun.sleep(2);
  expect(await fleet.call("mcp__h__echo")).toMatchObject({ status: "failed" });
});

test("M13 Esc reaches a silent stream, and closing lets go of it (C10)", async () => {
  await using server = startHttp({ silentCall: true });
  await using fleet = await openFleet([httpPlan("h", server.url, { timeoutMs: 60_000 })]);
  await fleet.ready();
  const controller = new AbortController();
  const pending = fleet.call("mcp__h__echo", {}, controller.signal);
  while (!server.seen.includes("tools/call s1")) await Bun.sleep(2);
  controller.abort("user");
  expect(await pending).toMatchObject({ status: "cancelled" });
  const began = performance.now();
  await fleet.servers.close();
  await server.left;
  expect(performance.now() - began).toBeLessThan(1500);
});

test("a server of the older transport is reached after the newer one was refused", async () => {
  await using server = startHttp({ older: true });
  await using fleet = await openFleet([httpPlan("h", server.url)]);
  await fleet.ready();
  expect(await fleet.call("mcp__h__echo", { a: 1 })).toMatchObject({ status: "ok", text: '{"a":1}' });
  expect(fleet.diagnostics).toEqual([]);
});

test("a server that only speaks the protocol's newer revisions is reached, too", async () => {
  await using server = startHttp({ newer: true });
  await using fleet = await openFleet([httpPlan("h", server.url)]);
  await fleet.ready();
  expect(await fleet.call("mcp__h__echo", { a: 1 })).toMatchObject({ status: "ok", text: '{"a":1}' });
  expect(fleet.diagnostics).toEqual([]);
  expect(server.seen.slice(0, 2)).toEqual(["initialize newer", "server/discover newer"]);
});

test("M14 an answer without an end is given up, and let go of", async () => {
  await using server = startHttp({ endlessCall: true });
  await using fleet = await openFleet([httpPlan("h", server.url, { timeoutMs: 60_000 })]);
  await fleet.ready();
  const result = await fleet.call("mcp__h__echo");
  expect(result).toMatchObject({ status: "failed" });
  expect(result.text).toContain("longer than 32 MiB");
  await server.left;
});

test("refusals are said in words that help", async () => {
  await using locked = startHttp({ status: 401 });
  await using broken = startHttp({ status: 500 });
  const nobody = startHttp();
  const url = nobody.url;
  await nobody[Symbol.asyncDispose]();
  await using fleet = await openFleet([httpPlan("locked", locked.url), httpPlan("broken", broken.url), httpPlan("nobody", url)]);
  await fleet.ready();
  expect(fleet.diagnostics.map((diagnostic) => diagnostic.message).sort()).toEqual([
    "MCP server broken: it answers with HTTP 500",
    "MCP server locked: it needs a login: thndrs mcp login locked",
    "MCP server nobody: the connection was refused",
  ]);
});
