/**
 * Every way a run can end badly, in every output format: exit code, stdout, the line on stderr, the result object and the
 * last session record tell one story (cli.md, exit table).
 */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LoopbackOptions, Script } from "../support/loopback.ts";
import { modelEnv, startModel } from "../support/model.ts";
import { type RunOptions, type RunResult, runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

type Row = {
  readonly name: string;
  readonly script?: Script;
  readonly server?: LoopbackOptions;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly stdin?: RunOptions["stdin"];
  readonly signal?: NodeJS.Signals;
  readonly prompt?: string;
  readonly code: number;
  readonly status: string;
  readonly errorClass: string;
  readonly stderr: RegExp;
  /** Type of the last record; null when there is no session. */
  readonly last: string | null;
};

const ONE_TRY = { THNDRS_RETRY_MAX_TRIES: "1" };
const looping: Script = (seen) => ({ calls: [{ name: "run_shell", arguments: { argv: ["echo", String(seen.number)] } }] });
const shell: Script = () => ({ calls: [{ name: "run_shell", arguments: { argv: ["true"] } }] });
const PRICED = '[models."openrouter/mock"]\nprice = { input = 1000.0, output = 1000.0 }\n';

const ROWS: readonly Row[] = [
  {
    name: "401",
    script: [{ status: 401, body: { error: { message: "bad key" } } }],
    code: 1,
    status: "failed",
    errorClass: "auth",
    stderr: /error: .*401/,
    last: "failed",
  },
  {
    name: "429 for ever",
    script: [{ status: 429, headers: { "retry-after": "0" }, body: "{}" }],
    server: { repeatLast: true },
    env: { THNDRS_RETRY_MAX_TRIES: "3", THNDRS_RETRY_CAP: "0" },
    code: 1,
    status: "failed",
    errorClass: "rate_limit",
    stderr: /error: .*429/,
    last: "failed",
  },
  {
    name: "429 with a wait of hours ends at once and names it",
    script: [{ status: 429, headers: { "retry-after": "43200" }, body: "{}" }],
    code: 1,
    status: "failed",
    errorClass: "rate_limit",
    stderr: /error: .*12 h/,
    last: "failed",
  },
  {
    name: "stalled",
    script: [{ text: ["one", "two"], cut: { after: 1, how: "stall" } }],
    env: { ...ONE_TRY, THNDRS_STALL_TIMEOUT: "1" },
    code: 1,
    status: "failed",
    errorClass: "stalled",
    stderr: /error: .*1 s/,
    last: "failed",
  },
  {
    name: "truncated",
    script: [{ text: ["one", "two"], cut: { after: 2, how: "fin" } }],
    env: ONE_TRY,
    code: 1,
    status: "failed",
    errorClass: "truncated",
    stderr: /error: /,
    last: "failed",
  },
  {
    name: "empty",
    script: [{ text: "" }],
    code: 1,
    status: "failed",
    errorClass: "empty_answer",
    stderr: /error: the model gave no answer/,
    last: "failed",
  },
  {
    name: "cancelled",
    script: [{ text: "never", hold: { gate: "never" } }],
    signal: "SIGTERM",
    code: 143,
    status: "cancelled",
    errorClass: "cancelled",
    stderr: /error: cancelled \(signal:SIGTERM\)/,
    last: "cancelled",
  },
  {
    name: "--timeout",
    script: [{ text: "never", hold: { gate: "never" } }],
    args: ["--timeout", "300ms"],
    code: 124,
    status: "timeout",
    errorClass: "timeout",
    stderr: /error: the time limit was reached/,
    last: "cancelled",
  },
  {
    name: "--max-turns",
    script: looping,
    args: ["--max-turns", "2"],
    code: 4,
    status: "limit",
    errorClass: "max_turns",
    stderr: /error: .*--max-turns/,
    last: "failed",
  },
  {
    name: "--max-cost",
    script: looping,
    args: ["--max-cost", "0.15"],
    config: PRICED,
    code: 4,
    status: "limit",
    errorClass: "max_cost",
    stderr: /error: .*--max-cost/,
    last: "failed",
  },
  {
    name: "a denied tool the run cannot do without",
    script: shell,
    args: ["--deny-tool", "run_shell(*)"],
    code: 3,
    status: "policy",
    errorClass: "policy",
    stderr: /run_shell denied: .*--deny-tool/,
    last: "failed",
  },
  {
    name: "approval nobody can give",
    script: shell,
    env: { THNDRS_APPROVAL: "shell" },
    code: 3,
    status: "policy",
    errorClass: "policy",
    stderr: /run_shell denied: Approval is required/,
    last: "failed",
  },
  {
    name: "no progress",
    script: shell,
    code: 1,
    status: "failed",
    errorClass: "no_progress",
    stderr: /error: no progress/,
    last: "failed",
  },
  {
    name: "a bad answer for --output-schema",
    script: [{ text: "not json" }, { text: "still not" }],
    args: ["--output-schema", "schema.json"],
    code: 1,
    status: "failed",
    errorClass: "invalid_output",
    stderr: /error: the answer does not fit the output schema/,
    last: "failed",
  },
  {
    name: "bad configuration",
    config: "modle = 1\n",
    code: 2,
    status: "usage",
    errorClass: "usage",
    stderr: /error: .*config\.toml.*modle/,
    last: null,
  },
  {
    name: "closed stdin and no prompt",
    prompt: "",
    stdin: "closed",
    code: 2,
    status: "usage",
    errorClass: "usage",
    stderr: /error: the prompt is empty/,
    last: null,
  },
];

const SCHEMA = JSON.stringify({ type: "object", properties: { n: { type: "number" } }, required: ["n"] });

function lastRecord(cwd: string): { type: string } | null {
  const dir = join(cwd, ".thndrs", "sessions");
  const file = (() => {
    try {
      return readdirSync(dir).find((name) => name.endsWith(".jsonl"));
    } catch {
      return undefined;
    }
  })();
  if (file === undefined) return null;
  return JSON.parse(readFileSync(join(dir, file), "utf8").trimEnd().split("\n").at(-1) ?? "");
}

async function execute(row: Row, format: string, cwd: string): Promise<RunResult> {
  await using home = await tempDir(row.config === undefined ? {} : { "config.toml": row.config });
  await using model = await startModel(row.script ?? [], row.server ?? {});
  const options: RunOptions = {
    args: ["-p", ...(row.prompt === "" ? [] : [row.prompt ?? "go"]), "--output-format", format, ...(row.args ?? [])],
    cwd,
    env: { ...model.env, THNDRS_HOME: home.path, ...row.env },
    stdin: row.stdin ?? "null",
  };
  if (row.signal === undefined) return await runThndrs(options);
  await using running = await startThndrs(options);
  await model.server.request(1);
  running.signal(row.signal);
  return await running.exited;
}

function check(row: Row, format: string, result: RunResult, last: { type: string } | null): void {
  expect(result.code).toBe(row.code);
  expect(result.leftovers).toEqual([]);
  expect(result.stderr).toMatch(row.stderr);
  for (const line of result.stderr.trimEnd().split("\n")) expect(line).toStartWith("thndrs: ");
  expect(last?.type ?? null).toBe(row.last);
  if (format === "text") {
    expect(result.stdout).toBe("");
    return;
  }
  const lines = result.stdout.trimEnd().split("\n");
  const object = JSON.parse(lines.at(-1) ?? "");
  expect([object.version, object.status, object.exit_code, object.error.class]).toEqual([
    1,
    row.status,
    row.code,
    row.errorClass,
  ]);
  expect(result.stderr).toContain(String(object.error.message).split("\n")[0] ?? "");
  if (format === "json") expect(lines).toHaveLength(1);
  else expect(object.type).toBe("result");
}

for (const row of ROWS) {
  test(`failure matrix: ${row.name}`, async () => {
    for (const format of ["text", "json", "stream-json"]) {
      await using dir = await tempDir({ "schema.json": SCHEMA });
      check(row, format, await execute(row, format, dir.path), lastRecord(dir.path));
    }
  });
}

test("failure matrix: provider down", async () => {
  for (const format of ["text", "json", "stream-json"]) {
    await using dir = await tempDir();
    const result = await runThndrs({
      args: ["-p", "go", "--output-format", format],
      cwd: dir.path,
      env: { ...modelEnv("http://127.0.0.1:9/v1"), ...ONE_TRY },
    });
    const row: Row = {
      name: "down",
      code: 1,
      status: "failed",
      errorClass: "network",
      stderr: /error: .*127\.0\.0\.1:9/,
      last: "failed",
    };
    check(row, format, result, lastRecord(dir.path));
  }
});

const mountable =
  process.getuid?.() === 0 && process.platform === "linux" && Bun.spawnSync(["sh", "-c", "unshare -m true"]).exitCode === 0;

test.skipIf(!mountable)("failure matrix: full disk: a warning at once; a failure only where the log was promised", async () => {
  await using dir = await tempDir();
  mkdirSync(dir.at("small"));
  const { binary } = await import("../support/launch.ts");
  // A file system of its own, seen by this run alone: nothing to unmount afterwards.
  const script = 'mount -t tmpfs -o size=16k none small && head -c 16384 /dev/zero > small/filler; exec "$0" "$@"';
  const command = ["unshare", "-m", "sh", "-c", script, binary];
  for (const [promised, code] of [
    [true, 1],
    [false, 0],
  ] as const) {
    await using model = await startModel([{ text: "the answer" }], { repeatLast: true });
    const result = await runThndrs({
      command,
      args: ["-p", "go", "--output-format", "json", ...(promised ? ["--session-dir", "small/s"] : [])],
      cwd: dir.path,
      env: { ...model.env, ...(promised ? {} : { THNDRS_SESSION_DIR: dir.at("small/s") }) },
    });
    const plain = await runThndrs({
      command,
      args: ["-p", "go", ...(promised ? ["--session-dir", "small/t"] : [])],
      cwd: dir.path,
      env: { ...model.env, ...(promised ? {} : { THNDRS_SESSION_DIR: dir.at("small/t") }) },
    });
    expect(plain).toMatchObject({ code, stdout: "the answer\n" });
    expect(result.stderr).toMatch(/warning: .*session/i);
    expect(result.code).toBe(code);
    expect(JSON.parse(result.stdout)).toMatchObject({ exit_code: code, status: promised ? "failed" : "ok", text: "the answer" });
  }
});

test("--output-schema: a fitting answer, also after one repair; --last-message keeps it", async () => {
  await using dir = await tempDir({ "schema.json": SCHEMA });
  await using model = await startModel([{ text: '{"n": 1}' }, { text: '{"n": "x"}' }, { text: '{"n": 2}' }]);
  const args = ["-p", "count", "--output-schema", "schema.json", "--last-message", "answer.json"];
  expect(await runThndrs({ args, cwd: dir.path, env: model.env })).toMatchObject({ code: 0, stdout: '{"n": 1}\n' });
  expect(readFileSync(dir.at("answer.json"), "utf8")).toBe('{"n": 1}');
  expect(await runThndrs({ args, cwd: dir.path, env: model.env })).toMatchObject({ code: 0, stdout: '{"n": 2}\n' });
  expect(model.server.requests[2]?.body.messages.at(-1).content).toContain("does not fit the required output schema");
  expect(model.server.requests[0]?.body.response_format).toBeDefined();
});

test("--output-schema: a file that is none is a usage error before any request", async () => {
  await using dir = await tempDir({ "bad.json": "{", "list.json": "[]" });
  await using model = await startModel([]);
  for (const file of ["missing.json", "bad.json", "list.json"]) {
    const result = await runThndrs({ args: ["-p", "x", "--output-schema", file], cwd: dir.path, env: model.env });
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(`--output-schema ${file}: `);
  }
  expect(model.server.requests).toHaveLength(0);
});

test("--authority read-only: only reading tools exist; a write the model tries anyway changes nothing", async () => {
  await using dir = await tempDir({ "a.txt": "x" });
  await using model = await startModel([
    {
      calls: [
        { name: "create_file", arguments: { path: "b.txt", content: "y" } },
        { name: "run_shell", arguments: { argv: ["touch", "c"] } },
      ],
    },
    { text: "ok" },
  ]);
  const result = await runThndrs({ args: ["-p", "x", "--authority", "read-only"], cwd: dir.path, env: model.env });
  expect(result.code).toBe(0);
  const names = model.server.requests[0]?.body.tools.map((tool: { function: { name: string } }) => tool.function.name);
  expect(names).toEqual(["find_files", "list_searchable_files", "search_text", "read_file_range"]);
  expect(readdirSync(dir.path).sort()).toEqual([".thndrs", "a.txt"]);
});

test("--allow-tool narrows arguments too", async () => {
  await using dir = await tempDir();
  await using model = await startModel([
    {
      calls: [
        { name: "run_shell", arguments: { argv: ["echo", "yes"] } },
        { name: "run_shell", arguments: { argv: ["touch", "no"] } },
      ],
    },
    { text: "ok" },
  ]);
  const result = await runThndrs({ args: ["-p", "x", "--allow-tool", "run_shell(echo *)"], cwd: dir.path, env: model.env });
  expect(result.code).toBe(0);
  const results = model.server.requests[1]?.body.messages.filter((message: { role: string }) => message.role === "tool");
  expect(results[0].content).toContain("yes");
  expect(results[1].content).toContain("only these calls are: run_shell(echo *)");
  expect(readdirSync(dir.path)).toEqual([".thndrs"]);
});
