/**
 * Makes a Provider from settings: wire, HTTP, retry and cost put together. Refuses: choosing a model (select.ts),
 * reading keys (config/ does).
 */
import { once } from "../base/once.ts";
import { oneLine } from "../base/text.ts";
import type { Message } from "../types/message.ts";
import type { ProviderSettings, RetrySettings } from "../types/settings.ts";
import { idRule } from "./call-ids.ts";
import { sanitizeConversation } from "./conversation.ts";
import { failure } from "./failure.ts";
import { endpoint, type Fetch, type HttpOptions, networkFetch, streamOnce } from "./http.ts";
import { serversOrder } from "./message-order.ts";
import type { ModelInfo, Provider, ProviderEvent, ProviderRequest } from "./provider.ts";
import type { ProxyEnv } from "./proxy.ts";
import { type Sleep, sleep, withRetry } from "./retry.ts";
import { keyRedaction } from "./secrets.ts";
import { withCost } from "./usage.ts";
import { loadWire } from "./wires.ts";

export type ProviderOptions = {
  readonly apiKey?: string | undefined;
  /** `thndrs/1.2.3` */
  readonly userAgent: string;
  /** 0: no limit. */
  readonly stallTimeoutMs: number;
  readonly retry: RetrySettings;
  /** What is known of a model of this provider; for limits and cost. */
  readonly modelInfo?: (id: string) => ModelInfo;
  readonly fetch?: Fetch;
  /** Opens a connection to an origin ahead of its request. */
  readonly connect?: (origin: string) => void;
  /** 0 ≤ x < 1. */
  readonly random?: () => number;
  /** Wall clock, ms. */
  readonly now?: () => number;
  readonly sleep?: Sleep;
  /** The environment that names a proxy. */
  readonly env?: ProxyEnv;
};

/** A provider for one of the three HTTP wires. Its streams never throw; retries are part of the stream. */
export function createProvider(settings: ProviderSettings, options: ProviderOptions): Provider {
  // One for all requests: it remembers what it has written.
  const wire = once(() => loadWire(settings));
  const apiKey = options.apiKey?.trim() || undefined;
  const http: HttpOptions = {
    apiKey,
    userAgent: options.userAgent,
    fetch: options.fetch ?? networkFetch,
    stallTimeoutMs: options.stallTimeoutMs,
    now: options.now ?? Date.now,
    env: options.env,
  };
  const retry = { settings: options.retry, random: options.random ?? Math.random, now: http.now, sleep: options.sleep ?? sleep };
  const clean = keyRedaction(settings, apiKey);
  const inServersOrder = serversOrder(settings);
  const ids = idRule(settings);
  const infoOf = options.modelInfo ?? ((id: string): ModelInfo => ({ id }));
  return {
    name: settings.name,
    wire: settings.wire,
    connect() {
      const url = endpoint(settings, "");
      if (url !== undefined) options.connect?.(url.origin);
    },
    async *stream(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<ProviderEvent> {
      try {
        const info = infoOf(request.model);
        const messages = sanitizeConversation(request.messages, ids, settings.name);
        const spoken = await wire();
        const ask = (ordered: readonly Message[], active: AbortSignal) =>
          streamOnce(
            spoken,
            settings,
            { request: { ...request, messages: ordered }, info, ids, history: request.messages },
            http,
            active,
          );
        const attempt = (active: AbortSignal) => inServersOrder(messages, request.model, (ordered) => ask(ordered, active));
        for await (const event of withRetry(attempt, retry, signal)) yield finished(event, info, clean);
      } catch (error) {
        // A started stream never throws: a bug of ours must not look like a crash of the conversation.
        const told = clean(oneLine(error instanceof Error ? error.message : String(error), 300));
        yield failure("internal", `unexpected error in provider ${settings.name}: ${told}`);
      }
    },
  };
}

/** Cost where the price is known; no key in any message, should a server repeat it. */
function finished(event: ProviderEvent, info: ModelInfo, clean: (message: string) => string): ProviderEvent {
  if (event.type === "usage") return { ...event, usage: withCost(event.usage, info.price) };
  if (event.type === "failure" || event.type === "retrying") return { ...event, message: clean(event.message) };
  return event;
}
