/** Looks at the end of a session file without reading the rest: is the last line torn, what is the highest seq, a title given late. */
import { fstatSync, readSync } from "node:fs";
import { object } from "../base/json.ts";
import { LineSplitter, parseLine } from "./lines.ts";

export type Tail = {
  /** The last byte is not a newline. */
  readonly torn: boolean;
  /** Highest `seq` of the valid lines seen; -1 when there are none. */
  readonly highestSeq: number;
  /** The last title that was given, where it stands near the end, and how many bytes follow it. */
  readonly renamed?: { readonly title: string; readonly bytesSince: number };
};

/** A hand-made number near the end of what a number can hold must not use up the ones after it. */
const SEQ_LIMIT = 2 ** 48;
const FIRST_WINDOW = 256 * 1024;
/** The largest stretch that is held at once, and the longest record (as for readers). */
const LAST_WINDOW = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Reads backwards in growing windows until one holds a valid record, so a file of any size costs a quarter of a megabyte.
 * A file up to that size is read whole; one whose end is damaged for longer than any record is gone through from its beginning.
 */
export function examineTail(fd: number): Tail {
  const size = fstatSync(fd).size;
  if (size === 0) return { torn: false, highestSeq: -1 };
  const torn = readAt(fd, size - 1, 1).at(0) !== 10;
  for (let window = FIRST_WINDOW; window <= LAST_WINDOW; window *= 16) {
    const bytes = readAt(fd, Math.max(0, size - window), Math.min(window, size));
    const highestSeq = highestSeqIn(bytes, window < size);
    if (highestSeq >= 0 || window >= size) return { torn, highestSeq, ...lastTitle(bytes) };
  }
  return { torn, highestSeq: highestSeqOf(fd) };
}

/** Of the whole file, one line at a time. */
function highestSeqOf(fd: number): number {
  const splitter = new LineSplitter(LAST_WINDOW);
  let highest = -1;
  const look = (line: Buffer): void => {
    highest = Math.max(highest, seqOfLine(line));
  };
  for (let position = 0; ; ) {
    const chunk = readAt(fd, position, CHUNK_BYTES);
    if (chunk.length === 0) break;
    splitter.push(chunk, look);
    position += chunk.length;
  }
  splitter.finish(look);
  return highest;
}

/** Reads up to `length` bytes at `position`; fewer only at the end of the file. */
export function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(fd, bytes, filled, length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** `cut`: what comes before the first line end is the rest of a line; an object in its middle is no record. */
function highestSeqIn(bytes: Buffer, cut: boolean): number {
  let highest = -1;
  const begin = cut ? bytes.indexOf(10) + 1 : 0;
  if (cut && begin === 0) return -1;
  for (let start = begin; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline === -1 ? bytes.length : newline;
    highest = Math.max(highest, seqOfLine(bytes.subarray(start, end)));
    start = end + 1;
  }
  return highest;
}

const RENAMED = '"type":"session_renamed"';

function lastTitle(bytes: Buffer): Pick<Tail, "renamed"> {
  for (let at = bytes.lastIndexOf(RENAMED); at !== -1; at = at === 0 ? -1 : bytes.lastIndexOf(RENAMED, at - 1)) {
    const newline = bytes.indexOf(10, at);
    const end = newline === -1 ? bytes.length : newline;
    for (const value of parseLine(bytes.subarray(bytes.lastIndexOf(10, at) + 1, end)).values.toReversed()) {
      const { type, title } = object(value);
      if (type === "session_renamed" && typeof title === "string") return { renamed: { title, bytesSince: bytes.length - end } };
    }
  }
  return {};
}

/** What our own writer begins a record with, up to its seq. */
const OWN_BEGIN = /^\{"schema_version":\d{1,9},"seq":(\d{1,15}),"time":"/;
const SEQ = '"seq":';
/** Bytes that hold such a beginning. */
const OWN_BYTES = 80;
const CLOSE = 125;

/**
 * Of a line that begins and ends as our own writer's do. Damage in the middle is not looked for: then the number of a record
 * that was lost is passed over, which hurts nobody. Undefined where the line has to be read.
 */
function ownSeq(line: Buffer): number | undefined {
  if (line.at(-1) !== CLOSE) return undefined;
  const [, seq] = OWN_BEGIN.exec(line.toString("latin1", 0, OWN_BYTES)) ?? [];
  if (seq === undefined) return undefined;
  // Two records on one line, where a line end was lost. In a text the quotes are escaped.
  const another = line.indexOf(SEQ, line.indexOf(SEQ) + SEQ.length) !== -1;
  return another ? undefined : Number(seq);
}

/** Highest seq of the records one line holds; -1 when it holds none. */
function seqOfLine(line: Buffer): number {
  const own = ownSeq(line);
  if (own !== undefined && own < SEQ_LIMIT) return own;
  let highest = -1;
  for (const value of parseLine(line).values) {
    if (typeof value !== "object" || value === null) continue;
    const { seq, type, schema_version } = value as Record<string, unknown>;
    if (typeof type !== "string" || typeof schema_version !== "number" || typeof seq !== "number") continue;
    if (Number.isSafeInteger(seq) && seq < SEQ_LIMIT) highest = Math.max(highest, seq);
  }
  return highest;
}
