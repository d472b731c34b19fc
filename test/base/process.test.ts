import { afterAll, describe, expect, setSystemTime, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childEnvironment } from "../../src/base/child-env.ts";
import { type Clock, monotonicClock } from "../../src/base/clock.ts";
import { createProcessOwner, findExecutable, type ProcessEnd, type ProcessRequest, runProcess } from "../../src/base/process.ts";
import { runningWith } from "../support/processes.ts";

const directory = mkdtempSync(join(tmpdir(), "thndrs-process-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const env = childEnvironment(process.env);

/** Gives the numbers of naps a part of our own, so that two runs of these tests do not see each other's. */
const own = (word: string): string => word.replace(/\b9[78]\d\d\b/g, (number) => `${number}.${process.pid}`);
const naps = (text: string): number[] => runningWith(own(text));

type Run = ProcessEnd & { readonly out: string; readonly err: string };

async function run(argv: readonly string[], extra: Partial<Parameters<typeof runProcess>[0]> = {}): Promise<Run> {
  const out: Uint8Array[] = [];
  const err: Uint8Array[] = [];
  const outcome = await runProcess({
    argv: argv.map(own),
    cwd: directory,
    env,
    onStdout: (chunk) => out.push(chunk),
    onStderr: (chunk) => err.push(chunk),
    ...extra,
  });
  if (!outcome.started) throw new Error(outcome.failure.message);
  return { ...outcome, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

async function failure(argv: readonly string[], extra: Partial<ProcessRequest> = {}) {
  const outcome = await runProcess({ argv, cwd: directory, env, ...extra });
  if (outcome.started) throw new Error("it started");
  return outcome.failure;
}

describe("one command", () => {
  test("output, exit code and elapsed time come back", async () => {
    const result = await run(["sh", "-c", "echo out; echo err >&2; exit 3"]);
    expect(result).toMatchObject({ exitCode: 3, out: "out\n", err: "err\n", timedOut: false, cancelled: false, heldPipe: false });
    expect(result.signal).toBeUndefined();
    expect(result.elapsedMs).toBeGreaterThan(0);
  });

  test("H08 a signal is named and the exit code is null", async () => {
    expect(await run(["sh", "-c", "echo part; kill -9 $$"])).toMatchObject({ exitCode: null, signal: "SIGKILL", out: "part\n" });
    expect(await run(["sh", "-c", "kill -SEGV $$"])).toMatchObject({ exitCode: null, signal: "SIGSEGV" });
  });

  test("H06 stdin is at its end", async () => {
    expect(await run(["cat"])).toMatchObject({ exitCode: 0, out: "" });
  });

  test("H05 there is no terminal: own session, /dev/tty cannot be opened", async () => {
    const result = await run(["sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat; read x </dev/tty"]);
    const [pid, group, session] = result.out.trim().split(" ");
    expect(group).toBe(pid);
    expect(session).toBe(pid);
    expect(result.exitCode).not.toBe(0);
    expect(result.err).toContain("/dev/tty");
  });

  test("output can be opened again by name", async () => {
    const result = await run(["sh", "-c", "echo one >/dev/stderr; echo two | tee /dev/stderr"]);
    expect(result).toMatchObject({ exitCode: 0, err: "one\ntwo\n", out: "two\n" });
  });

  test("without kernel pipes the runtime's own are used", async () => {
    const owner = createProcessOwner({ platform: "darwin" });
    expect(await run(["sh", "-c", "echo out; echo err >&2; exit 4"], { owner })).toMatchObject({
      exitCode: 4,
      out: "out\n",
      err: "err\n",
    });
    await owner.reapAll();
  });

  test("a busy event loop loses no output and blames no descendant", async () => {
    let bytes = 0;
    const result = await run(["sh", "-c", "echo first; sleep 0.05; head -c 50000 /dev/zero"], {
      onStdout: (chunk) => {
        bytes += chunk.length;
        if (bytes === 6) Bun.sleepSync(600);
      },
    });
    expect(result).toMatchObject({ exitCode: 0, heldPipe: false });
    expect(bytes).toBe(50_006);
  });

  test("signals that whoever started us blocked are not blocked in commands", async () => {
    const code = `
      const { dlopen, ptr } = await import("bun:ffi");
      const block = { sigprocmask: { args: ["i32", "ptr", "ptr"], returns: "i32" } };
      const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
      const open = (name) => { try { return dlopen(name, block); } catch { return undefined; } };
      const set = new Uint8Array(128);
      set[0] = 0x02; set[1] = 0x42;
      libraries.map(open).find((library) => library !== undefined).symbols.sigprocmask(0, ptr(set), null);
      const { runProcess } = await import(${JSON.stringify(join(import.meta.dir, "../../src/base/process.ts"))});
      const show = async (descendants) => {
        const argv = ["grep", "SigBlk", "/proc/self/status"];
        await runProcess({ argv, cwd: "/", env: process.env, descendants, onStdout: (chunk) => process.stdout.write(chunk) });
      };
      await show("none");
      await show("tracked");`;
    const child = Bun.spawnSync([process.execPath, "-e", code]);
    expect(child.stdout.toString()).toBe("SigBlk:\t0000000000004202\nSigBlk:\t0000000000000000\n");
  });

  test("argv[0] reaches the program as it was written", async () => {
    expect((await run(["sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline"])).out).toStartWith("sh -c");
  });

  test("no descriptor and no timer is left behind", async () => {
    await run(["true"]);
    const before = readdirSync("/proc/self/fd").length;
    for (let round = 0; round < 20; round++) await run(["echo", "x"], { timeoutMs: 60_000 });
    for (let round = 0; round < 20; round++) await failure(["./nowhere"]);
    for (let round = 0; round < 5; round++) await failure(["echo", "x".repeat(3_000_000)]);
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 1);
  });
});

describe("not started", () => {
  test("H13 argv edge values", async () => {
    expect(await failure([])).toMatchObject({ kind: "bad_argv" });
    expect(await failure([""])).toMatchObject({ kind: "bad_argv" });
    expect(await failure(["echo", "a\0b"])).toMatchObject({ kind: "bad_argv", message: expect.stringContaining("argv[1]") });
    expect(await failure(["nosuchprog"])).toMatchObject({ kind: "not_found", message: expect.stringContaining("nosuchprog") });
    expect(await failure(["echo", "x".repeat(3_000_000)])).toMatchObject({ kind: "too_big" });
    expect(await failure(["./plain/x"])).toMatchObject({ kind: "not_found" });
    expect((await failure([`/${"x".repeat(100_000)}`])).message.length).toBeLessThan(300);
    expect((await failure(["ls -l"])).message).toContain("one word per element");
    expect((await run(["echo", "*.ts"])).out).toBe("*.ts\n");
  });

  test("H12 a missing directory is told apart from a missing program", async () => {
    const gone = join(directory, "gone");
    expect(await failure(["pwd"], { cwd: gone })).toMatchObject({ kind: "no_cwd", message: expect.stringContaining(gone) });
    writeFileSync(join(directory, "file"), "");
    expect(await failure(["pwd"], { cwd: join(directory, "file") })).toMatchObject({ kind: "no_cwd" });
  });

  test("scripts that cannot run say why", async () => {
    writeFileSync(join(directory, "plain"), "echo hi\n", { mode: 0o644 });
    writeFileSync(join(directory, "lost"), "#!/nowhere/sh\n", { mode: 0o755 });
    writeFileSync(join(directory, "bare"), "\x01\x02", { mode: 0o755 });
    expect(await failure(["./plain"])).toMatchObject({ kind: "not_executable" });
    expect(await failure(["./lost"])).toMatchObject({ kind: "not_found", message: expect.stringContaining("interpreter") });
    expect(await failure(["./bare"])).toMatchObject({ kind: "not_executable", message: expect.stringContaining("#!") });
    expect(await failure(["/"])).toMatchObject({ kind: "not_executable", message: expect.stringContaining("directory") });
  });

  test("a script with CRLF lines: the carriage return is named", async () => {
    writeFileSync(join(directory, "crlf"), "#!/bin/sh\r\necho hi\r\n", { mode: 0o755 });
    writeFileSync(join(directory, "crlf-argument"), "#!/bin/nosuch -e\r\n", { mode: 0o755 });
    expect((await failure(["./crlf"])).message).toContain('lines end in CRLF, so "/bin/sh\\r" is looked for');
    expect((await failure(["./crlf-argument"])).message).toContain("names is missing (/bin/nosuch).");
  });

  test("words of shells: what does it here is said", async () => {
    const hints = { cd: "cwd", source: '["sh","-c"', ".": '["sh","-c"', export: '"env"', "FOO=1": '["env","NAME=value"' };
    for (const [word, hint] of Object.entries(hints)) expect((await failure([word, "x"])).message).toContain(hint);
    expect((await failure(["nosuchprog"])).message).toBe('There is no program "nosuchprog" on PATH.');
  });

  test("an aborted signal starts nothing", async () => {
    expect(await failure(["touch", "started"], { signal: AbortSignal.abort() })).toMatchObject({ kind: "cancelled" });
    expect(readdirSync(directory)).not.toContain("started");
  });
});

describe("finding programs", () => {
  test("B05 an empty PATH means the standard directories", async () => {
    expect(findExecutable("sh", "")).toMatch(/\/sh$/);
    expect(findExecutable("sh", undefined)).toMatch(/\/sh$/);
    expect(await run(["echo", "found"], { env: { PATH: "" } })).toMatchObject({ exitCode: 0, out: "found\n" });
  });

  test("a program planted in the current directory is not found by name", () => {
    writeFileSync(join(directory, "rg"), "#!/bin/sh\n", { mode: 0o755 });
    expect(findExecutable("rg", ":.:relative")).toBeUndefined();
    expect(findExecutable("rg", `/nowhere:${directory}`)).toBe(join(directory, "rg"));
    expect(findExecutable("file", directory)).toBeUndefined();
    expect(findExecutable("../rg", directory)).toBeUndefined();
  });

  test("a relative program is relative to the child's directory", async () => {
    writeFileSync(join(directory, "here"), "#!/bin/sh\necho here\n", { mode: 0o755 });
    expect((await run(["./here"])).out).toBe("here\n");
  });
});

describe("ending trees", () => {
  test("H03 a time-out ends wrapper and grandchildren, output so far is kept", async () => {
    const result = await run(["sh", "-c", "echo begun; (sleep 9797 & sleep 9798); sleep 9799"], { timeoutMs: 300 });
    expect(result).toMatchObject({ timedOut: true, out: "begun\n", heldPipe: false, survivors: 0 });
    expect([...naps("sleep 9797"), ...naps("sleep 9798"), ...naps("sleep 9799")]).toEqual([]);
  });

  test("H03 descendants in a session of their own are found, by mark and by ancestry", async () => {
    const script = "setsid sleep 9801 & env -i setsid sleep 9802 & (setsid sh -c 'sleep 9803 & exec sleep 9804' &) ; sleep 9805";
    const result = await run(["sh", "-c", script], { timeoutMs: 400 });
    expect(result.timedOut).toBe(true);
    for (const number of [9801, 9802, 9803, 9804, 9805]) expect(naps(`sleep ${number}`)).toEqual([]);
  });

  test.skipIf(process.platform !== "linux")("H03 so is one without name, session and parents that holds the output", async () => {
    const orphan = (nap: number) => `(env -i setsid sleep ${nap} &)`;
    const owner = createProcessOwner();
    const beside = await owner.start({ argv: ["sh", "-c", own(`${orphan(9807)}; sleep 9808`)], cwd: directory, env });
    const result = await run(["sh", "-c", `${orphan(9806)}; sleep 9809`], { timeoutMs: 400, owner });
    expect(result).toMatchObject({ timedOut: true, survivors: 0 });
    for (const number of [9806, 9809]) expect(naps(`sleep ${number}`)).toEqual([]);
    expect(naps("sleep 9808")).not.toEqual([]);
    if (!beside.ok) throw new Error(beside.failure.message);
    await beside.process.end();
    for (const number of [9807, 9808]) expect(naps(`sleep ${number}`)).toEqual([]);
    await owner.reapAll();
  });

  test("H03 a tree that ignores TERM is killed after two seconds", async () => {
    const script = "trap '' TERM; sleep 9811 & while :; do sleep 0.05; done";
    const result = await run(["sh", "-c", script], { timeoutMs: 200 });
    expect(result).toMatchObject({ timedOut: true, signal: "SIGKILL" });
    expect(result.elapsedMs).toBeGreaterThan(2100);
    expect(result.elapsedMs).toBeLessThan(4000);
    expect(naps("sleep 9811")).toEqual([]);
  });

  test("TERM lets a program clean up, arrives once, and reaches stopped ones", async () => {
    const polite =
      "n=0; trap 'n=$((n+1))' TERM; echo ready; i=0; while [ $i -lt 40 ]; do i=$((i+1)); sleep 0.01; done; echo terms=$n";
    const ready = new AbortController();
    const seen: string[] = [];
    const outcome = await run(["sh", "-c", polite], {
      signal: ready.signal,
      onStdout: (chunk) => {
        seen.push(Buffer.from(chunk).toString());
        ready.abort();
      },
    });
    expect(outcome).toMatchObject({ cancelled: true, exitCode: 0 });
    expect(seen.join("")).toContain("terms=1\n");
    const stopped = await run(["sh", "-c", "kill -STOP $$"], { timeoutMs: 200 });
    expect(stopped).toMatchObject({ timedOut: true, signal: "SIGTERM" });
    expect(stopped.elapsedMs).toBeLessThan(1500);
  });

  test("cancelling ends it and says so", async () => {
    const controller = new AbortController();
    const result = await run(["sh", "-c", "echo go; sleep 9821"], {
      signal: controller.signal,
      onStdout: () => controller.abort(),
    });
    expect(result).toMatchObject({ cancelled: true, timedOut: false, signal: "SIGTERM" });
    expect(naps("sleep 9821")).toEqual([]);
  });

  test("a receiver can stop the child", async () => {
    let received = 0;
    const result = await run(["yes"], {
      descendants: "none",
      onStdout: (chunk, stop) => {
        received += chunk.length;
        if (received > 100_000) stop();
      },
    });
    expect(result).toMatchObject({ stopped: true, cancelled: false, signal: "SIGTERM" });
  });

  test("a receiver that throws ends the child and the error comes out", async () => {
    const broken = run(["sh", "-c", "echo x; sleep 9831"], {
      onStdout: () => {
        throw new Error("receiver");
      },
    });
    expect(broken).rejects.toThrow("receiver");
    await broken.catch(() => {});
    expect(naps("sleep 9831")).toEqual([]);
  });
});

describe("H01 a descendant keeps the pipe", () => {
  for (const [name, script] of [
    ["silent", "echo up; sleep 9841 &"],
    ["only stderr", "echo up; sleep 9841 >/dev/null &"],
    ["printing", "echo up; (while :; do echo more; sleep 0.05; done; : 9841) & sleep 9841 &"],
  ] as const) {
    test(`${name}: the result comes soon, the owner ends it later`, async () => {
      const owner = createProcessOwner();
      try {
        const result = await run(["sh", "-c", script], { owner });
        expect(result).toMatchObject({ exitCode: 0, heldPipe: true });
        expect(result.out).toStartWith("up\n");
        expect(result.elapsedMs).toBeLessThan(2000);
        expect(naps("sleep 9841").length).toBeGreaterThanOrEqual(1);
      } finally {
        await owner.reapAll();
      }
      expect(naps("9841")).toEqual([]);
    });
  }

  test("without an owner nothing outlives the call", async () => {
    expect(await run(["sh", "-c", "sleep 9851 & setsid sleep 9852 >/dev/null 2>&1 & echo up"])).toMatchObject({ out: "up\n" });
    expect([...naps("sleep 9851"), ...naps("sleep 9852")]).toEqual([]);
  });

  test("what prints on is drained: it neither blocks nor dies of a closed pipe", async () => {
    const owner = createProcessOwner();
    const file = join(directory, "finished");
    const script = `(sleep 0.4; head -c 1000000 /dev/zero; echo $? >${file}.tmp; mv ${file}.tmp ${file}) &`;
    let bytes = 0;
    const result = await run(["sh", "-c", script], { owner, onStdout: (chunk) => (bytes += chunk.length) });
    expect(result.heldPipe).toBe(true);
    const deadline = monotonicClock.now() + 5000;
    while (!readdirSync(directory).includes("finished") && monotonicClock.now() < deadline) await monotonicClock.sleep(20);
    expect(readFileSync(file, "utf8")).toBe("0\n");
    expect(bytes).toBe(0);
    await owner.reapAll();
  });
});

describe("owner", () => {
  test("H14 killAllNow leaves nothing, synchronously", async () => {
    const owner = createProcessOwner();
    const ready = Promise.withResolvers<void>();
    const started = await owner.start({
      argv: ["sh", "-c", "trap '' TERM; setsid sleep 9861 & sleep 9862 & echo ready; while :; do sleep 1; done"].map(own),
      cwd: directory,
      env,
      onStdout: () => ready.resolve(),
    });
    if (!started.ok) throw new Error(started.failure.message);
    await ready.promise;
    while (naps("sleep 9861").length === 0 || naps("sleep 9862").length === 0) await monotonicClock.sleep(5);
    expect(owner.killAllNow()).toBe(0);
    expect(await started.process.done).toMatchObject({ signal: "SIGKILL" });
    expect([...naps("sleep 9861"), ...naps("sleep 9862")]).toEqual([]);
  });

  test("reapAll ends running commands as cancelled and spares other owners'", async () => {
    const one = createProcessOwner();
    const other = createProcessOwner();
    const mine = await one.start({ argv: ["sleep", "9871"].map(own), cwd: directory, env });
    const theirs = await other.start({ argv: ["sleep", "9872"].map(own), cwd: directory, env });
    if (!mine.ok || !theirs.ok) throw new Error("not started");
    await one.reapAll();
    expect(await mine.process.done).toMatchObject({ cancelled: true });
    expect(naps("sleep 9872").length).toBe(1);
    await other.reapAll();
    expect(naps("sleep 9872")).toEqual([]);
    expect(one.killAllNow()).toBe(0);
  });

  test("an owner inside an owner: the outer one ends both", async () => {
    const outer = createProcessOwner();
    const result = await run(["sh", "-c", `echo "$THNDRS_PROCESS"`], { owner: outer });
    const inner = createProcessOwner();
    const nested = await inner.start({
      argv: ["sleep", "9881"].map(own),
      cwd: directory,
      env: { ...env, THNDRS_PROCESS: result.out.trim() },
    });
    if (!nested.ok) throw new Error("not started");
    await outer.reapAll();
    expect(await nested.process.done).toMatchObject({ signal: "SIGTERM" });
  });
});

describe("H16 clock", () => {
  test("wall-clock jumps neither fire nor delay a time-out, elapsed is never negative", async () => {
    const jumps = [2, -2, 2, -2].map((hours, index) =>
      setTimeout(() => setSystemTime(new Date(Date.now() + hours * 3_600_000)), 40 * (index + 1)),
    );
    try {
      const result = await run(["sleep", "9891"], { timeoutMs: 300 });
      expect(result.timedOut).toBe(true);
      expect(result.elapsedMs).toBeGreaterThanOrEqual(295);
      expect(result.elapsedMs).toBeLessThan(2500);
    } finally {
      for (const jump of jumps) clearTimeout(jump);
      setSystemTime();
    }
  });

  test("a five-second time-out fires at five seconds of the injected clock, not before", async () => {
    let now = 1000;
    const timers: { at: number; action: () => void }[] = [];
    const clock: Clock = {
      now: () => now,
      after(ms, action) {
        if (ms < 1000) return monotonicClock.after(ms, action);
        const timer = { at: now + ms, action };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
      sleep: (ms) => monotonicClock.sleep(ms),
    };
    const advance = (ms: number): void => {
      now += ms;
      for (const timer of timers.filter((each) => each.at <= now)) timer.action();
    };
    const owner = createProcessOwner({ clock });
    const started = await owner.start({ argv: ["sleep", "9892"].map(own), cwd: directory, env, timeoutMs: 5000 });
    if (!started.ok) throw new Error("not started");
    advance(4999);
    expect(process.kill(started.process.pid, 0)).toBe(true);
    advance(1);
    expect(await started.process.done).toMatchObject({ timedOut: true, elapsedMs: 5000 });
    expect(timers).toEqual([]);
  });
});
