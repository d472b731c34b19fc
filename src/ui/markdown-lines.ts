/** What a line of Markdown can be, and how long a block gets: for everything that cuts a text into blocks. Refuses: state. */

/** Characters; a block larger than this is cut. */
export const MAX_BLOCK = 8 * 1024;
/** Tables are given more room: their rows belong together. */
export const MAX_TABLE = 64 * 1024;
export const MAX_FENCE_LINES = 40;

export const FENCE = /^(\s*)(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})([^`\n]*)$/;
export const LIST = /^\s{0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
export const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
