/**
 * Bytes of a program's output → its lines, in bounded memory: a line over the cap is swallowed to its end, and only its two edges
 * are kept. Refuses: decoding, meaning.
 */

/** Kept of the beginning and of the end of a swallowed line. */
const EDGE_BYTES = 512;

export type ByteLines = {
  push(chunk: Uint8Array): void;
  /** The output has ended; a last line without a newline still counts. */
  finish(): void;
};

type Receiver = {
  /** Bytes a line may have. */
  readonly most: number;
  /** A line without its newline; empty ones are left out. */
  readonly line: (bytes: Uint8Array) => void;
  readonly tooLong: (head: Buffer, tail: Buffer) => void;
};

/** Calls back once a line, in order. */
export function createByteLines({ most, line, tooLong }: Receiver): ByteLines {
  let parts: Uint8Array[] = [];
  let size = 0;
  let head: Buffer | undefined;
  let tail = Buffer.alloc(0);

  const keep = (bytes: Uint8Array): void => {
    if (bytes.length === 0) return;
    if (head) {
      tail = Buffer.concat([tail, bytes]).subarray(-EDGE_BYTES);
      return;
    }
    parts.push(bytes);
    size += bytes.length;
    if (size <= most) return;
    const whole = Buffer.concat(parts);
    head = Buffer.from(whole.subarray(0, EDGE_BYTES));
    tail = Buffer.from(whole.subarray(-EDGE_BYTES));
    parts = [];
  };
  const end = (): void => {
    const [only] = parts;
    if (head) tooLong(head, tail);
    else if (size > 0) line(parts.length === 1 && only ? only : Buffer.concat(parts));
    parts = [];
    size = 0;
    head = undefined;
  };
  return {
    push(chunk) {
      let start = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
        keep(chunk.subarray(start, at));
        end();
        start = at + 1;
      }
      // A copy: whoever gave the chunk may use its memory again, and the whole of it is not held for the sake of a tail.
      if (start < chunk.length) keep(new Uint8Array(chunk.subarray(start)));
    },
    finish() {
      if (size > 0) end();
    },
  };
}
