/**
 * The resolved configuration (cli.md, Configuration): every key with its type and default. Refuses: reading files or the
 * environment (load.ts does).
 */
import type {
  Approval,
  Authority,
  ContextSettings,
  ModelSettings,
  ProviderSettings,
  RetrySettings,
  WebSearchBackend,
} from "../types/settings.ts";

export type McpServerSettings = {
  readonly name: string;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly timeoutMs: number;
  readonly tools?: readonly string[];
};

export type AcpAgentSettings = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

/** Where a value came from; `config show` prints it. */
export type Origin = "flag" | "environment" | "project" | "user" | "default";

/**
 * What the configuration says of one provider: laid over the preset of that name by provider/, or a provider of its own.
 * An absent member leaves the preset's.
 */
export type ProviderOverride = Partial<Omit<ProviderSettings, "name">> & {
  readonly name: string;
  /**
   * The base URL comes from a project file that named no key variable of its own: no credential of the user may go there,
   * neither the preset's variable nor a stored key (security.md 4).
   */
  readonly withoutCredential?: true;
  /** The base URL comes from a project file: what the user has stored for the provider of that name is for another address. */
  readonly withoutStored?: true;
};

/** Resolved and frozen. */
export type Config = {
  /** `provider/id`; undefined when nothing chose one. */
  readonly model?: string;
  readonly reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
  /** Only what the configuration declares; presets are provider/'s. */
  readonly providers: Readonly<Record<string, ProviderOverride>>;
  readonly models: Readonly<Record<string, ModelSettings>>;
  readonly context: ContextSettings;
  readonly shell: { readonly timeoutMs: number; readonly maxTimeoutMs: number; readonly envAllow: readonly string[] };
  readonly web: { readonly search: WebSearchBackend; readonly searchUrl?: string; readonly allowHosts: readonly string[] };
  /** Absolute; undefined means `<workspace>/.thndrs/sessions`. */
  readonly sessionDir?: string;
  readonly authority: Authority;
  readonly approval: Approval;
  readonly stallTimeoutMs: number;
  readonly retry: RetrySettings;
  readonly compaction: {
    readonly mode: "off" | "manual" | "auto";
    readonly review: "never" | "auto" | "always";
    /** 0–1. */
    readonly threshold: number;
    readonly keepRecentTokens: number;
  };
  readonly skillDirs: readonly string[];
  readonly mcp: { readonly startTimeoutMs: number; readonly servers: Readonly<Record<string, McpServerSettings>> };
  readonly acp: {
    /** What print mode answers an external agent that asks for permission. */
    readonly permissions: "reject" | "allow";
    readonly agents: Readonly<Record<string, AcpAgentSettings>>;
  };
  /** `key path → origin` for every key that is not a default. */
  readonly origins: Readonly<Record<string, Origin>>;
  /** Every configuration file that was read. */
  readonly files: readonly {
    readonly path: string;
    readonly source: "project" | "user";
    readonly hash: string;
    readonly trusted: boolean;
  }[];
};
