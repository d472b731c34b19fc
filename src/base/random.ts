/** Random identifiers from the platform's own source; `node:crypto` takes milliseconds to load. Refuses: secrets of any length policy. */

/** `bytes` random bytes as lower-case hex. */
export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  let text = "";
  for (let at = 0; at < random.length; at++) text += (random[at] ?? 0).toString(16).padStart(2, "0");
  return text;
}
