/**
 * Bodies that a server compressed, unpacked here: where the runtime does it and cannot, it says so on stderr in its own words.
 * We ask for none, so this is for servers and proxies that do as they like. What names no packing (`none`, `utf-8`,
 * `aws-chunked`) is no reason not to read the body as it came. Refuses: fetching.
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
    .filter((layer) => Object.hasOwn(FORMATS, layer));
  return layers.length === 0 ? body : unpacked(body, layers);
}

function unpacked(body: Bytes, layers: readonly string[]): Bytes {
  const encoding = layers.join(", ");
  let lost: { readonly error: unknown } | undefined;
  let inner = guarded(body, (error = new Error("the connection broke")) => {
    lost = { error };
    return error;
  });
  for (const layer of layers.toReversed()) inner = layer === "deflate" ? inflated(inner) : opened(inner, FORMATS[layer] ?? "");
  // What broke the connection is no fault of the packing.
  return guarded(inner, () => (lost ? lost.error : new UnreadableBody(encoding)));
}

// The types know fewer formats than the runtime.
function opened(body: Bytes, format: string): Bytes {
  return untilCut(body.pipeThrough(new DecompressionStream(format as CompressionFormat)));
}

/** By `deflate` servers mean two things: with a header of zlib, and bare. The first two bytes tell, for no bare one begins so. */
function inflated(body: Bytes): Bytes {
  const reader = body.getReader();
  const begin = async (): Promise<Bytes> => {
    let head = new Uint8Array();
    while (head.length < 2) {
      const { done, value } = await reader.read();
      if (done) break;
      head = new Uint8Array(Buffer.concat([head, value]));
    }
    const [first = 0, second = 0] = head;
    const isZlib = (first & 15) === 8 && (first * 256 + second) % 31 === 0;
    return opened(resumed(head, reader), isZlib ? "deflate" : "deflate-raw");
  };
  let inner: Promise<ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>> | undefined;
  return new ReadableStream({
    async pull(controller) {
      inner ??= begin().then((stream) => stream.getReader());
      const { done, value } = await (await inner).read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** What was read of a stream, and then the rest of it. */
function resumed(head: Uint8Array<ArrayBuffer>, reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>): Bytes {
  return new ReadableStream({
    start: (controller) => controller.enqueue(head),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
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
