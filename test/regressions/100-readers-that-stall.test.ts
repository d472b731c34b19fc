/**
 * A reader that takes nothing made the program deaf to signals and limits, and a terminal that takes nothing stopped it altogether.
 * And stdout was left non-blocking: what a script ran afterwards on the same pipe lost its output.
 */
import { expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { isRunning, runningIn } from "../support/processes.ts";
import { Terminal } from "../support/pty.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

/** More than any pipe or terminal holds. */
const LONG = "the quick brown fox jumps over it all\n".repeat(10_000);

/** Waits for what no event tells: a file of another process, its end. The test's own limit ends it. */
async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await is())) await Bun.sleep(5);
}

async function isAnswered(cwd: string): Promise<boolean> {
  const dir = join(cwd, ".thndrs", "sessions");
  const log = readdirSync(dir).find((name) => name.endsWith(".jsonl"));
  return log !== undefined && (await Bun.file(join(dir, log)).text()).includes('"assistant_finished"');
}

/** stdout is a pipe that somebody holds open and nobody reads. */
const unread = ["/bin/sh", "-c", 'mkfifo unread && exec 3<>unread && exec "$0" "$@" >unread', binary];

test.each([
  ["text", "SIGTERM", 143],
  ["json", "SIGINT", 130],
  ["stream-json", "SIGHUP", 129],
] as const)("%s into a pipe that nobody reads: %s ends the run", async (format, signal, code) => {
  await using dir = await tempDir({});
  await using model = await startModel([{ text: LONG }]);
  const args = ["-p", "go", "--output-format", format];
  await using running = await startThndrs({ command: unread, args, cwd: dir.path, env: model.env });
  await running.waitFor("session session-", "stderr");
  await until(() => isAnswered(dir.path));
  running.signal(signal);
  const ended = await running.exited;
  expect(ended).toMatchObject({ code, signal: null });
  expect(ended.stderr).toContain("stdout could not be written (ETIMEDOUT): the output is incomplete");
});

test("--timeout counts until the answer is out", async () => {
  await using dir = await tempDir({});
  await using model = await startModel([{ text: LONG }]);
  const { code } = await runThndrs({ command: unread, args: ["-p", "go", "--timeout", "1s"], cwd: dir.path, env: model.env });
  expect(code).toBe(124);
});

test("a slow reader is no stalled one: it gets everything", async () => {
  await using model = await startModel([{ text: LONG }]);
  const slow = ["/bin/sh", "-c", '"$0" "$@" | { sleep 0.3; cat; }', binary];
  const { code, stdout } = await runThndrs({ command: slow, args: ["-p", "go", "--quiet"], env: model.env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${LONG}\n` });
});

test("a reader that is slow and never stops gets the whole result, also behind a limit", async () => {
  const text = LONG.slice(0, 150_000);
  await using model = await startModel([{ text }]);
  // 2,000 bytes at a time: far fewer in a second than a pipe holds.
  const slow = 'while b=$(head -c 2000 | base64) && [ -n "$b" ]; do sleep 0.02; printf %s "$b" | base64 -d; done';
  const { stdout } = await runThndrs({
    command: ["/bin/sh", "-c", `"$0" "$@" | { ${slow}; }`, binary],
    args: ["-p", "go", "--quiet", "--output-format", "json", "--timeout", "1s"],
    env: model.env,
  });
  expect(JSON.parse(stdout)).toMatchObject({ status: "ok", text });
});

test.each([
  ["stdout", '"$0" --version; cat /proc/self/fdinfo/1'],
  ["stdout of a run", '"$0" -p go --quiet; cat /proc/self/fdinfo/1'],
  ["stderr", '"$0" -p go >out; cat /proc/self/fdinfo/2 >&2'],
])("%s stays as it was for whoever comes next", async (_, script) => {
  if (process.platform !== "linux") return;
  await using model = await startModel(script.includes("-p") ? [{ text: "done" }] : []);
  const { stdout, stderr } = await runThndrs({
    command: ["/bin/sh", "-c", `{ ${script}; } 2>&1 | cat`, binary],
    args: [],
    env: model.env,
  });
  const flags = /^flags:\s+(\d+)$/m.exec(stdout + stderr)?.[1];
  expect(Number.parseInt(flags ?? "7777", 8) & 0o4000).toBe(0);
});

test.each([
  ["SIGTERM", 1],
  ["SIGHUP", 1],
  ["SIGINT", 1],
  ["SIGTERM", 2],
] as const)("a terminal that takes nothing: %s ends the REPL, sent %d times", async (signal, times) => {
  if (process.platform !== "linux" || Bun.which("script") === null) return;
  await using dir = await tempDir({});
  await using model = await startModel([{ text: LONG, hold: { gate: "stopped" } }]);
  // `script` reads the inner terminal as long as it is not stopped itself.
  const command = ["script", "-qfc", `'${binary}'`, "/dev/null"];
  await using terminal = await Terminal.start({ command, args: [], cwd: dir.path, env: model.env });
  await terminal.waitFor("❯");
  // A look at /proc can pass a process over while others come and go.
  const ours = (): number | undefined => runningIn(dir.path).find((one) => readlinkSync(`/proc/${one}/exe`) === binary);
  let pid = ours();
  while (pid === undefined) {
    await Bun.sleep(5);
    pid = ours();
  }
  const own = pid;
  await terminal.write("go\r");
  await model.server.request(1);
  process.kill(terminal.pid, "SIGSTOP");
  model.server.release("stopped");
  await until(() => isAnswered(dir.path));
  for (let time = 0; time < times; time++) process.kill(own, signal);
  await until(() => !isRunning(own));
  process.kill(terminal.pid, "SIGCONT");
  await terminal.exited;
});
