/** The provider cases through the compiled binary: silence, waits, overload, usage, reasoning, odd blocks, one task on every wire. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Seen, Step } from "../support/loopback.ts";
import { startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import type { Wire } from "../support/wire/answer.ts";
import { prefixBreaks } from "../support/wire/prefix.ts";

const WIRES: readonly Wire[] = ["chat", "responses", "anthropic"];

type Line = Readonly<Record<string, unknown>> & { readonly type: string };

function logText(cwd: string): string {
  const dir = join(cwd, ".thndrs", "sessions");
  const name = readdirSync(dir).find((one) => one.endsWith(".jsonl")) ?? "";
  return readFileSync(join(dir, name), "utf8");
}

function records(cwd: string): Line[] {
  return logText(cwd)
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

/** A command that leaves one line for every time it runs. */
const effect = (name: string, print = "") => ({
  name: "run_shell",
  arguments: { argv: ["sh", "-c", `echo ${name} >> effects${print === "" ? "" : `; echo ${print}`}`] },
});

const effects = (cwd: string): string[] => {
  const path = join(cwd, "effects");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
};

for (const wire of WIRES) {
  test(`P10 ${wire}: a stream that goes silent ends at the limit, is tried again, and says so`, async () => {
    const steps: Step[] = [{ text: ["half ", "an answer"], cut: { after: 3, how: "stall" } }, { text: "whole" }];
    await using model = await startModel(steps, { wire });
    const env = { ...model.env, THNDRS_STALL_TIMEOUT: "1s", THNDRS_RETRY_CAP: "0" };
    const result = await runThndrs({ args: ["-p", "hi"], env });
    expect(result).toMatchObject({ code: 0, stdout: "whole\n" });
    expect(result.stderr).toContain("sent nothing for 1");
    expect(result.elapsedMs).toBeGreaterThan(950);
  });
}

test("P10 the limit passed on the last try: exit 1, class stalled", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "half", cut: { after: 2, how: "stall" } }]);
  const env = { ...model.env, THNDRS_STALL_TIMEOUT: "1s", THNDRS_RETRY_MAX_TRIES: "1" };
  const result = await runThndrs({ args: ["-p", "hi", "--output-format", "json"], cwd: dir.path, env });
  expect(result.code).toBe(1);
  expect(JSON.parse(result.stdout)).toMatchObject({ status: "failed", exit_code: 1, error: { class: "stalled" } });
  expect(records(dir.path).at(-1)).toMatchObject({ type: "failed", class: "stalled" });
});

test("P10 a cancel in the silence works within a second", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: ["half ", "more"], cut: { after: 2, how: "stall" } }]);
  await using running = await startThndrs({
    args: ["-p", "hi", "--output-format", "stream-json"],
    cwd: dir.path,
    env: model.env,
  });
  await running.waitFor('"text_delta"', "stdout");
  const at = performance.now();
  running.signal("SIGINT");
  expect((await running.exited).code).toBe(130);
  expect(performance.now() - at).toBeLessThan(1000);
  expect(records(dir.path).filter((one) => one.type === "cancelled")).toHaveLength(1);
});

test("P12 Retry-After in seconds and as a date is waited for; nonsense falls back to back-off", async () => {
  const date = (): string => new Date(Math.ceil((Date.now() + 1000) / 1000) * 1000).toUTCString();
  const forms: readonly (readonly [() => string, boolean])[] = [
    [() => "1", true],
    [date, true],
    [() => "abc", false],
    [() => "-5", false],
  ];
  await Promise.all(
    forms.map(async ([value, waits]) => {
      let asked = 0;
      const arrived: number[] = [];
      const script = (): Step => {
        arrived.push(Date.now());
        asked += 1;
        return asked === 1 ? { status: 429, headers: { "retry-after": value() }, body: "{}" } : { text: "ok" };
      };
      await using model = await startModel(script);
      const result = await runThndrs({ args: ["-p", "hi"], env: { ...model.env, THNDRS_RETRY_CAP: "0" } });
      expect(result).toMatchObject({ code: 0, stdout: "ok\n" });
      const pause = (arrived[1] ?? 0) - (arrived[0] ?? 0);
      // A date has whole seconds: the pause is one to two of them, less the time on the way.
      if (waits) expect(pause).toBeGreaterThan(900);
      else expect(pause).toBeLessThan(900);
    }),
  );
});

