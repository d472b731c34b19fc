/**
 * Which summaries stand for which records, folded from `compaction` and `compaction_review` records (sessions.md, Records). Refuses:
 * making summaries, rebuilding a conversation.
 */
import type { CompactionRecord, StoredRecord } from "./records.ts";

/** `seq` is that of the record itself. */
type Compaction = { readonly record: CompactionRecord; readonly seq: number };

export class CompactionFold {
  /** By recovery handle, in the order of the log. */
  readonly #all = new Map<string, Compaction>();

  add(record: StoredRecord & { readonly type: "compaction" | "compaction_review" }): void {
    if (record.type === "compaction") {
      this.#all.set(record.recovery_handle, { record, seq: record.seq });
      return;
    }
    const reviewed = this.#all.get(record.recovery_handle);
    if (reviewed === undefined) return;
    this.#all.set(record.recovery_handle, { ...reviewed, record: { ...reviewed.record, review: record.review } });
  }

  /** Those in force, oldest first: reviewed well, and not themselves inside a later one's range; and the last that waits for review. */
  judge(): { readonly active: readonly Compaction[]; readonly pending: CompactionRecord | undefined } {
    const all = [...this.#all.values()];
    const agreed = all.filter(({ record }) => record.review === "approved" || record.review === "not_required");
    const active = agreed.filter((one, index) => !agreed.slice(index + 1).some(({ record }) => covers(record, one)));
    return { active, pending: all.findLast(({ record }) => record.review === "pending")?.record };
  }
}

/** The later one stands for the summary itself, or for all that the summary stands for. */
function covers(later: CompactionRecord, { record, seq }: Compaction): boolean {
  const from = later.covered_start_seq;
  const to = later.covered_end_seq;
  return (from <= seq && seq <= to) || (from <= record.covered_start_seq && record.covered_end_seq <= to);
}
