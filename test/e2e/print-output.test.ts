import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { modelEnv, NO_WAIT, startModel, TEST_KEY, type TestModel } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

function records(cwd: string): Record<string, unknown>[] {
  const dir = join(cwd, ".thndrs", "sessions");
  const file = readdirSync(dir).find((name) => name.endsWith(".jsonl"));
  if (!file) throw new Error("no session file");
  return readFileSync(join(dir, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const FAILURES: readonly (readonly [name: string, step: Step, errorClass: string])[] = [
  ["401", { status: 401, body: { error: { message: "bad key" } } }, "auth"],
  ["400", { status: 400, body: { error: { message: "no such field" } } }, "invalid_request"],
  ["429", { status: 429, body: { error: { message: "slow down" } } }, "rate_limit"],
  ["500", { status: 500, body: "oops" }, "overloaded"],
  ["no content", { text: "" }, "empty_answer"],
  ["only reasoning, then the output limit", { reasoning: "hm", stop: "length" }, "empty_answer"],
  ["FIN in the middle", { text: ["half ", "an answer"], cut: { after: 2, how: "fin" } }, "truncated"],
  ["RST in the middle", { text: ["half ", "an answer"], cut: { after: 2, how: "rst" } }, "truncated"],
  [
    "an error frame under 200",
    { raw: ['data: {"error":{"message":"quota exceeded","code":429}}\n\n', "data: [DONE]\n\n"] },
    "quota",
  ],
  ["a JSON body under 200", { body: { error: { message: "nope" } } }, "protocol"],
  ["an empty body under 200", { raw: [] }, "truncated"],
];

for (const [name, step, errorClass] of FAILURES) {
  test(`C05 C06 P08 P09 ${name}: a failure in every format`, async () => {
    for (const format of ["text", "json", "stream-json"] as const) {
      await using dir = await tempDir();
      await using model = await startModel([step]);
      const result = await runThndrs({
        args: ["-p", "hi", "--output-format", format],
        cwd: dir.path,
        env: { ...model.env, ...NO_WAIT },
      });
      expect(result.code).toBe(1);
      expect(result.stderr).toContain("thndrs: error: ");
      expect(result.stderr).not.toContain(TEST_KEY);
      if (format === "text") expect(result.stdout).toBe("");
      else {
        const lines = result.stdout.trimEnd().split("\n");
        const last = JSON.parse(lines.at(-1) ?? "");
        const seen: string = last.error.class;
        expect(last).toMatchObject({
          version: 1,
          status: "failed",
          exit_code: 1,
          error: { class: expect.any(String), message: expect.any(String) },
        });
        if (errorClass !== "protocol" && errorClass !== "truncated" && errorClass !== "quota") expect(seen).toBe(errorClass);
        if (format === "json") expect(lines).toHaveLength(1);
        else expect(JSON.parse(lines[0] ?? "")).toMatchObject({ version: 1, type: "started" });
      }
      expect(records(dir.path).at(-1)).toMatchObject({ type: "failed", error: expect.any(String), class: expect.any(String) });
    }
  });
}

test("C05 connection refused", async () => {
  const result = await runThndrs({ args: ["-p", "hi"], env: { ...modelEnv("http://127.0.0.1:9/v1"), ...NO_WAIT } });
  expect(result).toMatchObject({ code: 1, stdout: "" });
  expect(result.stderr).toMatch(/thndrs: error: .*127\.0\.0\.1:9/);
});

test("C05 429 until the tries end: every wait is shown", async () => {
  await using model = await startModel([{ status: 429, headers: { "retry-after": "0" }, body: "{}" }], { repeatLast: true });
  const result = await runThndrs({
    args: ["-p", "hi"],
    env: { ...model.env, THNDRS_RETRY_MAX_TRIES: "3", THNDRS_RETRY_CAP: "0" },
  });
  expect(result.code).toBe(1);
  expect(model.server.requests).toHaveLength(3);
  expect(result.stderr.match(/trying again in/g)).toHaveLength(2);
});

test("P08 [DONE] without a finish reason is accepted", async () => {
  await using model = await startModel([
    { raw: ['data: {"choices":[{"index":0,"delta":{"content":"whole"}}]}\n\n', "data: [DONE]\n\n"] },
  ]);
  expect(await runThndrs({ args: ["-p", "hi"], env: model.env })).toMatchObject({ code: 0, stdout: "whole\n" });
});

test("P01 P02 characters split over chunks, comments, pings, unknown fields, no space after the colon", async () => {
  const answer = "北 🌲 é";
  const frames = [
    ": warming up\n\n:\n\nevent: ping\ndata: {}\n\nid: 7\nretry: 10\n",
    `data:{"choices":[{"index":0,"delta":{"content":${JSON.stringify(answer)}},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`,
  ];
  for (const chunking of [1, "whole", 7] as const) {
    await using model = await startModel([{ raw: frames, chunking }]);
    expect(await runThndrs({ args: ["-p", "hi"], env: model.env })).toMatchObject({ code: 0, stdout: `${answer}\n` });
  }
});

test("P01 P04 arguments in fragments, one byte a write", async () => {
  await using dir = await tempDir({ "é🌲.txt": "found", "b.txt": "also" });
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const call = (index: number, rest: object) => ({ tool_calls: [{ index, ...rest }] });
  await using model = await startModel([
    {
      chunking: 1,
      raw: [
        chunk(call(0, { id: "a", type: "function", function: { name: "read_file_range", arguments: '{"pa' } })),
        chunk(call(1, { id: "b", type: "function", function: { name: "read_file_range", arguments: '{"path":"b.txt"}' } })),
        chunk(call(0, { function: { arguments: 'th":"é🌲.txt"}' } })),
        chunk({}, "tool_calls"),
        "data: [DONE]\n\n",
      ],
    },
    { text: "done" },
  ]);
  expect(await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env })).toMatchObject({ code: 0, stdout: "done\n" });
  const tools = model.server.requests[1]?.body.messages.filter((message: { role: string }) => message.role === "tool");
  expect(tools.map((message: { content: string }) => message.content.includes("found"))).toEqual([true, false]);
  expect(tools[1].content).toContain("also");
});

test("P06 empty arguments for a tool without required fields", async () => {
  await using dir = await tempDir({ "only.txt": "x" });
  for (const args of ["", " ", "null"]) {
    await using model = await startModel([{ calls: [{ name: "list_searchable_files", arguments: args }] }, { text: "done" }]);
    expect((await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env })).code).toBe(0);
    expect(model.server.requests[1]?.body.messages.at(-1).content).toContain("only.txt");
  }
});

