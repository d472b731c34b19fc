/**
 * Bodies that a server compressed, unpacked here: where the runtime does it and cannot, it says so on stderr in its own words.
 * We ask for none, so this is for servers and proxies that do as they like. Refuses: fetching.
 */

/** For every fetch whose body is handed to `unpackedBody`. */
export const PACKED = { decompress: false } as const;

/** The body is not what its `content-encoding` says. */
export class UnreadableBody extends Error {
  override readonly name = "UnreadableBody";
  readonly encoding: string;

  constructor(encoding: string) {
    super(`the body cannot be unpacked (content-encoding: ${encoding})`);
    this.encoding = encoding;
  }
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

const FORMATS: Readonly<Record<string, "gzip" | "deflate" | "brotli" | "zstd">> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
  zstd: "zstd",
};

/** The body as it was before it was compressed, as far as it came; null where there is none. It fails with an UnreadableBody. */
export function unpackedBody(response: Response): Bytes | null {
  const encoding = response.headers.get("content-encoding");
  const body = response.body as Bytes | null;
  if (encoding === null || body === null) return body;
  const layers = encoding
    .toLowerCase()
    .split(",")
    .map((layer) => layer.trim())
    .filter((layer) => layer !== "" && layer !== "identity");
  return layers.length === 0 ? body : unpacked(body, layers);
}

function unpacked(body: Bytes, layers: readonly string[]): Bytes {
  const encoding = layers.join(", ");
  let lost: { readonly error: unknown } | undefined;
  let inner = guarded(body, (error = new Error("the connection broke")) => {
    lost = { error };
    return error;
  });
  for (const layer of layers.toReversed()) {
    const format = Object.hasOwn(FORMATS, layer) ? FORMATS[layer] : undefined;
    if (format === undefined) {
      inner.cancel().catch(() => {});
      return new ReadableStream({ pull: () => Promise.reject(new UnreadableBody(encoding)) });
    }
    // The types know fewer formats than the runtime.
    inner = untilCut(inner.pipeThrough(new DecompressionStream(format as CompressionFormat)));
  }
  // What broke the connection is no fault of the packing.
  return guarded(inner, () => (lost ? lost.error : new UnreadableBody(encoding)));
}

/** A body that ends early ends there, as one does that is not packed: its reader knows what is missing. Only the runtime's words tell. */
function untilCut(stream: Bytes): Bytes {
  return guarded(stream, (error) => (error instanceof Error && /unexpected end/i.test(error.message) ? undefined : error));
}

/** The same bytes; what `on` makes of an error is how it fails, undefined is an end. */
function guarded(stream: Bytes, on: (error: unknown) => unknown): Bytes {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        const told = on(error);
        if (told === undefined) controller.close();
        else controller.error(told);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
