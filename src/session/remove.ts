/** Removes sessions, one by one, never one that a live process writes. Refuses: anything but the session's own files. */
import { unlinkSync } from "node:fs";
import { sessionFile } from "./ids.ts";
import type { SessionSummary } from "./list.ts";
import { acquireLock } from "./lock.ts";

/** Deletes a session's file. Throws a UserError when another process writes it. */
export function deleteSession(dir: string, id: string): void {
  // Held while the file goes, so that nobody resumes it in between.
  const lock = acquireLock(dir, id);
  try {
    unlinkSync(sessionFile(dir, id));
  } finally {
    lock.release();
  }
}

type PruneRules = {
  /** Only sessions last used longer ago than this (milliseconds). */
  readonly olderThan?: number;
  /** The newest so many are kept whatever their age. */
  readonly keep?: number;
};

/** What the rules remove, oldest first. `sessions` is newest first. Without a readable time the file's own counts. */
export function selectForPrune(sessions: readonly SessionSummary[], rules: PruneRules, now: Date): SessionSummary[] {
  const { olderThan, keep = 0 } = rules;
  const limit = olderThan === undefined ? Number.POSITIVE_INFINITY : now.getTime() - olderThan;
  return sessions
    .slice(keep)
    .filter((session) => {
      const updated = Date.parse(session.updated);
      return (Number.isNaN(updated) ? session.modified : updated) < limit;
    })
    .reverse();
}
