/** What a tester found where servers differ from each other: strict orders of roles, ids, counts, bodies, proxies. */
import { expect, test } from "bun:test";
import { fakeCommand } from "../mcp/fleet.ts";
import type { Script, Seen, Step } from "../support/loopback.ts";
import { NO_WAIT, startModel, type TestModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import { startRepl } from "../ui/repl-stage.ts";

type Roles = readonly { readonly role: string; readonly content: string; readonly tool_call_id?: string }[];

const messagesOf = (seen: Seen | undefined): Roles => seen?.body.messages ?? [];
const rolesOf = (seen: Seen | undefined): string =>
  messagesOf(seen)
    .map(({ role }) => role)
    .join(" ");
const read: Step = { calls: [{ id: "abcdefgh1", name: "read_file_range", arguments: { path: "a.txt" } }] };
const frame = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

/** Answers an order of roles as Mistral does, and the templates of llama.cpp. */
function strict(steps: readonly Step[]): Script {
  let served = 0;
  return (seen) => {
    const roles = rolesOf(seen);
    if (/tool user/.test(roles))
      return { status: 400, body: { object: "error", message: "Unexpected role 'user' after role 'tool'", code: "3230" } };
    if (/user user/.test(roles)) return { status: 500, body: { error: { message: "Jinja Exception: roles must alternate" } } };
    return steps[served++] ?? { text: "the end" };
  };
}

const mistral = (model: TestModel) => ({
  MISTRAL_BASE_URL: model.server.baseUrl,
  MISTRAL_API_KEY: "k123456789",
  THNDRS_MODEL: "mistral/m",
  ...NO_WAIT,
});

test.each([
  ["a limit", ["--max-turns", "1"], [read], 4],
  ["a failure", [], [read, { status: 400, body: { message: "bad" } }], 1],
] as const)("a prompt after %s behind a tool is in an order that Mistral takes", async (_, flags, steps, code) => {
  await using model = await startModel(strict([...steps, { text: "went on" }]));
  await using dir = await tempDir({ "a.txt": "alpha\n" });
  const run = (...args: string[]) => runThndrs({ args: ["-p", ...args], cwd: dir.path, env: mistral(model) });
  expect((await run(...flags, "one")).code).toBe(code);
  expect(await run("-c", "two")).toMatchObject({ code: 0, stdout: "went on\n" });
  expect(rolesOf(model.server.requests.at(-1))).toBe("system user assistant tool assistant user");
});

test("steering during a tool reaches Mistral in an order that it takes", async () => {
  const search: Step = { calls: [{ name: "find_files", arguments: { pattern: "*" } }], hold: { gate: "first" } };
  const script = strict([search, { text: "took it" }]);
  await using stage = await startRepl(script, { env: { THNDRS_MODEL: "openrouter/mistralai/devstral-medium" } });
  const { terminal, model } = stage;
  stage.send("one");
  await model.server.request(1);
  stage.send("steer left");
  await terminal.waitFor("↳ steering");
  model.server.release("first");
  await terminal.waitFor("took it");
  expect(rolesOf(model.server.requests[1])).toBe("system user assistant tool assistant user");
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});

test("a prompt after one that failed is one message with it, and an unknown server's order is learnt", async () => {
  await using model = await startModel(strict([{ status: 400, body: { error: { message: "bad" } } }, read, { text: "ok" }]));
  await using dir = await tempDir({ "a.txt": "alpha\n" });
  const run = (...args: string[]) => runThndrs({ args: ["-p", ...args], cwd: dir.path, env: { ...model.env, ...NO_WAIT } });
  expect((await run("one")).code).toBe(1);
  expect((await run("-c", "--max-turns", "1", "two")).code).toBe(4);
  expect(await run("-c", "three")).toMatchObject({ code: 0, stdout: "ok\n" });
  const orders = model.server.requests.map(rolesOf).slice(1);
  expect(orders).toEqual(["system user", "system user assistant tool user", "system user assistant tool assistant user"]);
});

test("ids of calls go back as they came, in the run and after a resume", async () => {
  const call = (n: number): Step => ({
    calls: [{ id: `functions.read_file_range:${n}`, name: "read_file_range", arguments: { path: "a.txt" } }],
  });
  await using model = await startModel([call(0), { text: "one" }, call(0), { text: "two" }]);
  await using dir = await tempDir({ "a.txt": "alpha\n" });
  for (const args of [
    ["-p", "x"],
    ["-p", "-c", "y"],
  ])
    expect((await runThndrs({ args, cwd: dir.path, env: model.env })).code).toBe(0);
  const ids = messagesOf(model.server.requests.at(-1)).flatMap((message) => message.tool_call_id ?? []);
  expect(ids).toEqual(["functions.read_file_range:0", "functions.read_file_range:1"]);
});

test("--max-cost holds where the last frame counts no input", async () => {
  const answer = [
    frame("message_start", { message: { usage: { input_tokens: 400_000, output_tokens: 1 } } }),
    frame("content_block_start", {
      index: 0,
      content_block: { type: "tool_use", id: "t", name: "find_files", input: { pattern: "*" } },
    }),
    frame("content_block_stop", { index: 0 }),
    frame("message_delta", { delta: { stop_reason: "tool_use" }, usage: { input_tokens: 0, output_tokens: 10 } }),
    frame("message_stop", {}),
  ];
  await using model = await startModel([{ raw: answer }], { wire: "anthropic", repeatLast: true });
  const env = { ...model.env, THNDRS_MODEL: "anthropic/claude-sonnet-4-5" };
  const result = await runThndrs({ args: ["-p", "--max-cost", "1.0", "--output-format", "json", "x"], env });
  expect([result.code, model.server.requests.length, JSON.parse(result.stdout).cost_usd > 1]).toEqual([4, 1, true]);
});

test.each([
  ["told once", "completed", undefined],
  ["complete, whatever the response says", "incomplete", null],
])("an answer of the Responses wire that is %s is the answer", async (_, status, details) => {
  const item = {
    type: "message",
    id: "m",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text: "all of it" }],
  };
  const answer = [
    frame("response.output_item.added", { output_index: 0, item: { ...item, content: [] } }),
    frame("response.output_text.done", { output_index: 0, item_id: "m", content_index: 0, text: "all of it" }),
    frame("response.output_item.done", { output_index: 0, item }),
    frame("response.completed", { response: { status, incomplete_details: details, output: [item] } }),
  ];
  await using model = await startModel([{ raw: answer }], { wire: "responses" });
  expect(await runThndrs({ args: ["-p", "x"], env: model.env })).toMatchObject({ code: 0, stdout: "all of it\n" });
});

