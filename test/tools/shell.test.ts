import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { monotonicClock } from "../../src/base/clock.ts";
import { openWorkspace, type Workspace } from "../../src/base/workspace.ts";
import { createBackgroundProcesses } from "../../src/tools/background.ts";
import { backgroundProcess } from "../../src/tools/background-process.ts";
import { MAX_RESULT_BYTES } from "../../src/tools/bounds.ts";
import { runShell, type ShellInput } from "../../src/tools/shell.ts";
import type { ToolContext, ToolResult, ToolSettings } from "../../src/tools/tool.ts";
import { isRunning } from "../support/processes.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

let directory: TempDir;
let workspace: Workspace;
const background = createBackgroundProcesses({ onEffect: () => {} });

beforeAll(async () => {
  directory = await tempDir({ ".git/HEAD": "", f: "text\n", "sub/file": "" });
  workspace = await openWorkspace(directory.path);
});
afterEach(() => background.reapAll());
afterAll(() => directory.remove());

const settings: ToolSettings = {
  shellTimeoutMs: 20_000,
  shellMaxTimeoutMs: 30_000,
  shellEnvAllow: [],
  webAllowHosts: [],
  webSearch: "none",
  credential: () => undefined,
};

type Extra = { readonly env?: ToolContext["env"]; readonly signal?: AbortSignal; readonly settings?: Partial<ToolSettings> };

function contextWith(extra: Extra = {}): ToolContext {
  return {
    workspace,
    env: extra.env ?? process.env,
    signal: extra.signal ?? new AbortController().signal,
    callId: "call-1",
    settings: { ...settings, ...extra.settings },
    background,
  };
}

const run = (argv: string[], input: Partial<ShellInput> = {}, extra: Extra = {}): Promise<ToolResult> =>
  runShell.run({ argv, ...input }, contextWith(extra));
const sh = (script: string, input: Partial<ShellInput> = {}, extra: Extra = {}) => run(["sh", "-c", script], input, extra);

/** The report without its first line, whose duration varies. */
const body = (result: ToolResult): string => result.text.slice(result.text.indexOf("\n") + 1);