test("P12 a wait of hours ends at once with the time named; a wait can be cancelled", async () => {
  const long: readonly Step[] = [
    { status: 429, headers: { "retry-after": "999999" }, body: "{}" },
    { status: 429, headers: { "retry-after": "43200" }, body: { error: { message: "quota resets in 12h" } } },
  ];
  for (const step of long) {
    await using model = await startModel([step]);
    const result = await runThndrs({ args: ["-p", "hi"], env: model.env });
    expect(result.code).toBe(1);
    expect(result.elapsedMs).toBeLessThan(3000);
    expect(result.stderr).toMatch(/not waiting that long/);
    expect(result.stderr).toMatch(/at \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  }
  await using model = await startModel([{ status: 429, headers: { "retry-after": "60" }, body: "{}" }]);
  await using running = await startThndrs({ args: ["-p", "hi"], env: model.env });
  await running.waitFor("trying again in");
  const at = performance.now();
  running.signal("SIGTERM");
  expect((await running.exited).code).toBe(143);
  expect(performance.now() - at).toBeLessThan(1000);
});

for (const wire of WIRES) {
  test(`P13 ${wire}: 529 three times in the middle of a run; tools already run are not run again`, async () => {
    await using dir = await tempDir();
    const overloaded: Step = { status: 529, body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } };
    const steps: Step[] = [
      { text: "one", calls: [effect("a")] },
      overloaded,
      overloaded,
      overloaded,
      { text: "two", calls: [effect("b")] },
      // Calls of an answer that breaks off are never acted on.
      { text: "three", calls: [effect("lost")], cut: { after: wire === "anthropic" ? 6 : 4, how: "rst" } },
      { text: "three", calls: [effect("c")] },
      { text: "done" },
    ];
    await using model = await startModel(steps, { wire });
    const result = await runThndrs({ args: ["-p", "work"], cwd: dir.path, env: { ...model.env, THNDRS_RETRY_CAP: "0" } });
    expect(result).toMatchObject({ code: 0, stdout: "done\n" });
    expect(effects(dir.path)).toEqual(["a", "b", "c"]);
    const [, second, third, , fifth] = model.server.requests.map((seen) => seen.raw);
    expect(third).toBe(second ?? "");
    expect(fifth).toBe(second ?? "");
    expect(records(dir.path).filter((one) => one.type === "tool_started")).toHaveLength(3);
  });
}

test("P14 usage absent, null, or in a last frame: no NaN and no invented zero anywhere", async () => {
  const chunk = (delta: object, more: object = {}, finish: string | null = null): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
  const end = chunk({}, {}, "stop");
  const done = "data: [DONE]\n\n";
  const forms: readonly (readonly [string, Step, number | null, number | null])[] = [
    ["absent", { text: "ok", usage: null }, null, null],
    ["null", { raw: [chunk({ content: "ok" }, { usage: null }), end, done] }, null, null],
    [
      "null count",
      {
        raw: [
          chunk({ content: "ok" }),
          end,
          `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: null, completion_tokens: 7 } })}\n\n`,
          done,
        ],
      },
      null,
      7,
    ],
    [
      "last frame",
      {
        raw: [
          chunk({ content: "ok" }),
          end,
          `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 7 } })}\n\n`,
          done,
        ],
      },
      12,
      7,
    ],
    [
      "nonsense",
      {
        raw: [
          chunk({ content: "ok" }),
          end,
          'data: {"choices":[],"usage":{"prompt_tokens":"many","completion_tokens":-3}}\n\n',
          done,
        ],
      },
      null,
      null,
    ],
  ];
  for (const [name, step, input, output] of forms) {
    await using dir = await tempDir();
    await using model = await startModel([step]);
    const result = await runThndrs({ args: ["-p", "hi", "--output-format", "json"], cwd: dir.path, env: model.env });
    expect([name, result.code, result.stderr.includes("error")]).toEqual([name, 0, false]);
    const said = JSON.parse(result.stdout);
    expect([name, said.usage?.input_tokens ?? null, said.usage?.output_tokens ?? null]).toEqual([name, input, output]);
    expect(said.cost_usd).toBeNull();
    expect(logText(dir.path)).not.toContain("NaN");
    const usage = records(dir.path).find((one) => one.type === "usage");
    for (const field of ["input_tokens", "output_tokens"]) {
      const value = usage?.[field] ?? null;
      expect([name, field, value]).toEqual([name, field, field === "input_tokens" ? input : output]);
    }
    const shown = await runThndrs({ args: ["usage", "--json"], cwd: dir.path, env: model.env });
    expect(shown.code).toBe(0);
    expect(shown.stdout).not.toContain("NaN");
  }
});

