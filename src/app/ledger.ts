/** The `context_ledger` record of a turn: everything in the context, its size and why it is there. Refuses: choosing. */
import type { LedgerItem, RunEvent, SourceInfo } from "../types/event.ts";
import type { Message } from "../types/message.ts";

/** Bytes of UTF-8 per token where nothing better is known (loop spec). */
export const BYTES_PER_TOKEN = 3.5;

export type Window = {
  readonly contextWindow: number;
  readonly maxOutput: number;
  readonly source: "static" | "configured" | "fallback";
};

/** Assumed when nothing is known of a model. */
export const FALLBACK_WINDOW: Window = { contextWindow: 128_000, maxOutput: 8_192, source: "fallback" };

export const TARGET = 0.8;

/** Tokens a text of `bytes` takes, rounded up. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
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

function item(kind: LedgerItem["kind"], id: string, bytes: number, state: string, reason: string): LedgerItem {
  return { id, kind, byteCount: bytes, tokenEstimate: estimateTokens(bytes), state, reason };
}

function sourceItem(source: SourceInfo): LedgerItem {
  return {
    id: `ctx_project_instruction_${Bun.hash.xxHash64(source.path).toString(16).padStart(16, "0")}`,
    kind: "project_instruction",
    path: source.path,
    scope: source.scope,
    contentHash: source.contentHash,
    byteCount: source.byteCount,
    tokenEstimate: estimateTokens(source.byteCount),
    state: source.state,
    reason: source.reason,
  };
}

/** Builds the event. `harnessBytes` is the system prompt plus the tool catalog. */
export function ledgerEvent(
  turnId: string,
  window: Window,
  threshold: number,
  harnessBytes: number,
  sources: readonly SourceInfo[],
  messages: readonly Message[],
): RunEvent {
  const transcript = messages.reduce((sum, message) => sum + messageBytes(message), 0);
  const available = Math.max(0, window.contextWindow - window.maxOutput);
  return {
    type: "context_ledger",
    turnId,
    items: [
      item("harness", "ctx_harness_prompt", harnessBytes, "visible", "harness_always_loaded"),
      ...sources.map(sourceItem),
      item("transcript", "ctx_transcript", transcript, "visible", "recent_transcript"),
    ],
    availableInput: available,
    target: Math.floor(available * TARGET),
    autoCompactionThreshold: Math.floor(available * threshold),
    used: estimateTokens(harnessBytes + transcript),
    limitSource: window.source,
  };
}
