/** How a path is written in a result: one name, one line, and nothing a terminal or a reader could mistake (T03). */

/** Controls, line separators, bidirectional and zero-width characters; a leading quote would look like a quoted name. */
const ODD = /^"|[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ODD_CHARACTERS = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * The path itself, or, when it holds odd characters, as a JSON string: a model passes it back by writing the same JSON.
 */
export function pathText(path: string): string {
  if (!ODD.test(path)) return path;
  return JSON.stringify(path).replace(ODD_CHARACTERS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Path order: names compared one by one, so what lies in one directory stays together. */
export function comparePaths(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    if (left === SLASH) return -1;
    if (right === SLASH) return 1;
    return left - right;
  }
  return a.length - b.length;
}

const SLASH = 47;
