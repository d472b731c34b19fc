import { expect, test } from "bun:test";
import { createByteLines } from "../../src/base/byte-lines.ts";

function read(chunks: readonly Uint8Array[], most: number): string[] {
  const said: string[] = [];
  const lines = createByteLines({
    most,
    line: (bytes) => said.push(Buffer.from(bytes).toString()),
    tooLong: (head, tail) => said.push(`long ${head.length} ${head.subarray(0, 3)} ${tail.length} ${tail.subarray(-3)}`),
  });
  for (const chunk of chunks) lines.push(chunk);
  lines.finish();
  return said;
}

test("lines are the same in every chunking; empty ones are left out, the last needs no newline", () => {
  const text = Buffer.from("one\n\ntwo\n日本語\nno end");
  for (let size = 1; size <= text.length; size++) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.subarray(n * size, (n + 1) * size));
    expect(read(chunks, 100)).toEqual(["one", "two", "日本語", "no end"]);
  }
});

test("a line over the cap is swallowed to its end; only its edges are kept", () => {
  const long = `abc${"x".repeat(5000)}xyz`;
  const text = Buffer.from(`before\n${long}\nafter\n${long}`);
  for (const size of [1, 7, 1000, text.length]) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.subarray(n * size, (n + 1) * size));
    expect(read(chunks, 1000)).toEqual(["before", "long 512 abc 512 xyz", "after", "long 512 abc 512 xyz"]);
  }
});

test("a chunk's memory may be used again once it is pushed", () => {
  const said: string[] = [];
  const lines = createByteLines({ most: 100, line: (bytes) => said.push(Buffer.from(bytes).toString()), tooLong: () => {} });
  const chunk = Buffer.from("half");
  lines.push(chunk);
  chunk.fill(0x21);
  lines.push(Buffer.from(" and half\n"));
  expect(said).toEqual(["half and half"]);
});
