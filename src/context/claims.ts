/** Files that the conversation holds because the model has read them whole (C9.4, C11). Refuses: reading, delivering. */
import type { Entry, Ledger } from "./ledger.ts";

/** Reading such a file brings its text into the conversation, not into force. */
const WITHHELD: ReadonlySet<string> = new Set(["blocked", "dropped"]);

/** The conversation holds the file in its current state. */
export function claimRead(ledger: Ledger, entry: Entry, reason = "read whole by the model"): Entry {
  entry.claim = { hash: entry.contentHash, kind: "text" };
  entry.state = "visible";
  entry.truncated = false;
  entry.heldBytes = entry.byteCount;
  entry.twinOf = undefined;
  entry.reason = reason;
  ledger.use(entry);
  return entry;
}

/** Instruction files that are known and were read whole just now; `complete`: path → hash of what was read. */
export function claimReads(ledger: Ledger, complete: ReadonlyMap<string, string>): Entry[] {
  const read: Entry[] = [];
  for (const [path, hash] of complete) {
    const entry = ledger.get(path);
    if (entry && entry.contentHash === hash && entry.claim?.kind !== "text" && !WITHHELD.has(entry.state))
      read.push(claimRead(ledger, entry));
  }
  return read;
}
