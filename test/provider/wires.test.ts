/** The same answers over three wires and every chunking: what a stream says does not depend on how it arrives. */
import { describe, expect, test } from "bun:test";
import { wireFrames } from "../support/loopback.ts";
import type { Answer } from "../support/wire/answer.ts";
import { CHUNKS, chunked, collect, memoryFetch, settingsFor, testProvider, WIRES } from "../support/wire/stream.ts";

type Scenario = {
  readonly name: string;
  readonly answer: Answer;
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly (readonly [name: string, args: string])[];
  readonly stop: "end" | "tool_calls" | "length" | "refusal";
  readonly usage?: object;
};

const BASIC = { inputTokens: 100, outputTokens: 20 };
const UNICODE = "北 🌲 é";

const SCENARIOS: readonly Scenario[] = [
  { name: "one delta", answer: { text: "hello" }, text: "hello", stop: "end", usage: BASIC },
  { name: "many deltas", answer: { text: ["a", "b", " c", "\n", "d"] }, text: "ab c\nd", stop: "end" },
  { name: "P01 characters of every width", answer: { text: [UNICODE, UNICODE] }, text: UNICODE + UNICODE, stop: "end" },
  {
    name: "P01 characters in arguments",
    answer: { calls: [{ name: "write", arguments: { text: UNICODE } }] },
    calls: [["write", JSON.stringify({ text: UNICODE })]],
    stop: "tool_calls",
  },
  {
    name: "line separators, NUL and SSE-like text",
    answer: { text: "a\u2028b\u2029c\u0000\r\n\r\ndata: [DONE]\n\n" },
    text: "a\u2028b\u2029c\u0000\r\n\r\ndata: [DONE]\n\n",
    stop: "end",
  },
  { name: "white space is kept", answer: { text: ["  ", "\n\n", " x "] }, text: "  \n\n x ", stop: "end" },
  {
    name: "text before a call",
    answer: { text: "look", calls: [{ name: "ls" }] },
    text: "look",
    calls: [["ls", "{}"]],
    stop: "tool_calls",
  },
  {
    name: "parallel calls",
    answer: {
      calls: [
        { name: "a", arguments: { n: 1 } },
        { name: "b", arguments: { n: 2 } },
        { name: "a", arguments: { n: 3 } },
      ],
    },
    calls: [
      ["a", '{"n":1}'],
      ["b", '{"n":2}'],
      ["a", '{"n":3}'],
    ],
    stop: "tool_calls",
  },
  {
    name: "P06 arguments are a space",
    answer: { calls: [{ name: "a", arguments: " " }] },
    calls: [["a", " "]],
    stop: "tool_calls",
  },
  {
    name: "P19 arguments that are no object",
    answer: { calls: [{ name: "a", arguments: "[1]" }] },
    calls: [["a", "[1]"]],
    stop: "tool_calls",
  },
  {
    name: "P19 arguments that do not parse",
    answer: { calls: [{ name: "a", arguments: '{"x":' }] },
    calls: [["a", '{"x":']],
    stop: "tool_calls",
  },
  {
    name: "a long argument",
    answer: { calls: [{ name: "a", arguments: { x: "y".repeat(5_000) } }] },
    calls: [["a", JSON.stringify({ x: "y".repeat(5_000) })]],
    stop: "tool_calls",
  },
  {
    name: "reasoning, then text",
    answer: { reasoning: ["think", "ing"], text: "so" },
    reasoning: "thinking",
    text: "so",
    stop: "end",
  },
  {
    name: "reasoning, text and a call",
    answer: { reasoning: "hm", text: "t", calls: [{ name: "a", arguments: {} }] },
    reasoning: "hm",
    text: "t",
    calls: [["a", "{}"]],
    stop: "tool_calls",
  },
  { name: "only reasoning", answer: { reasoning: "hm" }, reasoning: "hm", stop: "end" },
  { name: "an empty answer", answer: {}, stop: "end" },
  { name: "cut at the output limit", answer: { text: "half", stop: "length" }, text: "half", stop: "length" },
  {
    name: "a call cut at the output limit",
    answer: { calls: [{ name: "a", arguments: '{"path":"x' }], stop: "length" },
    calls: [["a", '{"path":"x']],
    stop: "length",
  },
  { name: "refusal", answer: { text: "I cannot", stop: "refusal" }, text: "I cannot", stop: "refusal" },
  { name: "P14 no usage", answer: { text: "x", usage: null }, text: "x", stop: "end", usage: {} },
  { name: "P14 usage with null counts", answer: { text: "x", usage: { input: null, output: 5 } }, text: "x", stop: "end" },
  {
    name: "cache and reasoning tokens, input inclusive",
    answer: { text: "x", usage: { input: 1_000, output: 50, cacheRead: 800 } },
    text: "x",
    stop: "end",
    usage: { inputTokens: 1_000, outputTokens: 50, cacheReadTokens: 800 },
  },
  { name: "an empty delta between others", answer: { text: ["a", "", "b"] }, text: "ab", stop: "end" },
  { name: "a character a delta", answer: { text: [..."one at a time"] }, text: "one at a time", stop: "end" },
  { name: "a delta of 60 KB", answer: { text: "é".repeat(30_000) }, text: "é".repeat(30_000), stop: "end" },
  { name: "text that is JSON", answer: { text: '{"error":{"message":"no"}}' }, text: '{"error":{"message":"no"}}', stop: "end" },
  {
    name: "text that looks like frames of its own",
    answer: { text: ["event: error\n", "data: {}\n\n", ": comment\n"] },
    text: "event: error\ndata: {}\n\n: comment\n",
    stop: "end",
  },
  { name: "tabs, CR and backslashes", answer: { text: "a\tb\rc\\n\\u0041" }, text: "a\tb\rc\\n\\u0041", stop: "end" },
  { name: "right-to-left and combining marks", answer: { text: ["שלום", " e\u0301"] }, text: "שלום e\u0301", stop: "end" },
  { name: "a joined emoji over three deltas", answer: { text: ["👩", "\u200d", "💻"] }, text: "👩\u200d💻", stop: "end" },
  {
    name: "the same call twice",
    answer: {
      calls: [
        { name: "a", arguments: { n: 1 } },
        { name: "a", arguments: { n: 1 } },
      ],
    },
    calls: [
      ["a", '{"n":1}'],
      ["a", '{"n":1}'],
    ],
    stop: "tool_calls",
  },
  {
    name: "twenty parallel calls",
    answer: { calls: Array.from({ length: 20 }, (_, n) => ({ name: `t${n}`, arguments: { n } })) },
    calls: Array.from({ length: 20 }, (_, n) => [`t${n}`, `{"n":${n}}`] as const),
    stop: "tool_calls",
  },
  {
    name: "nested arguments of every kind",
    answer: { calls: [{ name: "a", arguments: '{"a":[1,-2.5e3,null,true,{"b":[]}],"":{}}' }] },
    calls: [["a", '{"a":[1,-2.5e3,null,true,{"b":[]}],"":{}}']],
    stop: "tool_calls",
  },
  {
    name: "arguments with quotes, escapes and newlines",
    answer: { calls: [{ name: "a", arguments: { s: 'a"b\\c\n\td' } }] },
    calls: [["a", JSON.stringify({ s: 'a"b\\c\n\td' })]],
    stop: "tool_calls",
  },
  {
    name: "numbers that a double cannot hold stay as written",
    answer: { calls: [{ name: "a", arguments: '{"n":12345678901234567890}' }] },
    calls: [["a", '{"n":12345678901234567890}']],
    stop: "tool_calls",
  },
  {
    name: "a tool of an outside server",
    answer: { calls: [{ name: "mcp__server-1__tool_2", arguments: {} }] },
    calls: [["mcp__server-1__tool_2", "{}"]],
    stop: "tool_calls",
  },
  {
    name: "reasoning and text in many deltas, then two calls",
    answer: { reasoning: ["a ", "b ", "北"], text: ["c", "d"], calls: [{ name: "x" }, { name: "y" }] },
    reasoning: "a b 北",
    text: "cd",
    calls: [
      ["x", "{}"],
      ["y", "{}"],
    ],
    stop: "tool_calls",
  },
  {
    name: "reasoning, then a cut answer",
    answer: { reasoning: "hm", text: "half", stop: "length" },
    reasoning: "hm",
    text: "half",
    stop: "length",
  },
  {
    name: "no output tokens",
    answer: { text: "x", usage: { input: 7, output: 0 } },
    text: "x",
    stop: "end",
    usage: { inputTokens: 7, outputTokens: 0 },
  },
  {
    name: "usage of millions",
    answer: { text: "x", usage: { input: 2_000_000, output: 128_000, cacheRead: 1_999_000 } },
    text: "x",
    stop: "end",
    usage: { inputTokens: 2_000_000, outputTokens: 128_000, cacheReadTokens: 1_999_000 },
  },
];

