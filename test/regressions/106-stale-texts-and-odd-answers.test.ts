/** An editor's old text went over what a command had written; answers slightly off a protocol were run again, waited for or lost. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { startHttp } from "../mcp/http-server.ts";
import { startModel } from "../support/model.ts";
import { type Running, runThndrs, startThndrs } from "../support/run.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

const run = JSON.stringify(process.execPath);

type Request = {
  readonly id?: number;
  readonly method?: string;
  readonly params: { readonly path: string; readonly content: string };
};

/** Answers the editor's side of one prompt, line by line, until the prompt is over. */
async function lendFiles(running: Running, buffer: string): Promise<void> {
  let seen = 0;
  for (;;) {
    const line = await running.waitFor(new RegExp(`^(?:[^\\n]*\\n){${seen}}[^\\n]*\\n`), "stdout");
    const message = JSON.parse(line.trimEnd().split("\n")[seen++] ?? "{}") as Request;
    if (message.id === 3 && message.method === undefined) return;
    if (message.method === "fs/write_text_file") writeFileSync(message.params.path, message.params.content);
    const result = message.method === "fs/read_text_file" ? { content: buffer } : {};
    if (message.method?.startsWith("fs/")) running.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n`);
  }
}

async function editWith(buffer: string, dir: TempDir): Promise<string> {
  const edit = { name: "replace_range", arguments: { path: "a.txt", old_string: "one", new_string: "ONE" } };
  const add = { name: "run_shell", arguments: { argv: ["sh", "-c", "echo three from shell >> a.txt"] } };
  await using model = await startModel([
    { calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] },
    { calls: [add] },
    { calls: [edit] },
    { text: "done" },
  ]);
  await using running = await startThndrs({
    args: ["acp", "serve"],
    cwd: dir.path,
    env: { ...model.env, THNDRS_HOME: dir.at("home") },
    stdin: "open",
  });
  const send = (message: object) => running.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const fs = { readTextFile: true, writeTextFile: true };
  send({ id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: { fs } } });
  send({ id: 2, method: "session/new", params: { cwd: dir.path, mcpServers: [] } });
  const opened = await running.waitFor(/"sessionId":"[^"]+"/, "stdout");
  const sessionId = opened.split('"')[3];
  send({ id: 3, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: "x" }] } });
  await lendFiles(running, buffer);
  return readFileSync(dir.at("a.txt"), "utf8");
}

test.each([
  ["the text from before a command", "one\ntwo\n"],
  ["nothing", ""],
])("an editor that still answers with %s costs nothing that is on the disk", async (_what, buffer) => {
  await using dir = await tempDir({ "a.txt": "one\ntwo\n" });
  expect(await editWith(buffer, dir)).toBe("ONE\ntwo\nthree from shell\n");
});

test("HTTP 400 with an error for the call is its answer: a server's tool runs once", async () => {
  await using server = startHttp({
    instead: ({ id, method }) =>
      method === "tools/call"
        ? Response.json({ jsonrpc: "2.0", id, error: { code: -32602, message: "Invalid params: a missing" } }, { status: 400 })
        : undefined,
  });
  await using dir = await tempDir({ "home/config.toml": `[mcp.servers.s]\nurl = "${server.url}"\n` });
  const { code, stderr } = await runThndrs({
    args: ["mcp", "call", "s", "echo"],
    cwd: dir.path,
    env: { THNDRS_HOME: dir.at("home") },
  });
  expect(code).toBe(1);
  expect(stderr).toContain("Invalid params: a missing (-32602)");
  expect(server.seen.filter((line) => line.startsWith("tools/call"))).toEqual(["tools/call s1"]);
});

/** Answers requests, one a line, with the members that stand for their method. */
function answering(answers: Readonly<Record<string, object>>): string {
  return `const answers = ${JSON.stringify(answers)};
let rest = "";
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) process.stdout.write(JSON.stringify({ id, ...answers[method] }) + "\\n");
  }
});
process.stdin.on("end", () => process.exit(0));
`;
}

const SERVER = {
  initialize: {
    jsonrpc: "2.0",
    error: null,
    result: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, prompts: null },
      serverInfo: { name: "s", version: "1" },
      instructions: null,
      _meta: null,
    },
  },
  "tools/list": {
    jsonrpc: "2.0",
    error: null,
    result: {
      tools: [{ name: "echo", inputSchema: { type: "object", properties: { a: { type: "string", pattern: "(?!x)y" } } } }],
      _meta: null,
    },
  },
  "tools/call": { error: "just text" },
};

test("a stdio server with nulls keeps its tools, and a text error is the answer", async () => {
  await using dir = await tempDir({
    "s.js": answering(SERVER),
    "home/config.toml": `[mcp.servers.s]\ncommand = ${run}\nargs = ["s.js"]\n`,
  });
  const env = { THNDRS_HOME: dir.at("home") };
  const { stderr } = await runThndrs({ args: ["mcp", "call", "s", "echo"], cwd: dir.path, env });
  expect(stderr).toContain("it answers with an error: just text");
});

test("llama.cpp is sent no pattern of a server's tool", async () => {
  await using dir = await tempDir({
    "s.js": answering(SERVER),
    "home/config.toml": `[mcp.servers.s]\ncommand = ${run}\nargs = ["s.js"]\n`,
  });
  await using model = await startModel([{ text: "done" }]);
  const env = { LLAMACPP_BASE_URL: model.server.baseUrl, THNDRS_HOME: dir.at("home") };
  const result = await runThndrs({ args: ["-p", "x", "--quiet", "--model", "llamacpp/mock"], cwd: dir.path, env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  const tools: { function: { name: string; parameters: unknown } }[] = model.server.requests[0]?.body.tools;
  expect(tools.find((tool) => tool.function.name === "mcp__s__echo")?.function.parameters).toEqual({
    type: "object",
    properties: { a: { type: "string", description: "(pattern: (?!x)y)" } },
  });
});

const AGENT = `const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const say = (text) => out({ method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } } });
let rest = "", prompt, terminalId;
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, result, error } = JSON.parse(line);
    if (method === "initialize") out({ id, result: { protocolVersion: 1 } });
    else if (method === "session/new") out({ id, result: { sessionId: "s" } });
    else if (method === "session/prompt") {
      prompt = id;
      out({ id: 1, method: "terminal/create", params: { sessionId: "s", command: "echo hi && echo there" } });
    } else if (id === 1 && result) {
      terminalId = result.terminalId;
      out({ id: 2, method: "terminal/wait_for_exit", params: { sessionId: "s", terminalId } });
    } else if (id === 2) out({ id: 3, method: "terminal/output", params: { sessionId: "s", terminalId } });
    else if (id === 1 || id === 3) {
      say(result ? result.output : error.message);
      out({ id: prompt, result: { stopReason: "end_turn" } });
    }
  }
});
process.stdin.on("end", () => process.exit(0));
`;

test.each([
  [[], "hi\nthere\n"],
  [["--deny-tool", "run_shell(echo *)"], "matches --deny-tool run_shell(echo *)"],
])("an agent's whole command line runs in a shell, under the patterns: %j", async (flags, said) => {
  await using dir = await tempDir({
    "agent.js": AGENT,
    "home/config.toml": `[acp.agents.g]\ncommand = ${run}\nargs = ["agent.js"]\n`,
  });
  const env = { THNDRS_HOME: dir.at("home") };
  const result = await runThndrs({ args: ["-p", "x", "--model", "acp:g", "--quiet", ...flags], cwd: dir.path, env });
  expect(result.stdout).toContain(said);
});
