/** Servers over stdio that misbehave (cases M01–M04, M11, M15–M17), against the product's own client code. */
import { afterEach, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { isRunning, runningWith } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";
import type { Manners } from "./fake-server.ts";
import { FAKE, fakeCommand, openFleet, stdioPlan } from "./fleet.ts";

const fake = (manners: Manners, more: Parameters<typeof stdioPlan>[2] = {}) => stdioPlan("fake", fakeCommand(manners), more);

type Line = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly error?: unknown;
};

function logged(path: string): Line[] {
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/** Looks until something is there; the test's own limit ends the wait. */
async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (;;) {
    const found = look();
    if (found) return found;
    await Bun.sleep(5);
  }
}

let tokens = 0;
/** A word in a server's command line by which its processes are found. */
const mark = (): string => `mark-${process.pid}-${++tokens}`;

afterEach(() => {
  expect(runningWith(`mark-${process.pid}-`)).toEqual([]);
});

test("M01 junk on stdout is skipped with one diagnostic, and the tools work", async () => {
  await using fleet = await openFleet([fake({ junk: true })]);
  await fleet.ready();
  expect(await fleet.call("mcp__fake__echo", { a: 1 })).toMatchObject({ status: "ok", text: '{"a":1}' });
  expect(fleet.diagnostics.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["info mcp.junk"]);
  expect(fleet.diagnostics[0]?.message.length).toBeLessThan(300);
});

