import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";
import type { Wire } from "../support/wire/answer.ts";

const CHECK = `import { total } from "./total.mjs";
let failed = 0;
const is = (name, got, want) => { if (got !== want) { failed++; console.log("FAIL", name, "got", got, "want", want); } else console.log("ok", name); };
is("empty", total([]), 0);
is("sum", total([1, 2, 3]), 6);
process.exit(failed ? 1 : 0);
`;
const BROKEN = `export function total(items) {
  let sum = 0;
  for (const item of items) sum = item;
  return sum;
}
`;
const FIXED = BROKEN.replace("sum = item;", "sum += item;");
const PATH = `${join(process.execPath, "..")}:/usr/local/bin:/usr/bin:/bin`;
const check = { name: "run_shell", arguments: { argv: ["node", "check.mjs"] } } as const;

const SCRIPT: readonly Step[] = [
  { reasoning: "Run them first.", text: "Running the tests.", calls: [check] },
  {
    calls: [
      { name: "search_text", arguments: { pattern: "total" } },
      { name: "read_file_range", arguments: { path: "total.mjs" } },
    ],
  },
  { calls: [{ name: "replace_range", arguments: { path: "total.mjs", old_string: "sum = item;", new_string: "sum += item;" } }] },
  { calls: [check] },
  { text: "Fixed: `total` now adds." },
];

