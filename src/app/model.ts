/**
 * The model of a run: choice, key, window and provider put together; record and replay around it.
 * @see loop-and-providers.md, Presets. Refuses: asking the network.
 */
import { resolve } from "node:path";
import type { Window } from "../agent/budget.ts";
import { EXIT, UserError } from "../base/user-error.ts";
import { variablePrefix } from "../base/variable-name.ts";
import type { Credentials } from "../config/credentials.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { AcpAgentSettings } from "../config/schema.ts";
import { referencedNames } from "../config/secrets.ts";
import { createProvider } from "../provider/create.ts";
import { networkConnect } from "../provider/http.ts";
import { modelInfo } from "../provider/models.ts";
import { resolveProviders } from "../provider/presets.ts";
import type { ModelInfo, Provider } from "../provider/provider.ts";
import { toolLimit } from "../provider/quirks.ts";
import { chooseModel } from "../provider/select.ts";
import type { ProviderSettings } from "../types/settings.ts";
import type { Extras } from "./extras.ts";
import { readGivenFile } from "./given-file.ts";
import { FALLBACK_WINDOW } from "./ledger.ts";
import { keyFor, keySource, needsKey } from "./provider-key.ts";
import { version } from "./version.ts";

export type ChosenModel = {
  readonly provider: Provider;
  /** `provider/id`. */
  readonly name: string;
  /** The provider's own id. */
  readonly modelId: string;
  /** Set for `acp:NAME`: this agent drives the turns, the provider is asked nothing. */
  readonly agent?: AcpAgentSettings;
  readonly info: ModelInfo;
  readonly window: Window;
  /** How many tools its provider takes, where that is known. */
  readonly toolLimit?: number;
  /** Variables that hold provider keys: never inherited by children. */
  readonly keyVariables: readonly string[];
};

const PROXY_VARIABLES = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** What would help is a key: an editor may offer a way to log in. */
export class MissingKey extends UserError {}

export type ModelRequest = {
  readonly env: Readonly<Record<string, string>>;
  readonly loaded: LoadedConfig;
  readonly credentials: Credentials;
  /** Aborted once nobody waits for the model any more. */
  readonly signal?: AbortSignal;
  readonly maxCost: number | undefined;
  /** `--replay FILE`, as typed. */
  readonly replayFile: string | undefined;
  /** Where a relative recording is looked for. Absolute. */
  readonly cwd: string;
  /** Wraps a provider so that what it says is kept; only with `--record`. */
  readonly record?: Extras["record"];
  /** @throws UserError when a flag of the run cannot be kept with this agent. */
  readonly demandAgentFlags: (agent: string) => void;
  /** In place of the network's; only with `--capture`. */
  readonly fetch?: Extras["fetch"];
};

function windowOf(info: ModelInfo, configured: boolean): Window {
  if (info.contextWindow === undefined) return FALLBACK_WINDOW;
  const maxOutput = Math.min(info.maxOutput ?? FALLBACK_WINDOW.maxOutput, Math.floor(info.contextWindow / 4));
  return { contextWindow: info.contextWindow, maxOutput, source: configured ? "configured" : "static" };
}

/** Then the way leads through a proxy, and what is opened ahead would go past it. */
function isProxied(env: Readonly<Record<string, string>>): boolean {
  return PROXY_VARIABLES.some((name) => Boolean(env[name]));
}

async function keyOf(settings: ProviderSettings, request: ModelRequest): Promise<string | undefined> {
  const { loaded, credentials } = request;
  const key = await keyFor(settings, loaded, credentials, request.signal);
  // Of a keychain that is no longer waited for nobody knows what it holds, and nothing is sent any more.
  if (key !== undefined || request.signal?.aborted || !needsKey(settings, loaded)) return key;
  if (loaded.config.providers[settings.name]?.withoutCredential) return undefined;
  throw new MissingKey(
    `no API key for ${settings.name}.\nLooked for: the variable ${settings.apiKeyEnv} and a key stored by "thndrs login ${settings.name}".\nSet ${settings.apiKeyEnv}, run thndrs login ${settings.name}, or play a recording with --replay FILE.`,
  );
}

/** Providers with a credential, by name; only looked up when no model is named. */
async function credited(
  providers: Readonly<Record<string, ProviderSettings>>,
  request: ModelRequest,
): Promise<ReadonlySet<string>> {
  const keyed = Object.values(providers).filter((settings) => settings.apiKeyEnv !== undefined);
  const found = await Promise.all(
    keyed.map(async (settings) =>
      (await keySource(settings, request.loaded, request.credentials)) === undefined ? [] : [settings.name],
    ),
  );
  return new Set(found.flat());
}

async function chooseFrom(
  providers: Readonly<Record<string, ProviderSettings>>,
  request: ModelRequest,
): Promise<{ readonly settings: ProviderSettings; readonly id: string } | { readonly replay: string }> {
  const { model } = request.loaded.config;
  const names = model === undefined ? await credited(providers, request) : new Set<string>();
  const choice = chooseModel({ model, providers, hasCredential: (settings) => names.has(settings.name) });
  if (!choice.ok && choice.reason === "nothing_found" && !waitsForTrust(request.loaded)) throw new MissingKey(choice.message);
  if (!choice.ok) throw new UserError(choice.message, waitsForTrust(request.loaded) ? EXIT.policy : EXIT.usage);
  if ("replay" in choice) return { replay: choice.replay };
  return { settings: choice.provider, id: choice.model };
}

