/** Bytes → messages (M01): any chunks, junk before, between and on the same line, bounded memory. */
import { expect, test } from "bun:test";
import { type JsonRpcMessage, mendMessage } from "../../src/mcp/mended-messages.ts";
import { createMessageLines, MAX_LINE_BYTES } from "../../src/mcp/message-lines.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function read(chunks: readonly Uint8Array[]) {
  const messages: JsonRpcMessage[] = [];
  const lines = createMessageLines((message) => void messages.push(message));
  for (const chunk of chunks) lines.push(chunk);
  lines.finish();
  return { messages, junk: lines.junk() };
}

const A = '{"jsonrpc":"2.0","id":1,"result":{"text":"é🎉\\n"}}';
const B = '{"jsonrpc":"2.0","method":"notifications/x"}';

test("the same messages, however the bytes are cut", () => {
  const bytes = encode(`banner\n${A}\r\n\n{"not":"rpc"}\n${B}`);
  const whole = read([bytes]);
  expect(whole.messages).toEqual([JSON.parse(A), JSON.parse(B)]);
  expect(whole.junk).toEqual({ lines: 2, sample: "banner" });
  for (const size of [1, 2, 3, 7, 64]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.slice(n * size, (n + 1) * size));
    expect(read(chunks)).toEqual(whole);
  }
});

test("a message behind junk without a newline still counts; a batch is its messages", () => {
  const junk = "x".repeat(5_000_000);
  expect(read([encode(`${junk}${A}\n[${A},{"no":1},${B}]\n`)]).messages).toEqual([JSON.parse(A), JSON.parse(A), JSON.parse(B)]);
  expect(read([new Uint8Array([0xff, 0xfe, 0xc3]), encode(`${A}\n`)]).messages).toEqual([JSON.parse(A)]);
});

test("a line over the limit is dropped as it comes, and whoever waits for it gets an error", () => {
  const part = new Uint8Array(1024 * 1024).fill(120);
  const head = encode('{"jsonrpc":"2.0","id":41,"result":{"text":"');
  const parts = Array.from({ length: MAX_LINE_BYTES / part.length + 2 }, () => part);
  const { messages, junk } = read([head, ...parts, encode(`"}}\n${A}\n`)]);
  expect(messages).toMatchObject([{ id: 41, error: { message: "the server's message is longer than 32 MiB" } }, JSON.parse(A)]);
  expect(junk.lines).toBe(1);
  const atEnd = read([encode('{"result":{"text":"'), ...parts, encode(`"},"jsonrpc":"2.0","id":42}\n`)]);
  expect(atEnd.messages).toMatchObject([{ id: 42, error: { message: "the server's message is longer than 32 MiB" } }]);
  const noise = read([...parts, encode(`\n${A}\n`)]);
  expect(noise.messages).toEqual([JSON.parse(A)]);
});

test("depth does not matter here", () => {
  const nest = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
  expect(read([encode(`{"jsonrpc":"2.0","id":7,"result":{"x":${nest}}}\n${A}\n`)]).messages).toHaveLength(2);
});

test("what is a message", () => {
  for (const good of [
    A,
    B,
    '{"jsonrpc":"2.0","id":"q","method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}',
  ]) {
    const value: unknown = JSON.parse(good);
    expect(mendMessage(value)).toBe(value as JsonRpcMessage);
  }
  for (const bad of [
    "1",
    "null",
    "[]",
    "{}",
    '{"jsonrpc":"1.0","method":"x"}',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":{},"result":{}}',
    '{"level":"info","id":1,"error":"a line of a log"}',
    '{"id":1}',
  ])
    expect(mendMessage(JSON.parse(bad))).toBeUndefined();
});
