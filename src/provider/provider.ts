/**
 * The contract every model backend keeps (loop-and-providers.md, Provider contract). Floor 2: knows no tools, no sessions.
 */
import type { FailureClass } from "../types/event.ts";
import type { Carry, Message, ToolCall, ToolSpec, Usage, WireName } from "../types/message.ts";

export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** One request. Messages are append-only between requests of a conversation; the same object means the same bytes. */
export type ProviderRequest = {
  /** The provider's own model id (what follows the first `/`). */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  readonly messages: readonly Message[];
  /** Prompt-cache key: the session id. */
  readonly sessionId: string;
  readonly reasoningEffort?: ReasoningEffort;
  readonly maxOutputTokens?: number;
  /** JSON Schema the final answer must satisfy; sent where the wire can ask for it. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
};

export type StopReason = "end" | "tool_calls" | "length" | "refusal";

/** What a stream says. Exactly one `stop` or `failure` ends it; a started stream never throws. */
export type ProviderEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A complete call, or, directly before `stop length`, a call whose `arguments` may be cut. */
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | { readonly type: "usage"; readonly usage: Usage }
  /** Everything this stream said so far is void; it starts over after `delayMs` (retry policy). */
  | {
      readonly type: "retrying";
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly failure: FailureClass;
      readonly message: string;
    }
  | {
      readonly type: "stop";
      readonly reason: StopReason;
      /** The server's word for why, where nobody knows it. */
      readonly unknown?: string;
      readonly carry?: Carry;
    }
  | ProviderFailure;

export type ProviderFailure = {
  readonly type: "failure";
  readonly class: FailureClass;
  /** One line for a person, redacted; names host and status, never headers or keys. */
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly status?: number;
  /** What of the request the server did not take, where another form of it may do. */
  readonly refuses?: "order";
};

export interface Provider {
  /** Preset or configured name (`openai`, `ollama`, `replay`). */
  readonly name: string;
  readonly wire: WireName;
  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<ProviderEvent>;
  /** A request will follow at once: its connection may be opened meanwhile. Sends nothing, promises nothing, never throws. */
  connect?(): void;
}

/** What is known of a model; unknown stays undefined. Prices in US dollars per million tokens. */
export type ModelInfo = {
  readonly id: string;
  readonly contextWindow?: number;
  readonly maxOutput?: number;
  readonly price?: { readonly input: number; readonly output: number; readonly cacheRead?: number; readonly cacheWrite?: number };
  readonly vision?: boolean;
};
