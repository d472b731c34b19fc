import { expect, test } from "bun:test";
import { contentHash } from "../../src/base/hash.ts";
import { HashStream } from "../../src/base/hash-stream.ts";

/** Bytes that look random and are the same each time. */
function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0, state = 1; index < length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

test("pieces of any size hash as the whole does", () => {
  const wrong: string[] = [];
  for (let length = 0; length < 300; length++) {
    for (const piece of [1, 7, 31, 32, 33, 100]) {
      const stream = new HashStream();
      const bytes = bytesOf(length);
      for (let at = 0; at < length; at += piece) stream.push(bytes.subarray(at, at + piece));
      if (stream.finish() !== contentHash(bytes)) wrong.push(`${length} in ${piece}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("carries go from word to word", () => {
  for (const fill of [0, 0xff, 0x80, 0x7f]) {
    const stream = new HashStream();
    const bytes = Buffer.alloc(1_000_003, fill);
    stream.push(bytes.subarray(1, 500_000));
    stream.push(bytes.subarray(500_000));
    expect(stream.finish()).toBe(contentHash(bytes.subarray(1)));
  }
  const stream = new HashStream();
  stream.push(bytesOf(3_000_000));
  expect(stream.finish()).toBe(contentHash(bytesOf(3_000_000)));
});