test("P14 without usage the window is still kept: estimates stand in", async () => {
  await using config = await tempDir({
    "config.toml": '[models."openrouter/mock"]\ncontext_window = 12000\nmax_output = 1000\n',
  });
  await using dir = await tempDir({ "f.txt": "word ".repeat(1500) });
  let turn = 0;
  const script = (seen: Seen): Step => {
    if (seen.body.tools === undefined) return { text: "## Objective\n- work", usage: null };
    turn += 1;
    if (turn > 25) return { text: "done", usage: null };
    return { calls: [{ name: "read_file_range", arguments: { path: "f.txt", start_line: 1, end_line: turn } }], usage: null };
  };
  await using model = await startModel(script);
  const env = { ...model.env, THNDRS_HOME: config.path };
  const result = await runThndrs({ args: ["-p", "read"], cwd: dir.path, env, timeoutMs: 20_000 });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  for (const seen of model.server.requests) expect(Buffer.byteLength(seen.raw) / 3.5).toBeLessThan(12_000);
});

/** What a server that wants its reasoning back misses in a request; undefined when all is there. */
function missingReasoning(wire: Wire, body: Seen["body"]): string | undefined {
  if (wire === "chat") {
    for (const message of body.messages)
      if (message.tool_calls && typeof message.reasoning_content !== "string") return "reasoning_content is missing";
  } else if (wire === "responses") {
    const items: { type?: string }[] = body.input;
    const first = items.findIndex((item) => item.type === "function_call");
    if (first >= 0 && !items.slice(0, first).some((item) => item.type === "reasoning")) return "reasoning item is missing";
  } else {
    const calling = body.messages.find(
      (message: { role: string; content: { type: string }[] }) =>
        message.role === "assistant" && message.content.some((block) => block.type === "tool_use"),
    );
    if (calling && calling.content[0]?.type !== "thinking") return "thinking block is missing";
  }
  return undefined;
}

for (const wire of WIRES) {
  test(`P15 ${wire}: reasoning goes back in the run; a resumed session is accepted too`, async () => {
    await using dir = await tempDir({ "a.txt": "alpha\n" });
    let resumed = false;
    const script = (seen: Seen): Step => {
      const missing = missingReasoning(wire, seen.body);
      // Encrypted state is not in the log: after a resume only the text wire can be asked for it.
      if (missing !== undefined && (wire === "chat" || !resumed)) return { status: 400, body: { error: { message: missing } } };
      if (seen.number === 1)
        return { reasoning: "deep thought", calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] };
      // A turn without any reasoning text.
      if (seen.number === 2) return { calls: [{ name: "read_file_range", arguments: { path: "a.txt", start_line: 1 } }] };
      return { text: `answer ${seen.number}` };
    };
    await using model = await startModel(script, { wire });
    const env: Record<string, string> =
      wire === "chat"
        ? { DEEPSEEK_BASE_URL: model.server.baseUrl, DEEPSEEK_API_KEY: TEST_KEY, THNDRS_MODEL: "deepseek/mock" }
        : { ...model.env };
    expect(await runThndrs({ args: ["-p", "first"], cwd: dir.path, env })).toMatchObject({ code: 0, stdout: "answer 3\n" });
    const raw = model.server.requests[1]?.raw ?? "";
    expect(raw).toContain(wire === "chat" ? "deep thought" : wire === "responses" ? "encrypted_content" : "signature");
    resumed = true;
    const again = await runThndrs({ args: ["-c", "-p", "second"], cwd: dir.path, env });
    expect(again).toMatchObject({ code: 0, stdout: "answer 4\n" });
  });
}

test("P15 a server that never asked for reasoning does not get the field", async () => {
  await using dir = await tempDir({ "a.txt": "alpha\n" });
  const read = { name: "read_file_range", arguments: { path: "a.txt" } };
  await using model = await startModel([{ calls: [read] }, { text: "done" }]);
  expect(await runThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env })).toMatchObject({ code: 0 });
  expect(model.server.requests[1]?.raw).not.toContain('"reasoning');
});

