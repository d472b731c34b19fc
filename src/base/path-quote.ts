/** How a path is named in a message: visible, bounded, on one line. Refuses: terminal colours, escaping for shells. */

const MAX_SHOWN = 240;

/** Control, bidirectional and invisible characters, and half surrogate pairs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** The path between backticks; characters that cannot be seen as `\u{…}`, the middle of a very long one left out. */
export function quotePath(path: string): string {
  const characters = [...path];
  const half = MAX_SHOWN / 2;
  const shown =
    characters.length <= MAX_SHOWN ? path : `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
  return `\`${shown.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)}\``;
}
