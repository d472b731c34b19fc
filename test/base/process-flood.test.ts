/** Children that print faster than anybody can read: time-out, cancel and timers reach them, and nothing of them is left. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createProcessOwner, type ProcessEnd, type ProcessRequest, runProcess } from "../../src/base/process.ts";
import { watchLoop } from "../support/loop-gaps.ts";
import { runningIn } from "../support/processes.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

let directory: TempDir;
beforeAll(async () => {
  directory = await tempDir();
});
afterAll(() => directory.remove());

/** More than any of these tests takes, all its machine's business included; a flood that nobody ends takes for ever. */
const SOON_MS = 10_000;

type Flood = { readonly end: ProcessEnd; readonly took: number; readonly longestGap: number };

/** Runs it with receivers that are always slower than `yes`; they stop it where nothing else would, so that a test fails in time. */
async function flood(script: string, extra: Partial<ProcessRequest>): Promise<Flood> {
  let calls = 0;
  const slow = (_: Uint8Array, stop: () => void): void => {
    Bun.sleepSync(4);
    if (++calls > 2000) stop();
  };
  const { value, tookMs, longestGapMs } = await watchLoop(() =>
    runProcess({
      argv: ["sh", "-c", script],
      cwd: directory.path,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
      onStdout: slow,
      onStderr: slow,
      ...extra,
    }),
  );
  if (!value.started) throw new Error(value.failure.message);
  return { end: value, took: tookMs, longestGap: longestGapMs };
}

const BOTH = "yes >&2 & exec yes";

for (const descendants of ["tracked", "none"] as const) {
  describe(descendants === "none" ? "through the runtime's own pipes" : "through kernel pipes", () => {
    for (const [name, script] of [
      ["stdout", "exec yes"],
      ["stderr", "exec yes >&2"],
      ["both", BOTH],
      ["one endless line", "exec cat /dev/zero"],
    ] as const) {
      test(`a time-out ends a flood: ${name}`, async () => {
        const { end, took, longestGap } = await flood(script, { descendants, timeoutMs: 100 });
        // A reader this slow may not have seen the end of it when the child is gone: `heldPipe` is either.
        expect(end).toMatchObject({ timedOut: true, stopped: false, survivors: 0 });
        expect(took).toBeLessThan(SOON_MS);
        expect(longestGap).toBeLessThan(SOON_MS);
        expect(runningIn(directory.path)).toEqual([]);
      });
    }

    test("cancelling ends a flood", async () => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 100);
      const { end, took } = await flood(BOTH, { descendants, signal: controller.signal });
      expect(end).toMatchObject({ cancelled: true, stopped: false });
      expect(took).toBeLessThan(SOON_MS);
      expect(runningIn(directory.path)).toEqual([]);
    });

    test("one that ignores TERM while it floods is killed", async () => {
      const { end, took } = await flood(`trap '' TERM; ${BOTH}`, { descendants, timeoutMs: 100, graceMs: 100 });
      expect(end).toMatchObject({ timedOut: true, signal: "SIGKILL", survivors: 0 });
      expect(took).toBeLessThan(SOON_MS);
      expect(runningIn(directory.path)).toEqual([]);
    });

    test("the child is gone, what it started floods on", async () => {
      for (const script of ["yes & exit 0", "setsid yes & exit 0"]) {
        const { end, took } = await flood(script, { descendants });
        expect(end).toMatchObject({ exitCode: 0, heldPipe: true });
        expect(took).toBeLessThan(SOON_MS);
        expect(runningIn(directory.path)).toEqual([]);
      }
    });
  });
}

test("an owner drains a flood that its command left behind, and does not starve of it", async () => {
  const owner = createProcessOwner();
  const started = await owner.start({
    argv: ["sh", "-c", "yes & exit 0"],
    cwd: directory.path,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    follow: true,
    onStdout: () => Bun.sleepSync(4),
  });
  if (!started.ok) throw new Error(started.failure.message);
  expect(await started.process.done).toMatchObject({ heldPipe: true });
  const began = performance.now();
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  await owner.reapAll();
  expect(performance.now() - began).toBeLessThan(SOON_MS);
  expect(runningIn(directory.path)).toEqual([]);
});

test("what a program known to start nothing leaves at its output is ended, silent or not, and in whatever session", async () => {
  for (const script of [
    "sleep 1000 & echo x",
    "setsid sleep 1000 & echo x",
    "(setsid sh -c 'sleep 1000; :' &) ; echo x",
    "(trap '' TERM; exec setsid yes) & exit 0",
  ]) {
    const { end } = await flood(script, { descendants: "none", graceMs: 100 });
    expect(end).toMatchObject({ exitCode: 0, heldPipe: true });
    expect(runningIn(directory.path)).toEqual([]);
  }
});

test("every byte arrives, in order and in small pieces", async () => {
  const sizes: number[] = [];
  const hash = new Bun.CryptoHasher("sha256");
  const expected = new Bun.CryptoHasher("sha256");
  for (let line = 1; line <= 300_000; line++) expected.update(`${line}\n`);
  const end = await runProcess({
    argv: ["seq", "1", "300000"],
    cwd: directory.path,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    descendants: "none",
    onStdout(chunk) {
      sizes.push(chunk.length);
      hash.update(chunk);
      if (sizes.length % 4 === 0) Bun.sleepSync(4);
    },
  });
  expect(end).toMatchObject({ exitCode: 0 });
  expect(hash.digest("hex")).toBe(expected.digest("hex"));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536);
});
