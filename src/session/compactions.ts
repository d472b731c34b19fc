/**
 * Which summaries stand for which records, folded from `compaction` and `compaction_review` records (sessions.md, Records). Refuses:
 * making summaries, rebuilding a conversation.
 */
import type { CompactionRecord, StoredRecord } from "./records.ts";

/** `seq` is that of the record itself. */
type Compaction = { readonly record: CompactionRecord; readonly seq: number };

export class CompactionFold {
  /** By recovery handle, in the order in which they were written or, where somebody reviewed them, decided on. */
  readonly #all = new Map<string, Compaction>();

  add(record: StoredRecord & { readonly type: "compaction" | "compaction_review" }): void {
    const handle = record.recovery_handle;
    const known = this.#all.get(handle);
    this.#all.delete(handle);
    if (record.type === "compaction") this.#all.set(handle, { record, seq: record.seq });
    else if (known) this.#all.set(handle, { ...known, record: { ...known.record, review: record.review } });
  }

  /**
   * Those in force, oldest first: reviewed well, and not themselves inside a later one's range; and the last that waits for review,
   * unless a run that asks nobody has summarised the same since.
   */
  judge(): { readonly active: readonly Compaction[]; readonly pending: CompactionRecord | undefined } {
    const all = [...this.#all.values()];
    const standing = all.filter(
      (one, index) => !all.slice(index + 1).some(({ record }) => isAgreed(record) && covers(record, one)),
    );
    const active = standing.filter(({ record }) => isAgreed(record));
    return { active, pending: standing.findLast(({ record }) => record.review === "pending")?.record };
  }
}

/** Nobody objected, or nobody was to be asked. */
export function isAgreed({ review }: Pick<CompactionRecord, "review">): boolean {
  return review === "approved" || review === "not_required";
}

/** The later one stands for the summary itself, or for all that the summary stands for. */
function covers(later: CompactionRecord, { record, seq }: Compaction): boolean {
  const from = later.covered_start_seq;
  const to = later.covered_end_seq;
  return (from <= seq && seq <= to) || (from <= record.covered_start_seq && record.covered_end_seq <= to);
}
