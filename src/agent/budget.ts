/**
 * The token budget of a model (integrations.md, Compaction; issue: Long runs): what fits, when to make room. Estimates are
 * corrected by what the provider reports. Refuses: making room.
 */
import type { ProviderRequest } from "../provider/provider.ts";
import type { Message, ToolSpec, Usage } from "../types/message.ts";

/** Bytes of UTF-8 per token where nothing better is known (loop spec). */
export const BYTES_PER_TOKEN = 3.5;

/** Reported usage moves the estimate only within this range: a server that reports nonsense must not break the window. */
const MIN_BYTES_PER_TOKEN = 2;
const MAX_BYTES_PER_TOKEN = 5;
/** Beyond this the report is no count of this request: made up, or of something else. */
const PLAUSIBLE_BYTES_PER_TOKEN = [1, 8] as const;

export type Window = {
  readonly contextWindow: number;
  /** Reserved for the answer. */
  readonly maxOutput: number;
  readonly source: "static" | "configured" | "fallback";
};

/** Share of the available input that a conversation is brought back to. */
export const TARGET = 0.8;

/** What is assumed to fit, as a share of what did not. */
const OVERFLOW_SHARE = 0.9;

/** What a wire puts round a message, and round each call and result in it (ids, names of members), in bytes. */
const FRAME = { message: 16, call: 48, result: 40 } as const;

function frameBytes(message: Message): number {
  if (message.role === "assistant") return FRAME.message + message.calls.length * FRAME.call;
  return message.role === "tool" ? FRAME.result : FRAME.message;
}

/** UTF-8 size of what a message carries. */
export function messageBytes(message: Message): number {
  let bytes = Buffer.byteLength(message.text);
  if (message.role === "assistant") {
    bytes += Buffer.byteLength(message.reasoning ?? "");
    for (const call of message.calls) bytes += Buffer.byteLength(call.name) + Buffer.byteLength(call.arguments);
  }
  return bytes;
}

export type Budget = {
  /** Tokens of input that fit: the window minus the output reserve. */
  readonly available: number;
  readonly target: number;
  readonly threshold: number;
  /** False while the window is only assumed: then a request that seems too long is sent all the same. */
  readonly known: boolean;
  tokens(bytes: number): number;
  bytesPerToken(): number;
  /** UTF-8 size of messages with what a request puts round them; each one is measured once. */
  bytes(messages: readonly Message[]): number;
  /** Bytes of a request that are there whatever the conversation holds. */
  fixed(request: Pick<ProviderRequest, "system" | "tools">): number;
  /** Estimated tokens of a request. */
  measure(fixedBytes: number, messages: readonly Message[]): number;
  /** The provider refused a request of `bytes` as too long: the window is smaller than we thought. */
  overflowed(bytes: number): void;
  /** Learns from a request of `bytes` whose usage was reported. */
  learn(bytes: number, usage: Usage): void;
};

/** `threshold` is a share (0.92). */
export function createBudget(window: Window, threshold: number): Budget {
  let available = Math.max(1, window.contextWindow - window.maxOutput);
  const sizes = new WeakMap<Message, number>();
  const catalogs = new WeakMap<readonly ToolSpec[], number>();
  let known = window.source !== "fallback";
  let bytesPerToken = BYTES_PER_TOKEN;
  const size = (message: Message): number => {
    let bytes = sizes.get(message);
    if (bytes === undefined) {
      bytes = messageBytes(message) + frameBytes(message);
      sizes.set(message, bytes);
    }
    return bytes;
  };
  const sum = (messages: readonly Message[]): number => messages.reduce((total, message) => total + size(message), 0);
  const tokens = (bytes: number): number => Math.ceil(bytes / bytesPerToken);
  return {
    get available() {
      return available;
    },
    get target() {
      return Math.floor(available * TARGET);
    },
    get threshold() {
      return Math.floor(available * threshold);
    },
    tokens,
    bytesPerToken: () => bytesPerToken,
    bytes: sum,
    fixed({ system, tools }) {
      const catalog = catalogs.get(tools) ?? Buffer.byteLength(JSON.stringify(tools));
      catalogs.set(tools, catalog);
      return Buffer.byteLength(system) + catalog;
    },
    measure: (fixed, messages) => tokens(fixed + sum(messages)),
    get known() {
      return known;
    },
    overflowed(bytes) {
      known = true;
      available = Math.max(1, Math.min(available, Math.floor(tokens(bytes) * OVERFLOW_SHARE)));
    },
    learn(bytes, usage) {
      if (usage.inputTokens === undefined || usage.inputTokens <= 0) return;
      const reported = bytes / usage.inputTokens;
      const [least, most] = PLAUSIBLE_BYTES_PER_TOKEN;
      if (reported < least || reported > most) return;
      bytesPerToken = Math.min(MAX_BYTES_PER_TOKEN, Math.max(MIN_BYTES_PER_TOKEN, reported));
    },
  };
}
