import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startModel } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

function records(cwd: string): Record<string, unknown>[] {
  const dir = join(cwd, ".thndrs", "sessions");
  return readdirSync(dir)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .flatMap((name) => readFileSync(join(dir, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line));
}

const EXITS = { SIGINT: 130, SIGQUIT: 131, SIGTERM: 143, SIGHUP: 129 } as const;

for (const [signal, code] of Object.entries(EXITS) as [keyof typeof EXITS, number][]) {
  test(`C14 ${signal} while streaming`, async () => {
    await using dir = await tempDir();
    await using model = await startModel([{ text: ["one ", "two"], hold: { gate: "never", at: 2 } }]);
    await using running = await startThndrs({
      args: ["-p", "hi", "--output-format", "stream-json"],
      cwd: dir.path,
      env: model.env,
    });
    await running.waitFor("one", "stdout");
    running.signal(signal);
    const result = await running.exited;
    expect(result).toMatchObject({ code, leftovers: [] });
    const last = JSON.parse(result.stdout.trimEnd().split("\n").at(-1) ?? "");
    expect(last).toMatchObject({ type: "result", status: "cancelled", exit_code: code });
    const log = records(dir.path);
    expect(log.filter((record) => record.type === "cancelled")).toEqual([
      expect.objectContaining({ type: "cancelled", turn_id: "turn-1", reason: `signal:${signal}` }),
    ]);
  });

  test(`C14 H14 ${signal} while a command runs: nothing is left`, async () => {
    await using dir = await tempDir();
    await using model = await startModel([
      {
        calls: [
          { name: "run_shell", arguments: { argv: ["sh", "-c", "echo started > mark; sleep 555 & trap '' TERM; sleep 556"] } },
        ],
      },
    ]);
    await using running = await startThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
    await model.server.request(1);
    while (!readdirSync(dir.path).includes("mark")) await Bun.sleep(10);
    running.signal(signal);
    const result = await running.exited;
    expect(result).toMatchObject({ code, stdout: "", leftovers: [] });
    expect(records(dir.path).map((record) => record.type)).toContain("cancelled");
  });

  test(`C14 a second ${signal} ends at once`, async () => {
    await using model = await startModel([
      {
        calls: [
          { name: "run_shell", arguments: { argv: ["sh", "-c", "trap '' TERM; echo up > mark; while :; do sleep 0.1; done"] } },
        ],
      },
    ]);
    await using dir = await tempDir();
    await using running = await startThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
    await model.server.request(1);
    while (!readdirSync(dir.path).includes("mark")) await Bun.sleep(10);
    running.signal(signal);
    await Bun.sleep(50);
    running.signal(signal);
    const result = await running.exited;
    expect(result.signal ?? result.code).toBe(result.signal === null ? code : signal);
    // The command was not waited for: its end is not in the log, as it is after one signal.
    expect(records(dir.path).map((record) => record.type)).not.toContain("cancelled");
    expect(result.leftovers).toEqual([]);
  });
}

test("C15 odd prompts reach the model as text, or are explicit errors", async () => {
  await using model = await startModel([{ text: "ok" }, { text: "ok" }]);
  const prompt = (n: number): string => model.server.requests[n]?.body.messages.at(-1).content;
  expect((await runThndrs({ args: ["-p", "/clear"], env: model.env })).code).toBe(0);
  expect(prompt(0)).toBe("/clear");
  expect((await runThndrs({ args: ["-p", "a\nb"], env: model.env })).code).toBe(0);
  expect(prompt(1)).toBe("a\nb");
  for (const args of [["-p", "--help"], ["-p"], ["-p", "--no-such-flag"]]) {
    expect(await runThndrs({ args, env: model.env })).toMatchObject({ code: 2, stdout: "" });
  }
});

test("C16 the session id is there from the start, also of a run that is killed; resume works", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "never", hold: { gate: "never" } }, { text: "again" }]);
  await using running = await startThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env });
  const line = await running.waitFor(/session session-\d{8}-\d{6}-[a-z0-9]{4}/);
  await model.server.request(1);
  running.signal("SIGKILL");
  await running.exited;
  const id = line.slice("session ".length);
  const resumed = await runThndrs({ args: ["-p", "second", "--resume", id], cwd: dir.path, env: model.env });
  expect(resumed).toMatchObject({ code: 0, stdout: "again\n" });
  const users = model.server.requests[1]?.body.messages.filter((message: { role: string }) => message.role === "user");
  expect(JSON.stringify(users)).toContain("first");
  expect(JSON.stringify(users)).toContain("second");
});

test("C17 --max-turns: exit 4, says which limit, keeps the work", async () => {
  await using dir = await tempDir();
  let n = 0;
  await using model = await startModel(() => ({
    calls: [{ name: "create_file", arguments: { path: `f${++n}.txt`, content: "x" } }],
  }));
  const result = await runThndrs({
    args: ["-p", "hi", "--max-turns", "5", "--output-format", "json"],
    cwd: dir.path,
    env: model.env,
  });
  expect(result.code).toBe(4);
  expect(result.stderr).toContain("--max-turns");
  expect(JSON.parse(result.stdout)).toMatchObject({
    status: "limit",
    exit_code: 4,
    turns: 5,
    changed_files: ["f1.txt", "f2.txt", "f3.txt", "f4.txt", "f5.txt"],
    error: { class: "max_turns" },
  });
  expect(model.server.requests).toHaveLength(5);
});

test("C17 --timeout: exit 124, the command is ended", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ calls: [{ name: "run_shell", arguments: { argv: ["sleep", "557"] } }] }]);
  const result = await runThndrs({
    args: ["-p", "hi", "--timeout", "700ms", "--output-format", "json"],
    cwd: dir.path,
    env: model.env,
  });
  expect(result).toMatchObject({ code: 124, leftovers: [] });
  expect(JSON.parse(result.stdout)).toMatchObject({ status: "timeout", exit_code: 124, error: { class: "timeout" } });
  expect(records(dir.path).find((record) => record.type === "cancelled")).toMatchObject({ reason: "timeout" });
});

test("J13 an id to resume is never a path; sessions resume goes on with a session", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "one" }, { text: "two" }]);
  expect((await runThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env })).code).toBe(0);
  for (const id of ["../../../etc/passwd", "a/b", ".", "nope"]) {
    const refused = await runThndrs({ args: ["-p", "x", "--resume", id], cwd: dir.path, env: model.env });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("No such session");
  }
  const resumed = await runThndrs({ args: ["sessions", "resume", "latest", "second"], cwd: dir.path, env: model.env });
  expect(resumed).toMatchObject({ code: 0, stdout: "two\n" });
  expect(JSON.stringify(model.server.requests[1]?.body.messages)).toContain("first");
});
