/** Lines of a byte buffer by offset. A line ends at its line feed. Refuses: decoding. */

const LF = 10;

/** Offset of the first byte of the line that `offset` lies on. */
export function lineStartBefore(bytes: Buffer, offset: number): number {
  return offset === 0 ? 0 : bytes.lastIndexOf(LF, offset - 1) + 1;
}

/** Offset of the next line feed, or the length when there is none. */
export function lineEndAfter(bytes: Buffer, offset: number): number {
  const found = bytes.indexOf(LF, offset);
  return found === -1 ? bytes.length : found;
}

/** Line feeds in `bytes`. */
export function countLineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}

/** 1-based number of the line that `offset` lies on. */
export function lineNumberAt(bytes: Buffer, offset: number): number {
  return countLineFeeds(bytes.subarray(0, offset)) + 1;
}
