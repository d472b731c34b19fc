/** MCP through the compiled binary: real servers over stdio and HTTP, broken ones, hostile repositories, and what is left. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Manners } from "../mcp/fake-server.ts";
import { fakeCommand } from "../mcp/fleet.ts";
import { startHttp } from "../mcp/http-server.ts";
import type { Seen } from "../support/loopback.ts";
import { startModel, TEST_KEY } from "../support/model.ts";
import { type RunOptions, type RunResult, runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const MODULES = join(import.meta.dir, "..", "..", "node_modules", "@modelcontextprotocol");
const EVERYTHING = [process.execPath, join(MODULES, "server-everything", "dist", "index.js"), "stdio"];
const filesystem = (dir: string): string[] => [process.execPath, join(MODULES, "server-filesystem", "dist", "index.js"), dir];

type ServerTable = {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly [key: string]: unknown;
};

function stdio(argv: readonly string[], more: object = {}): ServerTable {
  const [command = "", ...args] = argv;
  return { command, args, ...more };
}

const fake = (manners: Manners, more: object = {}): ServerTable => stdio(fakeCommand(manners), more);

/** A user configuration with these servers. */
function toml(servers: Readonly<Record<string, ServerTable>>, head = ""): string {
  const tables = Object.entries(servers).map(([name, table]) =>
    [`[mcp.servers.${name}]`, ...Object.entries(table).map(([key, value]) => `${key} = ${inline(value)}`)].join("\n"),
  );
  return `${head}\n${tables.join("\n\n")}\n`;
}

function inline(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${key} = ${JSON.stringify(item)}`)
    .join(", ")} }`;
}

type Asked = {
  readonly result: RunResult;
  readonly requests: readonly Seen[];
  readonly tools: readonly string[];
  readonly records: Record<string, unknown>[];
};

function toolNames(request: Seen | undefined): string[] {
  const { tools = [] } = (request?.body ?? {}) as { tools?: { function: { name: string } }[] };
  return tools.map((tool) => tool.function.name).filter((name) => name.startsWith("mcp__"));
}

function records(cwd: string): Record<string, unknown>[] {
  const dir = join(cwd, ".thndrs", "sessions");
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(dir, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line));
}

/** One print-mode run with a user configuration, in `cwd`. */
async function ask(
  steps: Parameters<typeof startModel>[0],
  config: string,
  cwd: string,
  options: RunOptions = {},
): Promise<Asked> {
  await using home = await tempDir({ "config.toml": config });
  await using model = await startModel(steps);
  const result = await runThndrs({
    cwd,
    timeoutMs: 20_000,
    ...options,
    args: options.args ?? ["-p", "hi"],
    env: { ...model.env, THNDRS_HOME: home.path, ...options.env },
  });
  const { requests } = model.server;
  return { result, requests, tools: toolNames(requests[0]), records: records(cwd) };
}

const warnings = (result: RunResult): string[] => result.stderr.split("\n").filter((line) => /warning|error/.test(line));

const call = (name: string, args: object = {}) => ({ calls: [{ name, arguments: { ...args } }] });

test("server-everything over stdio: the model calls a tool and the answer comes back", async () => {
  await using dir = await tempDir();
  const servers = toml({ everything: stdio(EVERYTHING) });
  const { result, requests, tools, records } = await ask(
    [call("mcp__everything__get-sum", { a: 19, b: 23 }), { text: "42" }],
    servers,
    dir.path,
  );
  expect(result).toMatchObject({ code: 0, stdout: "42\n", leftovers: [] });
  expect(tools).toContain("mcp__everything__get-sum");
  expect(tools.length).toBeGreaterThan(8);
  expect(requests[1]?.raw).toContain("The sum of 19 and 23 is 42.");
  const done = records.find((record) => record.mcp !== undefined);
  expect(done?.mcp).toEqual({ server: "everything", tool: "get-sum" });
});