test("a call with null for what it leaves out is run", async () => {
  const args = { path: "a.txt", start_line: null, end_line: null };
  await using model = await startModel([{ calls: [{ name: "read_file_range", arguments: args }] }, { text: "ok" }]);
  await using dir = await tempDir({ "a.txt": "alpha\n" });
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  expect(messagesOf(model.server.requests[1]).at(-1)?.content).toContain("1: alpha");
});

test("what stands in a body with status 200 is said, and tried again only where that may help", async () => {
  const plain = { "content-type": "text/plain" };
  const script = [
    { body: "upstream connect error", headers: plain },
    { body: "Welcome!", headers: plain },
  ];
  await using model = await startModel(script);
  const result = await runThndrs({ args: ["-p", "x"], env: { ...model.env, THNDRS_RETRY_CAP: "10ms" } });
  expect([result.code, model.server.requests.length]).toEqual([1, 2]);
  expect(result.stderr).toMatch(/upstream connect error; trying again[\s\S]*error: .* instead of an event stream: Welcome!/);
});

test.each([
  ["responses", 130, 1],
  ["chat", 130, 0],
  ["responses", 20, 0],
] as const)("%s, %d tools of a server: %d warnings", async (wire, count, warnings) => {
  const tools = Array.from({ length: count }, (_, n) => ({ name: `t${n}`, inputSchema: { type: "object" } }));
  const [command, ...args] = fakeCommand({ tools });
  await using home = await tempDir({
    "config.toml": `[mcp.servers.many]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
  });
  await using model = await startModel([{ calls: [{ name: "find_files", arguments: { pattern: "*" } }] }, { text: "ok" }], {
    wire,
  });
  const result = await runThndrs({ args: ["-p", "x"], env: { ...model.env, THNDRS_HOME: home.path }, timeoutMs: 20_000 });
  expect(result.code).toBe(0);
  const told = result.stderr.split("\n").filter((line) => line.includes("takes 128 in a request"));
  expect(told).toHaveLength(warnings);
  if (warnings > 0) expect(told[0]).toMatch(/1[34]\d tools are offered, .* --deny-tool .* tools/);
});

test.each([
  ["socks5://127.0.0.1:9", "HTTP_PROXY names a socks5 proxy, and only http:// and https:// ones can be used"],
  ["http://127.0.0.1:9", "cannot reach 127.0.0.1:9, the proxy for model.test (HTTP_PROXY): the connection was refused"],
])("the proxy %s is told as what is wrong", async (proxy, said) => {
  const env = { OPENROUTER_BASE_URL: "http://model.test/v1", OPENROUTER_API_KEY: "k123456789", HTTP_PROXY: proxy, ...NO_WAIT };
  const result = await runThndrs({ args: ["-p", "--model", "openrouter/m", "x"], env });
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(said) as never]);
});
