/** The words servers have for why an answer ended: whole, cut, refused, or broken off and worth another try. */
import { expect, test } from "bun:test";
import { wireFrames } from "../support/loopback.ts";
import { chunked, collect, encode, memoryFetch, type Said, settingsFor, testProvider } from "../support/wire/stream.ts";

const URL_OF_MOCK = "http://mock.test/v1";

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

function chat(...frames: string[]): Promise<Said> {
  return collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch: memoryFetch({ chunks: encode(frames.join("")) }) }));
}

const ending = (finish: string): Promise<Said> => chat(chunk({ content: "half" }), chunk({}, finish), "data: [DONE]\n\n");

test.each([
  ["stop", "end"],
  ["STOP", "end"],
  ["max_tokens", "length"],
  ["MAX_TOKENS", "length"],
  ["content_filter: RECITATION", "refusal"],
  ["SAFETY", "refusal"],
  ["RECITATION", "refusal"],
  ["blocklist", "refusal"],
  ["PROHIBITED_CONTENT", "refusal"],
  ["spii", "refusal"],
])("chat: %s is %s", async (finish, stop) => {
  const said = await ending(finish);
  expect([said.text, said.stop, said.failure]).toEqual(["half", stop as never, undefined]);
});

test.each([
  ["insufficient_system_resource", "overloaded"],
  ["error", "overloaded"],
  ["ERROR", "overloaded"],
  ["function_call_filter: MALFORMED_FUNCTION_CALL", "truncated"],
  ["MALFORMED_FUNCTION_CALL", "truncated"],
])("chat: %s is no end but %s, and tried again", async (finish, kind) => {
  const said = await ending(finish);
  expect([said.failure?.class, said.endings, said.stop]).toEqual([kind as never, 1, undefined]);
  const broken = [chunk({ content: "half" }), chunk({}, finish), "data: [DONE]\n\n"].join("");
  const fetch = memoryFetch({ chunks: encode(broken) }, { chunks: chunked(wireFrames("chat", { text: "whole" }), "whole") });
  const retry = { maxTries: 2, capMs: 0, maxRetryAfterMs: 0 };
  const again = await collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch, retry }));
  expect([again.text, again.stop, again.retries.map(({ failure }) => failure)]).toEqual(["whole", "end", [kind as never]]);
});

test("chat: calls of an answer that was broken off are not handed out", async () => {
  const call = { tool_calls: [{ index: 0, id: "c", function: { name: "a", arguments: "{}" } }] };
  const said = await chat(chunk(call), chunk({}, "function_call_filter: MALFORMED_FUNCTION_CALL"), "data: [DONE]\n\n");
  expect([said.calls, said.failure?.message]).toEqual([
    [],
    "mock.test broke the answer off (function_call_filter: MALFORMED_FUNCTION_CALL)",
  ]);
});

test("a word that nobody knows is an ordinary end that keeps its name", async () => {
  const events: object[] = [];
  const fetch = memoryFetch({ chunks: encode(`${chunk({ content: "whole" })}${chunk({}, "other\n: x")}`) });
  const request = { model: "m", system: "", tools: [], messages: [{ role: "user", text: "x" }], sessionId: "s" } as const;
  const provider = testProvider(settingsFor("chat", URL_OF_MOCK), { fetch });
  for await (const event of provider.stream(request, new AbortController().signal)) events.push(event);
  expect(events.at(-1)).toEqual({ type: "stop", reason: "end", unknown: "other : x" });
});

test("anthropic: the same words mean the same", async () => {
  const run = (reason: string): Promise<Said> => {
    const frames = wireFrames("anthropic", { text: "half" }).map((frame) => frame.replace('"end_turn"', JSON.stringify(reason)));
    const fetch = memoryFetch({ chunks: chunked(frames, "whole") });
    return collect(testProvider(settingsFor("anthropic", URL_OF_MOCK), { fetch }));
  };
  expect((await run("SAFETY")).stop).toBe("refusal");
  expect((await run("insufficient_system_resource")).failure?.class).toBe("overloaded");
});

test.each([
  [{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "length"],
  [{ status: "incomplete" }, "length"],
  [{ status: "incomplete", incomplete_details: { reason: "content_filter" } }, "refusal"],
  [{ status: "failed", error: { code: "server_error", message: "m" } }, "overloaded"],
  [{ status: "cancelled" }, "overloaded"],
  [{ status: "completed" }, "end"],
  [{}, "end"],
])("responses: response.completed with %j is %s", async (response, what) => {
  const frames = [
    { type: "response.output_text.delta", delta: "half" },
    { type: "response.completed", response },
  ].map((frame) => `data: ${JSON.stringify(frame)}\n\n`);
  const fetch = memoryFetch({ chunks: encode(frames.join("")) });
  const said = await collect(testProvider(settingsFor("responses", URL_OF_MOCK), { fetch }));
  expect([said.text, said.failure?.class ?? said.stop]).toEqual(["half", what as never]);
});
