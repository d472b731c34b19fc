/** An external agent drives the turn (cases X01–X04). */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { RunEvent } from "../../src/types/event.ts";
import { TEST_KEY } from "../support/model.ts";
import { isRunning } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";
import { openStage, type Stage } from "./stage.ts";

const said = (text: string) => (event: RunEvent) => event.type === "text_delta" && event.text.includes(text);

/** Cancels a prompt that the agent is working on. */
async function cancelOne(stage: Stage) {
  const turn = stage.opened.runtime.submit("wait");
  await stage.event(said("working"));
  stage.opened.runtime.cancel("user");
  return turn;
}

function types(stage: Stage): unknown[] {
  return stage.records().map((record) => record.type);
}

function diagnostics(stage: Stage): string[] {
  return stage.events.flatMap((event) => (event.type === "diagnostic" ? [event.diagnostic.message] : []));
}

test("an agent answers; its session is recorded, its words are ours", async () => {
  await using stage = await openStage({ mode: "plain" });
  const outcome = await stage.opened.runtime.submit("hello");
  expect(outcome).toEqual({ status: "ok", text: "heard: hello", requests: 1 });
  expect(stage.records().find((record) => record.type === "acp_session")).toMatchObject({
    local_session_id: stage.opened.runtime.sessionId,
    agent_name: "plain",
    acp_session_id: expect.stringMatching(/^outer-/),
    protocol_version: 1,
    agent_info: { name: "fake", version: "1.2.3" },
  });
  expect(types(stage)).toEqual(["session_meta", "context", "prompt_metadata", "user", "acp_session", "assistant_finished"]);
  // Nothing of the protocol is in the log (seed).
  expect(readFileSync(stage.opened.runtime.sessionPath ?? "", "utf8")).not.toContain("jsonrpc");
  expect(await stage.opened.runtime.submit("again")).toMatchObject({ status: "ok", text: "heard: again" });
  expect(stage.pids()).toHaveLength(1);
  await stage.opened.runtime.close();
  expect(stage.pids().filter(isRunning)).toEqual([]);
});

test("X01 a cancelled prompt answered with end_turn, then again: our record says cancelled, the next prompt works", async () => {
  await using stage = await openStage({ mode: "twice" });
  expect(await cancelOne(stage)).toMatchObject({ status: "cancelled", text: "working late words" });
  expect(stage.records().filter((record) => record.type === "cancelled")).toEqual([expect.objectContaining({ reason: "user" })]);
  expect(stage.records().filter((record) => record.type === "assistant_finished")).toEqual([
    expect.objectContaining({ partial: true }),
  ]);
  expect(stage.heard().map((message) => message.method)).toContain("session/cancel");
  expect(await stage.opened.runtime.submit("next")).toMatchObject({ status: "ok", text: "heard: next" });
  expect(stage.pids()).toHaveLength(1);
});

test("X01 an agent that says cancelled of itself has failed: nobody here cancelled", async () => {
  await using stage = await openStage({ mode: "plain" });
  const outcome = await stage.opened.runtime.submit("say cancelled");
  expect(outcome).toMatchObject({ status: "failed", error: { class: "protocol" } });
  expect(types(stage)).not.toContain("cancelled");
});

test("an agent that says nothing has given no answer", async () => {
  await using stage = await openStage({ mode: "plain" });
  expect(await stage.opened.runtime.submit("silent")).toMatchObject({ status: "failed", error: { class: "empty_answer" } });
});

const QUESTION = JSON.stringify([
  [
    "session/request_permission",
    {
      toolCall: { toolCallId: "call-1", title: "Delete everything", kind: "execute", rawInput: { command: "rm -rf /" } },
      options: [
        { optionId: "yes", name: "Yes", kind: "allow_once" },
        { optionId: "no", name: "No", kind: "reject_once" },
      ],
    },
  ],
]);

