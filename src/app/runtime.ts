/** The face of one open conversation: what ui/ and acp/ drive. Refuses: building one (open.ts does). */
import type { CompactionOutcome } from "../agent/compactor.ts";
import type { QueueKind, RunEvent, TurnOutcome } from "../types/event.ts";
import type { Message, ToolSpec, Usage } from "../types/message.ts";

/** What a request would hold (`--print-prompt`). */
export type Preview = { readonly system: string; readonly tools: readonly ToolSpec[]; readonly messages: readonly Message[] };

export type RunTotals = {
  readonly requests: number;
  readonly usage: Usage;
  readonly changedFiles: readonly string[];
};

/** One open conversation. ui/ (print, repl) and acp/ drive it through this and nothing else. */
export interface Runtime {
  readonly sessionId: string;
  /** Absolute path of the session file; undefined when ephemeral. */
  readonly sessionPath: string | undefined;
  /** `provider/id`. */
  readonly model: string;
  /** Real path of the workspace root. */
  readonly workspace: string;
  /** Why the session log could not be kept; undefined while it is. */
  readonly logFailure: string | undefined;
  subscribe(listener: (event: RunEvent) => void): () => void;
  /** Runs one turn to its end. Follow-ups queued meanwhile are not run by it: the caller submits them. */
  submit(text: string, signal?: AbortSignal): Promise<TurnOutcome>;
  /** What the next request would hold if `text` were submitted; nothing is sent or logged. */
  preview(text: string): Promise<Preview>;
  /** Queued input while a turn runs. Returns false when the audit record could not be written: the caller keeps the text. */
  queue(kind: QueueKind, text: string): boolean;
  /** Summarises the older part of the conversation; only between turns. */
  compact(guidance: string, signal?: AbortSignal): Promise<CompactionOutcome>;
  /** A summary that waits for a review. */
  readonly pendingCompaction: { readonly handle: string; readonly summary: string } | undefined;
  /** False when no summary waits. */
  reviewCompaction(review: "approved" | "rejected"): Promise<boolean>;
  /** Cancels the active turn; one `cancelled` record. */
  cancel(reason: string): void;
  totals(): RunTotals;
  /** Reaps children, flushes, unlocks. Idempotent. */
  close(): Promise<void>;
}
