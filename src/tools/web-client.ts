/**
 * One HTTP request of a web tool: every hop checked by the address policy and connected to exactly the address that was
 * checked, no proxy, no cookies, bounded in redirects, time and size. The only place that fetches pages. Refuses: models'
 * traffic (provider/http.ts), understanding what it gets.
 */
import { lookup } from "node:dns/promises";
import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { errnoOf } from "../base/file-problem.ts";
import { type AddressPolicy, createAddressPolicy, hostOf, parseWebUrl, quote, type ResolveHost } from "./web-address.ts";

const MAX_REDIRECTS = 5;
const WEB_TIMEOUT_MS = 15_000;
/** Bytes of one body, as sent and after decompression. */
export const MAX_BODY_BYTES = 5 * 1024 * 1024;
/** Addresses of one host that are tried. */
const MAX_ADDRESSES = 4;

export type WebRequest = {
  readonly url: string;
  /** With a body the request is a POST. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** 0 where headers hold a key: it goes to one address and no other. Default MAX_REDIRECTS. */
  readonly maxRedirects?: number;
  /** Why a body of this kind is not wanted; asked before it is read. `type` is lower case without parameters, "" when not said. */
  readonly judge?: (type: string) => string | undefined;
};

export type WebAnswer =
  | {
      readonly ok: true;
      /** After redirects. */
      readonly url: URL;
      readonly status: number;
      readonly statusText: string;
      /** `text/html`; "" when the server does not say. */
      readonly type: string;
      readonly charset: string | undefined;
      readonly body: Buffer;
    }
  /** `message` is written for the model. */
  | { readonly ok: false; readonly message: string; readonly cancelled?: true };

type WebClient = { send(request: WebRequest, signal: AbortSignal): Promise<WebAnswer> };

export type WebClientOptions = {
  readonly allowHosts: readonly string[];
  /** Default: the system's resolver. */
  readonly resolveHost?: ResolveHost;
  /** Default WEB_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** More certificate authorities (PEM), for tests. */
  readonly ca?: string;
};

/** A foreseeable end of a request, with words for the model. */
class WebProblem extends Error {}

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map((entry) => entry.address);
}

const AGENT = "Mozilla/5.0 (compatible; thndrs)";
const ACCEPT = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5";

type Hop = { readonly url: URL; readonly request: WebRequest; readonly ca: string | undefined; readonly signal: AbortSignal };

/** Connects to `address` and to nothing else; the name stays in the Host header and in the certificate check. */
function connect(hop: Hop, address: string): Promise<IncomingMessage> {
  const { url, request, ca, signal } = hop;
  const secure = url.protocol === "https:";
  const family = address.includes(":") ? 6 : 4;
  const options: RequestOptions & { ca?: string } = {
    hostname: hostOf(url),
    port: url.port || (secure ? 443 : 80),
    path: `${url.pathname}${url.search}`,
    method: request.body === undefined ? "GET" : "POST",
    headers: {
      "user-agent": AGENT,
      accept: ACCEPT,
      // Of `deflate` there are two kinds, told apart by nothing.
      "accept-encoding": "gzip, br",
      ...request.headers,
      ...(request.body !== undefined && { "content-length": String(Buffer.byteLength(request.body)) }),
    },
    agent: false,
    signal,
    // Asked instead of the resolver: the second look-up is where a name could change its mind.
    lookup: (_host, _options, done) => done(null, [{ address, family }]),
    ...(ca !== undefined && { ca }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = secure ? requestHttps(options) : requestHttp(options);
    outgoing.on("response", (response) => {
      // Also after everything has been read: an error that nobody listens to would end the program.
      response.on("error", () => undefined);
      resolve(response);
    });
    outgoing.on("error", reject);
    outgoing.end(request.body);
  });
}

const UNREACHED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
  "ConnectionRefused",
]);

async function connectAny(hop: Hop, addresses: readonly string[]): Promise<IncomingMessage> {
  let last: unknown;
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    try {
      return await connect(hop, address);
    } catch (error) {
      last = error;
      if (hop.signal.aborted || !UNREACHED.has(errnoOf(error))) throw error;
    }
  }
  throw last;
}

function decoderOf(encoding: string | undefined) {
  switch (encoding?.trim().toLowerCase() ?? "") {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new WebProblem(`The server sent the content encoding ${quote(encoding ?? "")}, which cannot be read.`);
  }
}

const TOO_LARGE = `The page is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB and was not read to its end; nothing of it is shown.`;

