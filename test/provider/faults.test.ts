/** What goes wrong on the way, on all three wires: one failure, the right class, never a throw. */
import { describe, expect, test } from "bun:test";
import { startLoopback, wireFrames } from "../support/loopback.ts";
import {
  chunked,
  collect,
  encode,
  memoryFetch,
  requestOf,
  type Served,
  settingsFor,
  testProvider,
  WIRES,
} from "../support/wire/stream.ts";

const URL_OF_MOCK = "http://mock.test/v1";

function faultOf(wire: (typeof WIRES)[number], served: Served, stallTimeoutMs = 20_000) {
  return collect(testProvider(settingsFor(wire, URL_OF_MOCK), { fetch: memoryFetch(served), stallTimeoutMs }));
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Served => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  chunks: encode(typeof body === "string" ? body : JSON.stringify(body)),
});

const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

const STATUSES: readonly (readonly [what: string, served: Served, kind: string, message: RegExp])[] = [
  ["401", json(401, error("bad key")), "auth", /mock\.test answered 401: bad key \(check the API key\)/],
  ["403", json(403, error("no access")), "auth", /403/],
  ["402", json(402, error("pay first")), "quota", /pay first/],
  ["429", json(429, error("Too many requests")), "rate_limit", /429/],
  [
    "429 with quota wording",
    json(
      429,
      error("You exceeded your current quota, please check your plan and billing details.", { code: "insufficient_quota" }),
    ),
    "quota",
    /quota/,
  ],
  [
    "429 quota that is free in seconds",
    json(429, [error("You exceeded your current quota. Please retry in 21.5s.", { status: "RESOURCE_EXHAUSTED" })]),
    "rate_limit",
    /429/,
  ],
  [
    "400 credit balance",
    json(400, {
      type: "error",
      error: { type: "invalid_request_error", message: "Your credit balance is too low to access the API" },
    }),
    "quota",
    /credit balance/,
  ],
  ["500", json(500, error("boom")), "overloaded", /boom/],
  [
    "502 page",
    {
      status: 502,
      headers: { "content-type": "text/html" },
      chunks: encode("<html><head><title>502 Bad Gateway</title></head></html>"),
    },
    "overloaded",
    /502: 502 Bad Gateway$/,
  ],
  ["503 without a body", { status: 503, chunks: [] }, "overloaded", /answered 503$/],
  ["529", json(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }), "overloaded", /Overloaded/],
  ["404", json(404, error("model not found")), "invalid_request", /check the model id and the base URL/],
  ["422 detail list", json(422, { detail: [{ msg: "field required" }] }), "invalid_request", /field required/],
  ["400", json(400, error("temperature out of range")), "invalid_request", /temperature/],
  ["400 text", { status: 400, headers: {}, chunks: encode("nope") }, "invalid_request", /400: nope/],
  ["413", json(413, error("body too big")), "context_overflow", /413/],
  [
    "302",
    { status: 302, headers: { location: "http://elsewhere.test/x" }, chunks: [] },
    "invalid_request",
    /redirects \(302\) to http:\/\/elsewhere\.test\/x; credentials are not sent on/,
  ],
];

const OVERFLOWS: readonly string[] = [
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  "prompt is too long: 213462 tokens > 200000 maximum",
  "Your input exceeds the context window of this model. Please adjust your input and try again.",
  "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  "Please reduce the length of the messages or completion.",
  "the request exceeds the available context size, try increasing it",
  "Input length (265330) exceeds model's maximum context length (262144).",
  "prompt too long; exceeded max context length by 4 tokens",
  "Trying to keep the first 9000 tokens when context the overflows. The number of tokens to keep from the initial prompt is greater than the context length.",
  "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
  "Prompt contains 300000 tokens, too large for model with 262144 maximum context length",
  "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
  "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
  "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 100 `max_new_tokens`",
  "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
  "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
  "prompt token count of 128123 exceeds the limit of 128000",
  "Range of input length should be [1, 129024]",
  "Prompt exceeds max length",
  "context window exceeds limit (2013)",
  "litellm.ContextWindowExceededError: the request was refused",
  "input prompt is too big compared to KV size",
  "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292",
  "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
];

