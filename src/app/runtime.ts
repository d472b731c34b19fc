/** Builds a Runtime from a Config and joins the rooms; holds no logic of its own. */
import type { QueueKind, RunEvent } from "../types/event.ts";
import type { Usage } from "../types/message.ts";

export type TurnStatus = "ok" | "failed" | "cancelled" | "limit" | "policy" | "timeout";

/** How one turn ended. */
export type TurnOutcome = {
  readonly status: TurnStatus;
  /** The final answer ("" when there is none). */
  readonly text: string;
  readonly error?: { readonly class: string; readonly message: string };
  /** Requests made in this turn. */
  readonly requests: number;
};

export type RunTotals = {
  readonly requests: number;
  readonly usage: Usage;
  readonly changedFiles: readonly string[];
};

/** One open conversation. ui/ (print, repl) and acp/ drive it through this and nothing else. */
export interface Runtime {
  readonly sessionId: string;
  /** Absolute path of the session file; undefined when ephemeral. */
  readonly sessionPath?: string;
  readonly model: string;
  subscribe(listener: (event: RunEvent) => void): () => void;
  /** Runs one turn to its end. Follow-ups queued meanwhile are not run by it: the caller submits them. */
  submit(text: string, signal?: AbortSignal): Promise<TurnOutcome>;
  /** Queued input while a turn runs. Returns false when the audit record could not be written: the caller keeps the text. */
  queue(kind: QueueKind, text: string): boolean;
  /** Cancels the active turn; one `cancelled` record. */
  cancel(reason: string): void;
  totals(): RunTotals;
  /** Reaps children, flushes, unlocks. Idempotent. */
  close(): Promise<void>;
}
