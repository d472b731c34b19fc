/** Random identifiers from the platform's own source; `node:crypto` takes milliseconds to load. Refuses: secrets of any length policy. */

/** `bytes` random bytes as lower-case hex. */
export function randomHex(bytes: number): string {
  return crypto.getRandomValues(Buffer.alloc(bytes)).toString("hex");
}