test("M02 servers that never get ready cost only themselves, and are gone", async () => {
  const [sleeper, silent] = [mark(), mark()];
  await using fleet = await openFleet([
    stdioPlan("asleep", ["sh", "-c", `sleep 1000 # ${sleeper}`], { timeoutMs: 300 }),
    stdioPlan("missing", ["no-such-program-anywhere"]),
    stdioPlan("dead", fakeCommand({ dieIn: "start" })),
    stdioPlan("silent", [...fakeCommand({ never: "tools/list" }), silent], { timeoutMs: 600 }),
    fake({}),
  ]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__fake__echo"]);
  const said = fleet.diagnostics.map((diagnostic) => diagnostic.message).sort();
  expect(said).toEqual([
    "MCP server asleep: no answer within 300 ms",
    "MCP server dead: it exited with code 1",
    'MCP server missing: There is no program "no-such-program-anywhere" on PATH',
    "MCP server silent: no answer within 600 ms",
  ]);
  expect(fleet.diagnostics.every((diagnostic) => diagnostic.severity === "warning")).toBe(true);
  await until(() => runningWith(sleeper).length + runningWith(silent).length === 0);
});

test("M02 the first request waits at most the start time-out, names who is missing, and the late server joins", async () => {
  await using fleet = await openFleet([fake({ slow: 800 }), stdioPlan("quick", fakeCommand({}))], { startTimeoutMs: 500 });
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__quick__echo"]);
  expect(fleet.diagnostics.map((diagnostic) => diagnostic.message)).toEqual([
    "MCP server fake not ready after 500 ms; going on without",
  ]);
  await until(() => fleet.names().length === 2);
  expect(fleet.names()).toEqual(["mcp__fake__echo", "mcp__quick__echo"]);
  const before = fleet.servers.entries();
  await fleet.ready();
  expect(fleet.servers.entries()).toBe(before);
  expect(fleet.diagnostics).toHaveLength(1);
});

const wrapped = (word: string): readonly string[] => {
  const command = fakeCommand({ stubborn: true });
  const quoted = command.map((part) => `'${part}'`).join(" ");
  return ["sh", "-c", `trap '' TERM HUP; exec 3<&0; ${quoted} ${word} <&3 & wait; wait; wait`];
};

test("M03 a stubborn server behind a wrapper is gone at close, with its tree", async () => {
  const word = mark();
  await using fleet = await openFleet([stdioPlan("wrapped", wrapped(word))]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__wrapped__echo"]);
  expect(runningWith(word).length).toBeGreaterThanOrEqual(2);
  const began = performance.now();
  await fleet.servers.close();
  expect(performance.now() - began).toBeLessThan(2500);
  expect(runningWith(word)).toEqual([]);
});

test("M03 a connect that fails leaves nothing, and neither does one that is still under way", async () => {
  const [failing, waiting] = [mark(), mark()];
  const never = (word: string): readonly string[] => [
    "sh",
    "-c",
    `'${process.execPath}' '${FAKE}' '${JSON.stringify({ stubborn: true, never: "initialize" })}' ${word} <&0 & wait; wait`,
  ];
  await using fleet = await openFleet(
    [stdioPlan("failing", never(failing), { timeoutMs: 400 }), stdioPlan("waiting", never(waiting), { timeoutMs: 60_000 })],
    { startTimeoutMs: 600 },
  );
  await fleet.ready();
  await until(() => runningWith(failing).length === 0);
  await until(() => runningWith(waiting).length > 0);
  await fleet.servers.close();
  await fleet.processes.reapAll();
  expect(runningWith(waiting)).toEqual([]);
});

test("M04 death in a call is a tool error at once; the next call finds a new server", async () => {
  await using fleet = await openFleet([fake({ dieIn: "tools/call", stderr: "boom: disk full" }, { timeoutMs: 20_000 })]);
  await fleet.ready();
  const began = performance.now();
  const result = await fleet.call("mcp__fake__echo");
  expect(performance.now() - began).toBeLessThan(4000);
  expect(result).toMatchObject({ status: "failed" });
  expect(result.text).toBe("echo of MCP server fake failed: it exited with code 3; its last words: boom: disk full.");
  expect(fleet.names()).toEqual(["mcp__fake__echo"]);
  expect(await fleet.call("mcp__fake__echo")).toMatchObject({ status: "failed", text: result.text });
});

test("M04 a server that died between calls is started again, but not for ever", async () => {
  const word = mark();
  const argv = [...fakeCommand({ tools: [{ name: "echo" }] }), word];
  await using fleet = await openFleet([stdioPlan("fake", argv)]);
  await fleet.ready();
  for (let round = 0; round < 4; round++) {
    if ((await fleet.call("mcp__fake__echo")).status !== "ok") break;
    const [pid = 0] = runningWith(word);
    process.kill(pid, "SIGKILL");
    await until(() => fleet.servers.status()[0]?.state === "ended");
  }
  const last = await fleet.call("mcp__fake__echo");
  expect(last.status).toBe("failed");
  expect(last.text).toContain("restarted 3 times");
});

test("M04 a call without an answer ends at the server's limit, and cancel is sent", async () => {
  await using dir = await tempDir();
  const log = dir.at("log");
  await using fleet = await openFleet([fake({ never: "tools/call", log }, { timeoutMs: 300 })]);
  await fleet.ready();
  expect(await fleet.call("mcp__fake__echo")).toMatchObject({
    status: "failed",
    text: "echo of MCP server fake failed: no answer within 300 ms.",
  });
  const cancelled = await until(() => logged(log).find((line) => line.method === "notifications/cancelled"));
  const call = logged(log).find((line) => line.method === "tools/call");
  expect(cancelled.params?.requestId).toBe(call?.id);
});

test("M04 Esc during a call: cancelled at once, and the server is told", async () => {
  await using dir = await tempDir();
  const log = dir.at("log");
  await using fleet = await openFleet([fake({ never: "tools/call", log }, { timeoutMs: 60_000 })]);
  await fleet.ready();
  const controller = new AbortController();
  const pending = fleet.call("mcp__fake__echo", {}, controller.signal);
  await until(() => existsSync(log) && logged(log).some((line) => line.method === "tools/call"));
  controller.abort("user");
  expect(await pending).toMatchObject({ status: "cancelled" });
  await until(() => logged(log).some((line) => line.method === "notifications/cancelled"));
});

test("M11 a change between turns counts for the next request", async () => {
  await using dir = await tempDir();
  const flag = dir.at("change");
  const log = dir.at("log");
  await using fleet = await openFleet([fake({ tools: [{ name: "a" }], changeWhen: flag, log })]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__fake__a"]);
  const before = fleet.servers.entries();
  const removed = before[0];
  await writeFile(flag, "");
  await until(() => fleet.servers.entries() !== before);
  expect(fleet.names()).toEqual(["mcp__fake__b"]);
  // The model calls what it still remembers: an error for it, no crash.
  const tool = await removed?.load();
  const signal = new AbortController().signal;
  const result = await tool?.run({}, { signal } as Parameters<typeof tool.run>[1]);
  expect(result).toMatchObject({ status: "failed" });
  expect(result?.text).toContain("no tool a");
});

test("M11 a change in the middle of a call counts as soon as the call is over", async () => {
  await using fleet = await openFleet([fake({ tools: [{ name: "a" }], inCall: "change" })]);
  await fleet.ready();
  expect(await fleet.call("mcp__fake__a")).toMatchObject({ status: "ok" });
  expect(fleet.names()).toEqual(["mcp__fake__b"]);
});

test("M11 a server that announces changes without end is asked once a second", async () => {
  await using dir = await tempDir();
  const log = dir.at("log");
  await using fleet = await openFleet([fake({ storm: true, log })]);
  await fleet.ready();
  const began = performance.now();
  for (let n = 0; performance.now() - began < 1500; n++) await fleet.call("mcp__fake__echo", { n });
  expect(logged(log).filter((line) => line.method === "tools/list").length).toBeLessThanOrEqual(5);
});

test("M15 declared variables and a short safe list, nothing else; the directory is the configured one", async () => {
  const env = {
    ...process.env,
    OPENAI_API_KEY: "sk-should-not-be-there",
    AWS_SECRET_ACCESS_KEY: "should-not-be-there",
    MY_HARMLESS_SETTING: "x",
    LC_TIME: "C.UTF-8",
    BUN_OPTIONS: "--no-such",
  };
  await using dir = await tempDir();
  const argv = fakeCommand({ tools: [{ name: "environment" }] });
  const [command = "", ...args] = argv;
  const plan = stdioPlan("fake", argv, {
    transport: { kind: "stdio", command, args, env: { DECLARED: "yes", PATH: "/usr/bin:/bin" }, cwd: dir.path },
  });
  await using fleet = await openFleet([plan], { inherit: env });
  await fleet.ready();
  const seen = JSON.parse((await fleet.call("mcp__fake__environment")).text) as { env: Record<string, string>; cwd: string };
  expect(seen.cwd).toBe(dir.path);
  expect(seen.env).toMatchObject({ DECLARED: "yes", LC_TIME: "C.UTF-8", PATH: "/usr/bin:/bin" });
  const allowed =
    /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP|TERM|NO_COLOR|LC_\w+|THNDRS_PROCESS|DECLARED|PWD|_|SHLVL|OLDPWD)$/;
  expect(Object.keys(seen.env).filter((name) => !allowed.test(name))).toEqual([]);
});

test("M16 a flood on stderr blocks nothing and is kept in part", async () => {
  await using fleet = await openFleet([fake({ stderrFlood: 5_000_000, inCall: "flood", stderr: "first words" })]);
  await fleet.ready();
  for (let round = 0; round < 3; round++) {
    expect(await fleet.call("mcp__fake__echo", { round })).toMatchObject({ status: "ok", text: `{"round":${round}}` });
  }
  expect(fleet.diagnostics).toEqual([]);
});

test("M17 stray messages change nothing", async () => {
  await using fleet = await openFleet([fake({ inCall: "stray" })]);
  await fleet.ready();
  for (const n of [1, 2, 3]) {
    expect(await fleet.call("mcp__fake__echo", { n })).toMatchObject({ status: "ok", text: `{"n":${n}}` });
  }
  expect(fleet.diagnostics).toEqual([]);
});

test("M17 the server's questions are answered or refused by the book", async () => {
  await using dir = await tempDir();
  const log = dir.at("log");
  await using fleet = await openFleet([fake({ inCall: "ask", log })]);
  await fleet.ready();
  expect(await fleet.call("mcp__fake__echo")).toMatchObject({ status: "ok" });
  const answers = await until(() => {
    const lines = logged(log).filter((line) => line.method === undefined);
    return lines.length === 5 && lines;
  });
  const byId = new Map(answers.map((line) => [line.id, line]));
  expect(byId.get("q1")).toMatchObject({ result: { roots: [{ uri: `file://${fleet.dir.path}` }] } });
  expect(byId.get("q2")).toMatchObject({ error: { code: -32601 } });
  expect(byId.get(3)).toMatchObject({ error: { code: -32601 } });
  expect(byId.get(4)).toMatchObject({ result: {} });
  expect(byId.get(5)).toMatchObject({ error: { code: -32601 } });
});

test("M17 an answer that comes after its cancel is not taken for another call's", async () => {
  const script = `
    const say = (m) => console.log(JSON.stringify({ jsonrpc: "2.0", ...m }));
    let first;
    for await (const line of console) {
      const m = JSON.parse(line);
      if (m.method === "initialize") say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "late", version: "1" } } });
      if (m.method === "tools/list") say({ id: m.id, result: { tools: [{ name: "t", inputSchema: { type: "object" } }] } });
      if (m.method === "tools/call") {
        if (first === undefined) { first = m.id; continue; }
        say({ id: first, result: { content: [{ type: "text", text: "late" }] } });
        say({ id: m.id, result: { content: [{ type: "text", text: "mine" }] } });
      }
    }`;
  await using fleet = await openFleet([stdioPlan("late", [process.execPath, "-e", script], { timeoutMs: 10_000 })]);
  await fleet.ready();
  const controller = new AbortController();
  const first = fleet.call("mcp__late__t", {}, controller.signal);
  await Bun.sleep(0);
  controller.abort("user");
  expect(await first).toMatchObject({ status: "cancelled" });
  expect(await fleet.call("mcp__late__t")).toMatchObject({ status: "ok", text: "mine" });
});

test("a server removed by a change of the configuration is ended, another one started", async () => {
  const word = mark();
  await using fleet = await openFleet([stdioPlan("old", [...fakeCommand({}), word])]);
  await fleet.ready();
  const [pid] = runningWith(word);
  const next = stdioPlan("new", fakeCommand({ tools: [{ name: "n" }] }));
  await fleet.servers.update({
    listed: [{ name: "new", from: "", target: "", state: "configured", plan: next }],
    diagnostics: [],
    files: [],
  });
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__new__n"]);
  expect(isRunning(pid ?? 0)).toBe(false);
});
