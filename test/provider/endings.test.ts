/** The words servers have for why an answer ended: whole, cut, refused, or broken off and worth another try. */
import { expect, spyOn, test } from "bun:test";
import type { Fetch } from "../../src/provider/http.ts";
import { startLoopback, wireFrames } from "../support/loopback.ts";
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

/** Frames that take `ms` each by a clock of the test's own; nothing is read ahead, so that the time is time spent waiting. */
function slowly(clock: { now: number }, ms: number, frames: readonly string[]): Fetch & { readonly sent: () => number } {
  let sent = 0;
  const get: Fetch = async () => {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      await Promise.resolve();
      const next = frames[sent];
      clock.now += ms;
      if (next === undefined) return controller.close();
      sent += 1;
      controller.enqueue(new TextEncoder().encode(next));
    };
    return new Response(new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 }));
  };
  return Object.assign(get, { sent: () => sent });
}

const NOTHING: readonly string[] = Array.from({ length: 5_000 }, () => 'data: {"choices":[]}\n\n');

async function clocked<T>(run: (clock: { now: number }) => Promise<T>): Promise<T> {
  const clock = { now: Math.ceil(performance.now()) };
  const real = spyOn(performance, "now").mockImplementation(() => clock.now);
  try {
    return await run(clock);
  } finally {
    real.mockRestore();
  }
}

test.each([[20_000], [0]])(
  "events behind a complete answer do not keep it back (silence limit %d ms)",
  async (stallTimeoutMs) => {
    await clocked(async (clock) => {
      const fetch = slowly(clock, 1_000, [chunk({ content: "whole" }), chunk({}, "stop"), ...NOTHING]);
      const said = await collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch, stallTimeoutMs }));
      expect([said.text, said.stop, said.failure]).toEqual(["whole", "end", undefined]);
      expect(fetch.sent()).toBeLessThan(10);
    });
  },
);

test("an answer that every piece of it ends goes on as long as it takes", async () => {
  await clocked(async (clock) => {
    const pieces = Array.from({ length: 20 }, (_, n) => chunk({ content: `${n} ` }, "stop"));
    const fetch = slowly(clock, 2_000, pieces);
    const said = await collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch }));
    expect([said.text, said.stop]).toEqual([pieces.map((_, n) => `${n} `).join(""), "end"]);
  });
});

test.each([["tool_calls"], ["stop"]])(
  "a call that every piece of it ends with %s goes on as long as it takes",
  async (reason) => {
    await clocked(async (clock) => {
      const piece = (args: string, more: object = {}) =>
        chunk({ tool_calls: [{ index: 0, function: { arguments: args }, ...more }] }, reason);
      const first = chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "write", arguments: '{"text":"' } }] }, reason);
      const pieces = [first, ...Array.from({ length: 12 }, () => piece("x")), piece('"}')];
      const events: object[] = [];
      const request = { model: "m", system: "", tools: [], messages: [{ role: "user", text: "x" }], sessionId: "s" } as const;
      const provider = testProvider(settingsFor("chat", URL_OF_MOCK), { fetch: slowly(clock, 2_000, pieces) });
      for await (const event of provider.stream(request, new AbortController().signal)) events.push(event);
      expect(events).toMatchObject([
        { type: "tool_call", call: { name: "write", arguments: `{"text":"${"x".repeat(12)}"}` } },
        { type: "stop", reason: "tool_calls" },
      ]);
    });
  },
);

