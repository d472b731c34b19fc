/**
 * The resolved settings each room is handed. Defined on the ground floor because wings never import each other:
 * config/ fills these in, app/ passes them on. Refuses: defaults, parsing.
 */
import type { WireName } from "./message.ts";

/** context.md C2, C6, C3, C12. Caps are characters. */
export type ContextSettings = {
  readonly enabled: boolean;
  readonly filenames: readonly string[];
  readonly maxChars: number;
  /** The same for the user's own file, which no project caps. */
  readonly ownMaxChars: number;
  readonly maxDiscoveredChars: number;
  readonly maxTotalChars: number;
  readonly ancestors: boolean;
  readonly scan: "block" | "warn" | "off";
};

export type WebSearchBackend = "duckduckgo" | "searxng" | "brave" | "exa" | "none";

/** `[providers.NAME]` merged over the preset of that name. */
export type ProviderSettings = {
  readonly name: string;
  readonly wire: WireName;
  /** Undefined where the user must set one (`umans`). */
  readonly baseUrl?: string;
  /** Environment variable that holds the key; undefined for local servers. */
  readonly apiKeyEnv?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly models: readonly string[];
  /** The model used when only the provider is known. */
  readonly defaultModel?: string;
  /** True for servers on this machine: no key, discoverable. */
  readonly local: boolean;
};

/** `[models."provider/id"]`. */
export type ModelSettings = {
  readonly contextWindow?: number;
  readonly maxOutput?: number;
  readonly price?: { readonly input: number; readonly output: number; readonly cacheRead?: number; readonly cacheWrite?: number };
};

export type RetrySettings = { readonly maxTries: number; readonly capMs: number; readonly maxRetryAfterMs: number };

export type Authority = "read-only" | "workspace-write";
export type Approval = "never" | "shell" | "writes" | "all";