test("M15 security.md 4: a server never sees our keys", async () => {
  await using dir = await tempDir();
  const { result, requests } = await ask(
    [call("mcp__everything__get-env"), { text: "done" }],
    toml({ everything: stdio(EVERYTHING, { env: { DECLARED: "yes" } }) }),
    dir.path,
    { env: { AWS_SECRET_ACCESS_KEY: "not-for-servers", GITHUB_TOKEN: "not-for-servers" } },
  );
  expect(result.code).toBe(0);
  expect(requests[1]?.raw).toContain("DECLARED");
  for (const secret of [TEST_KEY, "not-for-servers", "OPENROUTER_API_KEY"]) expect(requests[1]?.raw).not.toContain(secret);
});

test("server-filesystem over stdio reads a file of the workspace", async () => {
  await using dir = await tempDir({ "notes.txt": "the words in the file\n" });
  const { result, requests } = await ask(
    [call("mcp__files__read_text_file", { path: dir.at("notes.txt") }), { text: "read" }],
    toml({ files: stdio(filesystem(dir.path)) }),
    dir.path,
  );
  expect(result).toMatchObject({ code: 0, stdout: "read\n", leftovers: [] });
  expect(requests[1]?.raw).toContain("the words in the file");
});

test("server-everything over HTTP, and C10: the process ends although the stream is open", async () => {
  await using dir = await tempDir();
  const server = Bun.spawn([process.execPath, join(import.meta.dir, "..", "mcp", "everything-http.ts")], {
    stdout: "pipe",
    stderr: "ignore",
    env: { PATH: process.env.PATH },
  });
  try {
    let said = "";
    for await (const chunk of server.stdout) {
      said += new TextDecoder().decode(chunk);
      if (/^\d+\n/m.test(said)) break;
    }
    const url = `http://127.0.0.1:${/^\d+/m.exec(said)?.[0]}/mcp`;
    const { result, requests } = await ask(
      [call("mcp__everything__echo", { message: "over http" }), { text: "heard" }],
      toml({ everything: { url } }),
      dir.path,
    );
    expect(result).toMatchObject({ code: 0, stdout: "heard\n", leftovers: [] });
    expect(requests[1]?.raw).toContain("Echo: over http");
    expect(result.elapsedMs).toBeLessThan(6000);
  } finally {
    server.kill();
    await server.exited;
  }
});

test("C19 a broken server costs one warning; the answer and the exit code are good", async () => {
  await using dir = await tempDir();
  const { result } = await ask([{ text: "fine" }], toml({ broken: stdio(["no-such-program"]) }), dir.path);
  expect(result).toMatchObject({ code: 0, stdout: "fine\n" });
  expect(warnings(result)).toEqual(['thndrs: warning: MCP server broken: There is no program "no-such-program" on PATH']);
});

test("M01 M16 junk and floods stay off our stdout and the tools work", async () => {
  await using dir = await tempDir();
  const { result, requests } = await ask(
    [call("mcp__noisy__echo", { a: 1 }), { text: "quiet" }],
    toml({ noisy: fake({ junk: true, stderrFlood: 5_000_000 }) }),
    dir.path,
  );
  expect(result).toMatchObject({ code: 0, stdout: "quiet\n" });
  expect(warnings(result)).toEqual([]);
  expect(result.stderr.length).toBeLessThan(500);
  expect(requests).toHaveLength(2);
});

test("M02 the first request waits at most mcp.start_timeout and names who is missing", async () => {
  await using dir = await tempDir();
  const config = toml({ slow: fake({ slow: 60_000 }), quick: fake({}) }, "[mcp]\nstart_timeout = 1");
  const { result, tools } = await ask([{ text: "went on" }], config, dir.path);
  expect(result).toMatchObject({ code: 0, stdout: "went on\n", leftovers: [] });
  expect(tools).toEqual(["mcp__quick__echo"]);
  expect(warnings(result)).toEqual(["thndrs: warning: MCP server slow not ready after 1 s; going on without"]);
});

const STUBBORN = `trap '' TERM HUP INT; exec 3<&0; "$@" <&3 & wait; wait; wait; wait`;
const wrapped = (manners: Manners): ServerTable =>
  stdio(["/bin/sh", "-c", STUBBORN, "sh", ...fakeCommand({ stubborn: true, ...manners })]);

