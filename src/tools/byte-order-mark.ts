/** The mark some programs put before a text to say how it is encoded. Refuses: decoding. */

/** That of UTF-8: three bytes that are no part of the text. */
export const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The encoding a text says it is in by its first bytes; undefined for one without a mark. */
export function markedEncoding(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}
