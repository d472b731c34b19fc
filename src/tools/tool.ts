/**
 * The contract of a tool (tools.md). A tool file holds name, description, schema, example and executor together, so
 * none can exist without the others. Floor 2: knows no session, no context, no provider.
 */
import type { ZodType } from "zod";
import type { Workspace } from "../base/workspace.ts";
import type { Effect, ToolStatus } from "../types/event.ts";
import type { BackgroundProcesses } from "./background.ts";
import type { SeenFiles } from "./seen-files.ts";

export type EffectKind = "read" | "write" | "shell" | "net";

/** Settings a tool may need; resolved by config/, handed in by app/. */
export type ToolSettings = {
  readonly shellTimeoutMs: number;
  readonly shellMaxTimeoutMs: number;
  /** Names of environment variables that children may inherit although they look like secrets (`shell.env_allow`). */
  readonly shellEnvAllow: readonly string[];
  /** Names of the variables that hold provider keys (`apiKeyEnv`), whatever they look like; children never get them unless allowed. */
  readonly credentialNames?: readonly string[];
  /** Hosts (or host:port) read_url may reach although their address is not public (`web.allow_hosts`). */
  readonly webAllowHosts: readonly string[];
  readonly webSearch: "duckduckgo" | "searxng" | "brave" | "exa" | "none";
  readonly webSearchUrl?: string;
  /** Whether an absolute real path is a log of thndrs' own, which no tool writes. */
  readonly keepsLog?: (path: string) => boolean;
  /** Looks up an API key for a search backend; never logged. */
  readonly credential: (name: string) => string | undefined;
};

export type ToolContext = {
  readonly workspace: Workspace;
  /** The environment of this process as config/ read it; children get a scrubbed copy. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly settings: ToolSettings;
  readonly background: BackgroundProcesses;
  /** What the model knows of files; without it nothing is remembered from call to call. */
  readonly seen?: SeenFiles;
  /** Files (relative to the root) that this run's policy closes to this tool: a search leaves them out. */
  readonly hides?: (path: string) => boolean;
  /** The call is only tried: as if the file that it changes held these bytes. Nothing is written. */
  readonly rehearsal?: Buffer;
};

/** A path a call touched: drives just-in-time project context (C4). Absolute and real where it exists. */
export type TouchedPath = {
  readonly path: string;
  readonly kind: "read" | "write" | "search" | "cwd" | "argument";
  /** For a whole-file read: hash of the bytes shown (`xxh64:…`); counts as delivery of an instruction file (C9.4). */
  readonly completeHash?: string;
};

export type ToolResult = {
  readonly status: ToolStatus;
  /** Text for the model; capped by the tool itself with the cut *said*, capped again as a last resort by agent/calls. */
  readonly text: string;
  readonly truncated: boolean;
  /** The text without what differs each time although nothing changed (how long it took); default: `text`. */
  readonly stable?: string;
  readonly effects: readonly Effect[];
  readonly touched: readonly TouchedPath[];
};

export interface Tool<Input = unknown> {
  readonly name: string;
  /** Begins with the name, under 450 characters, says when to use it and one limit. */
  readonly description: string;
  readonly effect: EffectKind;
  readonly input: ZodType<Input>;
  readonly example: Input;
  /** Never throws for a foreseeable reason; a throw is a bug. */
  run(input: Input, context: ToolContext): Promise<ToolResult>;
}

/** A failed result: what is wrong and what would work, written for a model. */
export function failed(text: string, extra: Partial<ToolResult> = {}): ToolResult {
  return { status: "failed", text, truncated: false, effects: [], touched: [], ...extra };
}

/** A result that says what was done, for a model. */
export function succeeded(text: string, extra: Partial<ToolResult> = {}): ToolResult {
  return { status: "ok", text, truncated: false, effects: [], touched: [], ...extra };
}
