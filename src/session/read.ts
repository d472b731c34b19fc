/**
 * The tolerant, streaming reader of session files: every valid record, in sequence order, and a tally of what was skipped.
 * Memory is bounded by one record plus the reorder window, whatever the size of the file. Refuses: writing, judging meaning.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { errnoOf } from "../base/file-problem.ts";
import { UserError } from "../base/user-error.ts";
import { LineSplitter, parseLine, parseObject } from "./lines.ts";
import { glance } from "./quick-check.ts";
import type { ReadRecord, RecordType } from "./records.ts";

/** Counts of what a reader met. `skipped` lines are lost to every projection; `foreign` ones are exported and marked. */
export type Tally = {
  records: number;
  /** Bad JSON, wrong shape, torn tails. */
  malformed: number;
  nulBlocks: number;
  /** Lines over `maxRecordBytes`. */
  oversized: number;
  /** Unknown `type` or a higher `schema_version`. */
  foreign: number;
};

type ReadOptions = {
  readonly signal?: AbortSignal;
  /** Longer lines are skipped and counted. Default 64 MiB. */
  readonly maxRecordBytes?: number;
  /** Only these types (others are neither validated nor counted where our own writer wrote them). */
  readonly only?: ReadonlySet<RecordType>;
};

const CHUNK_BYTES = 256 * 1024;
const MAX_RECORD_BYTES = 64 * 1024 * 1024;
const WINDOW_RECORDS = 4096;
/** Of all waiting lines together; see `Found`. */
const WINDOW_SIZE = 8 * 1024 * 1024;
/** How every record we write begins; inside a string its quotes would be escaped. */
const RECORD = '{"schema_version":';
const CANONICAL_TYPE = /^\{"schema_version":1,"seq":\d+,"time":"[^"]{1,40}","type":"([a-z_]+)"/;

/** All counts at zero; a reader fills it. */
export function newTally(): Tally {
  return { records: 0, malformed: 0, nulBlocks: 0, oversized: 0, foreign: 0 };
}

/** Lines and blocks that were skipped. */
export function skippedCount(tally: Tally): number {
  return tally.malformed + tally.nulBlocks + tally.oversized;
}

/** One line for a person about what was skipped, or undefined when nothing was. */
export function describeSkipped(tally: Tally): string | undefined {
  const parts: string[] = [];
  if (tally.malformed > 0) parts.push(`${tally.malformed} malformed line${tally.malformed === 1 ? "" : "s"}`);
  if (tally.nulBlocks > 0) parts.push(`${tally.nulBlocks} block${tally.nulBlocks === 1 ? "" : "s"} of NUL bytes`);
  if (tally.oversized > 0) parts.push(`${tally.oversized} oversized record${tally.oversized === 1 ? "" : "s"}`);
  return parts.length === 0 ? undefined : `skipped ${parts.join(", ")}`;
}

/**
 * A value, what a glance tells of it, and how long its line was: in UTF-16 units where it was read as text, in bytes where not. It
 * bounds memory roughly; counting the bytes of every line would cost more than that is worth.
 */
type Found = { readonly value: unknown; readonly seen: ReturnType<typeof glance>; readonly size: number };

/**
 * Yields batches of valid records in `seq` order (exactly for any file whose disorder fits the window of 4,096 records or
 * 8 Mi of size; later strays come as they are found). `tally` is filled while reading. Throws a UserError for a file that cannot be opened.
 */