function records(cwd: string): { type: string; seq: number; [field: string]: unknown }[] {
  const dir = join(cwd, ".thndrs", "sessions");
  const file = readdirSync(dir).find((name) => name.endsWith(".jsonl")) ?? "";
  return readFileSync(join(dir, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

for (const wire of ["chat", "responses", "anthropic"] as const satisfies readonly Wire[]) {
  test(`fix tests over HTTP, wire ${wire}: a real repair, the answer alone on stdout, every record in order`, async () => {
    await using dir = await tempDir({ "total.mjs": BROKEN, "check.mjs": CHECK, "AGENTS.md": "Run `node check.mjs`.\n" });
    initGit(dir.path);
    await using model = await startModel(SCRIPT, { wire });
    const result = await runThndrs({ args: ["-p", "fix tests"], cwd: dir.path, env: model.env, path: PATH, timeoutMs: 20_000 });
    expect(result.stderr).not.toContain("error:");
    expect(result).toMatchObject({ code: 0, stdout: "Fixed: `total` now adds.\n", leftovers: [] });
    expect(readFileSync(dir.at("total.mjs"), "utf8")).toBe(FIXED);
    const diff = Bun.spawnSync(["git", "diff", "--stat"], { cwd: dir.path }).stdout.toString();
    expect(diff).toContain("total.mjs | 2 +-");
    expect(Bun.spawnSync(["git", "status", "--porcelain"], { cwd: dir.path }).stdout.toString()).toBe(" M total.mjs\n");

    const log = records(dir.path);
    expect(log.map((record) => record.seq)).toEqual(log.map((_, index) => index));
    const types = log.map((record) => record.type).filter((type) => type !== "context_ledger");
    const request = ["tool_started", "tool_finished", "usage"];
    for (const type of request) expect(types).toContain(type);
    expect(types.slice(0, 4)).toEqual(["session_meta", "context", "prompt_metadata", "user"]);
    expect(types.filter((type) => !["usage", "reasoning_finished"].includes(type)).slice(4)).toEqual([
      "assistant_finished",
      "tool_started",
      "shell_exec",
      "tool_finished",
      "tool_started",
      "tool_started",
      "tool_finished",
      "tool_finished",
      "tool_started",
      "file_write",
      "tool_finished",
      "tool_started",
      "shell_exec",
      "tool_finished",
      "assistant_finished",
    ]);
    expect(types).toContain("reasoning_finished");
    expect(log[1]).toMatchObject({ sources: [{ path: dir.at("AGENTS.md"), scope: ".", origin: "root", truncated: false }] });
    expect(JSON.stringify(log[1])).not.toContain("Run `node");
    const write = log.find((record) => record.type === "file_write");
    expect(write).toMatchObject({
      op: "edit",
      path: "total.mjs",
      before_bytes: BROKEN.length,
      after_bytes: FIXED.length,
      status: "ok",
    });
    const shells = log.filter((record) => record.type === "shell_exec");
    expect(shells.map((record) => record.exit_code)).toEqual([1, 0]);
  });
}

test("the instruction chain is in the first user message, never in the system prompt", async () => {
  await using dir = await tempDir({ "AGENTS.md": "Always whistle.\n" });
  await using model = await startModel([{ text: "ok" }]);
  await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
  const [system, user] = model.server.requests[0]?.body.messages ?? [];
  expect(system).toMatchObject({ role: "system" });
  expect(system.content).not.toContain("whistle");
  expect(system.content).toContain("<thndrs_self_knowledge>");
  expect(system.content).toContain(dir.at("AGENTS.md"));
  expect(user.content).toContain("<project_context>");
  expect(user.content).toContain("Always whistle.");
  expect(user.content).toEndWith("hi");
});

test("-v shows the inventory on stderr, --print-prompt shows the request and sends nothing", async () => {
  await using dir = await tempDir({ "AGENTS.md": "Always whistle.\n" });
  await using model = await startModel([{ text: "ok" }]);
  const verbose = await runThndrs({ args: ["-p", "hi", "-v"], cwd: dir.path, env: model.env });
  for (const line of [
    "[Runtime] openrouter | mock | search duckduckgo | print",
    `[Context] ${dir.at("AGENTS.md")}`,
    "[Search] duckduckgo",
    "[Skills] (none)",
    "[Diagnostics] ",
  ]) {
    expect(verbose.stderr).toContain(`thndrs: ${line}`);
  }
  const printed = await runThndrs({ args: ["--print-prompt", "hi"], cwd: dir.path, env: model.env });
  expect(printed.code).toBe(0);
  expect(printed.stdout).toContain("Always whistle.");
  expect(printed.stdout).toMatch(/^Tool Catalog \(\d+ tools\)$/m);
  expect(model.server.requests).toHaveLength(1);
});

test("--record, then --replay: the same run with no network and no key", async () => {
  await using dir = await tempDir({ "total.mjs": BROKEN, "check.mjs": CHECK });
  await using copy = await tempDir();
  cpSync(dir.path, copy.path, { recursive: true });
  await using model = await startModel(SCRIPT);
  const args = ["-p", "fix tests", "--ephemeral", "--stdin", "ignore"];
  const recorded = await runThndrs({ args: [...args, "--record", "../rec.jsonl"], cwd: dir.path, env: model.env, path: PATH });
  expect(recorded.code).toBe(0);
  const recording = join(dir.path, "..", "rec.jsonl");
  const replayed = await runThndrs({ args: [...args, "--replay", recording], cwd: copy.path, path: PATH });
  expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout });
  expect(readFileSync(copy.at("total.mjs"), "utf8")).toBe(FIXED);
  const again = await runThndrs({ args: [...args, "--replay", recording], cwd: copy.path, path: PATH });
  expect(again.code).toBe(0);
  const { rmSync } = await import("node:fs");
  rmSync(recording);
});

test("--capture keeps raw exchanges, without keys, for its owner only", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "the answer" }]);
  const args = ["-p", "hi", "--capture", "wire.jsonl"];
  expect(await runThndrs({ args, cwd: dir.path, env: model.env })).toMatchObject({ code: 0, stdout: "the answer\n" });
  const [line, ...rest] = readFileSync(dir.at("wire.jsonl"), "utf8").trimEnd().split("\n");
  expect(rest).toEqual([]);
  const exchange = JSON.parse(line ?? "");
  expect(exchange).toMatchObject({ method: "POST", status: 200 });
  expect(JSON.parse(exchange.request).messages.at(-1).content).toEndWith("hi");
  expect(exchange.response).toContain("the answer");
  expect(line).not.toContain(TEST_KEY);
  expect(statSync(dir.at("wire.jsonl")).mode & 0o777).toBe(0o600);
});