/** The project's file would have named a model or a provider, had it been trusted: stopped by policy, not by a mistake. */
function waitsForTrust(loaded: LoadedConfig): boolean {
  return loaded.untrusted?.keys.some((key) => key === "model" || key.startsWith("providers.") || key.startsWith("acp.")) ?? false;
}

async function openReplay(file: string, request: ModelRequest): Promise<ChosenModel> {
  const { createReplay } = await import("../provider/replay.ts");
  const provider = createReplay(await readGivenFile(resolve(request.cwd, file), `cannot replay ${file}`), file);
  return {
    provider: request.record?.(provider) ?? provider,
    name: `replay/${file}`,
    modelId: file,
    info: { id: file },
    window: FALLBACK_WINDOW,
    keyVariables: keyVariables(resolveProviders(request.env, request.loaded.config.providers), request.loaded),
  };
}

/** Variables that hold credentials of providers and servers, whatever they are called. */
export function keyVariables(providers: Readonly<Record<string, ProviderSettings>>, loaded: LoadedConfig): string[] {
  return [...Object.values(providers).flatMap((settings) => settings.apiKeyEnv ?? []), ...referencedNames(loaded.settings)];
}

const ACP = "acp:";

/** `acp:NAME`: an agent of the configuration in place of a model. @throws UserError */
function openAgent(name: string, request: ModelRequest): ChosenModel {
  const { agents } = request.loaded.config.acp;
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  if (!agent) {
    const known = Object.keys(agents);
    const have = known.length === 0 ? "none is configured" : `there are: ${known.join(", ")}`;
    throw new UserError(
      `there is no ACP agent ${JSON.stringify(name)} (${have}). Configure one: [acp.agents.${name || "NAME"}] command = "…"`,
      waitsForTrust(request.loaded) ? EXIT.policy : EXIT.usage,
    );
  }
  request.demandAgentFlags(`${ACP}${name}`);
  const message = `${ACP}${name} keeps its own conversation; thndrs asks no model here`;
  return {
    agent,
    name: `${ACP}${name}`,
    modelId: name,
    provider: {
      name: "acp",
      wire: "acp",
      async *stream() {
        yield { type: "failure", class: "invalid_request", message };
      },
    },
    info: { id: name },
    window: FALLBACK_WINDOW,
    keyVariables: keyVariables(resolveProviders(request.env, request.loaded.config.providers), request.loaded),
  };
}

/** Why no request can be sent there; undefined when one can. A password in what was set is not shown. */
export function addressProblem({ name, baseUrl }: ProviderSettings): string | undefined {
  const where = `set ${variablePrefix(name)}_BASE_URL, or base_url under [providers.${name}]`;
  if (baseUrl === undefined) return `provider ${name} has no base URL: ${where}`;
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return undefined;
  const shown = baseUrl.includes("@") ? "" : ` ("${baseUrl}")`;
  return `provider ${name} has a base URL that is no http(s) address${shown}: ${where}`;
}

/** @throws UserError for a key or a header that no request can carry: a line break in the middle, a typographic character. */
function demandHeaders({ name, apiKeyEnv, headers }: ProviderSettings, apiKey: string | undefined): void {
  const fits = (value: string): boolean => /^[\t\x20-\x7e]*$/.test(value);
  if (apiKey !== undefined && !fits(apiKey)) {
    const from = apiKeyEnv === undefined ? "" : ` (from $${apiKeyEnv}, or stored by "thndrs login ${name}")`;
    throw new UserError(
      `the key of ${name}${from} holds characters no key has, such as a line break or an ellipsis: copy it anew`,
    );
  }
  for (const [header, value] of Object.entries(headers ?? {})) {
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(header) && fits(value)) continue;
    throw new UserError(`provider ${name}: the header ${JSON.stringify(header)} holds characters HTTP does not allow`);
  }
}

/** @throws UserError (exit 2) when no model, no key or no base URL can be found; it says what was looked for. */
export async function openModel(request: ModelRequest): Promise<ChosenModel> {
  if (request.replayFile !== undefined) return openReplay(request.replayFile, request);
  const { config } = request.loaded;
  const asked = config.model?.trim() ?? "";
  if (asked.startsWith(ACP)) return openAgent(asked.slice(ACP.length), request);
  const providers = resolveProviders(request.env, config.providers);
  const choice = await chooseFrom(providers, request);
  if ("replay" in choice) return openReplay(choice.replay, request);
  const { settings, id } = choice;
  const problem = addressProblem(settings);
  if (problem !== undefined) throw new UserError(problem);
  const info = modelInfo(settings.name, id, config.models);
  if (request.maxCost !== undefined && !info.price) {
    throw new UserError(
      `--max-cost needs a price, and none is known for ${settings.name}/${id}: set one under [models."${settings.name}/${id}"] price = { input = …, output = … } (US dollars per million tokens)`,
    );
  }
  const apiKey = await keyOf(settings, request);
  demandHeaders(settings, apiKey);
  const limit = toolLimit(settings);
  const provider = createProvider(settings, {
    ...(request.fetch && { fetch: request.fetch }),
    ...(!isProxied(request.env) && { connect: networkConnect }),
    apiKey,
    env: request.env,
    userAgent: `thndrs/${version}`,
    stallTimeoutMs: config.stallTimeoutMs,
    retry: config.retry,
    modelInfo: (other) => modelInfo(settings.name, other, config.models),
  });
  return {
    provider: request.record?.(provider) ?? provider,
    name: `${settings.name}/${id}`,
    modelId: id,
    info,
    ...(limit !== undefined && { toolLimit: limit }),
    window: windowOf(info, config.models[`${settings.name}/${id}`]?.contextWindow !== undefined),
    keyVariables: keyVariables(providers, request.loaded),
  };
}
