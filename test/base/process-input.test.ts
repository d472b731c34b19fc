/** A child whose stdin is a pipe (protocol transports), and the time between TERM and KILL. */
import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { createProcessOwner, type ProcessRequest } from "../../src/base/process.ts";

const base: Pick<ProcessRequest, "cwd" | "env" | "stdin"> = {
  cwd: tmpdir(),
  env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
  stdin: "pipe",
};

test("what is written arrives, and the end of the input is seen", async () => {
  const owner = createProcessOwner();
  let bytes = 0;
  const count = (chunk: Uint8Array): void => {
    bytes += chunk.length;
  };
  const started = await owner.start({ ...base, argv: ["cat"], onStdout: count });
  if (!started.ok) throw new Error(started.failure.message);
  await started.process.input?.write("hello\n");
  await started.process.input?.write("x".repeat(1_000_000));
  started.process.input?.end();
  started.process.input?.end();
  expect(await started.process.done).toMatchObject({ exitCode: 0 });
  expect(bytes).toBe(1_000_006);
  expect(started.process.input?.write("late")).rejects.toThrow("has ended");
});

test("without stdin: pipe there is no input", async () => {
  const owner = createProcessOwner();
  const { stdin: _, ...rest } = base;
  const started = await owner.start({ ...rest, argv: ["cat"] });
  if (!started.ok) throw new Error(started.failure.message);
  expect(started.process.input).toBeUndefined();
  expect(await started.process.done).toMatchObject({ exitCode: 0 });
});

test("graceMs: a child that ignores TERM is killed after it", async () => {
  const owner = createProcessOwner();
  const ready = Promise.withResolvers<void>();
  const argv = ["sh", "-c", "trap '' TERM; echo ready; sleep 100 & wait; wait"];
  const started = await owner.start({ ...base, argv, graceMs: 100, onStdout: () => ready.resolve() });
  if (!started.ok) throw new Error(started.failure.message);
  await ready.promise;
  const began = performance.now();
  await started.process.end();
  expect(performance.now() - began).toBeLessThan(1500);
  expect(await started.process.done).toMatchObject({ exitCode: null, signal: "SIGKILL" });
});