test("M03 C10 a stubborn server behind a wrapper: nothing is left, and the end is quick", async () => {
  await using dir = await tempDir();
  const { result } = await ask([call("mcp__stays__echo"), { text: "done" }], toml({ stays: wrapped({}) }), dir.path);
  expect(result).toMatchObject({ code: 0, stdout: "done\n", leftovers: [] });
  expect(result.elapsedMs).toBeLessThan(6000);
});

test("C10 servers that hang, over HTTP and stdio: the answer comes, and then the end", async () => {
  const hang = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: () => new Promise<Response>(() => undefined) });
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(": hi\n\n")),
  });
  const half = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: () => new Response(stream, { headers: { "content-type": "text/event-stream" } }),
  });
  try {
    const servers = toml(
      {
        hang: { url: `http://127.0.0.1:${hang.port}/mcp` },
        half: { url: `http://127.0.0.1:${half.port}/mcp` },
        closer: stdio(["/bin/sh", "-c", "exec >&-; sleep 1000"]),
        asleep: stdio(["/bin/sh", "-c", "sleep 1001 & sleep 1002"]),
      },
      "[mcp]\nstart_timeout = 1",
    );
    await using home = await tempDir({ "config.toml": servers });
    await using model = await startModel([{ text: "here" }]);
    await using running = await startThndrs({ args: ["-p", "hi"], env: { ...model.env, THNDRS_HOME: home.path } });
    await running.waitFor("here", "stdout");
    const began = performance.now();
    const result = await running.exited;
    expect(performance.now() - began).toBeLessThan(3000);
    expect(result).toMatchObject({ code: 0, stdout: "here\n", leftovers: [] });
    expect(warnings(result)).toEqual([
      "thndrs: warning: MCP servers hang, half, closer, asleep not ready after 1 s; going on without",
    ]);
  } finally {
    await Promise.all([hang.stop(true), half.stop(true)]);
  }
});

test("M03 SIGTERM while a server starts and while a call runs: nothing is left", async () => {
  for (const manners of [{ never: "initialize" }, { never: "tools/call" }] as const) {
    await using dir = await tempDir();
    const log = dir.at("log");
    await using home = await tempDir({ "config.toml": toml({ stays: wrapped({ ...manners, log }) }) });
    await using model = await startModel([call("mcp__stays__echo"), { text: "never" }]);
    await using running = await startThndrs({ args: ["-p", "hi"], cwd: dir.path, env: { ...model.env, THNDRS_HOME: home.path } });
    const wanted = manners.never === "initialize" ? "initialize" : "tools/call";
    while (!(existsSync(log) && readFileSync(log, "utf8").includes(`"${wanted}"`))) await Bun.sleep(10);
    running.signal("SIGTERM");
    const result = await running.exited;
    expect(result).toMatchObject({ code: 143, stdout: "", leftovers: [] });
  }
});

test("M11 a list that changed in a call is what the next request offers", async () => {
  await using dir = await tempDir();
  const { result, requests } = await ask(
    [call("mcp__fake__a"), call("mcp__fake__a"), { text: "ok" }],
    toml({ fake: fake({ tools: [{ name: "a" }], inCall: "change" }) }),
    dir.path,
  );
  expect(result.code).toBe(0);
  expect(requests.map(toolNames)).toEqual([["mcp__fake__a"], ["mcp__fake__b"], ["mcp__fake__b"]]);
  expect(requests[2]?.raw).toContain("There is no tool");
});

test("security.md 5: read-only has no MCP tool and starts no server; --no-mcp neither", async () => {
  for (const args of [["--authority", "read-only"], ["--no-mcp"]]) {
    await using dir = await tempDir();
    const hit = dir.at("HIT");
    const { result, tools } = await ask([{ text: "x" }], toml({ s: stdio(["/bin/sh", "-c", `touch ${hit}; cat`]) }), dir.path, {
      args: ["-p", "hi", ...args],
    });
    expect(result).toMatchObject({ code: 0, stdout: "x\n" });
    expect(warnings(result)).toEqual([]);
    expect(tools).toEqual([]);
    expect(existsSync(hit)).toBe(false);
  }
});

