/**
 * Where the keys of a TOML text stand, so that an error can name a line. It runs over text that the TOML parser has
 * already accepted, and knows just enough of the grammar not to be fooled by strings, comments and arrays over several
 * lines. Refuses: values.
 */

/** `path words joined by NUL` → 1-based line. A table's own line counts for the table. */
export type KeyLines = ReadonlyMap<string, number>;

/** No valid key lies deeper; a file with a million dots must not cost a million prefixes. */
const MAX_DEPTH = 8;

const joinPath = (path: readonly string[]): string => path.join("\0");

/** Splits `a."b.c".d` into its words; stops at `=` or `]`. Returns the words and where it stopped. */
function readWords(text: string, start: number): { readonly words: string[]; readonly end: number } {
  const words: string[] = [];
  let at = start;
  let bare = "";
  const push = (): void => {
    if (bare.trim() !== "") words.push(bare.trim());
    bare = "";
  };
  while (at < text.length) {
    const char = text[at] ?? "";
    if (char === "=" || char === "]" || char === "\n") break;
    if (char === '"' || char === "'") {
      const close = endOfString(text, at);
      const quoted = text.slice(at, close);
      words.push(char === '"' ? unquote(quoted) : quoted.slice(1, -1));
      at = close;
      continue;
    }
    if (char === ".") push();
    else bare += char;
    at++;
  }
  push();
  return { words, end: at };
}

function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}

/** Position after the string that opens at `at`, whatever its kind. */
function endOfString(text: string, at: number): number {
  const quote = text[at] ?? "";
  const long = text.startsWith(quote.repeat(3), at);
  const mark = long ? quote.repeat(3) : quote;
  let from = at + mark.length;
  while (from < text.length) {
    if (quote === '"' && text[from] === "\\") {
      from += 2;
      continue;
    }
    if (!text.startsWith(mark, from)) {
      from++;
      continue;
    }
    from += mark.length;
    // A long string may end in up to two more quotes that belong to it.
    while (long && text[from] === quote) from++;
    return from;
  }
  return text.length;
}

/** Position of the end of the value that starts at `at`: the newline after it, outside strings and brackets. */
function endOfValue(text: string, at: number): number {
  let depth = 0;
  let from = at;
  while (from < text.length) {
    const char = text[from] ?? "";
    if (char === "\n" && depth === 0) return from;
    if (char === '"' || char === "'") {
      from = endOfString(text, from);
      continue;
    }
    if (char === "#") {
      while (from < text.length && text[from] !== "\n") from++;
      continue;
    }
    if (char === "[" || char === "{") depth++;
    if (char === "]" || char === "}") depth--;
    from++;
  }
  return text.length;
}

/** The line of every table header and of every key that is not inside an inline table. */
export function findKeyLines(text: string): KeyLines {
  const lines = new Map<string, number>();
  let table: string[] = [];
  let line = 1;
  let at = 0;
  const note = (path: readonly string[]): void => {
    const deepest = Math.min(path.length, MAX_DEPTH);
    for (let length = 1; length <= deepest; length++) {
      const known = joinPath(path.slice(0, length));
      if (!lines.has(known) || length === path.length) lines.set(known, line);
    }
  };
  while (at < text.length) {
    const start = at;
    while (text[at] === " " || text[at] === "\t" || text[at] === "\r") at++;
    const char = text[at];
    if (char === "[") {
      const { words } = readWords(text, text[at + 1] === "[" ? at + 2 : at + 1);
      table = words;
      note(table);
    } else if (char !== undefined && char !== "#" && char !== "\n") {
      const { words, end } = readWords(text, at);
      note([...table, ...words]);
      at = end;
    }
    at = char === "[" || char === "#" ? endOfLine(text, at) : endOfValue(text, at);
    at++;
    for (let index = start; index < at && index < text.length; index++) if (text[index] === "\n") line++;
  }
  return lines;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** The line of a path, or of the nearest table around it. */
export function lineOf(lines: KeyLines, path: readonly string[]): number | undefined {
  for (let length = Math.min(path.length, MAX_DEPTH); length > 0; length--) {
    const line = lines.get(joinPath(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return undefined;
}