const NOISY: readonly Step[] = [
  { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "echo ::error::out; echo err >&2"] } }] },
  { text: "the answer" },
];

test("C07 C20 stdout is the answer alone; tool output never reaches stdout or the start of a stderr line", async () => {
  await using dir = await tempDir({ "AGENTS.md": new Uint8Array([0xff, 0xfe, 0x41]) });
  await using model = await startModel(NOISY);
  const result = await runThndrs({ args: ["-p", "hi", "-v"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "the answer\n" });
  for (const line of result.stderr.trimEnd().split("\n")) expect(line).toStartWith("thndrs: ");
});

test("C07 json is one object, stream-json one object a line, first started and last result", async () => {
  await using model = await startModel([...NOISY, ...NOISY]);
  const json = await runThndrs({ args: ["-p", "hi", "--output-format", "json", "-v"], env: model.env });
  const object = JSON.parse(json.stdout);
  expect(Object.keys(object)).toEqual([
    "version",
    "status",
    "exit_code",
    "session_id",
    "model",
    "turns",
    "text",
    "usage",
    "cost_usd",
    "duration_ms",
    "changed_files",
  ]);
  expect(object).toMatchObject({
    status: "ok",
    exit_code: 0,
    model: "openrouter/mock",
    turns: 2,
    text: "the answer",
    changed_files: [],
  });
  expect(object.usage).toEqual({ input_tokens: 200, output_tokens: 40 });
  const stream = await runThndrs({ args: ["-p", "hi", "--output-format", "stream-json"], env: model.env });
  const events = stream.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events.every((event) => event.version === 1)).toBe(true);
  expect(events.map((event) => event.type)).toEqual([
    "started",
    "context",
    "usage",
    "tool_started",
    "shell_exec",
    "tool_finished",
    "text_delta",
    "usage",
    "result",
  ]);
  expect(events[0].session_id).toBe(events.at(-1).session_id);
});

test("C08 900 KB arrive whole through a slow pipe", async () => {
  const text = "0123456789".repeat(90_000);
  await using model = await startModel([{ text }], { repeatLast: true });
  for (const format of ["text", "json"] as const) {
    const result = await runThndrs({
      command: [
        "/bin/sh",
        "-c",
        'exec 3>&1; "$0" "$@" | { read -r first; printf "%s\\n" "$first"; cat; } | wc -c',
        (await import("../support/launch.ts")).binary,
      ],
      args: ["-p", "x", "--output-format", format, "--stdin", "ignore"],
      env: model.env,
    });
    expect(Number(result.stdout)).toBeGreaterThanOrEqual(900_001);
  }
});

test("C09 a reader that goes away: no trace, the session is closed with a record", async () => {
  await using dir = await tempDir();
  await using model = await startModel([
    { text: Array.from({ length: 2000 }, () => "x".repeat(500)), hold: { gate: "more", at: 1000 } },
  ]);
  await using running = await startThndrs({ args: ["-p", "x", "--output-format", "stream-json"], cwd: dir.path, env: model.env });
  await running.waitFor("text_delta", "stdout");
  running.closeOutput("stdout");
  model.server.release("more");
  const result = await running.exited;
  expect([0, 130, 141]).toContain(result.code ?? -1);
  expect(result.stderr).not.toContain("EPIPE");
  expect(result.leftovers).toEqual([]);
  expect(["cancelled", "assistant_finished", "context_ledger", "usage"]).toContain(String(records(dir.path).at(-1)?.type));
});

test("C10 the process ends with the answer although the server keeps the connection open", async () => {
  await using model = await startModel([{ text: "hi" }]);
  const result = await runThndrs({ args: ["-p", "hi"], env: model.env });
  expect(result).toMatchObject({ code: 0, leftovers: [] });
  expect(result.lingerMs).toBeLessThan(1000);
});

test("C11 no escape byte on a stream that is not a terminal", async () => {
  await using model = await startModel(NOISY);
  const result = await runThndrs({ args: ["-p", "hi", "-v"], env: { ...model.env, TERM: "xterm-256color" } });
  expect(`${result.stdout}${result.stderr}`).not.toContain("\u001b");
});

test("the log keeps no key, whatever the server says", async () => {
  await using dir = await tempDir();
  const check = async (model: TestModel) => {
    const result = await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: { ...model.env, ...NO_WAIT } });
    expect(`${result.stderr}${JSON.stringify(records(dir.path))}`).not.toContain(TEST_KEY);
  };
  await using model = await startModel([
    { status: 401, body: { error: { message: `Incorrect API key provided: ${TEST_KEY}` } } },
  ]);
  await check(model);
});