export async function* readRecords(path: string, tally: Tally, options: ReadOptions = {}): AsyncGenerator<ReadRecord[]> {
  const file = await openForReading(path);
  const splitter = new LineSplitter(options.maxRecordBytes ?? MAX_RECORD_BYTES);
  const window = new ReorderWindow();
  let found: Found[] = [];
  const accept = (line: Buffer): void => {
    if (options.only !== undefined && isOtherType(line, options.only)) return;
    const parsed = parseLine(line);
    tally.malformed += parsed.malformed;
    tally.nulBlocks += parsed.nulBlocks;
    for (const value of parsed.values) found.push({ value, seen: glance(value), size: line.length });
  };
  const acceptLines = (text: string): void => {
    for (const line of text.split("\n")) {
      const value = options.only !== undefined && isOtherType(line, options.only) ? null : parseObject(line);
      if (value) found.push({ value, seen: glance(value), size: line.length });
      else if (value === undefined) accept(Buffer.from(line));
    }
  };
  let look: ((value: unknown) => ReadRecord | undefined) | undefined;
  const judge = async (): Promise<void> => {
    const values = found;
    found = [];
    if (look === undefined && values.some(({ seen }) => seen === "look closer")) {
      // Lazy door: what this program wrote itself is known at a glance.
      const { createClassifier } = await import("./record-schemas.ts");
      look = createClassifier();
    }
    for (const { value, seen, size } of values) {
      const read = seen === "look closer" ? look?.(value) : seen;
      if (read === undefined) tally.malformed++;
      else {
        tally.records++;
        if (!read.known) tally.foreign++;
        if (options.only === undefined || options.only.has(read.record.type as RecordType)) window.add(read, size);
      }
    }
  };
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let position = 0; ; ) {
      options.signal?.throwIfAborted();
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      splitter.push(chunk.subarray(0, bytesRead), accept, acceptLines);
      await judge();
      tally.oversized = splitter.oversized;
      const batch = window.take(options.only !== undefined);
      if (batch.length > 0) yield batch;
    }
    splitter.finish(accept);
    await judge();
    tally.oversized = splitter.oversized;
    const rest = window.drain();
    if (rest.length > 0) yield rest;
  } finally {
    await file.close();
  }
}

async function openForReading(path: string) {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (error) {
    const code = errnoOf(error);
    if (code !== "ENOENT" && code !== "ELOOP") throw new UserError(`Cannot read ${path}: ${code || String(error)}`);
  }
  throw new UserError(`No such session file: ${path}`);
}

/** Cheap refusal of lines our own writer wrote with a type nobody asked for. */
function isOtherType(line: Buffer | string, only: ReadonlySet<RecordType>): boolean {
  const isText = typeof line === "string";
  const type = CANONICAL_TYPE.exec(isText ? line.slice(0, 160) : line.toString("latin1", 0, 160))?.[1];
  if (type === undefined || only.has(type as RecordType)) return false;
  // A damaged line may hold a second record behind the first: only a line that ends like a record, and is one, is passed over.
  const last = isText ? line.charCodeAt(line.length - 1) : line[line.length - 1];
  return last === 125 && line.indexOf(RECORD, 1) === -1;
}

/** Puts records into `seq` order within a bounded window. In an undamaged file nothing ever waits in it. */
class ReorderWindow {
  #next = 0;
  #ready: ReadRecord[] = [];
  #waiting: { readonly read: ReadRecord; readonly size: number }[] = [];
  #waitingSize = 0;

  add(read: ReadRecord, size: number): void {
    const { seq } = read.record;
    if (seq < this.#next || (seq === this.#next && this.#waiting.length === 0)) {
      this.#release(read);
      return;
    }
    this.#waiting.push({ read, size });
    this.#waitingSize += size;
  }

  /** Records whose turn has come. `gaps`: missing numbers are expected, so nothing waits for them. */
  take(gaps: boolean): ReadRecord[] {
    const full = this.#waiting.length > WINDOW_RECORDS || this.#waitingSize > WINDOW_SIZE;
    if (this.#waiting.length > 0) this.#settle(gaps || full);
    const batch = this.#ready;
    this.#ready = [];
    return batch;
  }

  drain(): ReadRecord[] {
    return this.take(true);
  }

  #release(read: ReadRecord): void {
    this.#ready.push(read);
    if (read.record.seq >= this.#next) this.#next = read.record.seq + 1;
  }

  #settle(all: boolean): void {
    // Array.sort is stable: equal numbers keep the order of the file.
    this.#waiting.sort((a, b) => a.read.record.seq - b.read.record.seq);
    let taken = 0;
    for (const { read } of this.#waiting) {
      if (!all && read.record.seq > this.#next) break;
      this.#release(read);
      taken++;
    }
    this.#waiting.splice(0, taken);
    this.#waitingSize = this.#waiting.reduce((sum, entry) => sum + entry.size, 0);
  }
}
