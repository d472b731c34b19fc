/** What a tester found where providers, servers and places do not do as they should: answers that looked whole, waits nobody saw. */
import { expect, test } from "bun:test";
import { NO_WAIT, startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const piece = (delta: object, finish: string | null = null): string =>
  sse({ choices: [{ index: 0, delta, finish_reason: finish }] });

test("an answer that the server broke off is asked for again", async () => {
  const broken = { raw: [piece({ content: "half" }), piece({}, "insufficient_system_resource"), "data: [DONE]\n\n"] };
  await using model = await startModel([broken, { text: "whole" }]);
  const result = await runThndrs({ args: ["-p", "x"], env: { ...model.env, THNDRS_RETRY_CAP: "10ms" } });
  expect(result).toMatchObject({ code: 0, stdout: "whole\n" });
  expect(result.stderr).toContain("broke the answer off (insufficient_system_resource)");
});

test.each([
  [[piece({ content: "half" }), piece({}, "SAFETY")], "refused"],
  [[piece({}, "LANGUAGE")], "it ended with: LANGUAGE"],
])("%j is no answer", async (raw, said) => {
  await using model = await startModel([{ raw }]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet"], env: { ...model.env, ...NO_WAIT } });
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(said) as never]);
});

test("a server that trickles for ever behind its last word is left", async () => {
  const nothing = Array.from({ length: 5_000 }, () => sse({ choices: [] }));
  await using model = await startModel([{ raw: [piece({ content: "whole" }), piece({}, "stop"), ...nothing], pace: 20 }]);
  const env = { ...model.env, THNDRS_STALL_TIMEOUT: "1" };
  expect(await runThndrs({ args: ["-p", "x"], env })).toMatchObject({ code: 0, stdout: "whole\n" });
});

test("a cut answer that goes on with a call is no part of the final answer", async () => {
  const calls = [{ name: "find_files", arguments: { pattern: "*" } }];
  await using model = await startModel([{ text: "Part one, ", stop: "length" }, { calls }, { text: "Done." }]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet"], env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "Done.\n" });
});

test("a key in a base URL is in no message and no file", async () => {
  const message = "no such key: plain-value-77";
  await using model = await startModel([{ status: 403, body: { error: { message } } }]);
  await using dir = await tempDir({});
  const env = { ...model.env, OPENROUTER_BASE_URL: `${model.server.baseUrl}?key=plain-value-77` };
  const args = ["-p", "x", "--output-format", "json", "--capture", "capture"];
  const result = await runThndrs({ args, cwd: dir.path, env });
  expect(result.code).toBe(1);
  const [log = ""] = [...new Bun.Glob("*.jsonl").scanSync(dir.at(".thndrs/sessions"))];
  const kept = [await dir.read("capture"), await dir.read(`.thndrs/sessions/${log}`), result.stdout, result.stderr];
  for (const text of kept) expect(text).not.toMatch(/plain-value-77/);
  expect(kept[2]).toContain("no such key: [redacted:credential]");
  expect(kept.join("")).not.toContain(TEST_KEY);
});
