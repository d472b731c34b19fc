/** L08–L11: cancelling, steering, commands beside a run, Ctrl+C. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { tempDir } from "../support/temp.ts";
import { type ReplStage, startRepl, WIDTHS, waitForFlat } from "../ui/repl-stage.ts";

const sleep: Step = { calls: [{ id: "call_sleep", name: "run_shell", arguments: { argv: ["sleep", "60"] } }] };
/** Does not end at a polite signal. */
const stubborn: Step = {
  calls: [
    { name: "run_shell", arguments: { argv: ["sh", "-c", "trap '' INT TERM; echo up > mark; while :; do sleep 0.1; done"] } },
  ],
};

type Row = Readonly<Record<string, unknown>>;

function ofType(records: readonly Row[], type: string): readonly Row[] {
  return records.filter((record) => record.type === type);
}

async function idle(stage: ReplStage): Promise<void> {
  await stage.terminal.waitFor((screen) => !screen.text().includes("Enter:") && !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
}

/** The stubborn command runs. */
async function running(stage: ReplStage): Promise<void> {
  while (!existsSync(join(stage.terminal.cwd, "mark"))) await Bun.sleep(10);
}

async function quit(stage: ReplStage): Promise<void> {
  stage.terminal.press("ctrl+d");
  const result = await stage.terminal.exited;
  expect(result.code).toBe(0);
  expect(result.leftovers).toEqual([]);
}

for (const columns of WIDTHS) {
  test(`L08 one Esc, one effect; the follow-up runs as a new turn, at ${columns} columns`, async () => {
    await using stage = await startRepl([sleep, { text: "followed up" }], { columns });
    const { terminal, model } = stage;
    stage.send("go");
    await terminal.waitFor("run_shell");
    terminal.press("ctrl+t");
    stage.send("and then this");
    await terminal.waitFor("↳ follow-up");
    terminal.press("escape", "escape");
    await terminal.waitFor("followed up");
    await idle(stage);
    expect(model.server.requests).toHaveLength(2);
    expect(stage.userTexts(2).at(-1)).toBe("and then this");
    const records = await stage.records();
    expect(ofType(records, "cancelled")).toHaveLength(1);
    const finished = ofType(records, "tool_finished");
    expect(finished.map((record) => record.status)).toEqual(["cancelled"]);
    expect(ofType(records, "queued_input").map((record) => [record.kind, record.action])).toEqual([
      ["follow-up", "add"],
      ["follow-up", "sent"],
    ]);
    await quit(stage);
  });

  test(`L09 steering is sent before the next request, or cleared and shown, at ${columns} columns`, async () => {
    await using stage = await startRepl(
      [
        { calls: [{ name: "find_files", arguments: { pattern: "*" } }], hold: { gate: "first" } },
        { text: "took it" },
        sleep,
        { text: "afterwards" },
      ],
      { columns },
    );
    const { terminal, model } = stage;
    stage.send("one");
    await model.server.request(1);
    stage.send("steer left");
    await terminal.waitFor("↳ steering");
    model.server.release("first");
    await terminal.waitFor("took it");
    expect(stage.userTexts(2)).toEqual(["one", "steer left"]);
    await idle(stage);
    // Esc before it could be sent: cleared, shown as cleared, and never sent. Follow-ups stay.
    stage.send("two");
    await terminal.waitFor("run_shell");
    stage.send("never sent");
    terminal.press("ctrl+t");
    stage.send("kept for later");
    await terminal.waitFor("↳ follow-up");
    terminal.press("escape");
    await waitForFlat(terminal, "steering cleared: neve");
    await terminal.waitFor("afterwards");
    expect(stage.userTexts(4).at(-1)).toBe("kept for later");
    expect(model.server.requests.map((request) => request.raw).join("")).not.toContain("never sent");
    expect(ofType(await stage.records(), "queued_input").map((record) => [record.text, record.action])).toEqual([
      ["steer left", "add"],
      ["steer left", "sent"],
      ["never sent", "add"],
      ["kept for later", "add"],
      ["never sent", "cancelled"],
      ["kept for later", "sent"],
    ]);
    await quit(stage);
  });

  test(`L10 commands beside a run, at ${columns} columns`, async () => {
    await using stage = await startRepl([sleep, { text: "never" }], { columns });
    const { terminal } = stage;
    stage.send("go");
    await terminal.waitFor("run_shell");
    stage.send("/clear");
    await waitForFlat(terminal, "/clear has to wait");
    stage.send("/model x/y");
    await waitForFlat(terminal, "/model has to wait");
    stage.send("//clear now");
    await terminal.waitFor("↳ steering: //c");
    stage.send("/bg");
    await waitForFlat(terminal, "no background processes");
    stage.send(":bg cancel 99");
    await waitForFlat(terminal, 'there is no background process "99"');
    stage.send("/nonsense");
    await waitForFlat(terminal, "there is no command /nonsense");
    stage.send("/quit");
    const result = await terminal.exited;
    expect(result.code).toBe(0);
    expect(result.leftovers).toEqual([]);
    expect(stage.model.server.requests).toHaveLength(1);
    expect(terminal.screen.everything()).not.toContain("internal error");
  });

  test(`L11 Ctrl+C: typed text, then the run, then out, at ${columns} columns`, async () => {
    await using stage = await startRepl(
      [{ text: ["streaming ", "more"], hold: { gate: "never", at: 3 } }, stubborn, { text: "still here" }],
      { columns },
    );
    const { terminal } = stage;
    terminal.write("typed");
    await terminal.waitFor("❯ typed");
    terminal.press("ctrl+c");
    await terminal.waitFor((screen) => screen.currentLine().trim() === "❯");
    stage.send("stream");
    await terminal.waitFor("streaming");
    terminal.write("kept");
    terminal.press("ctrl+c");
    await terminal.waitFor((screen) => screen.currentLine().trim() === "❯");
    terminal.press("ctrl+c");
    await terminal.waitFor("■ cancelled");
    await idle(stage);
    stage.send("tool");
    await terminal.waitFor("run_shell");
    await running(stage);
    const pressed = performance.now();
    terminal.press("ctrl+c");
    await terminal.waitFor("cancelling");
    expect(performance.now() - pressed).toBeLessThan(1000);
    await idle(stage);
    stage.send("alive?");
    await terminal.waitFor("still here");
    await idle(stage);
    terminal.press("ctrl+c");
    await terminal.waitFor("Ctrl+C again");
    terminal.press("ctrl+c");
    const result = await terminal.exited;
    expect(result.code).toBe(0);
    expect(terminal.screen.everything()).not.toMatch(/internal error|Unhandled|at .*\.ts:\d/);
  });
}

test("L09 steering in the last moment of a run is sent as a turn of its own", async () => {
  await using stage = await startRepl([{ text: ["almost", " done"], hold: { gate: "end", at: 4 } }, { text: "late one taken" }]);
  const { terminal, model } = stage;
  stage.send("one");
  await terminal.waitFor("almost");
  stage.send("late words");
  await terminal.waitFor("↳ steering");
  model.server.release("end");
  await terminal.waitFor("late one taken");
  expect(stage.userTexts(2)).toEqual(["one", "late words"]);
  await quit(stage);
});

test("L09 steering of a run that fails comes back into the line", async () => {
  await using stage = await startRepl([
    { status: 401, body: { error: { message: "bad key" } }, hold: { gate: "fail" } },
    { text: "this time it worked" },
  ]);
  const { terminal, model } = stage;
  stage.send("one");
  await model.server.request(1);
  stage.send("do not lose me");
  await terminal.waitFor("↳ steering");
  model.server.release("fail");
  await terminal.waitFor((screen) => screen.currentLine().includes("❯ do not lose me"));
  terminal.press("enter");
  await terminal.waitFor("this time it worked");
  expect(stage.userTexts(2).at(-1)).toBe("one\n\ndo not lose me");
});

test("L09 what a run gives back while the editor is open is not lost with it; the editor's file is gone afterwards", async () => {
  await using home = await tempDir();
  await using stage = await startRepl(
    [{ status: 401, body: { error: { message: "bad key" } }, hold: { gate: "fail" } }, { text: "this time it worked" }],
    {
      files: {
        "ed.sh": `echo EDITOR OPEN; until grep -q '"cancelled"' .thndrs/sessions/*.jsonl; do sleep 0.02; done; sed -i s/draft/edited/ "$1"`,
      },
      env: { EDITOR: "sh ed.sh", THNDRS_HOME: home.path },
    },
  );
  const { terminal, model } = stage;
  stage.send("one");
  await model.server.request(1);
  stage.send("do not lose me");
  await terminal.waitFor("↳ steering");
  terminal.write("draft");
  await terminal.waitFor("❯ draft");
  terminal.press("ctrl+g");
  await terminal.waitFor("EDITOR OPEN");
  model.server.release("fail");
  await terminal.waitFor((screen) => screen.currentLine() === "  do not lose me");
  terminal.press("enter");
  await terminal.waitFor("this time it worked");
  expect(stage.userTexts(2).at(-1)).toBe("one\n\nedited\ndo not lose me");
  expect(readdirSync(join(home.path, "state")).filter((name) => name.startsWith("input"))).toEqual([]);
});

test("L09 input typed while a cancel winds down is sent afterwards", async () => {
  await using stage = await startRepl([stubborn, { text: "came through" }]);
  const { terminal } = stage;
  stage.send("go");
  await running(stage);
  terminal.press("escape");
  await terminal.waitFor("cancelling");
  stage.send("next please");
  await terminal.waitFor("came through");
  expect(stage.userTexts(2).at(-1)).toBe("next please");
});

test("L11 Ctrl+C ends the waiting of a retry", async () => {
  const busy: Step = { status: 503, headers: { "retry-after": "30" }, body: { error: { message: "overloaded" } } };
  await using stage = await startRepl([busy], { env: { THNDRS_RETRY_MAX_TRIES: "5" }, model: { repeatLast: true } });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("trying again in");
  const pressed = performance.now();
  terminal.press("ctrl+c");
  await terminal.waitFor("■ cancelled");
  expect(performance.now() - pressed).toBeLessThan(1000);
  await quit(stage);
});

test("H17 a chatty background process: listed and cancelled at once, one end, flat memory", async () => {
  const { readFileSync } = await import("node:fs");
  const start: Step = { calls: [{ name: "run_shell", arguments: { argv: ["yes"], background: true } }] };
  await using stage = await startRepl([start, { text: "it runs" }, { text: "x", hold: { gate: "wait" } }]);
  const { terminal } = stage;
  const memory = (): number => {
    const text = readFileSync(`/proc/${terminal.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]);
  };
  stage.send("go");
  await terminal.waitFor("it runs");
  await terminal.waitFor("1 in background");
  stage.send(":bg");
  await terminal.waitFor(/bg1 {2}running/);
  const before = memory();
  // A time in which some gigabytes pass by; there is no event to wait for.
  await Bun.sleep(3000);
  expect(memory() - before).toBeLessThan(60_000);
  const asked = performance.now();
  stage.send(":bg cancel 1");
  await terminal.waitFor(/bg1 {2}cancelled/);
  expect(performance.now() - asked).toBeLessThan(4000);
  const records = await stage.records();
  const ends = ofType(records, "shell_exec").filter((record) => record.process_status !== "running");
  expect(ends.map((record) => record.process_status)).toEqual(["cancelled"]);
  await quit(stage);
});