for (const wire of WIRES) {
  test(`P18 ${wire}: no output, no text, white space, an abort during reasoning: nothing empty is ever sent`, async () => {
    await using dir = await tempDir({ "empty.txt": "" });
    const steps: Step[] = [
      { calls: [{ name: "run_shell", arguments: { argv: ["true"] } }] },
      { text: "  \n", calls: [{ name: "read_file_range", arguments: { path: "empty.txt" } }] },
      { text: "", calls: [{ name: "search_text", arguments: { pattern: "nowhere" } }] },
      { reasoning: ["thinking ", "on"], text: "never", hold: { gate: "never", at: wire === "chat" ? 2 : 4 } },
      { text: "again" },
      { text: "and again" },
    ];
    // The strict server counts every empty block as a violation; disposing it fails the test.
    await using model = await startModel(steps, { wire });
    await using running = await startThndrs({
      args: ["-p", "go", "--output-format", "stream-json"],
      cwd: dir.path,
      env: model.env,
    });
    await model.server.request(4);
    await running.waitFor("reasoning_delta", "stdout");
    running.signal("SIGINT");
    expect((await running.exited).code).toBe(130);
    for (const text of ["again\n", "and again\n"])
      expect(await runThndrs({ args: ["-c", "-p", "go on"], cwd: dir.path, env: model.env })).toMatchObject({
        code: 0,
        stdout: text,
      });
    expect(model.server.requests).toHaveLength(6);
  });

  test(`P19 ${wire}: unknown tools and wrong types are answers for the model; the session goes on`, async () => {
    await using dir = await tempDir({ "a.txt": "alpha\n" });
    const patches = JSON.stringify([{ path: "a.txt", edits: [{ old_string: "alpha", new_string: "beta" }] }]);
    const calls = [
      { name: "edit_file", arguments: {} },
      { name: "write_patch", arguments: { patches } },
      { name: "read_file_range", arguments: { path: "a.txt", start_line: "3" } },
      { name: "read_file_range", arguments: "[]" },
      { name: "read_file_range", arguments: '"x"' },
      { name: "read_file_range", arguments: "5" },
      { name: "read_file_range", arguments: "{" },
    ];
    await using model = await startModel([{ calls }, { text: "sorry" }, { text: "fine" }], { wire });
    expect(await runThndrs({ args: ["-p", "go"], cwd: dir.path, env: model.env })).toMatchObject({ code: 0, stdout: "sorry\n" });
    const log = records(dir.path);
    // Reading calls run together; in the order they were asked for:
    const finished = log.flatMap((one) =>
      one.type === "tool_started" ? log.filter((other) => other.type === "tool_finished" && other.call_id === one.call_id) : [],
    );
    expect(finished).toHaveLength(calls.length);
    for (const one of finished) expect(one.status).not.toBe("ok");
    expect(finished[0]?.output).toContain("read_file_range");
    expect(finished[2]?.output).toContain("start_line");
    expect(await dir.read("a.txt")).toBe("alpha\n");
    expect(await runThndrs({ args: ["-c", "-p", "on"], cwd: dir.path, env: model.env })).toMatchObject({
      code: 0,
      stdout: "fine\n",
    });
  });

  test(`P20 ${wire}: half a surrogate pair in text and arguments never leaves again, also after a resume`, async () => {
    await using dir = await tempDir();
    const half = "\ud82d";
    const create = { name: "create_file", arguments: { path: "note.txt", content: `x${half}y` } };
    const argv = { name: "run_shell", arguments: { argv: ["printf", "%s", `a${half}`] } };
    const steps: Step[] = [
      { text: `half ${half} pair`, calls: [create, argv] },
      { text: `end ${half}` },
      { text: "fine" },
      { text: "ok" },
    ];
    await using model = await startModel(steps, { wire });
    const first = await runThndrs({ args: ["-p", "go"], cwd: dir.path, env: model.env });
    expect(first).toMatchObject({ code: 0, stdout: "end \ufffd\n" });
    for (const text of ["fine\n", "ok\n"])
      expect(await runThndrs({ args: ["-c", "-p", "on"], cwd: dir.path, env: model.env })).toMatchObject({
        code: 0,
        stdout: text,
      });
    // JSON may write a lone half as an escape: none is in the log either.
    expect(logText(dir.path)).not.toMatch(/\\ud82d(?!\\ud)/i);
    // Mended, it would be another file than the model asked for.
    expect(existsSync(dir.at("note.txt"))).toBe(false);
  });
}

