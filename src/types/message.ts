/**
 * The conversation in thndrs' own words. Wire formats translate from and to these shapes; nothing here knows a provider.
 * Refuses: provider field names, storage formats, rendering.
 */

/** One call a model asked for. `arguments` is the JSON text exactly as the model wrote it (it may not parse). */
export type ToolCall = { readonly id: string; readonly name: string; readonly arguments: string };

/**
 * Reasoning state a provider wants back in the same run (signed thinking blocks, encrypted reasoning items).
 * Opaque to everybody but the wire format named in `wire`; other wires ignore it.
 */
export type Carry = { readonly wire: WireName; readonly items: readonly unknown[] };

export type WireName = "openai-chat" | "openai-responses" | "anthropic" | "replay" | "acp";

export type UserMessage = { readonly role: "user"; readonly text: string };
export type AssistantMessage = {
  readonly role: "assistant";
  readonly text: string;
  /** Plain reasoning text, for wires that echo it (`reasoning_content`). */
  readonly reasoning?: string;
  readonly carry?: Carry;
  /** The provider whose ids its calls have; undefined where nobody knows. */
  readonly from?: string;
  readonly calls: readonly ToolCall[];
};
export type ToolMessage = {
  readonly role: "tool";
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly failed: boolean;
};

/** Messages are never mutated once they are in a conversation: identity is what serialisation caches key on. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** What a provider is told of one tool. `parameters` is a JSON Schema object with keys in a stable order. */
export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/**
 * Token usage of one request. A missing field is unknown: never 0, never NaN.
 * `inputTokens` is inclusive (cache reads and writes are part of it), whatever the provider's own convention.
 */
export type Usage = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly costUsd?: number;
};
