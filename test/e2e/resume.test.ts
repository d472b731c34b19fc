/** Crash and resume through the binary: the log after SIGKILL, at any moment, gives a valid next request. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killAndResume } from "../support/kill-fuzz.ts";
import type { Step } from "../support/loopback.ts";
import { startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import type { Wire } from "../support/wire/answer.ts";

const WIRES: readonly Wire[] = ["chat", "responses", "anthropic"];

type Line = Readonly<Record<string, unknown>> & { readonly seq: number; readonly type: string };

function logOf(cwd: string): { readonly path: string; readonly lines: string[]; readonly records: Line[] } {
  const dir = join(cwd, ".thndrs", "sessions");
  const name = readdirSync(dir).find((one) => one.endsWith(".jsonl")) ?? "";
  const path = join(dir, name);
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const records = lines.flatMap((line): Line[] => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  return { path, lines, records };
}

for (const wire of WIRES) {
  test(`J06 ${wire}: killed while a command runs; resumed with one synthetic result, the command is not run again`, async () => {
    await using dir = await tempDir();
    const argv = ["sh", "-c", "echo x >> side; sleep 600"];
    const steps: Step[] = [{ text: "running it", calls: [{ name: "run_shell", arguments: { argv } }] }, { text: "I see" }];
    await using model = await startModel(steps, { wire });
    {
      await using running = await startThndrs({ args: ["-p", "start"], cwd: dir.path, env: model.env });
      await model.server.request(1);
      // The shell makes the file before it writes to it.
      while (!existsSync(dir.at("side")) || statSync(dir.at("side")).size === 0) await Bun.sleep(5);
      running.signal("SIGKILL");
      await running.exited;
    }
    const result = await runThndrs({ args: ["-c", "-p", "go on"], cwd: dir.path, env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "I see\n" });
    expect(result.stderr).toContain("1 tool call had no recorded result");
    expect(await dir.read("side")).toBe("x\n");
    const raw = model.server.requests[1]?.raw ?? "";
    expect(raw.split("outcome unknown").length - 1).toBe(1);
    for (const text of ["start", "running it", "go on"]) expect(raw).toContain(text);
  });

  test(`${wire}: a finished run goes on with the conversation it had`, async () => {
    await using dir = await tempDir({ "a.txt": "alpha\n", "b.txt": "beta\n" });
    const read = (path: string) => ({ name: "read_file_range", arguments: { path } });
    const steps: Step[] = [
      { text: "looking", reasoning: "think", calls: [read("a.txt"), read("b.txt")] },
      { calls: [read("a.txt")] },
      { text: "done" },
      { text: "again" },
    ];
    await using model = await startModel(steps, { wire });
    await runThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env });
    const result = await runThndrs({ args: ["-c", "-p", "second"], cwd: dir.path, env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "again\n" });
    expect(result.stderr).not.toContain("warning");
    const raw = model.server.requests[3]?.raw ?? "";
    const order = ["first", "looking", "alpha", "beta", "alpha", "done", "second"];
    let at = 0;
    for (const text of order) {
      const found = raw.indexOf(text, at);
      expect([text, found >= 0]).toEqual([text, true]);
      at = found + 1;
    }
    expect(raw).not.toContain("outcome unknown");
  });
}

test("P15 reasoning content survives a resume where the wire echoes it", async () => {
  await using dir = await tempDir({ "a.txt": "alpha\n" });
  const steps: Step[] = [
    { reasoning: "deep thought", calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] },
    { text: "done" },
    { text: "again" },
  ];
  await using model = await startModel(steps);
  const env = { DEEPSEEK_BASE_URL: model.server.baseUrl, DEEPSEEK_API_KEY: TEST_KEY, THNDRS_MODEL: "deepseek/mock" };
  await runThndrs({ args: ["-p", "first"], cwd: dir.path, env });
  await runThndrs({ args: ["-c", "-p", "second"], cwd: dir.path, env });
  expect(model.server.requests[2]?.raw).toContain("deep thought");
});

test("J17 a poisoned log gives a valid request", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "one" }, { text: "two" }]);
  await runThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env });
  const { path, records } = logOf(dir.path);
  const envelope = (seq: number, record: object): string =>
    JSON.stringify({ schema_version: 1, seq, time: "2026-01-01T00:00:00.000Z", turn_id: "turn-2", ...record });
  const next = (records.at(-1)?.seq ?? 0) + 1;
  const call = { type: "tool_started", call_id: "same", name: "read_file_range", arguments: {} };
  const poison = [
    envelope(next, { type: "user", text: "" }),
    envelope(next + 1, { type: "user", text: "half \ud82d pair" }),
    envelope(next + 2, { type: "assistant_finished", text: "" }),
    envelope(next + 3, call),
    envelope(next + 4, call),
    envelope(next + 5, { type: "tool_finished", call_id: "same", status: "ok", output: "", truncated: false, elapsed_ms: 1 }),
    envelope(next + 6, { type: "hologram", image: "data:" }),
    '{"schema_version":1,"seq":9999,"ty',
  ];
  writeFileSync(path, `${readFileSync(path, "utf8")}${poison.join("\n")}`);
  const result = await runThndrs({ args: ["-r", "latest", "-p", "second"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "two\n" });
  expect(result.stderr).toContain("skipped 1 malformed line");
  const after = logOf(dir.path);
  expect(after.records.at(-1)?.seq).toBeLessThan(9999);
  expect(after.lines).toContain('{"schema_version":1,"seq":9999,"ty');
});

test("J17 a conversation that is refused twice ends with advice, not with a loop", async () => {
  await using dir = await tempDir();
  const refused: Step = { status: 400, body: { error: { message: "messages.3: content must not be empty" } } };
  await using model = await startModel([{ text: "one" }, refused, refused, { text: "fine" }, { text: "again" }]);
  const goOn = () => runThndrs({ args: ["-c", "-p", "go on"], cwd: dir.path, env: model.env });
  await runThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env });
  const [once, twice, well, after] = [await goOn(), await goOn(), await goOn(), await goOn()];
  expect([once.code, twice.code, well.code, after.code]).toEqual([1, 1, 0, 0]);
  for (const [run, advised] of [
    [once, false],
    [twice, true],
    [well, true],
    [after, false],
  ] as const)
    expect(run.stderr.includes("start a new one without --continue")).toBe(advised);
  expect(model.server.requests).toHaveLength(5);
});

test("a session that another process writes is refused with its pid", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: ["one ", "two"], hold: { gate: "never", at: 2 } }]);
  await using running = await startThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
  await model.server.request(1);
  const second = await runThndrs({ args: ["-c", "-p", "me too"], cwd: dir.path, env: model.env });
  expect(second.code).toBe(2);
  expect(second.stderr).toContain(`in use by process ${running.pid}`);
  running.signal("SIGTERM");
  expect((await running.exited).code).toBe(143);
  expect(readdirSync(dir.at(".thndrs", "sessions")).filter((name) => name.includes(".lock"))).toEqual([]);
});

for (const [index, wire] of WIRES.entries()) {
  test(`${wire}: killed at random moments, nothing recorded is lost, no command runs twice, every request is valid`, async () => {
    const { killed, records } = await killAndResume({ kills: 15, seed: 20260101 + index, wire });
    expect(killed).toBe(15);
    expect(records).toBeGreaterThan(20);
  }, 60_000);
}
