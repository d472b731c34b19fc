/**
 * One try of one request: fetch, read, decode. Whatever happens becomes an event; nothing is thrown. The only place that
 * fetches for models (house rule 8). Refuses: retries (retry.ts), wire formats.
 */
import { isObject, parseJson } from "../base/json.ts";
import { isLoopback } from "../base/loopback.ts";
import { PACKED, unpackedBody } from "../base/packed-body.ts";
import { variablePrefix } from "../base/variable-name.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { Assembly } from "./assembly.ts";
import { usedIds } from "./call-ids.ts";
import { errorDetail, failure, failureOfBody, failureOfCut, failureOfError, failureOfStatus } from "./failure.ts";
import type { ProviderEvent, ProviderFailure } from "./provider.ts";
import { failureOfProxy, type ProxyEnv } from "./proxy.ts";
import { EventStream, MAX_BODY } from "./sse.ts";
import { EndTrust } from "./stop-reasons.ts";
import { humanWait } from "./wait.ts";
import type { Decoder, Wire, WireContext } from "./wire.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The real one; everything else is handed in by tests. A server on this machine is never asked through a proxy. */
export const networkFetch: Fetch = (url, init) => {
  return fetch(url, isLoopback(new URL(url).hostname) ? { ...init, ...PACKED, proxy: false } : { ...init, ...PACKED });
};

/**
 * What can be done for the next request to that origin while it is still being made. On this machine: the connection. Anywhere
 * else the handshake takes longer than making the request, which then opens a connection of its own: the name is looked up.
 */
export function networkConnect(origin: string): void {
  try {
    const { hostname, port, protocol } = new URL(origin);
    if (isLoopback(hostname)) fetch.preconnect(origin);
    else Bun.dns.prefetch(hostname, Number(port) || (protocol === "http:" ? 80 : 443));
  } catch {
    // The request itself will say what is wrong.
  }
}

export type HttpOptions = {
  readonly apiKey: string | undefined;
  readonly userAgent: string;
  readonly fetch: Fetch;
  /** No event for this long ends the try; 0 means no limit. */
  readonly stallTimeoutMs: number;
  /** Wall clock, ms. */
  readonly now: () => number;
  /** Names the proxy, if there is one. */
  readonly env?: ProxyEnv | undefined;
};

/** How long usage may follow a reason to end that is to be relied on, whether the server is silent or sends what is no answer. */
const FINISHING_MS = 3_000;
/** The same where the first piece came with the reason: it may be the whole answer, or one of a server that says so every time. */
const UNSURE_MS = 10_000;
/** How long the rest of a finished body is read so that the connection can be used again. */
const LINGER_MS = 250;
/** Timers take no more; longer silences are counted in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The endpoint of a path under a base URL with the configured query; undefined when it is no http(s) URL. */
export function endpoint(settings: ProviderSettings, path: string): URL | undefined {
  if (settings.baseUrl === undefined || !URL.canParse(settings.baseUrl)) return undefined;
  const url = new URL(settings.baseUrl);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  let base = url.pathname.replace(/(?<!\/)\/+$/, "");
  // Somebody gave the address of one of its paths.
  base = base.replace(/\/(?:chat\/completions|responses|messages|models)$/, "");
  // Anthropic's own convention leaves the version out of the base URL.
  if (settings.wire === "anthropic" && !/\/v\d[a-z0-9]*$/.test(base)) base += "/v1";
  url.pathname = base + path;
  for (const [name, value] of Object.entries(settings.query)) url.searchParams.set(name, value);
  return url;
}

/** Headers of a request; configured ones win over ours, whatever their case. Throws on values HTTP does not allow. */
export function requestHeaders(settings: ProviderSettings, own: Readonly<Record<string, string>>, userAgent: string): Headers {
  const headers = new Headers({ "user-agent": userAgent, "accept-encoding": "identity", ...own });
  for (const [name, value] of Object.entries(settings.headers)) headers.set(name, value);
  return headers;
}