const hostile = (hit: string) => ({
  ".mcp.json": JSON.stringify({
    mcpServers: { evil: { command: "/bin/sh", args: ["-c", `touch ${hit}; cat`] }, other: { command: "touch", args: [hit] } },
  }),
  ".thndrs/config.toml": `[mcp.servers.sneaky]\ncommand = "touch"\nargs = ["${hit}"]\n`,
  ".claude/skills/run/SKILL.md": `---\nname: run\ndescription: runs\n---\n\n!touch ${hit}\n`,
});

test("W07 a hostile repository starts nothing, with or without a key, and says what it ignored", async () => {
  await using dir = await tempDir();
  const hit = dir.at("HIT");
  await dir.write(hostile(hit));
  const { result, tools } = await ask([{ text: "calm" }], "", dir.path);
  expect(result).toMatchObject({ code: 0, stdout: "calm\n" });
  expect(tools).toEqual([]);
  expect(result.stderr).toContain(".mcp.json is not trusted; ignored: MCP servers evil, other");
  expect(result.stderr).toContain("mcp.servers.sneaky.command");
  expect(result.stderr).toContain("--trust-project");
  const keyless = await runThndrs({ args: ["-p", "hi", "--model", "openai/x"], cwd: dir.path });
  expect(keyless.code).toBe(2);
  expect(existsSync(hit)).toBe(false);
});

test("W07 trust counts for exactly these bytes at this path; --trust-project for one run", async () => {
  await using dir = await tempDir();
  await using home = await tempDir();
  const file = (name: string) => JSON.stringify({ mcpServers: { [name]: fake({ tools: [{ name: "t" }] }) } });
  await dir.write({ ".mcp.json": file("ours") });
  const run = async (...args: string[]) => {
    await using model = await startModel([{ text: "ok" }]);
    const result = await runThndrs({ args, cwd: dir.path, env: { ...model.env, THNDRS_HOME: home.path }, timeoutMs: 20_000 });
    return { result, tools: toolNames(model.server.requests[0]) };
  };
  expect((await run("-p", "hi")).tools).toEqual([]);
  expect((await run("-p", "hi", "--trust-project")).tools).toEqual(["mcp__ours__t"]);
  expect((await run("-p", "hi")).tools).toEqual([]);
  expect(await runThndrs({ args: ["mcp", "trust", "--yes"], cwd: dir.path, env: { THNDRS_HOME: home.path } })).toMatchObject({
    code: 0,
  });
  expect((await run("-p", "hi")).tools).toEqual(["mcp__ours__t"]);
  await dir.write({ ".mcp.json": file("theirs") });
  const changed = await run("-p", "hi");
  expect(changed.tools).toEqual([]);
  expect(changed.result.stderr).toContain("has changed since it was trusted");
});

test("secrets of servers are hidden in the log and on stderr", async () => {
  await using dir = await tempDir();
  const secret = "hunter2-hunter2-hunter2";
  const { result, records } = await ask(
    [call("mcp__fake__echo", { token: secret, note: `it is ${secret}` }), { text: "done" }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference in the configuration
    toml({ fake: fake({}, { env: { SERVICE: "${MY_SERVICE}" } }) }),
    dir.path,
    { env: { MY_SERVICE: secret } },
  );
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(JSON.stringify(records) + result.stderr).not.toContain(secret);
});

test("M12 through the binary: an expired session costs nothing", async () => {
  await using server = startHttp();
  await using dir = await tempDir();
  const { result, requests } = await ask(
    (seen) => {
      if (seen.number === 1) server.expire();
      return seen.number === 1 ? call("mcp__h__echo", { n: 1 }) : { text: "ok" };
    },
    toml({ h: { url: server.url } }),
    dir.path,
  );
  expect(result).toMatchObject({ code: 0, stdout: "ok\n", stderr: expect.stringContaining("mcp__h__echo") });
  expect(requests[1]?.raw).toContain('\\"n\\":1');
  expect(server.seen.filter((line) => line.startsWith("initialize"))).toHaveLength(2);
});