for (const wire of WIRES) {
  describe(wire, () => {
    for (const scenario of SCENARIOS) {
      test(`${scenario.name}, in every chunking`, async () => {
        for (const how of CHUNKS) {
          const fetch = memoryFetch({ chunks: chunked(wireFrames(wire, scenario.answer), how) });
          const said = await collect(testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch }));
          expect(said.failure).toBeUndefined();
          expect(said.endings).toBe(1);
          expect(said.text).toBe(scenario.text ?? "");
          expect(said.reasoning).toBe(scenario.reasoning ?? "");
          expect(said.calls.map((call) => [call.name, call.arguments])).toEqual((scenario.calls ?? []) as [string, string][]);
          expect(new Set(said.calls.map((call) => call.id)).size).toBe(said.calls.length);
          expect(said.stop).toBe(scenario.stop);
          if (scenario.usage !== undefined) expect(said.usage ?? {}).toEqual(scenario.usage);
          for (const value of Object.values(said.usage ?? {})) expect(value).toBeGreaterThanOrEqual(0);
        }
      });
    }

    test("P02 comments, pings, ids, retries, unknown events and no space after the colon", async () => {
      const frames = wireFrames(wire, { text: "ok" }).map(
        (frame) => `: warming up\n\n:\n\nid: 7\nretry: 10\nwhat: ever\n${frame.replace("data: ", "data:")}`,
      );
      frames.splice(1, 0, "event: ping\ndata: {}\n\n", 'event: vendor.extra\ndata: {"type":"vendor.extra"}\n\n');
      for (const how of CHUNKS) {
        const said = await collect(
          testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch: memoryFetch({ chunks: chunked(frames, how) }) }),
        );
        expect([said.text, said.stop, said.failure]).toEqual(["ok", "end", undefined]);
      }
    });

    test("P06 the empty string as arguments is an empty object or left to the loop, never an error", async () => {
      const said = await saidOf(wire, { calls: [{ name: "a", arguments: "" }] });
      expect(said.stop).toBe("tool_calls");
      expect(["", "{}"]).toContain(said.calls[0]?.arguments ?? "absent");
    });

    test("a byte order mark at the start is no text", async () => {
      const frames = wireFrames(wire, { text: "ok" });
      const fetch = memoryFetch({ chunks: [Uint8Array.of(0xef, 0xbb, 0xbf), ...chunked(frames, "one byte")] });
      expect((await collect(testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch }))).text).toBe("ok");
    });

    test("P20 half surrogates become U+FFFD in text and stay in arguments (such a call is not run), pairs split over deltas survive", async () => {
      const lone = await saidOf(wire, { text: ["a\ud82d", "b"], calls: [{ name: "w", arguments: '{"text":"\\ud82d x"}' }] });
      expect(lone.text).toBe("a\uFFFDb");
      expect(JSON.parse(lone.calls[0]?.arguments ?? "")).toEqual({ text: "\ud82d x" });
      const split = await saidOf(wire, { text: ["\ud83c", "\udf32", "!"] });
      expect(split.text).toBe("🌲!");
      const escaped = await saidOf(wire, { calls: [{ name: "w", arguments: '{"text":"\\ud83c\\udf32"}' }] });
      expect(JSON.parse(escaped.calls[0]?.arguments ?? "")).toEqual({ text: "🌲" });
    });

    test("call ids are clean, short, and never collide with the conversation", async () => {
      const call = (id: string) => ({ name: "a", arguments: {}, id });
      const fetch = memoryFetch({
        chunks: chunked(
          wireFrames(wire, { calls: [call("used"), call("a b/c"), call("x".repeat(200)), call("a b/c")] }),
          "whole",
        ),
      });
      const history = [
        { role: "user", text: "x" },
        { role: "assistant", text: "", calls: [{ id: "used", name: "a", arguments: "{}" }] },
        { role: "tool", callId: "used", name: "a", text: "1", failed: false },
      ] as const;
      const provider = testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch });
      const said = await collect(provider, { model: "mock", system: "", tools: [], sessionId: "s", messages: history });
      const ids = said.calls.map((made) => made.id);
      expect(ids.slice(0, 2)).toEqual(["used_2", "a_b_c"]);
      expect(new Set([...ids, "used"]).size).toBe(5);
      // Chat servers get their ids back as they came, long ones too.
      for (const id of ids) expect(id).toMatch(wire === "chat" ? /^[a-zA-Z0-9_-]+$/ : /^[a-zA-Z0-9_-]{1,64}$/);
    });
  });
}

function saidOf(wire: (typeof WIRES)[number], answer: Answer) {
  return collect(
    testProvider(settingsFor(wire, "http://mock.test/v1"), {
      fetch: memoryFetch({ chunks: chunked(wireFrames(wire, answer), "whole") }),
    }),
  );
}
