/**
 * `--capture`: keeps raw requests and responses of a run, for debugging a provider (sessions.md: explicit, off by
 * default). Headers are never kept; bodies go through redaction. Refuses: writing files.
 */
import type { Fetch } from "./http.ts";

/** The start of a response that is kept; the rest is counted. */
const KEEP_BYTES = 4 * 1024 * 1024;

type Capture = {
  readonly fetch: Fetch;
  /** One JSON line an exchange, in order; resolves when every response has been read or dropped. */
  lines(): Promise<readonly string[]>;
};

type Exchange = {
  readonly method: string;
  readonly url: string;
  readonly request: string;
  status?: number;
  error?: string;
  body?: Promise<string>;
};

async function keepBody(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      if (bytes < KEEP_BYTES) text += decoder.decode(chunk.subarray(0, KEEP_BYTES - bytes), { stream: true });
      bytes += chunk.length;
    }
  } catch (error) {
    return `${text}\n[cut off: ${error instanceof Error ? error.message : String(error)}]`;
  }
  return bytes <= KEEP_BYTES ? text : `${text}\n[${bytes - KEEP_BYTES} more bytes]`;
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

/** Wraps a fetch; what the caller gets is untouched. `redact` takes the run's secrets out of what is kept. */
export function captureFetch(inner: Fetch, redact: (text: string) => string): Capture {
  const exchanges: Exchange[] = [];
  return {
    fetch: async (url, init) => {
      const exchange: Exchange = { method: init.method ?? "GET", url, request: typeof init.body === "string" ? init.body : "" };
      exchanges.push(exchange);
      try {
        const response = await inner(url, init);
        exchange.status = response.status;
        if (!response.body) return response;
        const [mine, theirs] = response.body.tee();
        exchange.body = keepBody(mine);
        return new Response(theirs, { status: response.status, statusText: response.statusText, headers: response.headers });
      } catch (error) {
        exchange.error = error instanceof Error ? error.message : String(error);
        throw error;
      }
    },
    async lines() {
      const lines: string[] = [];
      for (const { method, url, request, status, error, body } of exchanges) {
        const response = body === undefined ? undefined : redact(await body);
        lines.push(JSON.stringify({ method, url: redact(shownUrl(url)), request: redact(request), status, response, error }));
      }
      return lines;
    },
  };
}