const TPM = "for gpt-4o in organization org-x on tokens per min (TPM): Limit";

/** About rates: waiting helps. */
const RATES: readonly string[] = [
  `Rate limit reached ${TPM} 30000, Used 25000, Requested 8000. Please try again in 6s.`,
  `Rate limit reached ${TPM} 30,000, Used 29,000, Requested 30,000. Please try again in 6s.`,
  "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.",
  "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Requested 4.",
  "Rate limit exceeded: 40000 input tokens per minute",
  "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
  "Number of request tokens has exceeded your per-minute rate limit",
  "Tokens per minute limit exceeded - too many tokens processed.",
  "Request rate increased too quickly. Please wait.",
];

/** Larger than a whole minute has: waiting does not help. */
const NEVER: readonly string[] = [
  `Request too large ${TPM} 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.`,
  `Rate limit reached ${TPM} 30,000, Used 100, Requested 45,000. Please try again in 6s.`,
  "Request too large for model `llama` on tokens per day (TPD): Limit 100000, Requested 120000, please reduce your message size",
];

for (const wire of WIRES) {
  describe(wire, () => {
    for (const [what, served, kind, message] of STATUSES) {
      test(`status ${what} is ${kind}`, async () => {
        const said = await faultOf(wire, served);
        expect([said.failure?.class, said.endings]).toEqual([kind as never, 1]);
        expect(said.failure?.message).toMatch(message);
      });
    }

    test("P16 context overflow by code and by the usual wordings", async () => {
      for (const wording of OVERFLOWS)
        expect([wording, (await faultOf(wire, json(400, error(wording)))).failure?.class]).toEqual([wording, "context_overflow"]);
      const coded = await faultOf(wire, json(400, error("no", { code: "context_length_exceeded" })));
      expect(coded.failure?.class).toBe("context_overflow");
      const rate = await faultOf(wire, json(429, error("Too many tokens, please wait before trying again.")));
      expect(rate.failure?.class).toBe("rate_limit");
    });

    test("P16 a rate limit is none, unless the request alone is more than it", async () => {
      const coded = (wording: string) => json(429, error(wording, { type: "tokens", code: "rate_limit_exceeded" }));
      for (const wording of RATES)
        expect([wording, (await faultOf(wire, coded(wording))).failure?.class]).toEqual([wording, "rate_limit"]);
      for (const wording of NEVER)
        expect([wording, (await faultOf(wire, coded(wording))).failure?.class]).toEqual([wording, "context_overflow"]);
    });

    test("P08 EOF without a stop is truncated; the partial text was said", async () => {
      const frames = wireFrames(wire, { text: ["one ", "two ", "three"] });
      const cut = frames.findIndex((frame) => frame.includes("two")) + 1;
      const said = await faultOf(wire, { chunks: chunked(frames.slice(0, cut), "whole") });
      expect([said.text, said.failure?.class, said.endings]).toEqual(["one two ", "truncated", 1]);
    });

    test("P08 EOF inside a frame is truncated, not a protocol error", async () => {
      const frames = wireFrames(wire, { text: ["one ", "two "] });
      const bytes = new TextEncoder().encode(frames.join(""));
      for (const length of [bytes.length >> 1, (bytes.length >> 1) + 13, 40]) {
        const said = await faultOf(wire, { chunks: [bytes.slice(0, length)] });
        expect(said.failure?.class).toBe("truncated");
      }
    });

    test("P08 a connection that breaks is truncated", async () => {
      const frames = wireFrames(wire, { text: ["one ", "two "] });
      const said = await faultOf(wire, { chunks: chunked(frames.slice(0, 3), "whole"), after: "break" });
      expect([said.failure?.class, said.endings]).toEqual(["truncated", 1]);
      expect(said.failure?.message).toContain("broke before the answer was complete (the connection was reset)");
    });

    test("P09 an error frame is a failure with its message and class", async () => {
      const frames = wireFrames(wire, { text: ["one ", "two "] });
      const cut = frames.findIndex((frame) => frame.includes("one")) + 1;
      const wrong: readonly (readonly [string, string])[] = [
        ['data: {"error":{"message":"quota exceeded","code":429}}\n\ndata: [DONE]\n\n', "quota"],
        ['event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n', "overloaded"],
        ['data: {"error":{"message":"Rate limit reached, try again in 20s","type":"rate_limit_error"}}\n\n', "rate_limit"],
        ['data: {"error":{"message":"slow down","code":429}}\n\n', "rate_limit"],
        ['data: {"error":"internal server error"}\n\n', "overloaded"],
        ["event: error\ndata:\n\n", "overloaded"],
        ["event: error\ndata: something broke, server_error\n\n", "overloaded"],
        ['data: {"error":{"message":"prompt is too long: 3 > 2"}}\n\n', "context_overflow"],
      ];
      for (const [tail, kind] of wrong) {
        const said = await faultOf(wire, { chunks: chunked([...frames.slice(0, cut), tail], "seven bytes") });
        expect([tail, said.text, said.failure?.class, said.endings]).toEqual([tail, "one ", kind as never, 1]);
      }
    });

    test("P09 a body that is no stream, under status 200", async () => {
      const bodies: readonly (readonly [string, string, RegExp])[] = [
        ['{"error":{"message":"The model is overloaded","type":"server_error"}}', "overloaded", /The model is overloaded/],
        [' \n {"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}', "auth", /Incorrect API key/],
        ['[{"error":{"code":503,"message":"unavailable"}}]', "overloaded", /unavailable/],
        ['{"object":"list"}', "protocol", /JSON instead of an event stream/],
        ["<!doctype html><html><title>Welcome</title></html>", "protocol", /web page \(Welcome\).*check the base URL/],
        ["", "truncated", /empty body/],
        ["\n\n", "truncated", /empty body/],
        [": keep-alive\n\n", "truncated", /before the answer was complete/],
      ];
      for (const [body, kind, message] of bodies) {
        for (const size of [1, 1_000]) {
          const bytes = new TextEncoder().encode(body);
          const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
          const said = await faultOf(wire, { chunks, headers: { "content-type": "application/json" } });
          expect([body, said.failure?.class]).toEqual([body, kind as never]);
          expect(said.failure?.message).toMatch(message);
        }
      }
    });

    test("data that is no JSON is a protocol failure that shows it on one line", async () => {
      const said = await faultOf(wire, { chunks: encode('data: {"this is": not\u001b[31m json\n\ndata: x\n\n') });
      expect(said.failure?.class).toBe("protocol");
      expect(said.failure?.message).toContain("not [31m json");
      expect(said.endings).toBe(1);
    });

    test("P10 silence ends at the limit as stalled; comments do not count as life", async () => {
      const frames = wireFrames(wire, { text: ["one ", "two "] });
      const server = await startLoopback([
        { text: ["one ", "two "], cut: { after: 3, how: "stall" } },
        { hang: true },
        {
          raw: [frames[0] ?? "", ...Array.from({ length: 40 }, () => ": still here\n\n")],
          pace: 20,
          cut: { after: 41, how: "stall" },
        },
      ]);
      const provider = testProvider(settingsFor(wire, server.baseUrl), { stallTimeoutMs: 120 });
      for (const _ of [1, 2, 3]) {
        const began = performance.now();
        const said = await collect(provider);
        expect([said.failure?.class, said.endings]).toEqual(["stalled", 1]);
        expect(said.failure?.message).toContain("sent nothing for 1 s");
        expect(performance.now() - began).toBeLessThan(2500);
      }
      await server.close();
    });

    test("P10 a slow consumer is not a silent server", async () => {
      const answer = { text: ["one ", "two "] };
      const at = wireFrames(wire, answer).findIndex((frame) => frame.includes("one")) + 1;
      const server = await startLoopback([{ ...answer, hold: { gate: "go", at } }]);
      const stream = testProvider(settingsFor(wire, server.baseUrl), { stallTimeoutMs: 150 }).stream(
        requestOf([{ role: "user", text: "x" }]),
        new AbortController().signal,
      );
      const iterator = stream[Symbol.asyncIterator]();
      await iterator.next();
      await Bun.sleep(400);
      server.release("go");
      let last: unknown;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) last = next.value.type;
      expect(last).toBe("stop");
      await server.close();
    });

    test("FIN and RST over real TCP; a cancel reaches a hanging request and a silent stream", async () => {
      const server = await startLoopback([
        { text: ["a", "b"], cut: { after: 2, how: "fin" } },
        { text: ["a", "b"], cut: { after: 2, how: "rst" } },
        { refuse: "rst" },
        { refuse: "fin" },
        { hang: true },
        { text: ["a", "b"], cut: { after: 2, how: "stall" } },
      ]);
      const provider = testProvider(settingsFor(wire, server.baseUrl));
      const classes: (string | undefined)[] = [];
      for (let n = 1; n <= 4; n += 1) classes.push((await collect(provider)).failure?.class);
      expect(classes).toEqual(["truncated", "truncated", "network", "network"]);
      for (const n of [5, 6]) {
        const control = new AbortController();
        const running = collect(provider, undefined, control.signal);
        const seen = await server.request(n);
        const began = performance.now();
        control.abort();
        const said = await running;
        expect([said.failure?.class, said.endings]).toEqual(["cancelled", 1]);
        expect(performance.now() - began).toBeLessThan(3000);
        expect(await seen.ended).toBe(true);
      }
      await server.close();
    });

    test("a fetch that ignores its signal is still cancelled", async () => {
      const control = new AbortController();
      const provider = testProvider(settingsFor(wire, URL_OF_MOCK), { fetch: () => new Promise(() => {}) });
      const running = collect(provider, undefined, control.signal);
      await Promise.resolve();
      control.abort();
      expect((await running).failure?.class).toBe("cancelled");
      const silent = new AbortController();
      const quiet = testProvider(settingsFor(wire, URL_OF_MOCK), {
        fetch: memoryFetch({ chunks: encode(": hi\n\n"), after: "silence" }),
      });
      const waiting = collect(quiet, undefined, silent.signal);
      await Bun.sleep(5);
      silent.abort();
      expect((await waiting).failure?.class).toBe("cancelled");
    });

    test("connection refused and bad settings are failures, not throws", async () => {
      const server = await startLoopback([]);
      await server.close();
      const refused = await collect(testProvider(settingsFor(wire, server.baseUrl)));
      expect([refused.failure?.class, refused.failure?.message]).toEqual([
        "network",
        `cannot reach 127.0.0.1:${server.port}: the connection was refused`,
      ]);
      const { baseUrl: _, ...without } = settingsFor(wire, "x");
      const cases = [without, settingsFor(wire, "not a url"), settingsFor(wire, "file:///etc/passwd")];
      for (const settings of cases) expect((await collect(testProvider(settings))).failure?.message).toContain("MOCK_BASE_URL");
      const header = await collect(testProvider(settingsFor(wire, URL_OF_MOCK), { apiKey: "line\nbreak-in-the-key" }));
      expect([header.failure?.class, header.failure?.message.includes("break")]).toEqual(["invalid_request", false]);
    });

    test("an error status whose body never ends is not waited for", async () => {
      const provider = testProvider(settingsFor(wire, URL_OF_MOCK), {
        fetch: memoryFetch({ status: 401, chunks: encode("no entry"), after: "silence" }),
        stallTimeoutMs: 100,
      });
      const said = await collect(provider);
      expect([said.failure?.class, said.failure?.message.includes("no entry")]).toEqual(["auth", true]);
    });

    test("a header value that is a credential is redacted", async () => {
      const settings = settingsFor(wire, URL_OF_MOCK, { headers: { "X-Auth-Token": "Bearer hidden-value-1" } });
      const said = await collect(
        testProvider(settings, { fetch: memoryFetch(json(403, error("hidden-value-1 is not allowed"))) }),
      );
      expect(said.failure?.message).toContain("403: [redacted:credential] is not allowed");
    });

    test("a credential in the base URL is redacted, as it is written and as it is meant", async () => {
      const base = "http://user:pass%2Fword-1@mock.test/v1?api-key=query%20value-1&api-version=2026-01-01&mode=plain-mode-1";
      const repeated = "pass%2Fword-1 pass/word-1 query%20value-1 query value-1 2026-01-01 plain-mode-1";
      const fetch = memoryFetch(json(403, error(repeated)));
      const said = await collect(testProvider(settingsFor(wire, base), { fetch }));
      const hidden = "[redacted:credential]";
      expect(said.failure?.message).toContain(`403: ${hidden} ${hidden} ${hidden} ${hidden} 2026-01-01 plain-mode-1`);
      const alone = await collect(
        testProvider(settingsFor(wire, "http://key-as-user-1@mock.test/v1"), {
          fetch: memoryFetch(json(403, error("key-as-user-1"))),
        }),
      );
      expect(alone.failure?.message).toContain(`403: ${hidden}`);
    });

    test("a message that repeats the key is redacted", async () => {
      const said = await faultOf(wire, json(401, error("Incorrect API key provided: sk-test-0123456789.")));
      expect(said.failure?.message).toContain("provided: [redacted:credential].");
    });

    test("a server that keeps the line open after its last word is not waited for", async () => {
      const server = await startLoopback([{ text: "done", cut: { after: 99, how: "stall" } }]);
      const began = performance.now();
      const said = await collect(testProvider(settingsFor(wire, server.baseUrl)));
      expect([said.text, said.stop]).toEqual(["done", "end"]);
      expect(performance.now() - began).toBeLessThan(2500);
      await server.close();
    });
  });
}

