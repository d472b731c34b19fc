/** Content hashes. One form everywhere: `xxh64:` + 16 lower-case hex digits (sessions.md). */

/** Hash of raw bytes or of a string's UTF-8 bytes. */
export function contentHash(data: Uint8Array | string): string {
  return `xxh64:${Bun.hash.xxHash64(data).toString(16).padStart(16, "0")}`;
}