describe("run_shell", () => {
  test("streams are told apart and the exit code is a fact (H18)", async () => {
    const result = await sh("echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({ status: "ok", truncated: false });
    expect(result.text).toMatch(/^exit 3 \(\d+ ms\)\nstdout:\nout\nstderr:\nerr$/);
    expect(result.effects).toEqual([
      {
        kind: "shell_exec",
        command: ["sh", "-c", "echo out; echo err >&2; exit 3"],
        cwd: ".",
        processStatus: "failed",
        exitCode: 3,
        elapsedMs: expect.any(Number),
        processKind: "one-shot",
      },
    ]);
  });

  test("H18 nothing found is exit 1, a pipeline's exit is its last command's", async () => {
    const none = await run(["grep", "zz", "f"]);
    expect(none).toMatchObject({ status: "ok", effects: [{ processStatus: "failed", exitCode: 1 }] });
    expect(none.text).toMatch(/^exit 1 .*\n\(no output\)$/);
    expect(await sh("false | true")).toMatchObject({ status: "ok", effects: [{ processStatus: "ok", exitCode: 0 }] });
  });

  test("H01 a child that keeps the output is named and later ended", async () => {
    const began = monotonicClock.now();
    const result = await sh("echo up; sleep 9301 & echo $! >pid");
    expect(monotonicClock.now() - began).toBeLessThan(2000);
    expect(result).toMatchObject({ status: "ok", effects: [{ exitCode: 0 }] });
    expect(result.text).toMatch(/^exit 0 .*\nstdout:\nup\nnote: .*child process it started still runs/);
    const pid = Number(await directory.read("pid"));
    expect(isRunning(pid)).toBe(true);
    await background.reapAll();
    expect(isRunning(pid)).toBe(false);
  });

  test("H03 a time-out says after how long and keeps the output so far", async () => {
    const result = await sh("echo begun; (sleep 97 & sleep 98); sleep 99", { timeout_ms: 300 });
    expect(result).toMatchObject({
      status: "failed",
      effects: [{ processStatus: "timeout", exitCode: null, signal: "SIGTERM" }],
    });
    expect(result.text).toStartWith("timed out after 300 ms");
    expect(body(result)).toBe("stdout:\nbegun");
  });

  test("a flood of output delays neither time-out nor cancel", async () => {
    const flood = "yes '' >&2 & exec yes ''";
    const began = monotonicClock.now();
    const late = await sh(flood, { timeout_ms: 200 });
    expect(late).toMatchObject({ status: "failed", truncated: true, effects: [{ processStatus: "timeout" }] });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 200);
    const cancelled = await sh(flood, {}, { signal: controller.signal });
    expect(cancelled).toMatchObject({ status: "cancelled", effects: [{ processStatus: "cancelled" }] });
    expect(monotonicClock.now() - began).toBeLessThan(4000);
  });

  test("a time-out over the maximum is lowered, and that is said", async () => {
    const result = await run(["sleep", "99"], { timeout_ms: 60_000 }, { settings: { shellMaxTimeoutMs: 200 } });
    expect(result.text).toStartWith("timed out after 200 ms");
    expect(result.text).toContain("note: timeout_ms was lowered to the maximum, 200 ms.");
    const byDefault = await run(["sleep", "99"], {}, { settings: { shellTimeoutMs: 100 } });
    expect(byDefault.text).toStartWith("timed out after 100 ms");
  });

  test("an operator that came as a word is said, in the background too", async () => {
    expect(body(await run(["echo", "hi", ">", "f.txt"]))).toStartWith(
      'stdout:\nhi > f.txt\nnote: argv[2] ">" was passed on as a word',
    );
    expect((await run(["sleep", "0", "&"], { background: true })).text).toContain('\nnote: argv[2] "&" was passed on as a word');
    expect(body(await sh("echo hi >&2", {}))).toBe("stderr:\nhi");
  });

  test("H05 editors and terminals fail fast", async () => {
    const git = "git -c user.name=n -c user.email=e@x -c init.defaultBranch=main";
    const script = `rm -rf repo && mkdir repo && cd repo && ${git} init -q && echo 1 >a && git add a && ${git} commit -qm one && echo 2 >a && ${git} commit -qam two && echo 3 >a && git add a && ${git}`;
    const commit = await sh(`${script} commit`);
    expect(commit.effects).toMatchObject([{ processStatus: "failed", exitCode: 1 }]);
    expect(commit.text).toContain("editor");
    const rebase = await sh(
      `${git} -C repo stash -q; before=$(git -C repo rev-parse HEAD); ${git} -C repo rebase -i HEAD~1; echo "rebase $?"; [ "$before" = "$(git -C repo rev-parse HEAD)" ] && echo same`,
    );
    expect(rebase.text).toContain("rebase 1");
    expect(rebase.text).toContain("same");
    const terminal = await sh("read x </dev/tty; echo $x");
    expect(terminal.text).toContain("/dev/tty");
  });

  test("H06 stdin is empty", async () => {
    expect((await run(["cat"])).text).toMatch(/^exit 0 .*\n\(no output\)$/);
  });

  test("H07 much output: head and tail kept, the cut said, memory bounded", async () => {
    const before = process.memoryUsage.rss();
    const result = await sh("head -c 100000000 /dev/zero | tr '\\0' x; seq 1 1000000; exit 7");
    expect(result).toMatchObject({ status: "ok", truncated: true, effects: [{ exitCode: 7 }] });
    expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
    expect(result.text).toContain("[line cut at 512 characters; it has 100,000,001 bytes]");
    expect(result.text).toContain("999,600 of 1,000,000 lines left out here; the whole stream has 106,888,896 bytes");
    expect(result.text).toContain("\n1000000\n");
    expect(result.text).toContain("note: Output was cut.");
    expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
  });

  test("both streams full: the result stays within 65,536 bytes and both are shown", async () => {
    const line = "y".repeat(500);
    const result = await sh(`i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "o$i ${line}"; echo "e$i ${line}" >&2; done`);
    expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
    expect(Buffer.byteLength(result.text)).toBeGreaterThan(MAX_RESULT_BYTES * 0.85);
    for (const kept of ["\no1 ", "\no300 ", "\ne1 ", "\ne300 "]) expect(result.text).toContain(kept);
    expect(result.truncated).toBe(true);
  });

  test("H08 killed by a signal is a failure that names it", async () => {
    const result = await sh("echo part; kill -9 $$");
    expect(result).toMatchObject({ status: "failed", effects: [{ processStatus: "failed", exitCode: null, signal: "SIGKILL" }] });
    expect(result.text).toMatch(/^killed by SIGKILL \(\d+ ms\)\nstdout:\npart$/);
    expect((await sh("kill -SEGV $$")).text).toStartWith("killed by SIGSEGV");
  });

  test("H09 a character in two writes is one character; invalid bytes are replaced", async () => {
    expect(body(await sh("printf '\\342\\202'; sleep 0.2; printf '\\254\\n'"))).toBe("stdout:\n€");
    const bad = await sh("printf 'a\\377b\\355\\240\\200\\n'");
    expect(bad.text.isWellFormed()).toBe(true);
    expect(body(bad)).toStartWith("stdout:\na\ufffdb");
  });

  test("H10 no escape reaches the model, progress is collapsed", async () => {
    expect(body(await run(["printf", "\\033[31mred\\033[0m\\r50%%\\r100%%\\n"]))).toBe("stdout:\n100%");
    expect(body(await sh("printf '\\033[31mred\\033[0m\\n' >&2"))).toBe("stderr:\nred");
  });

  test("H11 keys are absent from the child, the allow-list lets one through", async () => {
    const env = {
      PATH: process.env.PATH,
      OPENAI_API_KEY: "sk-1",
      GITHUB_TOKEN: "ghp_x",
      ODD: "odd-1",
      BUN_OPTIONS: "x",
      PLAIN: "plain-1",
    };
    const result = await run(["env"], {}, { env, settings: { credentialNames: ["ODD"] } });
    for (const secret of ["sk-1", "ghp_x", "odd-1", "BUN_OPTIONS"]) expect(result.text).not.toContain(secret);
    expect(result.text).toContain("PLAIN=plain-1");
    expect(result.text).toContain("NO_COLOR=1");
    const allowed = await run(["env"], {}, { env, settings: { shellEnvAllow: ["GITHUB_TOKEN"] } });
    expect(allowed.text).toContain("GITHUB_TOKEN=ghp_x");
  });

  test("H12 a vanished directory is named, and the next call works", async () => {
    await using gone = await tempDir({ ".git/HEAD": "" });
    const lost = await openWorkspace(gone.path);
    const context = { ...contextWith(), workspace: lost };
    expect(await runShell.run({ argv: ["rm", "-rf", gone.path] }, context)).toMatchObject({ status: "ok" });
    const result = await runShell.run({ argv: ["pwd"] }, context);
    expect(result).toMatchObject({ status: "failed", effects: [] });
    expect(result.text).toContain(gone.path);
    expect(result.text).toContain("working directory");
    expect(await run(["pwd"])).toMatchObject({ status: "ok" });
  });

  test("H13 argv edge values are tool errors that name the cause", async () => {
    for (const [argv, cause] of [
      [[""], "argv[0] is empty"],
      [["nosuchprog"], "nosuchprog"],
      [["echo", "a\0b"], "NUL"],
      [["echo", "x".repeat(3_000_000)], "too long"],
      [["git status"], "one word per element"],
    ] as const) {
      const result = await run([...argv]);
      expect(result).toMatchObject({ status: "failed", effects: [] });
      expect(result.text).toContain(cause);
    }
    expect(body(await run(["echo", "*.ts"]))).toBe("stdout:\n*.ts");
    expect(runShell.input.safeParse({ argv: [] }).success).toBe(false);
    expect(runShell.input.safeParse({ argv: "ls -l" }).success).toBe(false);
    expect(runShell.input.safeParse({ argv: ["ls"], timeout_ms: 0 }).success).toBe(false);
  });

  test("cancelling keeps what there was", async () => {
    const controller = new AbortController();
    const running = sh("echo begun; touch begun; sleep 9302", {}, { signal: controller.signal });
    while (!(await Bun.file(directory.at("begun")).exists())) await monotonicClock.sleep(5);
    controller.abort();
    const result = await running;
    expect(result).toMatchObject({ status: "cancelled", effects: [{ processStatus: "cancelled" }] });
    expect(body(result)).toBe("stdout:\nbegun");
    expect(await run(["true"], {}, { signal: AbortSignal.abort() })).toMatchObject({ status: "cancelled", effects: [] });
  });

  test("cwd: inside the workspace only, relative in the record", async () => {
    const inside = await run(["pwd"], { cwd: "sub" });
    expect(body(inside)).toBe(`stdout:\n${directory.at("sub")}`);
    expect(inside).toMatchObject({ effects: [{ cwd: "sub" }], touched: [{ path: directory.at("sub"), kind: "cwd" }] });
    for (const [cwd, cause] of [
      ["..", "cwd: "],
      ["/", "cwd: "],
      ["nowhere", "does not exist"],
      ["f", "not a directory"],
    ] as const) {
      const refused = await run(["pwd"], { cwd });
      expect(refused.status).toBe("failed");
      expect(refused.text).toContain(cause);
    }
  });

  test("C4 paths named before or made by the command are touched", async () => {
    const made = await sh("mkdir -p made/here && cd made/here && rm ../../sub/file");
    expect(made.touched.map((each) => each.path)).toEqual([directory.path, directory.at("made/here")]);
    await directory.write({ "sub/file": "" });
    const removed = await run(["rm", "sub/file"]);
    expect(removed.touched).toContainEqual({ path: directory.at("sub/file"), kind: "argument" });
    await directory.write({ "sub/file": "" });
  });
});

