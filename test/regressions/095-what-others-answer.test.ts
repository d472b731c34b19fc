/** Answers of another shape than the protocol's: of an editor, of an agent, of an MCP server. They were reported as bugs of ours, or hidden. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

/** Reads requests, one a line, and answers what `answers` has for the method. */
function answering(answers: Readonly<Record<string, object>>): string {
  return `const answers = ${JSON.stringify(answers)};
let rest = "";
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...(answers[method] ?? { result: {} }) }) + "\\n");
  }
});
process.stdin.on("end", () => process.exit(0));
`;
}

const SERVER = {
  initialize: { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } },
  "tools/list": { result: { tools: [{ name: "echo", inputSchema: { type: "object" } }] } },
};
const run = JSON.stringify(process.execPath);

test("an MCP server's own words about why it will not do are what is said", async () => {
  await using dir = await tempDir({
    "s.js": answering({ initialize: { error: { code: -32602, message: "API key missing" } } }),
    "home/config.toml": `[mcp.servers.s]\ncommand = ${run}\nargs = ["s.js"]\n`,
  });
  const result = await runThndrs({ args: ["mcp", "test", "s"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } });
  expect(result.stdout + result.stderr).toContain("API key missing");
});

test("a time limit that no timer can hold is no limit", async () => {
  await using dir = await tempDir({
    "s.js": answering(SERVER),
    ".mcp.json": JSON.stringify({ mcpServers: { s: { command: process.execPath, args: ["s.js"], timeout_secs: 3_000_000 } } }),
  });
  await using model = await startModel([{ text: "done" }]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet", "--trust-project"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n", stderr: "" });
  expect(JSON.stringify(model.server.requests[0]?.body.tools)).toContain("mcp__s__echo");
});

const AGENT = {
  initialize: { result: { protocolVersion: 1, agentCapabilities: {}, authMethods: 5 } },
  "session/new": { result: { sessionId: "s1" } },
};

test.each([
  ["initialize", { ...AGENT, initialize: { result: null } }, "answered initialize without a protocolVersion"],
  ["session/new", { ...AGENT, "session/new": { result: {} } }, "answered session/new without a sessionId"],
  ["session/prompt", { ...AGENT, "session/prompt": { result: null } }, "answered session/prompt without a stopReason"],
])("an agent that answers %s with something else has failed", async (_method, answers, message) => {
  await using dir = await tempDir({
    "agent.js": answering(answers),
    "home/config.toml": `[acp.agents.g]\ncommand = ${run}\nargs = ["agent.js"]\n`,
  });
  const env = { THNDRS_HOME: dir.at("home") };
  const result = await runThndrs({ args: ["-p", "x", "--model", "acp:g"], cwd: dir.path, env });
  expect(result.code).toBe(1);
  expect(result.stderr).toContain(message);
  expect(result.stderr).not.toContain("this is a bug");
});

test("a list of logins that is none does not matter", async () => {
  await using dir = await tempDir({
    "agent.js": answering(AGENT),
    "home/config.toml": `[acp.agents.g]\ncommand = ${run}\nargs = ["agent.js"]\n`,
  });
  expect((await runThndrs({ args: ["acp", "inspect", "g"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } })).code).toBe(0);
});

test.each([["null"], ["{}"], ['{"outcome":null}'], ['"x"']])(
  "an editor that answers a question with %s has said no",
  async (answer) => {
    await using dir = await tempDir({ "home/config.toml": 'approval = "all"\n' });
    await using model = await startModel([
      { calls: [{ name: "create_file", arguments: { path: "new.txt", content: "n\n" } }] },
      { text: "went on" },
    ]);
    const env = { ...model.env, THNDRS_HOME: dir.at("home") };
    await using running = await startThndrs({ args: ["acp", "serve"], cwd: dir.path, env, stdin: "open" });
    const send = (message: object) => running.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    send({ id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } });
    send({ id: 2, method: "session/new", params: { cwd: dir.path, mcpServers: [] } });
    const opened = await running.waitFor(/"sessionId":"[^"]+"/, "stdout");
    const sessionId = opened.split('"')[3];
    send({ id: 3, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: "x" }] } });
    const asked = await running.waitFor(/\{[^\n]*session\/request_permission[^\n]*\}(?=\n)/, "stdout");
    const id = JSON.stringify(JSON.parse(asked).id);
    running.write(`{"jsonrpc":"2.0","id":${id},"result":${answer}}\n`);
    await running.waitFor("went on", "stdout");
    await running.waitFor('"stopReason":"end_turn"', "stdout");
    expect(JSON.stringify(model.server.requests[1]?.body.messages)).toContain("The question was not answered");
  },
);

test("a tool called by hand is held to what a model would be", async () => {
  const tools = { ...SERVER, "tools/call": { result: { content: [{ type: "text", text: "done" }] } } };
  await using dir = await tempDir({
    "s.js": answering(tools),
    "home/config.toml": `[mcp.servers.s]\ncommand = ${run}\nargs = ["s.js"]\n`,
  });
  const call = (...flags: string[]) =>
    runThndrs({
      args: ["mcp", "call", "s", "echo", "--args", '{"path":"docs/a","files":["x/secret"]}', ...flags],
      cwd: dir.path,
      env: { THNDRS_HOME: dir.at("home") },
    });
  expect(await call()).toMatchObject({ code: 0, stdout: "done\n" });
  for (const flags of [
    ["--authority", "read-only"],
    ["--deny-tool", "mcp__*"],
    ["--deny-tool", "mcp__s__echo(*secret*)"],
    ["--allow-tool", "read_url"],
  ])
    expect([flags, (await call(...flags)).code]).toEqual([flags, 3]);
});

test("a server's second tool of one name is not dropped without a word", async () => {
  const twice = { result: { tools: [SERVER["tools/list"].result.tools[0], SERVER["tools/list"].result.tools[0]] } };
  await using dir = await tempDir({
    "s.js": answering({ ...SERVER, "tools/list": twice }),
    "home/config.toml": `[mcp.servers.s]\ncommand = ${run}\nargs = ["s.js"]\n`,
  });
  const result = await runThndrs({ args: ["mcp", "test", "s"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } });
  expect(result.stdout).toContain("1 tools with a name that another has are left out");
});
