/**
 * `--capture`: keeps raw requests and responses of a run, for debugging a provider (sessions.md: explicit, off by
 * default). An exchange is written when it is over and then forgotten. Headers are never kept; bodies are bounded and go through
 * redaction. Refuses: writing files.
 */
import { atMost } from "../base/at-most.ts";
import { unpackedBody } from "../base/packed-body.ts";
import type { Fetch } from "./http.ts";

/** The start of a body that is kept; the rest is counted. */
const KEEP_BYTES = 4 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;
/** Longer than any key: how far before the bound a text may have to end. */
const LONGEST_WORD = 512;
/** The end of the run waits this long for responses that are still read. */
const SETTLE_MS = 500;

export type Capture = {
  readonly fetch: Fetch;
  /** Resolves when every exchange is written; one that is not over by then is cut off. */
  settle(): Promise<void>;
};

const WORD_ENDS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n"'));

/** The bytes before the last word: half a key would not be recognised as one. */
function wholeWords(bytes: Uint8Array): number {
  const least = Math.max(0, bytes.length - LONGEST_WORD);
  let end = bytes.length;
  while (end > least && !WORD_ENDS.has(bytes[end - 1] ?? 0)) end--;
  // In the middle of a character is no place to end.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}

function textOf(bytes: Uint8Array, total: number): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  if (total <= bytes.length) return decoder.decode(bytes);
  const end = wholeWords(bytes);
  return `${decoder.decode(bytes.subarray(0, end))}\n[${total - end} more bytes]`;
}

function requestText(body: RequestInit["body"]): string {
  if (typeof body !== "string") return "";
  const total = Buffer.byteLength(body);
  if (total <= KEEP_BYTES) return body;
  const bytes = new Uint8Array(KEEP_BYTES);
  const { written } = new TextEncoder().encodeInto(body, bytes);
  return textOf(bytes.subarray(0, written), total);
}

/** The start of a response, copied while it is read by somebody else. */
class ResponseText {
  #bytes = new Uint8Array(FIRST_BYTES);
  #held = 0;
  #total = 0;

  take(chunk: Uint8Array): void {
    const part = chunk.subarray(0, KEEP_BYTES - this.#held);
    const needed = this.#held + part.length;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(KEEP_BYTES, Math.max(needed, 2 * this.#bytes.length)));
      grown.set(this.#bytes.subarray(0, this.#held));
      this.#bytes = grown;
    }
    this.#bytes.set(part, this.#held);
    this.#held = needed;
    this.#total += chunk.length;
  }

  text(): string {
    return textOf(this.#bytes.subarray(0, this.#held), this.#total);
  }
}

/** Query parameters that are no credential anywhere; the values of all others are left out. */
const PLAIN: ReadonlySet<string> = new Set(["api-version", "alt", "version"]);

function shownUrl(raw: string): string {
  const url = new URL(raw);
  url.username = "";
  url.password = "";
  for (const name of new Set(url.searchParams.keys())) if (!PLAIN.has(name)) url.searchParams.set(name, "redacted");
  return url.href;
}

/** One request and what came of it. */
class Exchange {
  readonly over: Promise<void>;
  readonly #url: string;
  readonly #method: string;
  readonly #request: string;
  readonly #resolve: () => void;
  #ended = false;
  #status: number | undefined;
  #response: ResponseText | undefined;
  #failure: string | undefined;

  constructor(url: string, init: RequestInit) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#resolve = resolve;
    this.#url = url;
    this.#method = init.method ?? "GET";
    this.#request = requestText(init.body);
  }

  /** What is handed on instead: read by the caller, at the caller's pace, unpacked, and looked at on the way. */
  watch(response: Response): Response {
    this.#status = response.status;
    if (!response.body) {
      this.#end();
      return response;
    }
    const text = new ResponseText();
    this.#response = text;
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    const body = unpackedBody(response) ?? response.body;
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
    const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
    const source: UnderlyingDefaultSource<Uint8Array> = {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (value) text.take(value);
          if (value) controller.enqueue(value);
          if (!done) return;
          this.#end();
          controller.close();
        } catch (error) {
          this.fail(error);
          controller.error(error);
        }
      },
      cancel: async (reason) => {
        this.fail("cancelled");
        await reader.cancel(reason);
      },
    };
    return new Response(new ReadableStream(source, { highWaterMark: 0 }), { status, statusText, headers });
  }

  /** Nothing more comes, of the response or at all. */
  fail(error: unknown): void {
    if (!this.#ended) this.#failure = this.#said(error);
    this.#end();
  }

  line(redact: (text: string) => string): string {
    const failure = this.#failure === undefined ? undefined : redact(this.#failure);
    const cut = failure === undefined ? "" : `\n[cut off: ${failure}]`;
    const end = this.#response ? { response: redact(this.#response.text()) + cut } : { error: failure };
    const url = redact(shownUrl(this.#url));
    return JSON.stringify({ method: this.#method, url, request: redact(this.#request), status: this.#status, ...end });
  }

  #end(): void {
    this.#ended = true;
    this.#resolve();
  }

  /** The runtime quotes the address in its errors. */
  #said(error: unknown): string {
    return (error instanceof Error ? error.message : String(error)).replaceAll(this.#url, () => shownUrl(this.#url));
  }
}

/**
 * Wraps a fetch; what the caller reads is untouched. `redact` takes the run's secrets out of what is kept, `write` takes one line an
 * exchange, in the order of the requests, and answers false when nothing can be kept any more.
 */
export function createCapture(
  inner: Fetch,
  redact: (text: string) => string,
  write: (line: string) => Promise<boolean>,
): Capture {
  const open = new Set<Exchange>();
  let kept = true;
  let writing: Promise<unknown> = Promise.resolve();
  let last: Promise<void> = Promise.resolve();
  const finish = async (exchange: Exchange, before: Promise<void>): Promise<void> => {
    await exchange.over;
    await before;
    open.delete(exchange);
    if (!kept) return;
    const written = write(`${exchange.line(redact)}\n`);
    writing = written;
    kept = await written;
  };
  return {
    fetch: async (url, init) => {
      if (!kept) return inner(url, init);
      // A disk slower than the model would else collect exchanges in memory.
      await writing;
      const exchange = new Exchange(url, init);
      open.add(exchange);
      last = finish(exchange, last);
      try {
        return exchange.watch(await inner(url, init));
      } catch (error) {
        exchange.fail(error);
        throw error;
      }
    },
    async settle() {
      await atMost(SETTLE_MS, last);
      for (const exchange of open) exchange.fail("the run ended");
      await last;
    },
  };
}