test("P08 [DONE] without a finish reason is accepted with text and whole calls, not inside a call", async () => {
  const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const call = (args: string) => chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "a", arguments: args } }] });
  const run = (...frames: string[]) => faultOf("chat", { chunks: encode([...frames, "data: [DONE]\n\n"].join("")) });
  expect((await run(chunk({ content: "hi" }))).stop).toBe("end");
  expect((await run(call("{}"))).stop).toBe("tool_calls");
  const cut = await run(call('{"a":'));
  expect([cut.failure?.class, cut.calls.length, cut.endings]).toEqual(["truncated", 0, 1]);
});

test("chat: usage in a last frame with empty choices is read, a missing [DONE] after a finish reason is fine", async () => {
  const frames = wireFrames("chat", { text: "x", usage: { input: 7, output: 3 } }).filter((frame) => !frame.includes("[DONE]"));
  const said = await faultOf("chat", { chunks: encode(frames.join("")) });
  expect([said.stop, said.usage]).toEqual(["end", { inputTokens: 7, outputTokens: 3 }]);
  const broken = await faultOf("chat", { chunks: encode(frames.slice(0, -1).join("")), after: "break" });
  expect([broken.stop, broken.usage]).toEqual(["end", undefined]);
});

test("a bad certificate is said and not tried again; other connection errors are network", async () => {
  const throwing = (code: string, message: string) =>
    testProvider(settingsFor("chat", URL_OF_MOCK), { fetch: () => Promise.reject(Object.assign(new Error(message), { code })) });
  const certificate = await collect(throwing("DEPTH_ZERO_SELF_SIGNED_CERT", "self signed certificate"));
  expect([certificate.failure?.class, certificate.failure?.message]).toEqual([
    "protocol",
    "cannot reach mock.test: its certificate is self signed (NODE_EXTRA_CA_CERTS names a file with more of those to trust)",
  ]);
  expect((await collect(throwing("ENOTFOUND", "x"))).failure).toMatchObject({
    class: "network",
    message: "cannot reach mock.test: the host name is not known",
  });
});

