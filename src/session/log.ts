/** The append-only writer of one session file (sessions.md, File). The only place that writes JSONL (house rule 2). */
import type { SessionRecord } from "./records.ts";

export interface SessionLog {
  readonly id: string;
  readonly path: string;
  /** Appends one record as one complete line. Returns false when the log is broken (already reported once through `onBroken`). */
  append(record: SessionRecord): boolean;
  /** fsync; at the end of each turn and before a side effect is reported as done. */
  sync(): void;
  /** Syncs, closes, removes the lock. Idempotent. */
  close(): void;
}
