/** A fixed amount of the newest bytes (H17): what is older is counted and forgotten. Refuses: decoding. */

export type ByteRing = {
  push(bytes: Uint8Array): void;
  /**
   * Hands over what came since the last call and how many bytes before it were lost. `holdBack` may keep some bytes at
   * the end for the next call.
   */
  take(holdBack: (bytes: Uint8Array) => number): { readonly bytes: Uint8Array; readonly dropped: number };
};

const FIRST_BYTES = 4096;

/** Memory grows with what arrives, up to `capacity`. */
export function createByteRing(capacity: number): ByteRing {
  let store = new Uint8Array(Math.min(FIRST_BYTES, capacity));
  let start = 0;
  let length = 0;
  let dropped = 0;

  const read = (): Uint8Array => {
    const bytes = new Uint8Array(length);
    const first = Math.min(length, store.length - start);
    bytes.set(store.subarray(start, start + first));
    bytes.set(store.subarray(0, length - first), first);
    return bytes;
  };

  const grow = (needed: number): void => {
    if (needed <= store.length) return;
    const larger = new Uint8Array(Math.min(capacity, Math.max(needed, store.length * 2)));
    larger.set(read());
    store = larger;
    start = 0;
  };

  return {
    push(bytes) {
      const fresh = bytes.length > capacity ? bytes.subarray(bytes.length - capacity) : bytes;
      dropped += bytes.length - fresh.length;
      grow(Math.min(capacity, length + fresh.length));
      const lost = Math.max(0, length + fresh.length - store.length);
      dropped += lost;
      start = (start + lost) % store.length;
      length -= lost;
      const at = (start + length) % store.length;
      const first = Math.min(fresh.length, store.length - at);
      store.set(fresh.subarray(0, first), at);
      store.set(fresh.subarray(first), 0);
      length += fresh.length;
    },
    take(holdBack) {
      let bytes = read();
      const lost = dropped;
      // A character whose first bytes were lost is not one.
      let skip = 0;
      while (lost > 0 && skip < 3 && ((bytes[skip] ?? 0) & 0xc0) === 0x80) skip++;
      bytes = bytes.subarray(skip);
      const held = holdBack(bytes);
      store = new Uint8Array(Math.min(FIRST_BYTES, capacity));
      start = 0;
      length = 0;
      dropped = 0;
      this.push(bytes.subarray(bytes.length - held));
      return { bytes: bytes.subarray(0, bytes.length - held), dropped: lost + skip };
    },
  };
}
