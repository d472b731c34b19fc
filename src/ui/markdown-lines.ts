/** What a line of Markdown can be, and how long a block gets: for everything that cuts a text into blocks. Refuses: state, tabs. */

/** Characters; a block larger than this is cut. */
export const MAX_BLOCK = 8 * 1024;
/** Tables are given more room: their rows belong together. */
export const MAX_TABLE = 64 * 1024;
export const MAX_FENCE_LINES = 40;

/** What stands before the mark, the mark, what stands behind it. */
export const FENCE = /^(\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?)(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$/;
export const LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
/** What stands before the text of a list's item, however deep. */
export const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
export const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
/** A list that begins right below a paragraph (CommonMark: bullets with text, and the number one). */
export const LIST_BELOW = /^ {0,3}(?:[-*+]|1[.)])[ ]+\S/;
export const RULE = /^ {0,3}(?:(?:\*[ ]*){3,}|(?:-[ ]*){3,}|(?:_[ ]*){3,})$/;

const INDENTED_CODE = /^ {4}/;
const CODE_GOES_ON = /^(?: {4}|\s*$)/;
const LIST_GOES_ON = /^(?:\s{2,}\S|\s*$| {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$))/;

/** Whether a block that begins with this line is a list. */
export function isList(line: string): boolean {
  return LIST.test(line) && !RULE.test(line);
}

/** What a line behind a blank one looks like if the block that begins with `first` goes on there; undefined where none does. */
export function goesOnAfterBlank(first: string): RegExp | undefined {
  if (isList(first)) return LIST_GOES_ON;
  return INDENTED_CODE.test(first) ? CODE_GOES_ON : undefined;
}

export function isBlank(line: string): boolean {
  return line === "" || (line.charCodeAt(0) <= 0x20 && line.trim() === "");
}
