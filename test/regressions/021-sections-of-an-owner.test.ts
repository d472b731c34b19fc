/**
 * `acp serve` keeps several conversations in one process; closing one ended the commands of all, because they shared one
 * owner. Each conversation now has a section of its own.
 */
import { expect, test } from "bun:test";
import { createProcessOwner, type ProcessOwner } from "../../src/base/process.ts";
import { isRunning } from "../support/processes.ts";

async function sleeper(owner: ProcessOwner): Promise<number> {
  const started = await owner.start({ argv: ["sleep", "562"], cwd: "/", env: { PATH: "/usr/bin:/bin" } });
  if (!started.ok) throw new Error(started.failure.message);
  return started.process.pid;
}

test("a section ends its own processes; the whole owner ends everything", async () => {
  const owner = createProcessOwner();
  const [one, two] = [owner.section(), owner.section()];
  const pids = [await sleeper(one), await sleeper(two), await sleeper(owner)];
  await one.reapAll();
  expect(pids.map(isRunning)).toEqual([false, true, true]);
  await owner.reapAll();
  expect(pids.map(isRunning)).toEqual([false, false, false]);
});

test("the last resort reaches the sections too", async () => {
  const owner = createProcessOwner();
  const pid = await sleeper(owner.section());
  expect(owner.killAllNow()).toBe(0);
  expect(isRunning(pid)).toBe(false);
});