test("a server on this machine is not asked through the proxy of the environment", async () => {
  const server = await startLoopback([{ text: "direct" }]);
  const proxy = await startLoopback([]);
  const before = process.env.HTTP_PROXY;
  process.env.HTTP_PROXY = `http://127.0.0.1:${proxy.port}`;
  try {
    expect((await collect(testProvider(settingsFor("chat", server.baseUrl)))).text).toBe("direct");
    expect(proxy.connections()).toBe(0);
    // The other way round: the variable does work in this process.
    await collect(testProvider(settingsFor("chat", "http://model.invalid/v1")));
    expect(proxy.connections()).toBe(1);
  } finally {
    if (before === undefined) delete process.env.HTTP_PROXY;
    else process.env.HTTP_PROXY = before;
    await server.close();
    await proxy.close({ ignoreViolations: true });
  }
});

test("responses: the error event carries its code at the top", async () => {
  const frame = `event: error\ndata: ${JSON.stringify({ type: "error", code: "rate_limit_exceeded", message: "slow down", param: null })}\n\n`;
  expect((await faultOf("responses", { chunks: encode(frame) })).failure).toMatchObject({
    class: "rate_limit",
    message: "mock.test reported an error: slow down",
  });
});

test("responses: a failed response carries its class; a closing event alone is enough", async () => {
  const failed = (code: string) =>
    `data: ${JSON.stringify({ type: "response.failed", response: { error: { code, message: "m" } } })}\n\n`;
  const classes = ["rate_limit_exceeded", "server_error", "context_length_exceeded", "insufficient_quota"];
  const got = await Promise.all(
    classes.map(async (code) => (await faultOf("responses", { chunks: encode(failed(code)) })).failure?.class),
  );
  expect(got).toEqual(["rate_limit", "overloaded", "context_overflow", "quota"]);
  const output = [
    { type: "message", content: [{ type: "output_text", text: "hi" }] },
    { type: "function_call", call_id: "c1", name: "a", arguments: "{}" },
  ];
  const whole = `data: ${JSON.stringify({ type: "response.completed", response: { output } })}\n\n`;
  const said = await faultOf("responses", { chunks: encode(whole) });
  expect([said.text, said.calls, said.stop]).toEqual(["hi", [{ id: "c1", name: "a", arguments: "{}" }], "tool_calls"]);
});

