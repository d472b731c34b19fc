/** Frames that differ in their text alone are read as one: the same answer as frame by frame, whatever stands in them. */
import { expect, test } from "bun:test";
import { anthropic } from "../../src/provider/anthropic.ts";
import { Assembly } from "../../src/provider/assembly.ts";
import { OWN_IDS } from "../../src/provider/call-ids.ts";
import { FrameRuns } from "../../src/provider/frame-runs.ts";
import { openaiChat } from "../../src/provider/openai-chat.ts";
import { openaiResponses } from "../../src/provider/openai-responses.ts";
import type { ProviderEvent } from "../../src/provider/provider.ts";
import { EventStream } from "../../src/provider/sse.ts";
import type { Wire } from "../../src/provider/wire.ts";
import { seededRandom } from "../support/random-tree.ts";
import { encode, hello, requestOf, settingsFor } from "../support/wire/stream.ts";

const CONTEXT = { request: requestOf(hello), info: { id: "mock" }, ids: OWN_IDS };
const CLAUDE = anthropic(settingsFor("anthropic", "http://mock.test/v1"));
const CHAT = openaiChat(settingsFor("chat", "http://mock.test/v1"));

/** What a stream says, pieces of one kind joined; `events` are the frames the decoder saw. */
function read(wire: Wire, chunks: readonly Uint8Array[], runs: boolean): { said: ProviderEvent[]; frames: number } {
  const assembly = new Assembly(() => new Set());
  const decoder = wire.decoder(CONTEXT, assembly, "mock.test");
  let frames = 0;
  const stream = new EventStream(
    (event, data) => {
      frames += 1;
      if (!assembly.ended) decoder.take(event, data);
    },
    runs ? decoder.textIn : undefined,
  );
  const said: ProviderEvent[] = [];
  const note = (): void => {
    for (const event of assembly.drain()) {
      const last = said.at(-1);
      if ((event.type === "text" || event.type === "reasoning") && last?.type === event.type)
        said[said.length - 1] = { type: event.type, text: last.text + event.text };
      else said.push(event);
    }
  };
  for (const chunk of chunks) {
    stream.feed(chunk);
    note();
  }
  stream.end();
  if (!assembly.ended) decoder.close();
  note();
  return { said, frames };
}

type Pick = (below: number) => number;

function random(seed: number): Pick {
  const chance = seededRandom(seed);
  return (below) => Math.floor(chance() * below);
}

const WORDS = [
  "a",
  "the ",
  "\n",
  "\\",
  '"',
  '\\"',
  "\u2028",
  "é",
  "日本",
  "😀",
  "\ud83d",
  "\ude00",
  "\u0000",
  "",
  "{}",
  "data: ",
  "x".repeat(5000),
];
const IDS = ["c", "the ", "d"];

function chatFrame(pick: Pick, words: Pick): string {
  const text = (): string => WORDS[words(WORDS.length)] ?? "";
  const deltas: object[] = [
    { content: text() },
    { content: text() },
    { content: text() },
    { role: "assistant", content: text() },
    { reasoning_content: text() },
    { content: text(), reasoning: "same" },
    { content: [{ type: "text", text: "part" }], reasoning: text() },
    { content: null, tool_calls: [{ index: 0, id: "call_1", function: { name: "read", arguments: text() } }] },
    { content: text(), tool_calls: [{ index: 0, id: "call_2", function: { name: "read", arguments: '{"a":' } }] },
    { content: text(), refusal: null, tool_calls: null },
  ];
  const choice = { index: 0, delta: deltas[pick(deltas.length)], finish_reason: null };
  const frame = { id: IDS[pick(3)], object: "chat.completion.chunk", created: 1 + pick(2), model: "mock", choices: [choice] };
  const json =
    pick(8) === 0
      ? JSON.stringify(frame).replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
      : JSON.stringify(frame);
  const lead = ["data: ", "data: ", "data: ", "data:", "id: 7\ndata: ", ": comment\n\ndata: "][pick(6)];
  return `${lead}${json}\n\n`;
}

function messagesFrame(pick: Pick, words: Pick): string {
  const text = WORDS[words(WORDS.length)] ?? "";
  const index = pick(3);
  const deltas: object[] = [
    { type: "text_delta", text },
    { type: "thinking_delta", thinking: text },
    { type: "input_json_delta", partial_json: text },
    { type: "signature_delta", signature: text },
  ];
  // The block of that index, mostly.
  const delta = deltas[pick(6) === 0 ? pick(4) : index];
  return `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index, delta })}\n\n`;
}