test("X02 in print mode the setting answers: rejected by default, and said", async () => {
  await using stage = await openStage({ mode: "plain" });
  const outcome = await stage.opened.runtime.submit(QUESTION);
  expect(outcome.text).toContain('"optionId":"no"');
  expect(stage.records().filter((record) => String(record.type).startsWith("acp_permission"))).toEqual([
    expect.objectContaining({
      tool_call_id: "call-1",
      title: "Delete everything",
      options: [
        { id: "yes", name: "Yes", kind: "allow_once" },
        { id: "no", name: "No", kind: "reject_once" },
      ],
    }),
    expect.objectContaining({ outcome: "selected", option_id: "no" }),
  ]);
  expect(diagnostics(stage).join()).toContain('acp.permissions = "reject"');
});

test('X02 acp.permissions = "allow" answers yes', async () => {
  await using stage = await openStage({ mode: "plain", config: 'acp.permissions = "allow"' });
  expect((await stage.opened.runtime.submit(QUESTION)).text).toContain('"optionId":"yes"');
});

test("X02 read-only authority rejects what would change something, whatever the setting", async () => {
  await using stage = await openStage({
    mode: "plain",
    config: 'acp.permissions = "allow"',
    flags: { authority: "read-only" },
  });
  expect((await stage.opened.runtime.submit(QUESTION)).text).toContain('"optionId":"no"');
});

