/** Session titles: the first line of the first prompt, cleaned, 80 characters. */

const TITLE_LENGTH = 80;
/** Nearly every prompt: the sets of Unicode need not be built for it. */
const PLAIN = /^[\x20-\x7e]*$/;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]+/gu;

/** One line, no control or invisible characters, at most 80 characters, never cut inside a surrogate pair. */
export function cleanTitle(prompt: string): string {
  for (const line of prompt
    .slice(0, 16_384)
    .toWellFormed()
    .split(/\r\n|[\n\r]/)) {
    const title = (PLAIN.test(line) ? line : line.replace(/\t/g, " ").replace(UNSEEN, "")).replace(/\s+/g, " ").trim();
    if (title !== "") return shorten(title);
  }
  return "";
}

function shorten(title: string): string {
  const characters = [...title];
  return characters.length <= TITLE_LENGTH
    ? title
    : `${characters
        .slice(0, TITLE_LENGTH - 1)
        .join("")
        .trimEnd()}…`;
}
