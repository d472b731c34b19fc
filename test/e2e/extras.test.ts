/** `--record` and `--capture`: on disk while the run goes on, whole lines whatever happens, lost without losing the run. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { binary } from "../support/launch.ts";
import type { Step } from "../support/loopback.ts";
import { startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import { startRepl } from "../ui/repl-stage.ts";

const look = (pattern: string): Step => ({ calls: [{ name: "find_files", arguments: { pattern } }] });

function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

/** Waits until a file has so many lines; the test's own limit ends it. */
async function lines(path: string, count: number): Promise<string[]> {
  while (linesOf(path).length < count) await Bun.sleep(5);
  return linesOf(path);
}

test("a run that is killed leaves what it had: exchanges, and a recording that can be played", async () => {
  await using dir = await tempDir({ "tape.jsonl": "old\n", "wire.jsonl": "old\n" });
  await using model = await startModel([look("a*"), look("b*"), { text: "never", hold: { gate: "end", at: 1 } }]);
  const args = ["-p", "hi", "--record", "tape.jsonl", "--capture", "wire.jsonl", "--ephemeral"];
  await using run = await startThndrs({ args, cwd: dir.path, env: model.env });
  await model.server.request(3);
  const kept = await lines(dir.at("wire.jsonl"), 2);
  await lines(dir.at("tape.jsonl"), 7);
  run.signal("SIGKILL");
  expect((await run.exited).signal).toBe("SIGKILL");
  expect(kept.map((line) => JSON.parse(line).response)).toEqual([expect.stringContaining("a*"), expect.stringContaining("b*")]);
  expect(readFileSync(dir.at("wire.jsonl"), "utf8")).not.toContain(TEST_KEY);
  const played = await runThndrs({ args: ["-p", "hi", "--replay", "tape.jsonl", "--ephemeral"], cwd: dir.path });
  expect(played.stderr).toContain("the recording has 2 turns; the run asks for turn 3");
  expect(played.stderr).toContain("b*");
});

test("a run without an exchange leaves older files as they were", async () => {
  await using dir = await tempDir({ "tape.jsonl": "old", "wire.jsonl": "old" });
  await using model = await startModel([]);
  const args = ["-p", "hi", "--record", "tape.jsonl", "--capture", "wire.jsonl", "--print-prompt"];
  expect((await runThndrs({ args, cwd: dir.path, env: model.env })).code).toBe(0);
  expect([await dir.read("tape.jsonl"), await dir.read("wire.jsonl")]).toEqual(["old", "old"]);
});

for (const [flag, blocks] of [
  ["--record", 60],
  ["--capture", 400],
] as const) {
  test(`${flag}: the disk fills up: one warning, the answer all the same, whole lines, exit 1`, async () => {
    await using dir = await tempDir();
    const wordy = (n: number): Step => ({ text: `${n} ${"many words ".repeat(400)}`, ...look(`${n}*`) });
    await using model = await startModel([...Array.from({ length: 12 }, (_, n) => wordy(n)), { text: "finished" }]);
    // A limit on the size of files stands in for the full disk: no right to mount is needed.
    const command = ["sh", "-c", 'trap "" XFSZ; ulimit -f "$0"; exec "$@"', String(blocks), binary];
    const args = ["-p", "hi", flag, "kept.jsonl", "--ephemeral", "--output-format", "json"];
    const result = await runThndrs({ command, args, cwd: dir.path, env: model.env });
    expect(JSON.parse(result.stdout)).toMatchObject({
      text: "finished",
      status: "failed",
      exit_code: 1,
      error: { class: "internal", message: expect.stringContaining("could not be kept") },
    });
    expect(result.code).toBe(1);
    expect(result.stderr.split("is not kept from here on")).toHaveLength(2);
    const text = await dir.read("kept.jsonl");
    expect(text).toEndWith("\n");
    const whole = text.trimEnd().split("\n");
    for (const line of whole) JSON.parse(line);
    expect(whole.length).toBeGreaterThan(2);
    expect(text).not.toContain("finished");
  });
}

test("the conversations of one REPL share the capture; a lost one keeps nobody from going on, or from leaving", async () => {
  const steps = ["one", "two", "three", "four"].map((text): Step => ({ text: `answer ${text}` }));
  await using stage = await startRepl(steps, { args: ["--capture", "kept/wire.jsonl"] });
  const { terminal } = stage;
  const file = `${terminal.cwd}/kept/wire.jsonl`;
  stage.send("first");
  await terminal.waitFor("answer one");
  await lines(file, 1);
  stage.send("/new");
  await terminal.waitFor(/\[Diagnostics\][\s\S]*\[Diagnostics\]/);
  stage.send("second");
  await terminal.waitFor("answer two");
  const kept = await lines(file, 2);
  expect(kept.map((line) => /answer \w+/.exec(JSON.parse(line).response)?.[0])).toEqual(["answer one", "answer two"]);
  Bun.spawnSync(["rm", "-r", "kept"], { cwd: terminal.cwd });
  stage.send("third");
  await terminal.waitFor("answer three");
  await terminal.waitFor("the capture is not kept from here on");
  stage.send("/new");
  await terminal.waitFor(/(?:\[Diagnostics\][\s\S]*){3}/);
  stage.send("fourth");
  await terminal.waitFor("answer four");
  terminal.press("ctrl+d");
  const result = await terminal.exited;
  expect(result).toMatchObject({ code: 1, leftovers: [] });
  expect(terminal.screen.everything()).toContain("error: the capture could not be kept");
  expect(terminal.lineMode()).toEqual({ canonical: true, echo: true, signals: true });
  expect(terminal.screen.modes.has(2004)).toBe(false);
});