const TASK: readonly Step[] = [
  { reasoning: "Look first.", text: "Looking.", calls: [{ name: "find_files", arguments: { pattern: "*.txt" } }] },
  {
    calls: [
      { name: "read_file_range", arguments: { path: "a.txt" } },
      { name: "search_text", arguments: { pattern: "alpha" } },
    ],
  },
  { text: "Editing.", calls: [{ name: "replace_range", arguments: { path: "a.txt", old_string: "alpha", new_string: "beta" } }] },
  { calls: [{ name: "run_shell", arguments: { argv: ["cat", "a.txt"] } }] },
  { text: "Replaced." },
];

/** A record without what names a moment, a process, a provider or a count of tokens. */
function bare(record: object, cwd: string): unknown {
  const moment = new Set(["time", "elapsed_ms", "session_id", "provider", "model", "usage", "date", "process_id"]);
  const text = JSON.stringify(record, (key, value) => (moment.has(key) ? undefined : value));
  return JSON.parse(text.replaceAll(cwd, "CWD").replaceAll(/\(\d+ ms\)/g, "(N ms)"));
}

test("one task on three wires: the session logs differ only in provider, model and usage", async () => {
  const logs: unknown[][] = [];
  for (const wire of WIRES) {
    await using dir = await tempDir({ "a.txt": "alpha\n", "b.txt": "other\n", "AGENTS.md": "Be brief.\n" });
    await using model = await startModel(TASK, { wire });
    const result = await runThndrs({ args: ["-p", "replace it"], cwd: dir.path, env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "Replaced.\n" });
    expect(await dir.read("a.txt")).toBe("beta\n");
    const calls = new Map<unknown, number>();
    const log = records(dir.path)
      .filter((record) => record.type !== "usage" && record.type !== "context_ledger")
      .map((record) => {
        const { seq: _, ...rest } = record;
        if (rest.call_id !== undefined && !calls.has(rest.call_id)) calls.set(rest.call_id, calls.size);
        const call = rest.call_id === undefined ? {} : { call_id: calls.get(rest.call_id) };
        // The prompt names the model, and so does its hash.
        const hash = record.type === "prompt_metadata" ? { system_prompt_hash: "" } : {};
        // Reading calls run together: whichever is done first is recorded first.
        return bare({ ...rest, ...call, ...hash }, dir.path);
      });
    logs.push(log.sort((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))));
  }
  expect(logs[0]?.length).toBeGreaterThan(15);
  expect(logs[1]).toEqual(logs[0] ?? []);
  expect(logs[2]).toEqual(logs[0] ?? []);
});

for (const wire of WIRES) {
  test(`${wire}: twenty turns with discoveries: request N is a byte prefix of request N + 1`, async () => {
    const nested = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [
        [`part${n}/AGENTS.md`, `Rule ${n} of this part.\n`],
        [`part${n}/code.ts`, `export const part = ${n};\n`],
      ]).flat(),
    );
    await using dir = await tempDir({ "AGENTS.md": "The root rule.\n", ...nested });
    const script = ({ number }: Seen): Step => {
      if (number > 19) return { text: "all read" };
      const path = `part${number % 10}/code.ts`;
      if (number % 5 === 4)
        return { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", `cd part${number % 10} && cat code.ts`] } }] };
      const read = { name: "read_file_range", arguments: { path, start_line: 1, end_line: number } };
      const more = number % 2 === 0 ? { text: `turn ${number}` } : { reasoning: `thought ${number}` };
      return { ...more, calls: [read] };
    };
    await using model = await startModel(script, { wire });
    const result = await runThndrs({ args: ["-p", "read all parts"], cwd: dir.path, env: model.env, timeoutMs: 20_000 });
    expect(result).toMatchObject({ code: 0, stdout: "all read\n" });
    const bodies = model.server.requests.map((seen) => seen.raw);
    expect(bodies).toHaveLength(20);
    expect(prefixBreaks(bodies)).toEqual([]);
    const last = bodies.at(-1) ?? "";
    for (let n = 0; n < 10; n++) expect(last.split(`Rule ${n} of this part.`)).toHaveLength(2);
    // Discovered on the way, not all at the start.
    expect(bodies[0]).not.toContain("of this part.");
    expect(last.split("The root rule.")).toHaveLength(2);
  });
}
