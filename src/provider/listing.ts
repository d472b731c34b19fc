/**
 * What an endpoint serves: `GET /models` in the shapes servers give it. For `thndrs models`, doctor and setup; never
 * part of a run. Refuses: caching.
 */
import { count, field, filled, isObject, list, parseJson } from "../base/json.ts";
import { unpackedBody } from "../base/packed-body.ts";
import type { ModelSettings, ProviderSettings } from "../types/settings.ts";
import { failure, failureOfError, failureOfStatus, pageTitle } from "./failure.ts";
import { endpoint, type Fetch, networkFetch, noUrl, requestHeaders } from "./http.ts";
import { modelInfo } from "./models.ts";
import type { ModelInfo, ProviderFailure } from "./provider.ts";
import { failureOfProxy, type ProxyEnv } from "./proxy.ts";
import { keyRedaction } from "./secrets.ts";
import { MAX_BODY } from "./sse.ts";
import { loadWire } from "./wires.ts";

type ListOptions = {
  readonly apiKey?: string | undefined;
  readonly userAgent: string;
  readonly fetch?: Fetch;
  readonly models?: Readonly<Record<string, ModelSettings>>;
  /** The environment that names a proxy. */
  readonly env?: ProxyEnv;
};

type Listing =
  | { readonly ok: true; readonly models: readonly ModelInfo[] }
  | { readonly ok: false; readonly failure: ProviderFailure };

const MAX_LIST = 16 * 1024 * 1024;
const PROBE_MS = 800;

/** More pages than this are no list of models. */
const MAX_PAGES = 20;

/**
 * Lists the models of one endpoint, all its pages, sorted by id; what the server does not tell comes from the table. Never throws.
 */
export async function listModels(settings: ProviderSettings, options: ListOptions, signal: AbortSignal): Promise<Listing> {
  const url = endpoint(settings, "/models");
  if (url === undefined) return { ok: false, failure: noUrl(settings) };
  const apiKey = options.apiKey?.trim() || undefined;
  const clean = keyRedaction(settings, apiKey);
  const failed = (said: ProviderFailure): Listing => ({ ok: false, failure: { ...said, message: clean(said.message) } });
  try {
    const headers = requestHeaders(settings, (await loadWire(settings)).headers(apiKey), options.userAgent);
    const get = options.fetch ?? networkFetch;
    const found = new Map<string, ModelInfo>();
    for (let page = 0; page < MAX_PAGES; page++) {
      const response = await get(url.href, { headers, signal, redirect: "manual" });
      const body = await readBody(response, response.ok ? MAX_LIST : MAX_BODY);
      if (!response.ok) return failed(failureOfStatus(url.host, response.status, body.text, response.headers, Date.now()));
      const answer = parseJson(body.text);
      const models = body.cut ? undefined : readList(settings, answer, options.models ?? {});
      if (models === undefined) return failed(noList(url.host, body.text));
      for (const model of models) if (!found.has(model.id)) found.set(model.id, model);
      const last = field(answer, "has_more") === true ? filled(field(answer, "last_id")) : undefined;
      if (last === undefined || last === url.searchParams.get("after_id")) break;
      url.searchParams.set("after_id", last);
    }
    return { ok: true, models: [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)) };
  } catch (error) {
    if (signal.aborted) return failed(failure("cancelled", "cancelled"));
    return failed(failureOfProxy(url, error, options.env) ?? failureOfError(url.host, error, false));
  }
}

function noList(host: string, body: string): ProviderFailure {
  const title = pageTitle(body);
  const what =
    title === undefined ? "did not answer with a list of models" : `answered with a web page (${title}), not with models`;
  return failure("protocol", `${host} ${what}; check the base URL`);
}

/** Is a local server there, and what does it serve? undefined when nothing answers within a moment. */
export async function probeLocal(
  settings: ProviderSettings,
  signal: AbortSignal,
  options: Pick<ListOptions, "fetch" | "models"> = {},
): Promise<readonly ModelInfo[] | undefined> {
  const brief = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  const listing = await listModels(settings, { userAgent: "thndrs", ...options }, brief);
  return listing.ok ? listing.models : undefined;
}

/** The first `limit` bytes of a body as text; it is not read further. */
async function readBody(response: Response, limit: number): Promise<{ readonly text: string; readonly cut: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of unpackedBody(response) ?? []) {
    text += decoder.decode(chunk.subarray(0, limit - bytes), { stream: true });
    bytes += chunk.length;
    if (bytes > limit) return { text, cut: true };
  }
  return { text: text + decoder.decode(), cut: false };
}

function readList(
  settings: ProviderSettings,
  value: unknown,
  overrides: Readonly<Record<string, ModelSettings>>,
): readonly ModelInfo[] | undefined {
  const found = Array.isArray(value) ? value : (field(value, "data") ?? field(value, "models"));
  if (!Array.isArray(found)) return undefined;
  return list(found).flatMap((entry) => readModel(settings, entry, overrides));
}

function readModel(
  settings: ProviderSettings,
  entry: unknown,
  overrides: Readonly<Record<string, ModelSettings>>,
): readonly ModelInfo[] {
  const raw = typeof entry === "string" ? entry : (filled(field(entry, "id")) ?? filled(field(entry, "name")));
  if (raw === undefined) return [];
  const id = raw.replace(/^models\//, "");
  const own = overrides[`${settings.name}/${id}`] ?? {};
  const told = {
    contextWindow:
      count(field(entry, "context_length")) ??
      count(field(entry, "context_window")) ??
      count(field(entry, "max_context_length")) ??
      count(field(entry, "max_model_len")) ??
      count(field(entry, "max_input_tokens")) ??
      count(field(field(entry, "meta"), "n_ctx_train")),
    maxOutput: count(field(field(entry, "top_provider"), "max_completion_tokens")) ?? count(field(entry, "max_tokens")),
    price: readPrice(field(entry, "pricing")),
  };
  const known = modelInfo(settings.name, id, overrides);
  const contextWindow = own.contextWindow ?? told.contextWindow ?? known.contextWindow;
  const maxOutput = own.maxOutput ?? told.maxOutput ?? known.maxOutput;
  const price = own.price ?? told.price ?? known.price;
  return [
    {
      id,
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(maxOutput === undefined ? {} : { maxOutput }),
      ...(price === undefined ? {} : { price }),
    },
  ];
}

/** OpenRouter's prices are strings in dollars per token. */
function readPrice(pricing: unknown): ModelInfo["price"] {
  if (!isObject(pricing)) return undefined;
  const per = (name: string) => {
    const value = pricing[name];
    const dollars = typeof value === "string" && value.trim() !== "" ? Number(value) : undefined;
    const amount = count(dollars);
    return amount === undefined ? undefined : Math.round(amount * 1e12) / 1e6;
  };
  const input = per("prompt");
  const output = per("completion");
  if (input === undefined || output === undefined) return undefined;
  const cacheRead = per("input_cache_read");
  const cacheWrite = per("input_cache_write");
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  };
}
