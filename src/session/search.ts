/** Searches the words of sessions: prompts, answers, summaries, titles, tool arguments and outputs, paths. Case-insensitive. */
import { describeRecord } from "./describe.ts";
import type { SessionSummary } from "./list.ts";
import { newTally, readRecords } from "./read.ts";
import type { RecordType } from "./records.ts";

export type SearchHit = {
  readonly session: SessionSummary;
  /** Matching records. */
  readonly count: number;
  /** The first match with some words around it. */
  readonly seq: number;
  readonly type: string;
  readonly snippet: string;
};

const SEARCHED: ReadonlySet<RecordType> = new Set<RecordType>([
  "user",
  "assistant_finished",
  "compaction",
  "session_meta",
  "session_renamed",
  "tool_started",
  "tool_finished",
  "file_write",
  "failed",
]);
/** Words before the match are few, so that it is in sight in a narrow terminal. */
const BEFORE = 24;
const AFTER = 72;

/** The session's first match and the number of matching records; undefined when there is none. */
export async function searchSession(
  session: SessionSummary,
  text: string,
  redact: (text: string) => string,
  signal?: AbortSignal,
): Promise<SearchHit | undefined> {
  // By one pattern for both questions: lower case can be longer than what it is of, and a place in it then is another place.
  const needle = new RegExp(RegExp.escape(text), "iu");
  let first: { seq: number; type: string; snippet: string } | undefined;
  let count = 0;
  const options = { only: SEARCHED, ...(signal === undefined ? {} : { signal }) };
  for await (const batch of readRecords(session.path, newTally(), options)) {
    for (const read of batch) {
      if (!read.known) continue;
      // Redacted first: a search must not confirm what a stored secret begins with.
      const words = redact(read.record.type === "session_meta" ? read.record.title : describeRecord(read.record));
      const found = needle.exec(words);
      if (found === null) continue;
      count++;
      first ??= { seq: read.record.seq, type: read.record.type, snippet: around(words, found.index, found[0].length) };
    }
  }
  return first === undefined ? undefined : { session, count, ...first };
}

function around(words: string, at: number, length: number): string {
  const start = Math.max(0, at - BEFORE);
  const end = Math.min(words.length, at + length + AFTER);
  const cut = words.slice(start, end).toWellFormed().replace(/\s+/g, " ").trim();
  return `${start > 0 ? "…" : ""}${cut}${end < words.length ? "…" : ""}`;
}
