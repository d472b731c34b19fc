/** One entry per file (C2): two names of one file are one source. Refuses: trusting a number alone, since inodes are used again. */
import { stat } from "../base/async-fs.ts";
import type { Entry, Ledger, NewEntry } from "./ledger.ts";

/** The entry of a file: the one of its first name where that still names this very file, else the one of `fresh.path`. */
export async function entryFor(ledger: Ledger, identity: string, fresh: NewEntry): Promise<Entry> {
  const alias = ledger.aliasOf(identity, fresh.path);
  if (alias !== undefined) {
    const info = await stat(alias).catch(() => undefined);
    const entry = ledger.get(alias);
    if (entry && info && `${info.dev}:${info.ino}` === identity) return entry;
  }
  ledger.identify(identity, fresh.path);
  return ledger.put(fresh);
}
