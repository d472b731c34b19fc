/** Random identifiers from the platform's own source; `node:crypto` takes milliseconds to load. Refuses: secrets of any length policy. */

/** `bytes` random bytes as lower-case hex. */
export function randomHex(bytes: number): string {
  let text = "";
  // A UUID is 32 digits, of which the 13th and the 17th are not random: the first twelve are taken.
  while (text.length < bytes * 2) {
    const id = crypto.randomUUID();
    text += id.slice(0, 8) + id.slice(9, 13);
  }
  return text.slice(0, bytes * 2);
}