/** Streams one try. `signal` is the caller's; exactly one stop or failure is the last event. */
export async function* streamOnce(
  wire: Wire,
  settings: ProviderSettings,
  context: WireContext,
  options: HttpOptions,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent> {
  const url = endpoint(settings, wire.path);
  if (url === undefined) return yield noUrl(settings);
  let headers: Headers;
  try {
    headers = requestHeaders(
      settings,
      { ...wire.headers(options.apiKey), "content-type": "application/json", accept: "text/event-stream" },
      options.userAgent,
    );
  } catch {
    return yield failure("invalid_request", `a header or the API key for ${settings.name} holds characters HTTP does not allow`);
  }
  const body = wire.body(context);
  const exchange = new Exchange(url, options, signal);
  try {
    yield* exchange.run({ method: "POST", headers, body }, wire, context);
  } finally {
    exchange.close();
  }
}

/** Why no request can be made. */
export function noUrl(settings: ProviderSettings): ProviderFailure {
  const what =
    settings.baseUrl === undefined
      ? "has no base URL"
      : `has a base URL that is no http(s) address (${settings.baseUrl.replace(/\/\/[^/@]*@/, "//")})`;
  return failure(
    "invalid_request",
    `provider ${settings.name} ${what}; set ${variablePrefix(settings.name)}_BASE_URL or [providers.${settings.name}] base_url`,
  );
}

/** What takes a response in. */
type Reading = { readonly assembly: Assembly; readonly decoder: Decoder; readonly stream: EventStream; readonly trust: EndTrust };

type Read = { readonly done: boolean; readonly value?: Uint8Array };

/** Some servers do not stream, whatever they are asked. */
function isWholeAnswer(body: string, decoder: Decoder): boolean {
  const parsed = parseJson(body);
  return isObject(parsed) && errorDetail(parsed) === undefined && decoder.whole(parsed);
}

/** The life of one connection: its abort, its silence timer, its reader. */
class Exchange {
  readonly #url: URL;
  readonly #options: HttpOptions;
  readonly #signal: AbortSignal;
  readonly #control = new AbortController();
  readonly #aborted = Promise.withResolvers<never>();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The timer is about to be armed: an answer that is there already needs none. */
  #arming: ReturnType<typeof setImmediate> | undefined;
  #limit: number;
  #lastEvent = performance.now();
  #pausedAt = this.#lastEvent;
  #waiting = false;
  #stalled = false;
  #finished = false;

  constructor(url: URL, options: HttpOptions, signal: AbortSignal) {
    this.#url = url;
    this.#options = options;
    this.#signal = signal;
    this.#limit = this.#patience();
    this.#aborted.promise.catch(() => {});
    signal.addEventListener("abort", this.#abort);
    if (signal.aborted) this.#abort();
  }

  async *run(init: RequestInit, wire: Wire, context: WireContext): AsyncGenerator<ProviderEvent> {
    if (this.#signal.aborted) return yield this.#cancelled();
    const host = this.#url.host;
    let response: Response;
    let reading: Reading;
    try {
      const extra = { redirect: "manual", signal: this.#control.signal, timeout: false } as RequestInit;
      const sent = this.#options.fetch(this.#url.href, { ...init, ...extra });
      // While it is on its way.
      reading = this.#prepareReading(wire, context, host);
      response = await this.#wait(sent);
    } catch (error) {
      const proxy = failureOfProxy(this.#url, error, this.#options.env);
      return yield this.#interrupted() ?? proxy ?? failureOfError(host, error, false);
    }
    this.#lastEvent = performance.now();
    this.#reader = unpackedBody(response)?.getReader();
    if (response.status < 200 || response.status >= 300) {
      // A status says enough; a body that does not come is not waited for.
      this.#allow(Math.min(this.#limit, FINISHING_MS));
      const text = await this.#boundedText();
      if (this.#signal.aborted) return yield this.#cancelled();
      return yield failureOfStatus(host, response.status, text, response.headers, this.#options.now());
    }
    yield* this.#events(reading, host);
  }

  #prepareReading(wire: Wire, context: WireContext, host: string): Reading {
    const assembly = new Assembly(() => usedIds([...context.request.messages, ...(context.history ?? [])]), context.ids);
    const decoder = wire.decoder(context, assembly, host);
    const trust = new EndTrust();
    const stream = new EventStream((event, data) => {
      const arrived = performance.now();
      const finishing = decoder.finishing;
      const said = assembly.length;
      // The last event of a cut stream may itself be cut: that is a truncation, not a protocol error.
      const cut = stream.ending && data.trim() !== "[DONE]" && parseJson(data) === undefined;
      if (!cut && !assembly.ended) decoder.take(event, data);
      const grew = assembly.length > said;
      trust.event(finishing, decoder.finishing, grew);
      // Behind a complete answer an event is no sign of life, unless the answer goes on.
      if (!finishing || grew) this.#lastEvent = arrived;
    }, decoder.textIn);
    return { assembly, decoder, stream, trust };
  }

  async *#events({ assembly, decoder, stream, trust }: Reading, host: string): AsyncGenerator<ProviderEvent> {
    let broken: unknown;
    for (;;) {
      let read: Read;
      try {
        read = await this.#read();
      } catch (error) {
        broken = error ?? new Error("the connection broke");
        break;
      }
      if (read.done) {
        this.#finished = true;
        break;
      }
      if (read.value !== undefined) stream.feed(read.value);
      if (stream.overflowed) assembly.fail(failure("protocol", `${host} sent an event that is too large`));
      // Before the last event goes out: a consumer may leave as soon as it has it.
      if (assembly.ended) this.#linger();
      yield* assembly.drain();
      if (assembly.ended) return;
      if (!decoder.finishing) continue;
      this.#allow(this.#patience(trust));
      // Reads that never have to wait leave the timer no turn.
      if (this.#pausedAt - this.#lastEvent >= this.#limit) break;
    }
    if (broken === undefined && !this.#control.signal.aborted) stream.end();
    const cut = this.#interrupted();
    const whole = decoder.finishing && !trust.denied;
    if (!assembly.ended && (cut === undefined || cut.class === "stalled") && whole) decoder.close();
    if (!assembly.ended && cut !== undefined) assembly.fail(cut);
    if (!assembly.ended && broken !== undefined) assembly.fail(failureOfError(host, broken, true));
    const body = assembly.ended ? undefined : stream.foreignBody;
    if (body !== undefined && !isWholeAnswer(body, decoder)) assembly.fail(failureOfBody(host, body, this.#options.now()));
    if (!assembly.ended && !decoder.close()) assembly.fail(failureOfCut(host, stream.stray, this.#options.now()));
    yield* assembly.drain();
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.#abort);
    clearTimeout(this.#timer);
    clearImmediate(this.#arming);
    if (!this.#finished) this.#abort();
  }

  readonly #abort = (): void => {
    this.#control.abort();
    this.#aborted.reject(new Error("aborted"));
    this.#reader?.cancel().catch(() => {});
  };

  #read(): Promise<Read> {
    const reader = this.#reader;
    if (reader === undefined) return Promise.resolve({ done: true });
    return this.#wait(reader.read() as Promise<Read>, false);
  }

  /** Silence is counted only while we wait for the server, not while the consumer takes its time. */
  async #wait<T>(promise: Promise<T>, race = true): Promise<T> {
    this.#lastEvent += performance.now() - this.#pausedAt;
    this.#waiting = true;
    if (this.#timer === undefined) this.#armSoon();
    try {
      // A read settles by itself when the reader is cancelled; racing each one would pile up reactions.
      return await (race ? Promise.race([promise, this.#aborted.promise]) : promise);
    } finally {
      this.#waiting = false;
      this.#pausedAt = performance.now();
    }
  }

  #armSoon(): void {
    this.#arming ??= setImmediate(() => {
      this.#arming = undefined;
      if (this.#waiting && this.#timer === undefined) this.#arm();
    });
  }

  #arm(): void {
    if (!Number.isFinite(this.#limit)) return;
    const left = this.#limit - (performance.now() - this.#lastEvent);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (!this.#waiting) return; // armed again by the next read
        if (performance.now() - this.#lastEvent < this.#limit) {
          this.#arm();
          return;
        }
        this.#stalled = true;
        this.#abort();
      },
      Math.min(Math.max(1, left), MAX_TIMER_MS),
    );
  }

  /** For the next event; with `trust`, behind a reason to end. */
  #patience(trust?: EndTrust): number {
    const { stallTimeoutMs } = this.#options;
    const patience = stallTimeoutMs > 0 ? stallTimeoutMs : Number.POSITIVE_INFINITY;
    if (trust === undefined || trust.denied) return patience;
    return Math.min(patience, trust.reliable ? FINISHING_MS : UNSURE_MS);
  }

  /** How long a silence may be from now on. */
  #allow(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #cancelled(): ProviderFailure {
    return failure("cancelled", "cancelled");
  }

  #interrupted(): ProviderFailure | undefined {
    if (this.#signal.aborted) return this.#cancelled();
    if (!this.#stalled) return undefined;
    return failure("stalled", `${this.#url.host} sent nothing for ${humanWait(this.#options.stallTimeoutMs)}`);
  }

  async #boundedText(): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      while (text.length < MAX_BODY) {
        const read = await this.#read();
        if (read.done) break;
        text += decoder.decode(read.value, { stream: true });
      }
    } catch {
      // What came of the error body is still worth showing.
    }
    return text.slice(0, MAX_BODY);
  }

  /** Reads the rest of a complete answer in the background, so that the connection goes back to the pool. */
  #linger(): void {
    this.#finished = true;
    const reader = this.#reader;
    if (reader === undefined) return;
    const timer = setTimeout(() => this.#control.abort(), LINGER_MS);
    timer.unref();
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    rest()
      .catch(() => {})
      .finally(() => clearTimeout(timer));
  }
}
