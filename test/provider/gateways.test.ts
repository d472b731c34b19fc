/** Answers as gateways and lesser servers send them: not streamed, told twice or only once, contradicting themselves, or no answer. */
import { describe, expect, test } from "bun:test";
import type { Message } from "../../src/types/message.ts";
import {
  collect,
  encode,
  memoryFetch,
  requestOf,
  type Said,
  type Served,
  settingsFor,
  testProvider,
  WIRES,
} from "../support/wire/stream.ts";

type Wire = (typeof WIRES)[number];
type Frame = Record<string, unknown>;

const MOCK = "http://mock.test/v1";
const frame = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const piece = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

function said(wire: Wire, ...frames: string[]): Promise<Said> {
  return collect(testProvider(settingsFor(wire, MOCK), { fetch: memoryFetch({ chunks: encode(frames.join("")) }) }));
}

const args = '{"path":"a.txt"}';

describe("Anthropic usage", () => {
  const usageOf = async (first: Frame, last: Frame) =>
    (
      await said(
        "anthropic",
        frame("message_start", { message: { usage: first } }),
        frame("content_block_start", { index: 0, content_block: { type: "text", text: "x" } }),
        frame("message_delta", { delta: { stop_reason: "end_turn" }, usage: last }),
        frame("message_stop", {}),
      )
    ).usage;

  test("a 0 at the end leaves what was counted at the beginning", async () => {
    const usage = await usageOf({ input_tokens: 400_000, output_tokens: 1 }, { input_tokens: 0, output_tokens: 10 });
    expect(usage).toEqual({ inputTokens: 400_000, outputTokens: 10 });
  });

  test("a 0 stands where all came from the cache, and where nothing was known", async () => {
    const cached = { input_tokens: 0, cache_read_input_tokens: 900, output_tokens: 10 };
    expect(await usageOf({ input_tokens: 900 }, cached)).toEqual({ inputTokens: 900, outputTokens: 10, cacheReadTokens: 900 });
    expect(await usageOf({ input_tokens: 0 }, { input_tokens: 70, output_tokens: 1 })).toEqual({
      inputTokens: 70,
      outputTokens: 1,
    });
  });

  test("chat: a 0 in a later frame leaves what was counted", async () => {
    const usage = (prompt: number) =>
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: 2 } })}\n\n`;
    const answer = await said("chat", piece({ content: "x" }), usage(90), piece({}, "stop"), usage(0), "data: [DONE]\n\n");
    expect(answer.usage).toEqual({ inputTokens: 90, outputTokens: 2 });
  });
});

describe("Responses that tell a text once, and not as pieces", () => {
  const content = [{ type: "output_text", text: "all of it" }];
  const item = { type: "message", id: "m", status: "completed", role: "assistant", content };
  const added = frame("response.output_item.added", { output_index: 0, item: { ...item, content: [] } });
  const textDone = frame("response.output_text.done", { output_index: 0, item_id: "m", content_index: 0, text: "all of it" });
  const itemDone = frame("response.output_item.done", { output_index: 0, item });
  const delta = frame("response.output_text.delta", { output_index: 0, item_id: "m", delta: "all of it" });
  const completed = (more: object = {}) =>
    frame("response.completed", { response: { status: "completed", output: [item], ...more } });
  const reasoning = { type: "reasoning", id: "r", summary: [], encrypted_content: "E" };
  const call = { type: "function_call", id: "f", call_id: "c", name: "read", arguments: args };
  const callDone = frame("response.output_item.done", { output_index: 1, item: call });
  const reasoned = frame("response.output_item.done", { output_index: 9, item: reasoning });

  test.each([
    ["text, item and output", [added, textDone, itemDone, completed()]],
    ["text alone", [textDone, completed({ output: [] })]],
    ["item alone", [itemDone, completed({ output: [] })]],
    ["item twice", [itemDone, itemDone, completed()]],
    ["output alone, behind reasoning", [reasoned, completed({ output: [reasoning, item] })]],
    ["pieces, text, item and output", [added, delta, textDone, itemDone, completed()]],
    ["pieces and output", [delta, completed()]],
  ])("%s", async (_, frames) => {
    const answer = await said("responses", ...frames);
    expect([answer.text, answer.stop, answer.failure]).toEqual(["all of it", "end", undefined]);
  });

  test("with a call behind it, and a call that only the closing event knows", async () => {
    const both = await said("responses", added, textDone, itemDone, callDone, completed({ output: [item, call] }));
    const late = await said("responses", delta, completed({ output: [item, call] }));
    for (const answer of [both, late]) {
      expect([answer.text, answer.stop, answer.calls.map(({ arguments: json }) => json)]).toEqual([
        "all of it",
        "tool_calls",
        [args],
      ]);
    }
  });

  test("two messages of one answer", async () => {
    const second = { ...item, id: "n", content: [{ type: "output_text", text: " and more" }] };
    const done = frame("response.output_item.done", { output_index: 1, item: second });
    expect((await said("responses", added, delta, itemDone, done, completed())).text).toBe("all of it and more");
  });

  test("two messages without an id and an index are both told", async () => {
    const bare = (words: string): string =>
      frame("response.output_item.done", { item: { type: "message", content: [{ type: "output_text", text: words }] } });
    expect((await said("responses", bare("one, "), bare("two"), completed({ output: [] }))).text).toBe("one, two");
  });

  test.each([
    ["a call", [callDone], [reasoning, call], ["opaque", "call"]],
    ["a message and a call", [added, textDone, itemDone, callDone], [reasoning, item, call], ["opaque", "text", "call"]],
    ["a call, with the message late, too", [callDone], [reasoning, item, call], ["opaque", "text", "call"]],
    ["nothing: between the two", [added, textDone, itemDone, callDone], [item, reasoning, call], ["text", "opaque", "call"]],
    ["what it does not name", [callDone], [reasoning, { ...call, call_id: "other" }], ["call", "opaque"]],
  ])("reasoning that only the closing event has goes before %s", async (_, frames, output, kinds) => {
    const { carry } = await said("responses", ...frames, completed({ output }));
    expect(carry?.items.slice(1).map((one) => (one as { kind: string }).kind)).toEqual(kinds);
  });

  test("a refusal that is no pieces is a refusal", async () => {
    const no = { ...item, content: [{ type: "refusal", refusal: "no" }] };
    const answer = await said(
      "responses",
      frame("response.output_item.done", { output_index: 0, item: no }),
      completed({ output: [no] }),
    );
    expect([answer.text, answer.stop]).toEqual(["no", "refusal"]);
  });

  test.each([
    ["without a reason, the item complete", { incomplete_details: null }, item, "end"],
    ["without a reason, the item cut", { incomplete_details: null }, { ...item, status: "incomplete" }, "length"],
    ["with a reason", { incomplete_details: { reason: "max_output_tokens" } }, item, "length"],
  ])("incomplete %s", async (_, more, last, stop) => {
    const closing = completed({ status: "incomplete", output: [last], ...more });
    const answer = await said(
      "responses",
      added,
      delta,
      frame("response.output_item.done", { output_index: 0, item: last }),
      closing,
    );
    expect([answer.text, answer.stop]).toEqual(["all of it", stop as never]);
    expect((await said("responses", added, delta, closing)).stop).toBe(stop as never);
  });
});

describe("thinking without a signature", () => {
  const frames = (signature: object) => [
    frame("message_start", { message: {} }),
    frame("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "", ...signature } }),
    frame("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "look" } }),
    frame("content_block_stop", { index: 0 }),
    frame("content_block_start", { index: 1, content_block: { type: "tool_use", id: "t", name: "read", input: {} } }),
    frame("content_block_stop", { index: 1 }),
    frame("message_delta", { delta: { stop_reason: "tool_use" } }),
    frame("message_stop", {}),
  ];

  /** The thinking in the second request of a run. */
  async function sentBack(baseUrl: string, model: string, signature: object): Promise<unknown> {
    const fetch = memoryFetch({ chunks: encode(frames(signature).join("")) });
    const provider = testProvider(settingsFor("anthropic", baseUrl, { name: "anthropic" }), { fetch });
    const { calls, carry, reasoning } = await collect(provider, requestOf([{ role: "user", text: "x" }], { model }));
    const answer: Message = { role: "assistant", text: "", calls, reasoning, ...(carry && { carry }) };
    const result: Message = { role: "tool", callId: "t", name: "read", text: "r", failed: false };
    await collect(provider, requestOf([{ role: "user", text: "x" }, answer, result], { model }));
    return JSON.parse(fetch.bodies[1] ?? "").messages[1].content[0];
  }

  test.each([{}, { signature: "" }])("goes back to a model that demands it (%j)", async (signature) => {
    const bare = { type: "thinking", thinking: "look" };
    expect(await sentBack("https://api.deepseek.com/anthropic", "deepseek-v4-pro", signature)).toEqual(bare);
  });

  test("a signed one goes back whatever the model", async () => {
    const signed = { type: "thinking", thinking: "look", signature: "S" };
    expect(await sentBack(MOCK, "claude-sonnet-4-5", { signature: "S" })).toEqual(signed);
  });

  test("goes back after a resume, too, where the model's server demands it", async () => {
    const call = { id: "t", name: "read", arguments: "{}" };
    const resumed: readonly Message[] = [
      { role: "user", text: "x" },
      { role: "assistant", text: "", reasoning: "look", calls: [call] },
      { role: "tool", callId: "t", name: "read", text: "r", failed: false },
    ];
    const first = async (baseUrl: string, model: string) => {
      const fetch = memoryFetch({ chunks: [] });
      await collect(testProvider(settingsFor("anthropic", baseUrl), { fetch }), requestOf(resumed, { model }));
      return JSON.parse(fetch.bodies[0] ?? "").messages[1].content[0];
    };
    expect(await first(MOCK, "deepseek-v4-pro")).toEqual({ type: "thinking", thinking: "look" });
    expect(await first(MOCK, "glm-5")).toMatchObject({ type: "tool_use" });
    expect(await first("https://api.anthropic.com", "deepseek-v4-pro")).toMatchObject({ type: "tool_use" });
  });

  test.each([
    ["https://api.anthropic.com", "claude-sonnet-4-5"],
    ["https://gateway.example/anthropic", "claude-sonnet-4-5"],
    ["https://openrouter.ai/api", "anthropic/claude-opus-4.5"],
  ])("does not go to %s for %s, which refuses it", async (baseUrl, model) => {
    expect(await sentBack(baseUrl, model, { signature: "" })).toMatchObject({ type: "tool_use" });
  });
});

describe("arguments that begin as an empty object", () => {
  const opened = (more: object) =>
    piece({ tool_calls: [{ index: 0, id: "a", function: { name: "read", arguments: "{}", ...more } }] });
  const more = (json: string, id?: string, name?: string) =>
    piece({ tool_calls: [{ index: 0, id, function: { name, arguments: json } }] });
  const argsOf = async (wire: Wire, ...frames: string[]) => (await said(wire, ...frames)).calls.map((call) => call.arguments);

  test.each([
    ["whole", [opened({}), more(args)]],
    ["in pieces", [opened({}), more('{"path"'), more(':"a.txt"}')]],
    ["named again", [opened({}), more(args, "a", "read")]],
    ["null first", [opened({ arguments: "null" }), more(args)]],
  ])("chat: %s", async (_, frames) => {
    expect(await argsOf("chat", ...frames, piece({}, "tool_calls"))).toEqual([args]);
  });

  test("an empty object alone stays one", async () => {
    expect(await argsOf("chat", opened({}), more(""), piece({}, "tool_calls"))).toEqual(["{}"]);
  });

  test("on the other wires", async () => {
    const json = (partial: string) =>
      frame("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: partial } });
    const start = frame("content_block_start", {
      index: 0,
      content_block: { type: "tool_use", id: "t", name: "read", input: {} },
    });
    const end = frame("message_delta", { delta: { stop_reason: "tool_use" } });
    expect(await argsOf("anthropic", start, json(""), json("{}"), json(args), end)).toEqual([args]);
    const item = { type: "function_call", call_id: "c", name: "read", arguments: "" };
    const delta = (text: string) => frame("response.function_call_arguments.delta", { output_index: 0, delta: text });
    const added = frame("response.output_item.added", { output_index: 0, item });
    expect(await argsOf("responses", added, delta("{}"), delta(args), frame("response.completed", { response: {} }))).toEqual([
      args,
    ]);
  });
});

describe("an answer that is not streamed", () => {
  const json = (body: object): Served => ({
    headers: { "content-type": "application/json" },
    chunks: encode(JSON.stringify(body)),
  });
  const fn = { name: "read", arguments: args };
  const WHOLE: Readonly<Record<Wire, object>> = {
    chat: {
      object: "chat.completion",
      error: null,
      choices: [
        {
          message: {
            role: "assistant",
            content: "whole",
            reasoning_content: "why",
            tool_calls: [{ id: "t", type: "function", function: fn }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 2 },
    },
    responses: {
      object: "response",
      status: "completed",
      error: null,
      output: [
        { type: "message", content: [{ type: "output_text", text: "whole" }] },
        { type: "function_call", call_id: "t", ...fn },
      ],
      usage: { input_tokens: 5, output_tokens: 2 },
    },
    anthropic: {
      type: "message",
      role: "assistant",
      content: [
        { type: "text", text: "whole" },
        { type: "tool_use", id: "t", name: "read", input: JSON.parse(args) },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 5, output_tokens: 2 },
    },
  };

  for (const wire of WIRES) {
    test(`${wire}: is the answer`, async () => {
      const bodies = [json(WHOLE[wire]), { chunks: encode(`data: ${JSON.stringify(WHOLE[wire])}\n\n`) }];
      for (const served of bodies) {
        const answer = await collect(testProvider(settingsFor(wire, MOCK), { fetch: memoryFetch(served) }));
        expect(answer).toMatchObject({
          text: "whole",
          stop: "tool_calls",
          usage: { inputTokens: 5, outputTokens: 2 },
          endings: 1,
        });
        expect(answer.calls).toEqual([{ id: "t", name: "read", arguments: args }]);
      }
    });
  }

  test("may be long", async () => {
    const content = "北 long ".repeat(100_000);
    const served = json({ choices: [{ message: { content }, finish_reason: "stop" }] });
    const bytes = served.chunks[0] ?? new Uint8Array();
    const chunks = Array.from({ length: Math.ceil(bytes.length / 10_001) }, (_, n) => bytes.slice(n * 10_001, (n + 1) * 10_001));
    const answer = await collect(testProvider(settingsFor("chat", MOCK), { fetch: memoryFetch({ ...served, chunks }) }));
    expect([answer.text === content, answer.stop]).toEqual([true, "end"]);
  });

  test("and may be an error all the same", async () => {
    const body = json({ choices: [{ error: { code: 502, message: "Provider returned error" }, message: { content: "" } }] });
    const answer = await collect(testProvider(settingsFor("chat", MOCK), { fetch: memoryFetch(body) }));
    expect([answer.failure?.class, answer.stop]).toEqual(["overloaded", undefined]);
  });
});

describe("status 200, and no events", () => {
  const plain = (text: string, type = "text/plain"): Served => ({ headers: { "content-type": type }, chunks: encode(text) });
  const page = (title: string) => `<html><head><title>${title}</title></head><body>x</body></html>`;

  test.each([
    [plain("upstream connect error or disconnect/reset before headers"), "overloaded", "upstream connect error"],
    [plain("no healthy upstream"), "overloaded", "no healthy upstream"],
    [plain("Invalid API key"), "auth", "Invalid API key"],
    [plain("Welcome to nginx!\n"), "protocol", "text instead of an event stream: Welcome to nginx!"],
    [plain(`: keepalive\n\n${page("x")}`), "protocol", "web page (x)"],
    [plain(page("502 Bad Gateway"), "text/html"), "overloaded", "502 Bad Gateway"],
    [plain(page("404 Not Found"), "text/html"), "invalid_request", "check the model id and the base URL"],
    [plain(page("Our company"), "text/html"), "protocol", "check the base URL"],
    [
      plain('{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}', "text/event-stream"),
      "rate_limit",
      "Rate limit",
    ],
    [plain(': hello\n\n{"error":{"message":"boom","code":500}}', "text/event-stream"), "overloaded", "boom"],
    [plain(`${piece({ content: "half" })}{"error":{"message":"boom","code":500}}\n`), "overloaded", "boom"],
    [plain(`${piece({ content: "half" })}upstream went away`), "truncated", "before the answer was complete: upstream went away"],
  ])("%#", async (served, kind, message) => {
    for (const wire of WIRES) {
      if (wire !== "chat" && served.chunks.some((chunk) => new TextDecoder().decode(chunk).includes("choices"))) continue;
      const answer = await collect(testProvider(settingsFor(wire, MOCK), { fetch: memoryFetch(served) }));
      expect([answer.failure?.class, answer.failure?.message]).toEqual([
        kind as never,
        expect.stringContaining(message) as never,
      ]);
    }
  });

  test("a key in such a body is not shown, and the body is bounded", async () => {
    const text = `denied for sk-test-0123456789 ${"x".repeat(5_000)}`;
    const answer = await collect(testProvider(settingsFor("chat", MOCK), { fetch: memoryFetch(plain(text)) }));
    expect(answer.failure?.message).not.toContain("sk-test-0123456789");
    expect(answer.failure?.message.length).toBeLessThan(400);
  });

  test("lines that are none of the protocol's do not disturb an answer", async () => {
    const answer = await said("chat", "hello\n", piece({ content: "a" }), "what\n\n", piece({}, "stop"));
    expect([answer.text, answer.stop]).toEqual(["a", "end"]);
  });
});
