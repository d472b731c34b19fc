/** The `context_ledger` record of a turn: everything in the context, its size and why it is there. Refuses: choosing. */
import { BYTES_PER_TOKEN, messageBytes, TARGET, type Window } from "../agent/budget.ts";
import type { LedgerItem, RunEvent, SourceInfo } from "../types/event.ts";
import type { Message } from "../types/message.ts";

/** Assumed when nothing is known of a model. */
export const FALLBACK_WINDOW: Window = { contextWindow: 128_000, maxOutput: 8_192, source: "fallback" };

/** Tokens a text of `bytes` takes, rounded up. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
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
