/**
 * How a path is named: visible, on one line, nothing a reader or a terminal could mistake (T03). Refuses: terminal colours, escaping
 * for shells.
 */

const MAX_QUOTED = 240;

/** Control, bidirectional and invisible characters, line separators and half surrogate pairs; a leading quote would look like a quoted name. */
const ODD = /^"|[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u;
/** Those of them that JSON leaves as they are. */
const LEFT_BY_JSON = /[\x7f-\x9f\p{Cf}\u2028\u2029]/gu;

/** The path itself, or, when it holds odd characters, as a JSON string: a model passes it back by writing the same JSON. */
export function pathText(path: string): string {
  return ODD.test(path) ? JSON.stringify(path).replace(LEFT_BY_JSON, escaped) : path;
}

/** The same between backticks, for a sentence; the middle of a very long path is left out. */
export function quotePath(path: string): string {
  const characters = [...path];
  const half = MAX_QUOTED / 2;
  const shown =
    characters.length <= MAX_QUOTED ? path : `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
  return `\`${pathText(shown)}\``;
}

function escaped(character: string): string {
  let out = "";
  for (let unit = 0; unit < character.length; unit++) {
    out += `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`;
  }
  return out;
}
