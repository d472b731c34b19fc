/** What a tester found where providers, servers and places do not do as they should: answers that looked whole, waits nobody saw. */
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync } from "node:fs";
import type { Script, Step } from "../support/loopback.ts";
import { NO_WAIT, startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { giveTo, tempDir } from "../support/temp.ts";

const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const piece = (delta: object, finish: string | null = null): string =>
  sse({ choices: [{ index: 0, delta, finish_reason: finish }] });

test("an answer that the server broke off is asked for again", async () => {
  const broken = { raw: [piece({ content: "half" }), piece({}, "insufficient_system_resource"), "data: [DONE]\n\n"] };
  await using model = await startModel([broken, { text: "whole" }]);
  const result = await runThndrs({ args: ["-p", "x"], env: { ...model.env, THNDRS_RETRY_CAP: "10ms" } });
  expect(result).toMatchObject({ code: 0, stdout: "whole\n" });
  expect(result.stderr).toContain("broke the answer off (insufficient_system_resource)");
});

test.each([
  [[piece({ content: "half" }), piece({}, "SAFETY")], "refused"],
  [[piece({}, "LANGUAGE")], "it ended with: LANGUAGE"],
])("%j is no answer", async (raw, said) => {
  await using model = await startModel([{ raw }]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet"], env: { ...model.env, ...NO_WAIT } });
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(said) as never]);
});

test("a server that trickles for ever behind its last word is left", async () => {
  const nothing = Array.from({ length: 5_000 }, () => sse({ choices: [] }));
  await using model = await startModel([{ raw: [piece({ content: "whole" }), piece({}, "stop"), ...nothing], pace: 20 }]);
  const env = { ...model.env, THNDRS_STALL_TIMEOUT: "1" };
  expect(await runThndrs({ args: ["-p", "x"], env })).toMatchObject({ code: 0, stdout: "whole\n" });
});

test("a cut answer that goes on with a call is no part of the final answer", async () => {
  const calls = [{ name: "find_files", arguments: { pattern: "*" } }];
  await using model = await startModel([{ text: "Part one, ", stop: "length" }, { calls }, { text: "Done." }]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet"], env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "Done.\n" });
});

test("a key in a base URL is in no message and no file", async () => {
  const message = "no such key: plain-value-77";
  await using model = await startModel([{ status: 403, body: { error: { message } } }]);
  await using dir = await tempDir({});
  const env = { ...model.env, OPENROUTER_BASE_URL: `${model.server.baseUrl}?key=plain-value-77` };
  const args = ["-p", "x", "--output-format", "json", "--capture", "capture"];
  const result = await runThndrs({ args, cwd: dir.path, env });
  expect(result.code).toBe(1);
  const [log = ""] = [...new Bun.Glob("*.jsonl").scanSync(dir.at(".thndrs/sessions"))];
  const kept = [await dir.read("capture"), await dir.read(`.thndrs/sessions/${log}`), result.stdout, result.stderr];
  for (const text of kept) expect(text).not.toMatch(/plain-value-77/);
  expect(kept[2]).toContain("no such key: [redacted:credential]");
  expect(kept.join("")).not.toContain(TEST_KEY);
});

/** A model that fills its window with words; what it says to requests for a summary is `summaries`, one after the other. */
function crowded(summaries: readonly Step[]): Script {
  let asked = 0;
  let line = 0;
  return (seen) => {
    if (seen.body.tools === undefined) return summaries[asked++] ?? { text: "## Objective\n- go on" };
    if (seen.raw.includes("<conversation_summary>")) return { text: "done" };
    line += 1;
    const calls = [{ name: "read_file_range", arguments: { path: "f.txt", start_line: line } }];
    return { text: "many words ".repeat(300), calls };
  };
}

/** Said and paid for, then broken. */
function paid(cost: number): Step {
  const usage = { prompt_tokens: 1000, completion_tokens: 5, cost };
  const said = sse({ choices: [{ index: 0, delta: { content: "x" }, finish_reason: null }], usage });
  return { raw: [said, sse({ error: { message: "overloaded", code: 529 } })] };
}

async function crowdedRun(script: Script, ...flags: string[]) {
  await using dir = await tempDir({
    "f.txt": "word\n".repeat(50),
    "home/config.toml":
      '[models."openrouter/mock"]\ncontext_window = 12000\nmax_output = 1000\nprice = { input = 1, output = 1 }\n',
  });
  await using model = await startModel(script);
  const env = { ...model.env, THNDRS_HOME: dir.at("home"), THNDRS_RETRY_CAP: "10ms" };
  const args = ["-p", "read it", ...flags];
  const result = await runThndrs({ args, cwd: dir.path, env });
  const [log = ""] = [...new Bun.Glob("*.jsonl").scanSync(dir.at(".thndrs/sessions"))];
  const summaries = model.server.requests.filter((seen) => seen.body.tools === undefined).length;
  return { result, log: await dir.read(`.thndrs/sessions/${log}`), summaries };
}

test("the waits of a summary are shown, what its failed attempts cost is counted and recorded", async () => {
  const text = await crowdedRun(crowded([paid(0.5), { text: "## Objective\n- go on" }]));
  expect(text.result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(text.result.stderr).toMatch(/overloaded; trying again in .* \(attempt 2 of 8\)/);
  const lines = await crowdedRun(crowded([paid(0.5)]), "--output-format", "stream-json");
  const events = lines.result.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events.find((event) => event.type === "retrying")).toMatchObject({ attempt: 2, class: "overloaded", summary: true });
  const words = events.flatMap((event) => (event.type === "text_delta" ? event.text : []));
  expect(words.filter((text) => !text.startsWith("many words"))).toEqual(["done"]);
  expect(events.at(-1).cost_usd).toBeGreaterThan(0.5);
  expect(lines.log).toContain('"cost_usd":0.5');
});

test("--max-cost ends a run whose summaries have used it up", async () => {
  const { result, summaries } = await crowdedRun(crowded([paid(0.3), paid(0.3), paid(0.3)]), "--max-cost", "0.5");
  expect([result.code, result.stdout, result.stderr]).toEqual([4, "", expect.stringContaining("--max-cost") as never]);
  expect(summaries).toBe(2);
});

/** A server that answers what `results` has for the method. */
function serverOf(results: Readonly<Record<string, unknown>>): string {
  return `const results = ${JSON.stringify(results)};
let rest = "";
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }) + "\\n");
  }
});
process.stdin.on("end", () => process.exit(0));
`;
}

const INITIALIZE = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };

test.each([
  [{ initialize: INITIALIZE, "tools/list": { tools: "x" } }, "s: failed: its list of tools is no list\n"],
  [{ initialize: { foo: 1 } }, "s: failed: its answer to the handshake is not what the protocol says\n"],
])("an MCP server that answers %j has failed, in one sentence", async (results, said) => {
  await using dir = await tempDir({
    "s.js": serverOf(results),
    "home/config.toml": `[mcp.servers.s]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["s.js"]\n`,
  });
  const result = await runThndrs({ args: ["mcp", "test", "s"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } });
  expect([result.code, result.stdout]).toEqual([1, said]);
});

test("a --session-dir that can be none is refused before anything is asked; one that only cannot be written costs the log", async () => {
  await using dir = await tempDir({ file: "x" });
  mkdirSync(dir.at("closed"));
  giveTo(dir.path, 65534);
  chmodSync(dir.at("closed"), 0o555);
  await using model = await startModel([{ text: "done" }]);
  const run = (sessions: string) =>
    runThndrs({
      args: ["-p", "x", "--quiet", "--session-dir", sessions],
      cwd: dir.path,
      env: model.env,
      user: "nobody",
    });
  for (const [sessions, said] of [
    ["file", "--session-dir file: it is no directory"],
    ["file/below", "--session-dir file/below: it cannot be made"],
    ["closed/new", "--session-dir closed/new: it cannot be made: permission denied"],
  ] as const) {
    const result = await run(sessions);
    expect([sessions, result.code, result.stdout, result.stderr]).toEqual([
      sessions,
      2,
      "",
      expect.stringContaining(said) as never,
    ]);
  }
  expect(model.server.requests).toHaveLength(0);
  const { code, stdout, stderr } = await run("closed");
  expect([code, stdout]).toEqual([1, "done\n"]);
  expect(stderr).toContain(`error: the session log could not be kept: the directory cannot be written (${dir.at("closed")})\n`);
  chmodSync(dir.at("closed"), 0o755);
});
