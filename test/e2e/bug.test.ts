import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModel } from "../support/model.ts";
import { startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const root = join(import.meta.dir, "..", "..");
const fromSource = [process.execPath, "--preload", join(root, "test/fixtures/throw-on-signal.ts"), join(root, "src/main.ts")];

for (const [signal, message] of [
  ["SIGURG", "boom"],
  ["SIGSYS", "lost promise"],
] as const) {
  test(`B06 ${message}: one line, exit 70, children gone, the session closed with a record`, async () => {
    await using dir = await tempDir();
    await using model = await startModel([
      { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "echo up > mark; sleep 558"] } }] },
    ]);
    await using running = await startThndrs({
      command: fromSource,
      args: ["-p", "hi", "--output-format", "json"],
      cwd: dir.path,
      env: model.env,
      timeoutMs: 20_000,
    });
    await model.server.request(1);
    while (!readdirSync(dir.path).includes("mark")) await Bun.sleep(10);
    running.signal(signal);
    const result = await running.exited;
    expect(result).toMatchObject({ code: 70, leftovers: [] });
    expect(JSON.parse(result.stdout)).toMatchObject({ status: "internal", exit_code: 70 });
    const bugs = result.stderr.split("\n").filter((line) => line.includes("internal error"));
    expect(bugs[0]).toStartWith(`thndrs: internal error: ${message} (this is a bug in thndrs`);
    expect(result.stderr).not.toContain("at ");
    const sessions = join(dir.path, ".thndrs", "sessions");
    const file = readdirSync(sessions).find((name) => name.endsWith(".jsonl")) ?? "";
    expect(readFileSync(join(sessions, file), "utf8")).toContain('"type":"cancelled"');
    expect(readdirSync(sessions).filter((name) => name.endsWith(".lock"))).toEqual([]);
  });
}

test("B06 with -v the stack, and a report of it in the state directory, readable by nobody else and without keys", async () => {
  await using dir = await tempDir({ "home/x": "" });
  await using model = await startModel([{ hang: true }]);
  await using running = await startThndrs({
    command: fromSource,
    args: ["-p", "-v", "hi"],
    env: { ...model.env, THNDRS_HOME: dir.at("home") },
    timeoutMs: 20_000,
  });
  await model.server.request(1);
  running.signal("SIGURG");
  const { code, stderr } = await running.exited;
  expect(code).toBe(70);
  expect(stderr).toContain("throw-on-signal.ts");
  const path = /^thndrs: crash report: (.+)$/m.exec(stderr)?.[1] ?? "";
  expect(path).toStartWith(dir.at("home", "state", "crashes", "crash-"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const report = readFileSync(path, "utf8");
  expect(report).toMatch(/^thndrs \d+\.\d+\.\d+\S* \(.+\), bun /);
  expect(report).toContain("Error: boom");
  expect(report).not.toContain("sk-test");
});
