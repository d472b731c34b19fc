/**
 * An answer that could not be written (`> /dev/full`, a full disk) was lost with exit 0, and with stream-json the run was called
 * cancelled by a SIGINT nobody sent (130); the same code came when the reader of stream-json went away.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { binary, type LaunchOptions } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";

const toFull = (args: readonly string[], env: LaunchOptions["env"]) =>
  runThndrs({ command: ["/bin/sh", "-c", 'exec "$@" > /dev/full', "sh", binary, ...args], ...(env && { env }) });

for (const format of ["text", "json", "stream-json"]) {
  test.skipIf(!existsSync("/dev/full"))(`${format}: an answer that cannot be written is a failure`, async () => {
    await using model = await startModel([{ text: "precious" }], { repeatLast: true });
    const result = await toFull(["-p", "hi", "--output-format", format], model.env);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("stdout could not be written (ENOSPC)");
  });
}

test.skipIf(!existsSync("/dev/full"))("subcommands too", async () => {
  for (const args of [["--version"], ["help", "tools"], ["config", "show"]]) expect((await toFull(args, {})).code).toBe(1);
});

test("a reader of events that goes away in the middle ends the run quietly with 141", async () => {
  const text = Array.from({ length: 400 }, () => "x".repeat(1000));
  await using model = await startModel([{ text, hold: { gate: "more", at: 2 } }], { lenient: true });
  await using running = await startThndrs({ args: ["-p", "hi", "--output-format", "stream-json"], env: model.env });
  await running.waitFor("started", "stdout");
  running.closeOutput("stdout");
  model.server.release("more");
  const result = await running.exited;
  expect(result.code).toBe(141);
  expect(result.stderr).not.toContain("error");
});
