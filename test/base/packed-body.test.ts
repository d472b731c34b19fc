/** Bodies that a server compressed: unpacked as they come, and what cannot be is told apart from a connection that broke. */
import { expect, test } from "bun:test";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { UnreadableBody, unpackedBody } from "../../src/base/packed-body.ts";

const TEXT = "data: one\n\n".repeat(200);
const PACKINGS = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["deflate", deflateRawSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
] as const;

function served(encoding: string, chunks: readonly Uint8Array[], broken?: Error): Response {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (broken !== undefined) controller.error(broken);
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-encoding": encoding } });
}

const read = (response: Response): Promise<string> => new Response(unpackedBody(response)).text();

for (const [encoding, pack] of PACKINGS) {
  test(`${encoding} (${pack.name}): in any pieces, cut, and not at all`, async () => {
    const packed = new Uint8Array(pack(TEXT));
    const bytes = Array.from(packed, (_, at) => packed.slice(at, at + 1));
    expect([await read(served(encoding, [packed])), await read(served(encoding.toUpperCase(), bytes))]).toEqual([TEXT, TEXT]);
    const wrong = new TextEncoder().encode("this is nothing of the kind at all");
    await expect(read(served(encoding, [wrong]))).rejects.toBeInstanceOf(UnreadableBody);
    for (const cut of [packed.slice(0, -6), packed.slice(0, 1)]) expect(TEXT).toStartWith(await read(served(encoding, [cut])));
    expect(await read(served(encoding, []))).toBe("");
    const lost = Object.assign(new Error("gone"), { code: "ECONNRESET" });
    await expect(read(served(encoding, [packed.slice(0, 10)], lost))).rejects.toBe(lost);
  });
}

test("layers and none", async () => {
  const twice = new Uint8Array(gzipSync(brotliCompressSync(TEXT)));
  expect(await read(served("br, gzip", [twice]))).toBe(TEXT);
  expect(await read(served("identity", [new TextEncoder().encode(TEXT)]))).toBe(TEXT);
  expect(TEXT).toStartWith(await read(served("br, gzip", [twice.slice(0, -9)])));
  expect(unpackedBody(new Response(null, { headers: { "content-encoding": "gzip" } }))).toBeNull();
});

test.each(["none", "utf-8", "aws-chunked", "identity, none", "constructor", "snappy", ","])(
  "%s is no packing: as it came",
  async (encoding) => {
    expect(await read(served(encoding, [new TextEncoder().encode(TEXT)]))).toBe(TEXT);
  },
);

test("a packing beside words that are none is undone", async () => {
  expect(await read(served("aws-chunked, gzip, none", [new Uint8Array(gzipSync(TEXT))]))).toBe(TEXT);
});

test("what the server flushed is there at once; who leaves, leaves the server", async () => {
  const first = new Uint8Array(gzipSync("data: one\n\n", { finishFlush: constants.Z_SYNC_FLUSH }));
  const left = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(first), cancel: () => left.resolve() });
  const reader = unpackedBody(new Response(body, { headers: { "content-encoding": "gzip" } }))?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: one\n\n");
  await reader?.cancel();
  await left.promise;
});