describe("background: true and background_process", () => {
  const ask = (input: Parameters<typeof backgroundProcess.run>[0]) => backgroundProcess.run(input, contextWith());

  test("an id at once, output since the last call, an end", async () => {
    const started = await sh("echo one; until [ -e go ]; do sleep 0.01; done; echo two", { background: true });
    expect(started).toMatchObject({ status: "ok", effects: [] });
    const id = /^(bg\d+) started/.exec(started.text)?.[1] ?? "";
    expect(id).not.toBe("");
    const first = await outputOf(id, "one");
    expect(first).toMatch(new RegExp(`^${id} (running for|ended after) .*: sh -c '.*' \\(in \\.\\)\\none$`));
    await directory.write({ go: "" });
    await outputOf(id, "two");
    expect((await ask({ action: "output", process_id: id })).text).toEndWith("(no new output)");
    while (background.list().some((process) => process.status === "running")) await monotonicClock.sleep(5);
    expect((await ask({ action: "list" })).text).toContain(`${id} ended after`);
  });

  test("the number alone is understood; cancel ends it and says so", async () => {
    const started = await run(["sleep", "9303"], { background: true });
    const id = /^bg(\d+)/.exec(started.text)?.[1] ?? "";
    expect((await ask({ action: "cancel", process_id: id })).text).toMatch(
      new RegExp(`^bg${id} cancelled after .*: sleep 9303 \\(in \\.\\)$`),
    );
    expect((await ask({ action: "cancel", process_id: `bg${id}` })).text).toContain("cancelled");
  });

  test("wrong ids and missing ids name what there is", async () => {
    expect(await ask({ action: "output" })).toMatchObject({
      status: "failed",
      text: expect.stringContaining("process_id is required"),
    });
    const unknown = await ask({ action: "cancel", process_id: "bg999" });
    expect(unknown).toMatchObject({ status: "failed" });
    expect(unknown.text).toMatch(/no background process "bg999"\. Known: bg1, /);
  });

  test("what cannot start fails like in the foreground", async () => {
    expect(await run(["nosuchprog"], { background: true })).toMatchObject({
      status: "failed",
      text: expect.stringContaining("nosuchprog"),
    });
  });

  test("H17 a flood: bounded, cut said", async () => {
    const started = await run(["yes", "x".repeat(100)], { background: true });
    const id = /^bg\d+/.exec(started.text)?.[0] ?? "";
    let dropped = false;
    while (!dropped) {
      await monotonicClock.sleep(20);
      const output = await ask({ action: "output", process_id: id });
      expect(Buffer.byteLength(output.text)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
      dropped = output.text.includes("older bytes were dropped");
      if (dropped) expect(output.truncated).toBe(true);
    }
    expect((await ask({ action: "cancel", process_id: id })).text).toContain("cancelled after");
  });

  /** Asks until the output holds `text`. */
  async function outputOf(id: string, text: string): Promise<string> {
    for (;;) {
      const output = (await ask({ action: "output", process_id: id })).text;
      if (output.split("\n").slice(1).includes(text)) return output;
      await monotonicClock.sleep(5);
    }
  }
});

describe("catalog", () => {
  test("schemas convert, examples fit, descriptions keep the rules", () => {
    for (const tool of [runShell, backgroundProcess]) {
      expect(z.toJSONSchema(tool.input, { io: "input" })).toMatchObject({ type: "object" });
      expect(tool.input.safeParse(tool.example).success).toBe(true);
      expect(tool.description).toStartWith(`${tool.name} `);
      expect(tool.description.length).toBeLessThan(450);
      expect(tool.effect).toBe("shell");
    }
    expect(z.toJSONSchema(runShell.input, { io: "input" }).required).toEqual(["argv"]);
  });
});