/** The whole body, decompressed; counted on both sides while it streams. */
async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const decoder = decoderOf(response.headers["content-encoding"]);
  const stream = decoder ?? response;
  let received = 0;
  const fail = (error: Error): void => void stream.destroy(error);
  const onAbort = (): void => fail(new Error("aborted"));
  signal.addEventListener("abort", onAbort, { once: true });
  if (decoder) {
    response.on("error", fail);
    response.on("close", () => {
      if (!response.complete) fail(new WebProblem("The connection was closed before the page was complete."));
    });
    response.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received > MAX_BODY_BYTES) fail(new WebProblem(TOO_LARGE));
    });
    response.pipe(decoder);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) throw new WebProblem(TOO_LARGE);
      chunks.push(chunk);
    }
    if (!decoder && !response.complete) throw new WebProblem("The connection was closed before the page was complete.");
    return Buffer.concat(chunks, size);
  } finally {
    signal.removeEventListener("abort", onAbort);
    response.destroy();
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function contentType(response: IncomingMessage): { readonly type: string; readonly charset: string | undefined } {
  const header = response.headers["content-type"] ?? "";
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(header)?.[1];
  return { type: (header.split(";")[0] ?? "").trim().toLowerCase(), charset };
}

type Run = { readonly policy: AddressPolicy; readonly ca: string | undefined; readonly signal: AbortSignal };

/** Follows redirects to the final answer. @throws WebProblem, and whatever the network throws */
async function follow(request: WebRequest, run: Run): Promise<WebAnswer> {
  const limit = request.maxRedirects ?? MAX_REDIRECTS;
  let checked = parseWebUrl(request.url);
  for (let hops = 0; ; hops++) {
    if (!checked.ok) throw new WebProblem(checked.message);
    const { url } = checked;
    const resolved = await abortable(run.policy.resolve(url), run.signal);
    if (!resolved.ok)
      throw new WebProblem(hops === 0 ? resolved.message : `Redirected to ${quote(url.href)}: ${resolved.message}`);
    const response = await connectAny({ url, request, ca: run.ca, signal: run.signal }, resolved.addresses);
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (!REDIRECTS.has(status) || location === undefined) return finish(response, url, request, run.signal);
    response.destroy();
    if (hops >= limit) {
      const rule = limit === 0 ? "a redirect is not followed here" : `more than ${limit} redirects are not followed`;
      throw new WebProblem(`${quote(url.href)} redirects to ${quote(location)}; ${rule}.`);
    }
    checked = parseWebUrl(location, url);
  }
}

async function finish(response: IncomingMessage, url: URL, request: WebRequest, signal: AbortSignal): Promise<WebAnswer> {
  try {
    const { type, charset } = contentType(response);
    const refusal = request.judge?.(type);
    if (refusal !== undefined) throw new WebProblem(refusal);
    if (Number(response.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw new WebProblem(TOO_LARGE);
    const body = await readBody(response, signal);
    return { ok: true, url, status: response.statusCode ?? 0, statusText: response.statusMessage ?? "", type, charset, body };
  } finally {
    response.destroy();
  }
}

/** The system's resolver cannot be stopped, but it need not be waited for. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(new Error("aborted"));
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error("aborted"));
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function explain(error: unknown, request: WebRequest): string {
  if (error instanceof WebProblem) return error.message;
  const code = errnoOf(error);
  const where = quote(request.url);
  if (/CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME/.test(code)) return `${where}: the server's certificate is not valid (${code}).`;
  if (UNREACHED.has(code)) return `${where}: no connection (${code}).`;
  if (code.startsWith("Z_") || code.startsWith("ERR_BROTLI") || code.startsWith("ERR__"))
    return `${where}: the compressed page is damaged (${code}).`;
  const reason = code || (error instanceof Error ? quote(error.message) : "unknown");
  return `${where}: the request failed (${reason}).`;
}

/** A client for one set of allowed hosts. `send` never throws for a foreseeable reason. */
export function createWebClient(options: WebClientOptions): WebClient {
  const policy = createAddressPolicy(options.allowHosts, options.resolveHost ?? systemResolve);
  const timeoutMs = options.timeoutMs ?? WEB_TIMEOUT_MS;
  return {
    async send(request, signal) {
      const timer = new AbortController();
      const timeout = setTimeout(() => timer.abort(), timeoutMs);
      try {
        return await follow(request, { policy, ca: options.ca, signal: AbortSignal.any([signal, timer.signal]) });
      } catch (error) {
        if (signal.aborted) return { ok: false, message: "Cancelled.", cancelled: true };
        if (timer.signal.aborted)
          return { ok: false, message: `${quote(request.url)}: not complete after ${timeoutMs / 1000} s; given up.` };
        return { ok: false, message: explain(error, request) };
      } finally {
        clearTimeout(timeout);
      }
    },
  };
}
