/**
 * Reads the stream of `rg --json` in bounded memory: records come as chunks of any size, and a record may be as long as
 * the longest line of the tree (S06). Refuses: running rg, deciding what is shown.
 */

/** One complete record's bytes, or what could be kept of an overlong one. */
export type RawRecord =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | {
      readonly kind: "long";
      /** The record's first bytes: type, path, the beginning of the line. */
      readonly head: Buffer;
      readonly lineNumber: number;
      /** Where the line begins in the file. */
      readonly absoluteOffset: number;
      /** Byte offsets of the first match in the line; absent for a context line. */
      readonly start?: number;
      readonly end?: number;
    };

/** Longer records are not held: their line is read from the file again, around the match. */
export const MAX_RECORD_BYTES = 131_072;

const NEWLINE = 10;
/** Inside a JSON string every quote is escaped, so these byte sequences occur only where they mean what they say. */
const AFTER_LINE = Buffer.from('},"line_number":');
const AFTER_MATCH = Buffer.from('},"start":');
/** Enough for the two numbers that follow a marker. */
const TAIL_BYTES = 80;

type RecordReader = { push(chunk: Uint8Array): void };

/** Calls `take` once per record, in order; an empty line is a record of no bytes. */
export function createRecordReader(take: (record: RawRecord) => void): RecordReader {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let long: LongRecord | undefined;

  const hold = (piece: Buffer): void => {
    if (long !== undefined) {
      long.push(piece);
      return;
    }
    held.push(piece);
    heldBytes += piece.length;
    if (heldBytes <= MAX_RECORD_BYTES) return;
    long = createLongRecord();
    for (const part of held) long.push(part);
    held = [];
    heldBytes = 0;
  };
  const endRecord = (last: Buffer): void => {
    if (long === undefined && heldBytes + last.length <= MAX_RECORD_BYTES) {
      const bytes = held.length === 0 ? last : Buffer.concat([...held, last]);
      held = [];
      heldBytes = 0;
      take({ kind: "whole", bytes });
      return;
    }
    hold(last);
    const record = long?.finish();
    long = undefined;
    if (record !== undefined) take(record);
  };
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let from = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
        endRecord(bytes.subarray(from, end));
        from = end + 1;
      }
      if (from < bytes.length) hold(bytes.subarray(from));
    },
  };
}

type LongRecord = { push(piece: Buffer): void; finish(): RawRecord | undefined };

/** Keeps the head, then looks for the two markers, holding no more than their length in between. */
function createLongRecord(): LongRecord {
  let head: Buffer = Buffer.alloc(0);
  const line = createMarkerSearch(AFTER_LINE);
  const match = createMarkerSearch(AFTER_MATCH);
  return {
    push(piece) {
      // Paths are a few KiB at most; the rest of the head is the fallback when the file cannot be read again.
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, piece.subarray(0, HEAD_BYTES - head.length)]);
      const rest = line.push(piece);
      if (rest !== undefined) match.push(rest);
    },
    finish() {
      const numbers = /^(\d+),"absolute_offset":(\d+)/.exec(line.tail());
      if (numbers === null) return undefined;
      const offsets = /^(\d+),"end":(\d+)/.exec(match.tail());
      const base = { kind: "long", head, lineNumber: Number(numbers[1]), absoluteOffset: Number(numbers[2]) } as const;
      return offsets === null ? base : { ...base, start: Number(offsets[1]), end: Number(offsets[2]) };
    },
  };
}

const HEAD_BYTES = 32_768;

/** Finds the first occurrence of a marker across pieces and keeps what follows it. `push` returns the bytes after it. */
function createMarkerSearch(marker: Buffer): { push(piece: Buffer): Buffer | undefined; tail(): string } {
  let carry: Buffer = Buffer.alloc(0);
  let tail: Buffer | undefined;
  return {
    push(piece) {
      if (tail !== undefined) {
        if (tail.length < TAIL_BYTES) tail = Buffer.concat([tail, piece.subarray(0, TAIL_BYTES - tail.length)]);
        return piece;
      }
      const joined = Buffer.concat([carry, piece.subarray(0, marker.length)]);
      const across = joined.indexOf(marker);
      const at = across >= 0 ? across - carry.length : piece.indexOf(marker);
      if (across < 0 && at < 0) {
        const end = piece.length >= marker.length ? piece : joined;
        carry = Buffer.from(end.subarray(Math.max(0, end.length - marker.length + 1)));
        return undefined;
      }
      const rest = piece.subarray(at + marker.length);
      tail = Buffer.from(rest.subarray(0, TAIL_BYTES));
      return rest;
    },
    tail: () => tail?.toString("latin1") ?? "",
  };
}
