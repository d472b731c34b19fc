/** A packed answer that was cut short was blamed on the packing and not asked for again; --capture kept packed bytes. */
import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { wireFrames } from "../support/loopback.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const packed = gzipSync(wireFrames("chat", { text: "packed" }).join(""));
const step = (bytes: Uint8Array) => ({
  raw: [`base64:${Buffer.from(bytes).toString("base64")}`],
  headers: { "content-encoding": "gzip", "content-type": "text/event-stream" },
});

test.each([
  ["in the middle", packed.subarray(0, packed.length >> 1)],
  ["before anything", packed.subarray(0, 0)],
])("a packed answer that ends %s is asked for again", async (_where, bytes) => {
  await using model = await startModel([step(bytes), { text: "whole" }]);
  const result = await runThndrs({ args: ["-p", "x"], env: { ...model.env, THNDRS_RETRY_MAX_TRIES: "2" } });
  expect([result.code, result.stdout.endsWith("whole\n")]).toEqual([0, true]);
  expect(result.stderr).not.toContain("cannot be unpacked");
  expect(model.server.requests).toHaveLength(2);
});

test("--capture keeps the text of a packed answer", async () => {
  await using dir = await tempDir();
  await using model = await startModel([step(packed)]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet", "--capture", "c.jsonl"], cwd: dir.path, env: model.env });
  expect([result.code, result.stdout]).toEqual([0, "packed\n"]);
  expect(JSON.parse((await dir.read("c.jsonl")).trim()).response).toContain('"content":"packed"');
});