const event = (type: string, more: object = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const pings: readonly string[] = Array.from({ length: 5_000 }, () => event("ping"));
const begun = event("message_start", { message: { usage: { input_tokens: 3 } } });
const stopped = (reason: string): string => event("message_delta", { delta: { stop_reason: reason } });
const refusal = ["I can", "not do", " that"].map((piece) => chunk({ refusal: piece }));
const opened = { index: 0, id: "c", function: { name: "read", arguments: "{}" } };

test.each([
  ["chat", "a refusal in pieces", [chunk({ role: "assistant" }), ...refusal, chunk({}, "stop")], "I cannot do that", 10],
  ["chat", "no answer", [chunk({ role: "assistant" }), chunk({}, "stop")], "", 10],
  ["chat", "a call", [chunk({ tool_calls: [opened] }), chunk({}, "tool_calls")], "", 10],
  ["chat", "one piece that is all of it", [chunk({ role: "assistant", content: "hello" }, "stop")], "hello", 20],
  ["anthropic", "no answer", [begun, stopped("end_turn")], "", 10],
  [
    "anthropic",
    "a call without arguments",
    [
      begun,
      event("content_block_start", { index: 0, content_block: { type: "tool_use", id: "t", name: "read", input: {} } }),
      event("content_block_stop", { index: 0 }),
      stopped("tool_use"),
    ],
    "",
    10,
  ],
] as const)("%s: %s is complete on a line that stays open", async (wire, _what, frames, text, most) => {
  await clocked(async (clock) => {
    const fetch = slowly(clock, 1_000, [...frames, ...(wire === "chat" ? NOTHING : pings)]);
    const said = await collect(testProvider(settingsFor(wire, URL_OF_MOCK), { fetch, stallTimeoutMs: 60_000 }));
    expect([said.text, said.failure, said.endings]).toEqual([text, undefined, 1]);
    expect(fetch.sent()).toBeLessThan(most);
  });
});

test.each([
  ["the first piece", [chunk({ role: "assistant", content: "" }, "stop"), ...NOTHING.slice(0, 8)]],
  ["the second piece", [chunk({ content: "one " }, "stop"), ...NOTHING.slice(0, 8)]],
  ["the third piece", [chunk({ content: "one " }, "stop"), chunk({ content: "two " }, "stop"), ...NOTHING.slice(0, 40)]],
])("a server that sends a reason with every piece may think before %s", async (_which, frames) => {
  await clocked(async (clock) => {
    const fetch = slowly(clock, 1_000, [...frames, chunk({ content: "end" }, "stop"), "data: [DONE]\n\n"]);
    const said = await collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch, stallTimeoutMs: 60_000 }));
    expect([said.text.endsWith("end"), said.failure, said.stop]).toEqual([true, undefined, "end"]);
  });
});

test.each([
  ["break", { failure: undefined, stop: "end" }, [chunk({}, "stop")]],
  ["break", { failure: "truncated", stop: undefined }, []],
  ["end", { failure: undefined, stop: "refusal" }, []],
] as const)("a refusal in pieces, then: %s (%j)", async (after, wanted, last) => {
  const fetch = memoryFetch({ chunks: [...refusal, ...last].flatMap((frame) => encode(frame)), after });
  const said = await collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch }));
  expect([said.text, said.failure?.class, said.stop]).toEqual(["I cannot do that", wanted.failure, wanted.stop]);
});

test("the time that a consumer takes is none of the server's", async () => {
  await clocked(async (clock) => {
    const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })}\n\n`;
    const fetch = slowly(clock, 100, [chunk({ content: "whole" }, "stop"), 'data: {"choices":[]}\n\n', usage]);
    const kinds: string[] = [];
    const request = { model: "m", system: "", tools: [], messages: [{ role: "user", text: "x" }], sessionId: "s" } as const;
    const provider = testProvider(settingsFor("chat", URL_OF_MOCK), { fetch });
    for await (const event of provider.stream(request, new AbortController().signal)) {
      kinds.push(event.type);
      clock.now += 60_000;
    }
    expect(kinds).toEqual(["text", "usage", "stop"]);
  });
});

test("a server that trickles for ever behind its last word is left", async () => {
  const server = await startLoopback([{ raw: [chunk({ content: "whole" }), chunk({}, "stop"), ...NOTHING], pace: 20 }]);
  const said = await collect(testProvider(settingsFor("chat", server.baseUrl), { stallTimeoutMs: 200 }));
  expect([said.text, said.stop, said.failure]).toEqual(["whole", "end", undefined]);
  expect(await (await server.request(1)).ended).toBe(true);
  await server.close();
});

test.each([
  ["silence", { text: "onetwo", failure: "stalled" }],
  ["break", { text: "onetwo", failure: "truncated" }],
  ["end", { text: "onetwo", stop: "end" }],
] as const)("a reason with every piece says nothing before the end: %s", async (after, wanted) => {
  const frames = [chunk({ content: "one" }, "stop"), chunk({ content: "two" }, "stop")];
  const fetch = memoryFetch({ chunks: frames.flatMap((frame) => encode(frame)), after });
  const said = await collect(testProvider(settingsFor("chat", URL_OF_MOCK), { fetch, stallTimeoutMs: 100 }));
  const { text, stop, failure } = said;
  expect({ text, ...(stop && { stop }), ...(failure && { failure: failure.class }) }).toEqual(wanted as never);
});
