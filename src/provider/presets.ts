/**
 * The providers known by name, as data (loop-and-providers.md, Presets), and how settings and environment change them.
 * Refuses: reading the environment or files (it is handed both).
 */
import { variablePrefix } from "../base/variable-name.ts";
import type { WireName } from "../types/message.ts";
import type { ProviderSettings } from "../types/settings.ts";

type Preset = { readonly wire: WireName; readonly baseUrl?: string; readonly keyless?: true; readonly defaultModel?: string };

/** In the order in which a default is looked for and listed. */
const PRESETS: Readonly<Record<string, Preset>> = {
  openai: { wire: "openai-responses", baseUrl: "https://api.openai.com/v1", defaultModel: "gpt-5.6-terra" },
  anthropic: { wire: "anthropic", baseUrl: "https://api.anthropic.com/v1", defaultModel: "claude-sonnet-5-5" },
  openrouter: { wire: "openai-chat", baseUrl: "https://openrouter.ai/api/v1", defaultModel: "anthropic/claude-sonnet-5" },
  gemini: {
    wire: "openai-chat",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    defaultModel: "gemini-3.6-flash",
  },
  groq: { wire: "openai-chat", baseUrl: "https://api.groq.com/openai/v1", defaultModel: "openai/gpt-oss-120b" },
  deepseek: { wire: "openai-chat", baseUrl: "https://api.deepseek.com/v1", defaultModel: "deepseek-v4-pro" },
  mistral: { wire: "openai-chat", baseUrl: "https://api.mistral.ai/v1", defaultModel: "devstral-medium-latest" },
  xai: { wire: "openai-chat", baseUrl: "https://api.x.ai/v1", defaultModel: "grok-4.5" },
  together: { wire: "openai-chat", baseUrl: "https://api.together.xyz/v1", defaultModel: "openai/gpt-oss-120b" },
  fireworks: {
    wire: "openai-chat",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    defaultModel: "accounts/fireworks/models/gpt-oss-120b",
  },
  cerebras: { wire: "openai-chat", baseUrl: "https://api.cerebras.ai/v1", defaultModel: "gpt-oss-120b" },
  opencode: { wire: "openai-chat", baseUrl: "https://opencode.ai/zen/v1", defaultModel: "big-pickle" },
  umans: { wire: "anthropic" },
  ollama: { wire: "openai-chat", baseUrl: "http://127.0.0.1:11434/v1", keyless: true },
  lmstudio: { wire: "openai-chat", baseUrl: "http://127.0.0.1:1234/v1", keyless: true },
  llamacpp: { wire: "openai-chat", baseUrl: "http://127.0.0.1:8080/v1", keyless: true },
  vllm: { wire: "openai-chat", baseUrl: "http://127.0.0.1:8000/v1", keyless: true },
};

export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS);

/** `[providers.NAME]` as configured; absent members keep the preset's value. */
type ProviderOverride = {
  readonly wire?: WireName | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly models?: readonly string[] | undefined;
};

/**
 * Every preset and every configured provider. `<NAME>_BASE_URL` in `env` wins over configuration and preset.
 * A provider that is not a preset speaks chat unless its wire is given.
 */
export function resolveProviders(
  env: Readonly<Record<string, string | undefined>>,
  overrides: Readonly<Record<string, ProviderOverride>> = {},
): Readonly<Record<string, ProviderSettings>> {
  const names = new Set([...PRESET_NAMES, ...Object.keys(overrides)]);
  return Object.fromEntries([...names].map((name) => [name, resolve(name, env, overrides[name] ?? {})]));
}

function resolve(name: string, env: Readonly<Record<string, string | undefined>>, override: ProviderOverride): ProviderSettings {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  const prefix = variablePrefix(name);
  const baseUrl = env[`${prefix}_BASE_URL`]?.trim() || override.baseUrl || preset?.baseUrl;
  const local = preset?.keyless === true;
  const apiKeyEnv = override.apiKeyEnv ?? (local ? undefined : `${prefix}_API_KEY`);
  const models = override.models ?? [];
  const defaultModel = models[0] ?? preset?.defaultModel;
  return {
    name,
    wire: override.wire ?? preset?.wire ?? "openai-chat",
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
    headers: override.headers ?? {},
    query: override.query ?? {},
    models,
    ...(defaultModel === undefined ? {} : { defaultModel }),
    local,
  };
}

/** Which preset a provider is: by its name, or, under another name, by the host it speaks to; undefined for neither. */
export function presetOf(settings: ProviderSettings): string | undefined {
  if (Object.hasOwn(PRESETS, settings.name)) return settings.name;
  const host = hostOf(settings.baseUrl);
  return host === undefined ? undefined : PRESET_NAMES.find((name) => hostOf(PRESETS[name]?.baseUrl) === host);
}

/** Whether the server is the preset's own, and not one that is spoken to in its place. */
export function isOwnServer(settings: ProviderSettings, preset: string): boolean {
  return hostOf(settings.baseUrl) === hostOf(PRESETS[preset]?.baseUrl);
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