test("X02 a question that is open at cancel is answered with cancelled, and logged so", async () => {
  const asked = Promise.withResolvers<void>();
  await using stage = await openStage({
    mode: "plain",
    ask: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const turn = stage.opened.runtime.submit(QUESTION);
  await asked.promise;
  stage.opened.runtime.cancel("user");
  expect(await turn).toMatchObject({ status: "cancelled" });
  const answer = stage.heard().find((message) => message.id === "ask-1");
  expect(answer).toMatchObject({ result: { outcome: { outcome: "cancelled" } } });
  expect(stage.records().find((record) => record.type === "acp_permission_outcome")).toMatchObject({ outcome: "cancelled" });
});

test("X02 a question that is open when the agent ends its turn is taken back", async () => {
  const withdrawn = Promise.withResolvers<void>();
  await using stage = await openStage({
    mode: "plain",
    files: { "a.txt": "x" },
    ask: (_name, _input, _entry, signal) => {
      signal.addEventListener("abort", () => withdrawn.resolve(), { once: true });
      return new Promise(() => undefined);
    },
  });
  const [[method, params]] = JSON.parse(QUESTION);
  const requests = [
    ["unawaited", { method, params }],
    ["fs/read_text_file", { path: join(stage.workspace, "a.txt") }],
  ];
  expect(await stage.opened.runtime.submit(JSON.stringify(requests))).toMatchObject({ status: "ok" });
  await withdrawn.promise;
  await stage.event((event) => event.type === "acp_permission_outcome");
  expect(stage.records().find((record) => record.type === "acp_permission_outcome")).toMatchObject({ outcome: "cancelled" });
});

test("X02 a person is asked about an agent's call by a name no tool of ours has; a command is shown word for word", async () => {
  const asked: [string, unknown, string][] = [];
  await using stage = await openStage({
    mode: "plain",
    ask: async (name, input, entry) => {
      asked.push([name, input, entry.effect]);
      return asked.length === 1 ? { allowed: false, reason: "no" } : { allowed: true };
    },
  });
  const question = (kind: string | undefined, rawInput: object | undefined) => [
    "session/request_permission",
    {
      toolCall: { toolCallId: "c", title: "create_file", ...(kind && { kind }), ...(rawInput && { rawInput }) },
      options: [
        { optionId: "always", name: "Always", kind: "allow_always" },
        { optionId: "never", name: "Never", kind: "reject_always" },
      ],
    },
  ];
  const questions = [
    question("execute", { command: "rm -rf /" }),
    question("execute", { command: ["make"], cwd: "vendor/x" }),
    question("edit", { path: "a" }),
    question("delete", undefined),
    question(undefined, undefined),
  ];
  const outcome = await stage.opened.runtime.submit(JSON.stringify(questions));
  const chosen = (JSON.parse(outcome.text) as { outcome: { optionId: string } }[]).map((answer) => answer.outcome.optionId);
  expect(chosen).toEqual(["never", "always", "always", "always", "always"]);
  expect(asked).toEqual([
    ["acp:plain execute", { argv: ["sh", "-c", "rm -rf /"] }, "shell"],
    ["acp:plain execute", { argv: ["make"], cwd: "vendor/x" }, "shell"],
    ["acp:plain edit", { action: "create_file", kind: "edit", input: { path: "a" } }, "write"],
    ["acp:plain create_file", { action: "create_file", kind: "delete", input: {} }, "write"],
    ["acp:plain create_file", { action: "create_file", kind: "other", input: {} }, "shell"],
  ]);
});

test("X02 questions come one at a time", async () => {
  const open: string[] = [];
  let most = 0;
  await using stage = await openStage({
    mode: "plain",
    ask: async (name) => {
      open.push(name);
      most = Math.max(most, open.length);
      await Bun.sleep(5);
      open.pop();
      return { allowed: true };
    },
  });
  const [question] = JSON.parse(QUESTION);
  const turns = await stage.opened.runtime.submit(JSON.stringify([["all", { requests: [question, question, question] }]]));
  expect(turns.text.match(/"yes"/g)).toHaveLength(3);
  expect(most).toBe(1);
});

test("X03 an agent that answers a cancel with an error: cancelled, and the next prompt works", async () => {
  await using stage = await openStage({ mode: "refuse" });
  expect(await cancelOne(stage)).toMatchObject({ status: "cancelled" });
  expect(await stage.opened.runtime.submit("next")).toMatchObject({ status: "ok", text: "heard: next" });
  expect(stage.pids()).toHaveLength(1);
});

test("X03 an agent that ignores a cancel is ended in bounded time; its session is loaded by the next prompt", async () => {
  await using stage = await openStage({ mode: "ignore" });
  const began = performance.now();
  expect(await cancelOne(stage)).toMatchObject({ status: "cancelled" });
  expect(performance.now() - began).toBeLessThan(6000);
  expect(stage.pids().filter(isRunning)).toEqual([]);
  expect(diagnostics(stage).join()).toContain("did not stop within 2 s");
  expect(await stage.opened.runtime.submit("next")).toMatchObject({ status: "ok", text: "heard: next" });
  const ids = stage.records().flatMap((record) => (record.type === "acp_session" ? [record.acp_session_id] : []));
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
  expect(stage.heard().map((message) => message.method)).toContain("session/load");
  // What a load plays back was said before.
  expect(stage.events.some(said("OLD WORDS"))).toBe(false);
});

test("X03 an agent that exits on cancel: the person is told, the session is kept", async () => {
  await using stage = await openStage({ mode: "exit" });
  expect(await cancelOne(stage)).toMatchObject({ status: "cancelled" });
  expect(diagnostics(stage).join()).toContain("its session is kept");
  expect(await stage.opened.runtime.submit("next")).toMatchObject({ status: "ok", text: "heard: next" });
  expect(stage.heard().map((message) => message.method)).toContain("session/load");
});

test("an agent that dies says how, and the next prompt starts it again", async () => {
  await using stage = await openStage({ mode: "plain" });
  const outcome = await stage.opened.runtime.submit("die");
  expect(outcome).toMatchObject({ status: "failed", error: { class: "protocol" } });
  expect(outcome.error?.message).toContain("exited with code 7");
  expect(await stage.opened.runtime.submit("next")).toMatchObject({ status: "ok" });
});

test("X04 junk on stdout is skipped and said once", async () => {
  await using stage = await openStage({ mode: "junk" });
  expect(await stage.opened.runtime.submit("hello")).toMatchObject({ status: "ok", text: "heard: hello" });
  expect(await stage.opened.runtime.submit("hello")).toMatchObject({ status: "ok" });
  const told = diagnostics(stage).filter((message) => message.includes("no protocol"));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain("Fake agent 1.0");
  expect(readFileSync(stage.opened.runtime.sessionPath ?? "", "utf8")).not.toContain("xxxxxxxx");
});

test("X04 files outside, through links, and odd paths are refused as for the tools; inside they are written with care", async () => {
  await using outside = await tempDir({ "secret.txt": "secret" });
  await using stage = await openStage({
    mode: "plain",
    files: { "a.txt": "one\ntwo\nthree\n", "bin.dat": new Uint8Array([0, 255]) },
  });
  const { workspace } = stage;
  symlinkSync(outside.path, join(workspace, "way-out"));
  symlinkSync(outside.at("secret.txt"), join(workspace, "link.txt"));
  symlinkSync(join(workspace, "nowhere"), join(workspace, "dangling"));
  mkdirSync(join(workspace, "sub"));
  const write = (path: string) => ["fs/write_text_file", { path, content: "changed" }];
  const read = (path: string, more: object = {}) => ["fs/read_text_file", { path, ...more }];
  const outcome = await stage.opened.runtime.submit(
    JSON.stringify([
      write("../x"),
      write(join(workspace, "way-out", "new.txt")),
      write(join(workspace, "link.txt")),
      write(join(workspace, "dangling")),
      read(outside.at("secret.txt")),
      read(join(workspace, "link.txt")),
      read(join(workspace, "bin.dat")),
      read(join(workspace, "missing")),
      read(join(workspace, "a.txt"), { line: 2, limit: 1 }),
      write(join(workspace, "sub/deep/new.txt")),
      write(join(workspace, "a.txt")),
      read(join(workspace, "a.txt")),
    ]),
  );
  const answers = JSON.parse(outcome.text) as { code?: number; message?: string; content?: string }[];
  for (const answer of answers.slice(0, 8)) expect(answer.code).toBeLessThan(0);
  expect(answers[0]?.message).toContain("outside the workspace");
  expect(answers[1]?.message).toContain("outside the workspace");
  expect(answers[8]).toEqual({ content: "two\n" });
  expect(answers.slice(9)).toEqual([{}, {}, { content: "changed" }]);
  expect(readFileSync(outside.at("secret.txt"), "utf8")).toBe("secret");
  expect(existsSync(outside.at("new.txt"))).toBe(false);
  expect(existsSync(join(workspace, "nowhere"))).toBe(false);
  expect(readFileSync(join(workspace, "sub/deep/new.txt"), "utf8")).toBe("changed");
  const writes = stage.records().filter((record) => record.type === "file_write");
  expect(writes).toEqual([
    expect.objectContaining({ op: "create", path: "sub/deep/new.txt", status: "ok", after_bytes: 7 }),
    expect.objectContaining({ op: "replace", path: "a.txt", status: "ok", before_bytes: 14 }),
  ]);
  expect(stage.opened.runtime.totals().changedFiles).toEqual(["a.txt", "sub/deep/new.txt"]);
  expect(statSync(join(workspace, "a.txt")).size).toBe(7);
});

test("policy holds for what an agent does through us", async () => {
  await using stage = await openStage({
    mode: "plain",
    files: { "a.txt": "text" },
    flags: { denyTool: ["run_shell(rm*)", "write_patch"] },
  });
  const { workspace } = stage;
  const outcome = await stage.opened.runtime.submit(
    JSON.stringify([
      ["fs/write_text_file", { path: join(workspace, "a.txt"), content: "x" }],
      ["terminal/create", { command: "rm", args: ["a.txt"] }],
      ["fs/read_text_file", { path: join(workspace, "a.txt") }],
    ]),
  );
  const answers = JSON.parse(outcome.text);
  expect(answers[0].message).toContain("not available");
  expect(answers[1].message).toContain("--deny-tool run_shell(rm*)");
  expect(answers[2]).toEqual({ content: "text" });
});

test("read-only: no writes, no commands, and the agent is not even offered them", async () => {
  await using stage = await openStage({ mode: "plain", flags: { authority: "read-only" } });
  const { workspace } = stage;
  const outcome = await stage.opened.runtime.submit(
    JSON.stringify([
      ["fs/write_text_file", { path: join(workspace, "new.txt"), content: "x" }],
      ["terminal/create", { command: "true" }],
    ]),
  );
  for (const answer of JSON.parse(outcome.text)) expect(answer.message).toContain("read-only");
  expect(existsSync(join(workspace, "new.txt"))).toBe(false);
  expect(stage.heard()[0]).toMatchObject({
    params: { clientCapabilities: { fs: { readTextFile: true, writeTextFile: false }, terminal: false } },
  });
});

test("terminals: output, exit, kill, release; the commands are recorded and nothing is left", async () => {
  await using stage = await openStage({ mode: "plain" });
  const outcome = await stage.opened.runtime.submit(
    JSON.stringify([
      [
        "terminal/create",
        { command: "sh", args: ["-c", "echo out; echo err >&2; echo $EXTRA; exit 3"], env: [{ name: "EXTRA", value: "given" }] },
      ],
      ["terminal/wait_for_exit", {}],
      ["terminal/output", {}],
      ["terminal/release", {}],
      ["terminal/output", {}],
      ["terminal/create", { command: "sh", args: ["-c", "sleep 577 & sleep 578"], outputByteLimit: 10 }],
      ["terminal/kill", {}],
      ["terminal/wait_for_exit", {}],
      ["terminal/create", { command: "no-such-program-here" }],
      ["terminal/create", { command: "true", cwd: "/" }],
    ]),
  );
  const answers = JSON.parse(outcome.text);
  expect(answers[1]).toEqual({ exitCode: 3, signal: null });
  expect(answers[2].output.split("\n").sort()).toEqual(["", "err", "given", "out"]);
  expect(answers[2]).toMatchObject({ truncated: false, exitStatus: { exitCode: 3 } });
  expect(answers[4].message).toContain("no terminal");
  expect(answers[7].exitCode).toBeNull();
  expect(answers[8].message).toContain("no-such-program-here");
  expect(answers[9].message).toContain("outside the workspace");
  const shells = stage.records().filter((record) => record.type === "shell_exec");
  expect(shells).toEqual([
    expect.objectContaining({ process_status: "failed", exit_code: 3, kind: "one-shot" }),
    expect.objectContaining({ process_status: "cancelled" }),
  ]);
});

test("commands that an agent left running end with it", async () => {
  await using stage = await openStage({ mode: "plain" });
  const { runtime } = stage.opened;
  await runtime.submit(JSON.stringify([["terminal/create", { command: "sleep", args: ["579"] }]]));
  expect(stage.records().some((record) => record.type === "shell_exec")).toBe(false);
  expect(await runtime.submit("die")).toMatchObject({ status: "failed" });
  expect(stage.records().find((record) => record.type === "shell_exec")).toMatchObject({ process_status: "cancelled" });
});

test("credentials stay with us: the agent's environment, its terminals, the log", async () => {
  await using stage = await openStage({
    mode: "plain",
    env: { OPENAI_API_KEY: TEST_KEY, MY_PROVIDER_TOKEN: "tok-123456", EDITOR_THEME: "dark", THNDRS_AUTHORITY: "workspace-write" },
  });
  const env = JSON.parse((await stage.opened.runtime.submit("env")).text);
  expect(env).toMatchObject({ FAKE_DECLARED: "declared", EDITOR_THEME: "dark" });
  expect(Object.keys(env).filter((name) => /OPENAI|TOKEN|THNDRS_AUTHORITY/.test(name))).toEqual([]);
  const shell = await stage.opened.runtime.submit(
    JSON.stringify([
      ["terminal/create", { command: "env" }],
      ["terminal/wait_for_exit", {}],
      ["terminal/output", {}],
    ]),
  );
  expect(shell.text).not.toContain(TEST_KEY);
});

test("resume goes on with the agent's session; an agent that cannot load says that it starts afresh", async () => {
  await using first = await openStage({ mode: "plain" });
  await first.opened.runtime.submit("hello");
  await first.opened.runtime.close();
  const outer = first.records().find((record) => record.type === "acp_session")?.acp_session_id;
  await using second = await openStage({ mode: "plain", after: first });
  expect(await second.opened.runtime.submit("more")).toMatchObject({ status: "ok", text: "heard: more" });
  const load = second.heard().find((message) => message.method === "session/load");
  expect(load).toMatchObject({ params: { sessionId: outer } });
  expect(second.events.some(said("OLD WORDS"))).toBe(false);
  expect(
    second
      .records()
      .filter((record) => record.type === "acp_session")
      .map((record) => record.acp_session_id),
  ).toEqual([outer, outer]);

  await using third = await openStage({ mode: "forgetful" });
  await third.opened.runtime.submit("hello");
  await third.opened.runtime.close();
  await using fourth = await openStage({ mode: "forgetful", after: third });
  expect(await fourth.opened.runtime.submit("more")).toMatchObject({ status: "ok" });
  expect(diagnostics(fourth).join()).toContain("does not know the earlier conversation");
});

test("our MCP servers are passed on with what they need, those the agent can use; --no-mcp keeps them", async () => {
  const config = `
[mcp.servers.files]
command = "files-server"
args = ["--root"]
env = { FILES_TOKEN = "\${FILES_TOKEN}" }
[mcp.servers.off]
command = "off"
enabled = false
[mcp.servers.wiki]
url = "https://wiki.example.invalid/mcp"
`;
  const env = { FILES_TOKEN: "file-token" };
  await using stage = await openStage({ mode: "plain", config, env });
  await stage.opened.runtime.submit("hello");
  const passed = (heard: Stage) => heard.heard().find((message) => message.method === "session/new")?.params;
  // The fake agent takes no HTTP servers.
  expect(passed(stage)).toEqual({
    cwd: stage.workspace,
    mcpServers: [
      { name: "files", command: "files-server", args: ["--root"], env: [{ name: "FILES_TOKEN", value: "file-token" }] },
    ],
  });
  expect(readFileSync(stage.opened.runtime.sessionPath ?? "", "utf8")).not.toContain("file-token");
  await using alone = await openStage({ mode: "plain", config, env, flags: { noMcp: true } });
  await alone.opened.runtime.submit("hello");
  expect(passed(alone)).toMatchObject({ mcpServers: [] });
});

test("tool calls, thoughts, plans and cost become events; a session of tools can be resumed by any wire", async () => {
  await using stage = await openStage({ mode: "plain" });
  const outcome = await stage.opened.runtime.submit(
    JSON.stringify([
      ["update", { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } }],
      ["update", { sessionUpdate: "agent_message_chunk", messageId: "1", content: { type: "text", text: "I " } }],
      ["update", { sessionUpdate: "agent_message_chunk", messageId: "1", content: { type: "text", text: "look." } }],
      ["update", { sessionUpdate: "agent_message_chunk", messageId: "2", content: { type: "text", text: "Closely." } }],
      ["update", { sessionUpdate: "plan", entries: [{ content: "look", status: "completed", priority: "high" }] }],
      ["update", { sessionUpdate: "tool_call", toolCallId: "c1", title: "Read a", kind: "read", rawInput: { key: TEST_KEY } }],
      ["update", { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "in_progress" }],
      [
        "update",
        {
          sessionUpdate: "tool_call_update",
          toolCallId: "c1",
          status: "completed",
          content: [{ type: "content", content: { type: "text", text: `found ${TEST_KEY}` } }],
        },
      ],
      ["update", { sessionUpdate: "tool_call", toolCallId: "c2", title: "Edit b", kind: "edit", status: "pending" }],
      [
        "update",
        {
          sessionUpdate: "tool_call_update",
          toolCallId: "c2",
          status: "failed",
          content: [{ type: "diff", path: "b", oldText: "1\n", newText: "1\n2\n" }],
        },
      ],
      ["update", { sessionUpdate: "tool_call", toolCallId: "c3", title: "Never ends" }],
      ["update", { sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 0.25, currency: "USD" } }],
      ["update", { sessionUpdate: "something_new", what: 1 }],
      ["stray", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "not ours" } }],
      ["update", { sessionUpdate: "tool_call" }],
      ["update", {}],
    ]),
  );
  expect(outcome).toMatchObject({ status: "ok", text: "[]" });
  const shown = stage.events.flatMap((event) =>
    event.type === "tool_started"
      ? [`start ${event.callId} ${event.name} ${event.arguments.action}`]
      : event.type === "tool_finished"
        ? [`end ${event.callId} ${event.status}`]
        : event.type === "assistant_finished"
          ? [`said ${event.text} ${event.final}`]
          : event.type === "reasoning_finished"
            ? [`thought ${event.text}`]
            : [],
  );
  expect(shown).toEqual([
    "thought hm",
    "said I look.\n\nClosely. false",
    "start c1 read Read a",
    "end c1 ok",
    "start c2 edit Edit b",
    "end c2 failed",
    "start c3 tool Never ends",
    "end c3 failed",
    "said [] true",
  ]);
  expect(diagnostics(stage)).toContain("plan: look (done)");
  expect(stage.opened.runtime.totals().usage.costUsd).toBe(0.25);
  const log = readFileSync(stage.opened.runtime.sessionPath ?? "", "utf8");
  expect(log).not.toContain(TEST_KEY);
  expect(log).toContain("changed b: 1 → 2 lines");
  await stage.opened.runtime.close();
  await using again = await openStage({ mode: "plain", after: stage });
  const roles = again.opened.controls.messages.map((message) => message.role);
  expect(roles).toEqual(["user", "assistant", "tool", "tool", "tool", "assistant"]);
  for (const message of again.opened.controls.messages) {
    if (message.role === "assistant") for (const call of message.calls) expect(call.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  }
});

