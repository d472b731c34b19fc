/** The context of a recorded session as its log last told it. Refuses: looking at the workspace. */
import { DecisionFold, type Decisions } from "./decisions.ts";
import { readRecords, type Tally } from "./read.ts";
import type { ContextLedgerRecord, Envelope, RecordType } from "./records.ts";

export type LastLedger = {
  readonly ledger: (Envelope & ContextLedgerRecord) | undefined;
  readonly decisions: Decisions;
  /** Recovery handles of its summaries, oldest first; a rejected one too: its records are still there. */
  readonly handles: readonly string[];
};

const WANTED: ReadonlySet<RecordType> = new Set(["context_ledger", "context_pin", "context_drop", "compaction"]);

/** @throws UserError when the file cannot be read */
export async function readLastLedger(path: string, tally: Tally, signal?: AbortSignal): Promise<LastLedger> {
  let ledger: LastLedger["ledger"];
  const fold = new DecisionFold();
  const handles = new Set<string>();
  const options = { only: WANTED, ...(signal !== undefined && { signal }) };
  for await (const batch of readRecords(path, tally, options)) {
    for (const { known, record } of batch) {
      if (!known) continue;
      if (record.type === "context_ledger") ledger = record;
      else if (record.type === "context_pin" || record.type === "context_drop") fold.add(record);
      else if (record.type === "compaction") handles.add(record.recovery_handle);
    }
  }
  return { ledger, decisions: fold.finish(), handles: [...handles] };
}
