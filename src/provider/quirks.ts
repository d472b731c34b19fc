/**
 * Where OpenAI-compatible servers differ, as data: what a chat request to one provider may and must hold.
 * Refuses: code paths per provider elsewhere.
 */
import type { ProviderSettings } from "../types/settings.ts";
import { presetOf } from "./presets.ts";
import type { ReasoningEffort } from "./provider.ts";

export type ChatQuirks = {
  /** `max_completion_tokens` instead of `max_tokens`. */
  readonly completionTokens: boolean;
  /** Takes `stream_options: {include_usage}`. */
  readonly usageOption: boolean;
  /** Takes `prompt_cache_key`. */
  readonly cacheKey: boolean;
  /** Takes `response_format: json_schema`: never, only without tools, or beside tools. */
  readonly schema: "never" | "alone" | "always";
  /** Turns schemas into a grammar that knows few of their keywords: see grammar-schema.ts. */
  readonly grammar: boolean;
  /** Call ids must be nine letters or digits. */
  readonly shortIds: boolean;
  /** Wants `reasoning_content` in a tool-calling history: demanded even when empty, where there is some, or rejected. */
  readonly reasoning: "demanded" | "welcome" | "unknown";
  /** What a call needs that has no private data of this server's (it comes from a resumed session or another model). */
  readonly foreignCall?: unknown;
  readonly effort: (effort: ReasoningEffort) => Readonly<Record<string, unknown>>;
};

const PLAIN_EFFORT: Readonly<Record<ReasoningEffort, string>> = {
  none: "none",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
};

const BASE: ChatQuirks = {
  completionTokens: false,
  usageOption: true,
  cacheKey: false,
  schema: "alone",
  grammar: false,
  shortIds: false,
  reasoning: "unknown",
  effort: (effort) => ({ reasoning_effort: PLAIN_EFFORT[effort] }),
};

const exact = (effort: ReasoningEffort) => ({ reasoning_effort: effort });

const BY_NAME: Readonly<Record<string, Partial<ChatQuirks>>> = {
  openai: { completionTokens: true, cacheKey: true, schema: "always", effort: exact },
  openrouter: { schema: "always", effort: (effort) => ({ reasoning: { effort } }) },
  gemini: { effort: (effort) => ({ reasoning_effort: effort === "xhigh" ? "high" : effort }) },
  xai: { schema: "always" },
  mistral: {
    usageOption: false,
    shortIds: true,
    effort: (effort) => ({ reasoning_effort: effort === "none" ? "none" : "high" }),
  },
  ollama: { grammar: true },
  lmstudio: { grammar: true },
  llamacpp: { grammar: true },
  deepseek: {
    schema: "never",
    reasoning: "demanded",
    effort: (effort) =>
      effort === "none"
        ? { thinking: { type: "disabled" } }
        : { reasoning_effort: effort === "xhigh" ? "max" : PLAIN_EFFORT[effort] },
  },
};

/** Models that want their reasoning text back (P15), and servers that reject the field whatever the model. */
const WANTS_REASONING = /deepseek|kimi|mimo/i;
const STRICT_SERVERS: ReadonlySet<string> = new Set(["openai", "groq", "cerebras", "mistral"]);
/** Gemini 3 and later reject calls without a signature; this value is documented for histories made elsewhere. */
const FOREIGN_SIGNATURE = { google: { thought_signature: "skip_thought_signature_validator" } };

/** Models whose servers and templates take no user directly behind a tool's result, whoever serves them. */
const WANTS_BRIDGE = /mistral|ministral|mixtral|devstral|codestral|magistral|pixtral|voxtral|gemma/i;

/** Whether a word of the assistant must stand between a tool's result and the user. Others are better off without it. */
export function wantsBridge(settings: ProviderSettings, model: string): boolean {
  return presetOf(settings) === "mistral" || WANTS_BRIDGE.test(model);
}

/** How many tools one request may offer; undefined where nobody says. */
export function toolLimit(settings: ProviderSettings): number | undefined {
  return presetOf(settings) === "openai" ? 128 : undefined;
}

/** Whether a model's server refuses a history of calls whose reasoning is left out. */
export function wantsReasoning(model: string): boolean {
  return WANTS_REASONING.test(model);
}

/** What this model's provider takes; a provider under another name but at a known address is that provider. */
export function chatQuirks(settings: ProviderSettings, model: string): ChatQuirks {
  const preset = presetOf(settings) ?? "";
  const quirks = { ...BASE, ...BY_NAME[preset] };
  if (preset === "gemini" && /gemini-(?:[3-9]|\d\d)/.test(model)) return { ...quirks, foreignCall: FOREIGN_SIGNATURE };
  if (quirks.reasoning !== "unknown" || STRICT_SERVERS.has(preset)) return quirks;
  return wantsReasoning(model) ? { ...quirks, reasoning: "welcome" } : quirks;
}