const MESSAGES_START = [
  { type: "message_start", message: { usage: { input_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_start", index: 1, content_block: { type: "thinking", thinking: "", signature: "s" } },
  { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t", name: "read", input: {} } },
];

/** Some shapes, each several times in a row with other words. */
function stream(frame: (pick: Pick, words: Pick) => string, pick: Pick): string {
  let text = "";
  for (let count = 0; count < 30; count++) {
    const seed = pick(1 << 20);
    for (let again = pick(8); again >= 0; again--) text += frame(random(seed), pick);
  }
  return text;
}

function cut(bytes: Uint8Array, pick: Pick): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + pick(pick(4) === 0 ? 20 : 3000);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test("chat: any frames in any chunks say the same with runs and without", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed);
    const ends = ['data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n', "", "data: [DONE]\n\n"];
    let text = stream(chatFrame, pick) + ends[pick(3)];
    if (pick(10) === 0) text = text.replaceAll("\n", "\r\n");
    const chunks = cut(bytesOf(text), pick);
    expect({ seed, said: read(CHAT, chunks, true).said }).toEqual({ seed, said: read(CHAT, chunks, false).said });
  }
});

test("anthropic: any frames in any chunks say the same with runs and without", () => {
  const end =
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';
  const start = MESSAGES_START.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join("");
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed);
    const chunks = cut(bytesOf(start + stream(messagesFrame, pick) + end), pick);
    expect({ seed, said: read(CLAUDE, chunks, true).said }).toEqual({ seed, said: read(CLAUDE, chunks, false).said });
  }
});

const chat = (content: string, id = "c"): string =>
  `data: ${JSON.stringify({ id, choices: [{ index: 0, delta: { content } }] })}\n\n`;

test("a long answer is a handful of frames; one that says other things keeps its own", () => {
  const frames = Array.from({ length: 1000 }, (_, n) => chat(`word ${n}\n`)).join("");
  const all = read(CHAT, [...encode(frames)], true);
  expect(all.frames).toBe(6);
  expect(all.said).toEqual([{ type: "text", text: Array.from({ length: 1000 }, (_, n) => `word ${n}\n`).join("") }]);
  const changing = Array.from({ length: 100 }, (_, n) => chat(`word ${n}`, `id-${n}`)).join("");
  expect(read(CHAT, [...encode(changing)], true).frames).toBe(100);
  // Numbered frames are never alike: that wire does not try.
  expect(openaiResponses().decoder(CONTEXT, new Assembly(() => new Set()), "mock.test").textIn).toBeUndefined();
});

test("words that another member holds too are not mistaken for it", () => {
  const first = Array.from({ length: 5 }, () => chat("same", "same"));
  const frames = [...first, chat("other", "same"), chat("more", "same")].join("");
  expect(read(CHAT, [...encode(frames)], true).said).toEqual([{ type: "text", text: `${"same".repeat(5)}othermore` }]);
});

test("what is no JSON is not taken for text", () => {
  const runs = new FrameRuns((frame) => (typeof frame.t === "string" ? frame.t : undefined));
  for (let frame = 0; frame < 5; frame++) runs.learn(undefined, '{"t":"hello"}');
  const fits = (body: string): boolean => runs.take(`data: {"t":"${body}"}\n\n`, 0) !== undefined;
  expect([fits("x"), fits(""), fits('\\"'), fits("\\\\"), fits("\\u00e9"), fits("é")]).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
  ]);
  expect([fits('a","t":"b'), fits("\\"), fits("\\x"), fits("\\u12"), fits("a\tb"), fits("a\rb")]).toEqual(Array(6).fill(false));
  // Not whole yet, longer than is looked at, or of another shape.
  expect(runs.take('data: {"t":"x"}\n', 0)).toBeUndefined();
  expect(runs.take(`data: {"t":"${"x".repeat(5000)}"}\n\n`, 0)).toBeUndefined();
  expect(runs.take('data: {"t": "x"}\n\n', 0)).toBeUndefined();
  expect(runs.take('data: {"t":"a"}\n\ndata: {"t":"b"}\n\n: x\n\n', 0)).toEqual({
    event: undefined,
    data: '{"t":"ab"}',
    end: 34,
  });
});

test("a stream without runs is looked at less and less", () => {
  let looks = 0;
  const runs = new FrameRuns(() => {
    looks += 1;
    return undefined;
  });
  for (let frame = 0; frame < 10_000; frame++) runs.learn(undefined, "{}");
  expect(looks).toBeLessThan(30);
});
