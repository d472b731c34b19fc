/**
 * What a recovery handle stands for: the records of a range, as words, bounded and redacted (integrations.md, Compaction).
 * Refuses: replaying anything, putting anything back into a conversation.
 */
import { UserError } from "../base/user-error.ts";
import { describeRecord } from "./describe.ts";
import { newTally, readRecords } from "./read.ts";
import type { ReadRecord, RecordType } from "./records.ts";

export const MAX_RECOVERED_BYTES = 64 * 1024;
/** One record of a long range is shown at most this far. */
const LEAST_RECORD_BYTES = 2 * 1024;
/** Handles that an error names. */
const MAX_NAMED = 12;

/** Accounting and copies of what stands elsewhere are no evidence. */
const NO_EVIDENCE: ReadonlySet<string> = new Set<RecordType>(["context_ledger", "prompt_metadata", "usage", "context_recovery"]);

type Range = { readonly start: number; readonly end: number };

export type Recovered = Range & {
  /** `records 3-41`. */
  readonly handle: string;
  /** At most 64 KiB of UTF-8; a last line names the range that was left out, where there is one. */
  readonly text: string;
  readonly records: number;
  readonly truncated: boolean;
};

type RecoverOptions = { readonly redact: (text: string) => string; readonly signal?: AbortSignal };

/** `records 3-41`, as summaries and trimmed results name it; `3-41` and `records 7` are understood too. */
export function parseHandle(handle: string): Range | undefined {
  const [, from, to] = /^\s*(?:records?\s+)?(\d{1,15})(?:\s*[-–]\s*(\d{1,15}))?\s*$/i.exec(handle) ?? [];
  if (from === undefined) return undefined;
  const range = { start: Number(from), end: Number(to ?? from) };
  return range.start <= range.end ? range : undefined;
}

/** At most `limit` bytes of a text: head and tail, and how much is missing between them. */
function clip(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  const half = Math.floor((limit - 40) / 2);
  const head = bytes
    .subarray(0, half)
    .toString()
    .replace(/\uFFFD{1,3}$/, "");
  const tail = bytes
    .subarray(bytes.length - half)
    .toString()
    .replace(/^\uFFFD{1,3}/, "");
  return `${head}\n[… ${bytes.length - 2 * half} bytes …]\n${tail}`;
}

function words(read: ReadRecord, redact: (text: string) => string, limit: number): string {
  const { seq, time, type } = read.record;
  const said = read.known ? redact(describeRecord(read.record)).toWellFormed() : "[a record of a newer program]";
  return `#${seq} ${time} ${type}\n${clip(said, limit)}`;
}

class Evidence {
  readonly #parts: string[] = [];
  readonly #range: Range;
  readonly #redact: (text: string) => string;
  readonly #limit: number;
  #bytes = 0;
  records = 0;
  last = -1;
  /** Where it stopped for want of room. */
  stopped: number | undefined;
  readonly handles = new Set<string>();

  constructor(range: Range, redact: (text: string) => string) {
    this.#range = range;
    this.#redact = redact;
    const share = Math.floor((MAX_RECOVERED_BYTES - 300) / (range.end - range.start + 1)) - 100;
    this.#limit = Math.max(LEAST_RECORD_BYTES, share);
  }

  /** The whole range has been seen. */
  get over(): boolean {
    return this.last > this.#range.end;
  }

  add(read: ReadRecord): void {
    const { seq, type } = read.record;
    this.last = Math.max(this.last, seq);
    if (read.known && read.record.type === "compaction") this.handles.add(read.record.recovery_handle);
    if (seq < this.#range.start || seq > this.#range.end) return;
    this.records++;
    if (NO_EVIDENCE.has(type) || this.stopped !== undefined) return;
    const part = words(read, this.#redact, this.#limit);
    const size = Buffer.byteLength(part) + 2;
    if (this.#bytes + size > MAX_RECOVERED_BYTES - 200) {
      this.stopped = seq;
      return;
    }
    this.#bytes += size;
    this.#parts.push(part);
  }

  text(): string {
    const rest = this.stopped === undefined ? [] : [`[… the rest: records ${this.stopped}-${this.#range.end}]`];
    return [...this.#parts, ...rest].join("\n\n");
  }
}

function unknown(handle: string, evidence: Evidence): UserError {
  const known = [...evidence.handles].slice(-MAX_NAMED);
  const names = known.length === 0 ? "it has no summary yet" : `its summaries are ${known.map((one) => `"${one}"`).join(", ")}`;
  const last = evidence.last < 0 ? "" : `, its last record is ${evidence.last}`;
  return new UserError(`There is no recovery handle ${JSON.stringify(handle)} in this session: ${names}${last}.`);
}

/**
 * @param path the session file
 * @throws UserError when the handle is none, or stands for records that this session does not have
 */
export async function recoverRange(path: string, handle: string, options: RecoverOptions): Promise<Recovered> {
  const range = parseHandle(handle);
  const evidence = new Evidence(range ?? { start: Number.MAX_SAFE_INTEGER, end: Number.MAX_SAFE_INTEGER }, options.redact);
  const reading = readRecords(path, newTally(), options.signal === undefined ? {} : { signal: options.signal });
  for await (const batch of reading) {
    for (const read of batch) evidence.add(read);
    if (evidence.over) break;
  }
  if (!range || evidence.records === 0 || evidence.last < range.end) throw unknown(handle, evidence);
  return {
    ...range,
    handle: `records ${range.start}-${range.end}`,
    text: evidence.text(),
    records: evidence.records,
    truncated: evidence.stopped !== undefined,
  };
}
