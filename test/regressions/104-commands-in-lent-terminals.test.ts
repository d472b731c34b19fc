/** A command in a terminal of the editor's was reported by another hand than one of ours, and differently. */
import { expect, test } from "bun:test";
import { openEditor } from "../acp/editor.ts";

const CALL = { calls: [{ name: "run_shell", arguments: { argv: ["make"], timeout_ms: 99_000 } }] };
const LIMITS = { THNDRS_SHELL_MAX_TIMEOUT: "5s", THNDRS_SHELL_TIMEOUT: "2s" };

test("a model that repeats itself is stopped there, too, however long each command took", async () => {
  let opened = 0;
  await using editor = await openEditor({
    script: () => (opened > 11 ? { text: "gave up" } : CALL),
    terminal: {
      output: "same",
      exit: Promise.resolve(1),
      calls: [],
      // Each takes another time.
      opening: () => Bun.sleep(2 + 5 * opened++),
    },
  });
  const id = await editor.open();
  await expect(editor.prompt(id, "go")).rejects.toThrow("no progress");
  expect(opened).toBe(6);
});

test("a time-out that was lowered is said in both", async () => {
  for (const terminal of [{ output: "x", exit: Promise.resolve(0), calls: [] }, undefined]) {
    const call = { calls: [{ name: "run_shell", arguments: { argv: ["true"], timeout_ms: 99_000 } }] };
    await using editor = await openEditor({ env: LIMITS, script: [call, { text: "done" }], ...(terminal && { terminal }) });
    const id = await editor.open();
    await editor.prompt(id, "go");
    const told = editor.model.server.requests[1]?.body.messages.at(-1).content;
    expect(told).toContain("note: timeout_ms was lowered to the maximum, 5 s.");
  }
});
