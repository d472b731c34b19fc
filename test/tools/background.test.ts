import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { childEnvironment } from "../../src/base/child-env.ts";
import { monotonicClock } from "../../src/base/clock.ts";
import { createProcessOwner, runProcess } from "../../src/base/process.ts";
import { type BackgroundProcesses, createBackgroundProcesses } from "../../src/tools/background.ts";
import { createByteRing } from "../../src/tools/byte-ring.ts";
import type { ShellExec } from "../../src/types/event.ts";
import { isRunning } from "../support/processes.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

let directory: TempDir;
beforeAll(async () => {
  directory = await tempDir();
});
afterAll(() => directory.remove());

const env = childEnvironment(process.env);

type Seen = { readonly effect: ShellExec; readonly callId: string };

function open() {
  const seen: Seen[] = [];
  const background = createBackgroundProcesses({ onEffect: (effect, callId) => seen.push({ effect, callId }) });
  const statuses = (): string[] => seen.map(({ effect }) => `${effect.processId} ${effect.processStatus}`);
  return { background, seen, statuses };
}

async function start(background: BackgroundProcesses, script: string, timeoutMs?: number): Promise<string> {
  const started = await background.start({
    argv: ["sh", "-c", script],
    cwd: directory.path,
    relativeCwd: ".",
    env,
    callId: "call-7",
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  if (!started.ok) throw new Error(started.message);
  return started.process.id;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await monotonicClock.sleep(5);
}

describe("life cycle", () => {
  test("one running and one terminal effect, with the starting call's id", async () => {
    const { background, seen, statuses } = open();
    expect(await start(background, "exit 3")).toBe("bg1");
    expect(statuses()).toEqual(["bg1 running"]);
    await until(() => seen.length === 2);
    expect(seen[1]).toEqual({
      callId: "call-7",
      effect: {
        kind: "shell_exec",
        processId: "bg1",
        command: ["sh", "-c", "exit 3"],
        cwd: ".",
        processStatus: "failed",
        exitCode: 3,
        elapsedMs: expect.any(Number),
        processKind: "background",
      },
    });
    await background.cancel("bg1");
    await background.reapAll();
    expect(statuses()).toEqual(["bg1 running", "bg1 failed"]);
  });

  test("ends are told apart: ok, failed by signal, time-out, cancelled", async () => {
    const { background, statuses, seen } = open();
    await start(background, "exit 0");
    await start(background, "kill -KILL $$");
    await start(background, "sleep 9401", 100);
    await start(background, "sleep 9402");
    await until(() => seen.length === 7);
    await background.cancel("bg4");
    expect(statuses().slice(4).sort()).toEqual(["bg1 ok", "bg2 failed", "bg3 timeout", "bg4 cancelled"]);
    expect(background.list().map(({ id, status, signal }) => [id, status, signal])).toEqual([
      ["bg1", "ok", undefined],
      ["bg2", "failed", "SIGKILL"],
      ["bg3", "timeout", "SIGTERM"],
      ["bg4", "cancelled", "SIGTERM"],
    ]);
  });

  test("unknown ids give undefined", async () => {
    const { background } = open();
    expect(background.output("bg1")).toBeUndefined();
    expect(await background.cancel("bg1")).toBeUndefined();
    expect(background.list()).toEqual([]);
  });

  test("what cannot start has no id and no effect", async () => {
    const { background, seen } = open();
    const started = await background.start({ argv: ["nosuchprog"], cwd: directory.path, relativeCwd: ".", env, callId: "c" });
    expect(started).toEqual({ ok: false, message: expect.stringContaining("nosuchprog") });
    expect(seen).toEqual([]);
    expect(await start(background, "true")).toBe("bg1");
    await background.reapAll();
  });

  test("reapAll ends all, also trees that left their session, and one-shots of the same owner", async () => {
    const processes = createProcessOwner();
    const seen: ShellExec[] = [];
    const background = createBackgroundProcesses({ processes, onEffect: (effect) => seen.push(effect) });
    await start(background, "setsid sleep 9411 & echo $! >one; exec sleep 9412");
    await start(background, "trap '' TERM; echo $$ >two; while :; do sleep 0.02; done");
    await runProcess({
      argv: ["sh", "-c", "sleep 9413 >/dev/null 2>&1 & echo $! >three"],
      cwd: directory.path,
      env,
      owner: processes,
    });
    const pids: number[] = [];
    for (const name of ["one", "two", "three"]) {
      let text = "";
      while (text === "") text = await directory.read(name).catch(() => monotonicClock.sleep(5).then(() => ""));
      pids.push(Number(text));
    }
    await background.reapAll();
    for (const pid of pids) expect(isRunning(pid)).toBe(false);
    expect(seen.map((effect) => effect.processStatus).sort()).toEqual(["cancelled", "cancelled", "running", "running"]);
    await background.reapAll();
    expect(seen.length).toBe(4);
  });

  test("only the newest finished ones stay listed", async () => {
    const { background, seen } = open();
    for (let round = 1; round <= 40; round++) {
      await start(background, "true");
      await until(() => seen.length === round * 2);
    }
    const ids = background.list().map((process) => process.id);
    expect(ids.length).toBeLessThanOrEqual(33);
    expect(ids.at(-1)).toBe("bg40");
    expect(ids).not.toContain("bg1");
  });
});

describe("output", () => {
  test("both streams in order of arrival, cleaned, each part once", async () => {
    const { background, seen } = open();
    const id = await start(background, "printf '\\033[31mred\\033[0m\\n'; echo err >&2; printf '1%%\\r2%%\\n'");
    await until(() => seen.length === 2);
    const output = background.output(id);
    expect(output?.text.split("\n").sort()).toEqual(["", "2%", "err", "red"]);
    expect(output?.droppedBytes).toBe(0);
    expect(background.output(id)?.text).toBe("");
  });

  test("H09 a character or an escape split between two calls arrives whole", async () => {
    const { background, seen } = open();
    const id = await start(
      background,
      "printf 'a\\342\\202'; until [ -e go1 ]; do sleep 0.01; done; printf '\\254b\\033[3'; until [ -e go2 ]; do sleep 0.01; done; printf '1mc\\n'",
    );
    let text = "";
    const read = (): string => {
      text += background.output(id)?.text ?? "";
      return text;
    };
    await until(() => read() === "a");
    await directory.write({ go1: "" });
    await until(() => read() === "a€b");
    await directory.write({ go2: "" });
    await until(() => seen.length === 2);
    expect(read()).toBe("a€bc\n");
  });

  test("output of what the command left running is still delivered", async () => {
    const { background, seen } = open();
    const id = await start(background, "(until [ -e late ]; do sleep 0.01; done; echo late) & echo early");
    await until(() => seen.length === 2);
    await directory.write({ late: "" });
    let text = "";
    await until(() => {
      text += background.output(id)?.text ?? "";
      return text.includes("late");
    });
    expect(text).toBe("early\nlate\n");
    await background.reapAll();
  });

  // In a process of its own: what the other files left in this one is not the flood's.
  test("H17 memory stays flat under a flood", () => {
    const source = (path: string): string => JSON.stringify(join(import.meta.dir, "../../src", path));
    const script = `
      import { childEnvironment } from ${source("base/child-env.ts")};
      import { createBackgroundProcesses } from ${source("tools/background.ts")};
      const background = createBackgroundProcesses({ onEffect: () => {} });
      const env = childEnvironment(process.env);
      const argv = ["sh", "-c", "yes 0123456789"];
      const started = await background.start({ argv, cwd: process.argv[1], relativeCwd: ".", env, callId: "call-7" });
      const dropped = async (enough) => {
        for (let total = 0; total <= enough; await Bun.sleep(2)) total += background.output(started.process.id).droppedBytes;
      };
      await dropped(0);
      const before = process.memoryUsage.rss();
      await dropped(300_000_000);
      console.log(JSON.stringify({ growth: process.memoryUsage.rss() - before }));
      await background.reapAll();
    `;
    const child = Bun.spawnSync([process.execPath, "-e", script, directory.path]);
    expect(child.stderr.toString()).toBe("");
    expect(JSON.parse(child.stdout.toString()).growth).toBeLessThan(120_000_000);
  }, 30_000);

  test("H17 a process in flood is listed and cancelled at once", async () => {
    const { background } = open();
    const id = await start(background, "yes 0123456789");
    await until(() => (background.output(id)?.droppedBytes ?? 0) > 0);
    const began = monotonicClock.now();
    expect(background.list().length).toBe(1);
    expect((await background.cancel(id))?.status).toBe("cancelled");
    expect(monotonicClock.now() - began).toBeLessThan(1500);
  });
});

describe("byte ring", () => {
  const take = (ring: ReturnType<typeof createByteRing>) => {
    const { bytes, dropped } = ring.take(() => 0);
    return [Buffer.from(bytes).toString(), dropped];
  };

  test("keeps the newest bytes and counts the others, for every way of cutting", () => {
    const text = Array.from({ length: 9000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join("");
    for (const size of [1, 7, 100, 999, 1000, 1001, 5000, 9000]) {
      const ring = createByteRing(1000);
      for (let at = 0; at < text.length; at += size) ring.push(Buffer.from(text.slice(at, at + size)));
      expect(take(ring)).toEqual([text.slice(-1000), 8000]);
      expect(take(ring)).toEqual(["", 0]);
      ring.push(Buffer.from("next"));
      expect(take(ring)).toEqual(["next", 0]);
    }
  });

  test("grows past its first size without losing order", () => {
    const ring = createByteRing(100_000);
    let expected = "";
    for (let round = 0; round < 3000; round++) {
      ring.push(Buffer.from(`${round},`));
      expected += `${round},`;
    }
    expect(take(ring)).toEqual([expected, 0]);
  });

  test("the rest of a character whose beginning was lost is dropped too", () => {
    const ring = createByteRing(4);
    ring.push(Buffer.from("x北y"));
    ring.push(Buffer.from("z"));
    expect(take(ring)).toEqual(["yz", 4]);
  });

  test("bytes held back come with the next call", () => {
    const ring = createByteRing(10);
    ring.push(Buffer.from("abc"));
    expect(Buffer.from(ring.take(() => 1).bytes).toString()).toBe("ab");
    ring.push(Buffer.from("d"));
    expect(take(ring)).toEqual(["cd", 0]);
  });
});
