/** The program that has the terminal (an editor): its end, ours, and whose Ctrl+C it is. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { runInteractive } from "../../src/base/interactive.ts";
import { runningWith } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

const env = { PATH: process.env.PATH };
const cwd = import.meta.dir;
/** Of this run of the tests alone. */
const NAP = `sleep 97.${process.pid}`;

/** Runs a script that says `kill -USR2 $PPID` when it is ready; aborts then. */
async function endWhenReady(script: string): Promise<{ readonly code: number | undefined; readonly elapsedMs: number }> {
  const controller = new AbortController();
  const ready = once(process, "SIGUSR2");
  const running = runInteractive(["sh", "-c", script], { cwd, env, signal: controller.signal });
  await ready;
  expect(runningWith(NAP)).not.toEqual([]);
  const began = performance.now();
  controller.abort("signal:SIGTERM");
  return { code: await running, elapsedMs: performance.now() - began };
}

test("the exit code comes back; 128 + n for a signal", async () => {
  const { signal } = new AbortController();
  expect(await runInteractive(["sh", "-c", "exit 3"], { cwd, env, signal })).toBe(3);
  expect(await runInteractive(["true"], { cwd, env, signal })).toBe(0);
  expect(await runInteractive(["sh", "-c", "kill -9 $$"], { cwd, env, signal })).toBe(137);
  await expect(runInteractive(["no-such-editor-here"], { cwd, env, signal })).rejects.toThrow();
});

test("a signal that is there already: nothing is started", async () => {
  await using place = await tempDir();
  const options = { cwd: place.path, env, signal: AbortSignal.abort("signal:SIGTERM") };
  expect(await runInteractive(["touch", "started"], options)).toBeUndefined();
  expect(existsSync(place.at("started"))).toBe(false);
});

test("a program that goes when it is told to is gone at once", async () => {
  const { code, elapsedMs } = await endWhenReady(`kill -USR2 $PPID; exec ${NAP}`);
  expect(code).toBeUndefined();
  expect(elapsedMs).toBeLessThan(1900);
  expect(runningWith(NAP)).toEqual([]);
});

test("what it started goes with it", async () => {
  const { code, elapsedMs } = await endWhenReady(`${NAP} & kill -USR2 $PPID; wait`);
  expect(code).toBeUndefined();
  expect(elapsedMs).toBeLessThan(1900);
  expect(runningWith(NAP)).toEqual([]);
});

test("a program that ignores SIGTERM is killed two seconds later", async () => {
  const { code, elapsedMs } = await endWhenReady(`trap '' TERM; ${NAP} & kill -USR2 $PPID; wait`);
  expect(code).toBeUndefined();
  expect(elapsedMs).toBeGreaterThan(1900);
  expect(runningWith(NAP)).toEqual([]);
});

test("SIGINT is the program's while it runs, and ours again afterwards", async () => {
  const { signal } = new AbortController();
  let seen = 0;
  const note = (): void => void seen++;
  process.on("SIGINT", note);
  try {
    const ready = once(process, "SIGUSR2");
    const code = await runInteractive(["sh", "-c", "kill -INT $PPID; kill -USR2 $PPID; exit 1"], { cwd, env, signal });
    await ready;
    expect({ code, seen }).toEqual({ code: 1, seen: 0 });
    await runInteractive(["no-such-editor-here"], { cwd, env, signal }).catch(() => undefined);
    expect(process.listeners("SIGINT")).toContain(note);
    const told = once(process, "SIGINT");
    process.kill(process.pid, "SIGINT");
    await told;
    expect(seen).toBe(1);
  } finally {
    process.off("SIGINT", note);
  }
});