test("what was said is recorded once, whether a tool call, a cancel or the end came next", async () => {
  const talk = ["update", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I edit." } }];
  const tool = ["update", { sessionUpdate: "tool_call", toolCallId: "c1", title: "Edit", kind: "edit", status: "completed" }];
  const texts = (stage: Stage) =>
    stage.records().flatMap((record) => (record.type === "assistant_finished" ? [[record.text, record.partial ?? false]] : []));
  await using quiet = await openStage({ mode: "quiet" });
  expect(await quiet.opened.runtime.submit(JSON.stringify([talk, tool]))).toMatchObject({ status: "ok", text: "I edit." });
  expect(texts(quiet)).toEqual([["I edit.", false]]);
  expect(quiet.events.filter((event) => event.type === "assistant_finished" && event.final)).toHaveLength(1);
  const asked = Promise.withResolvers<void>();
  await using stopped = await openStage({
    mode: "quiet",
    ask: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const turn = stopped.opened.runtime.submit(JSON.stringify([talk, tool, ...JSON.parse(QUESTION)]));
  await asked.promise;
  stopped.opened.runtime.cancel("user");
  expect(await turn).toMatchObject({ status: "cancelled", text: "I edit." });
  expect(texts(stopped).slice(0, 1)).toEqual([["I edit.", false]]);
  expect(texts(stopped).filter(([text]) => text === "I edit.")).toHaveLength(1);
});

test("agents that cannot be used say why: never ready, another version, a login, no such program", async () => {
  for (const [mode, words] of [
    ["mute", "did not answer initialize in time"],
    ["future", "speaks ACP version 99"],
    ["locked", "log in first"],
  ] as const) {
    await using stage = await openStage({ mode });
    const outcome = await stage.opened.runtime.submit("hello");
    expect(outcome.status).toBe("failed");
    expect(outcome.error?.message).toContain(words);
    expect(stage.pids().filter(isRunning)).toEqual([]);
  }
});

test("a cancel while the agent starts ends it at once", async () => {
  await using stage = await openStage({ mode: "mute" });
  const began = performance.now();
  const controller = new AbortController();
  const turn = stage.opened.runtime.submit("hello", controller.signal);
  while (stage.pids().length === 0) await Bun.sleep(5);
  controller.abort("user");
  expect(await turn).toMatchObject({ status: "cancelled" });
  expect(performance.now() - began).toBeLessThan(1900);
  expect(stage.pids().filter(isRunning)).toEqual([]);
});

test("an output schema is checked and asked for once more", async () => {
  await using place = await tempDir({ "schema.json": '{"type":"object","required":["a"]}' });
  await using stage = await openStage({ mode: "plain", flags: { outputSchema: place.at("schema.json") } });
  const outcome = await stage.opened.runtime.submit("hello");
  expect(outcome).toMatchObject({ status: "failed", error: { class: "invalid_output" }, requests: 2 });
  expect(stage.heard().filter((message) => message.method === "session/prompt")).toHaveLength(2);
});

test("steering that comes while the agent works is its next prompt in the same turn", async () => {
  await using stage = await openStage({
    mode: "plain",
    ask: async () => {
      stage.opened.runtime.queue("steering", "and this");
      return { allowed: true };
    },
  });
  expect(await stage.opened.runtime.submit(QUESTION)).toMatchObject({ status: "ok", text: "heard: and this", requests: 2 });
});

test("the time limit of a run ends the turn as a time-out", async () => {
  await using stage = await openStage({ mode: "plain" });
  const controller = new AbortController();
  const turn = stage.opened.runtime.submit("wait", controller.signal);
  await stage.event(said("working"));
  controller.abort("timeout");
  expect(await turn).toMatchObject({ status: "timeout", error: { class: "timeout" } });
});