test("P09 an empty error member with every frame is none; an error in a list is one", async () => {
  const chunk = (delta: object, error: unknown, finish: string | null = null) =>
    `data: ${JSON.stringify({ error, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  for (const empty of ["", false, null]) {
    const frames = [
      chunk({ content: "one " }, empty),
      chunk({ content: "two" }, empty),
      chunk({}, empty, "stop"),
      "data: [DONE]\n\n",
    ];
    const said = await faultOf("chat", { chunks: encode(frames.join("")) });
    expect([said.text, said.failure]).toEqual(["one two", undefined]);
  }
  const listed = 'data: [{"error":{"message":"the model is overloaded","code":503,"status":"UNAVAILABLE"}}]\n\n';
  const said = await faultOf("chat", { chunks: encode(listed) });
  expect([said.failure?.class, said.failure?.message]).toEqual(["overloaded", expect.stringContaining("overloaded") as never]);
});

describe("P09 a stream that is cut tells what stood in it and was no event", () => {
  const piece = 'data: {"choices":[{"delta":{"content":"Hello"}}]}';
  for (const line of ["\n", "\r\n", "\r"]) {
    const run = (chunks: readonly string[]) => faultOf("chat", { chunks: chunks.flatMap(encode) });

    test(`no part of an ordinary event is that, wherever it was split (lines end with ${JSON.stringify(line)})`, async () => {
      const whole = `${piece}${line}${line}`;
      for (let at = 1; at < whole.length; at += 1) {
        const { failure } = await run([whole.slice(0, at), whole.slice(at)]);
        expect([at, failure?.message]).toEqual([at, "mock.test ended the stream before the answer was complete"]);
      }
    });

    test(`what follows the last one is (lines end with ${JSON.stringify(line)})`, async () => {
      const { failure } = await run([`${piece}${line}`, `${line}out of memory${line}`]);
      expect(failure?.message).toBe("mock.test ended the stream before the answer was complete: out of memory");
    });
  }
});
