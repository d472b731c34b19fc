/**
 * Patterns for the search without rg: the subset of rg's syntax that JavaScript shares, tested line by line.
 * Refuses: patterns whose matching could take exponential time (nothing can interrupt a JavaScript regular expression).
 */

/** The first match in a line, as UTF-16 offsets. */
export type LineTest = (line: string) => { readonly start: number; readonly end: number } | undefined;

export type CompiledPattern =
  | { readonly ok: true; readonly test: LineTest /** A text every match holds. */; readonly needle?: string }
  | { readonly ok: false; readonly message: string };

const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: "A-Za-z0-9",
  alpha: "A-Za-z",
  blank: " \\t",
  digit: "0-9",
  lower: "a-z",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\s",
  upper: "A-Z",
  word: "\\w",
  xdigit: "0-9A-Fa-f",
};

/** A test for one line; `message` says what of the pattern cannot be served here. */
export function compilePattern(pattern: string, literal: boolean, ignoreCase: boolean): CompiledPattern {
  if (literal && !ignoreCase) {
    const test: LineTest = (line) => {
      const start = line.indexOf(pattern);
      return start < 0 ? undefined : { start, end: start + pattern.length };
    };
    return { ok: true, test, needle: pattern };
  }
  const inline = literal ? null : /^\(\?i\)/.exec(pattern);
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") : translate(pattern.slice(inline?.[0].length ?? 0));
  if (!literal) {
    const problem = refuse(source);
    if (problem !== undefined) return { ok: false, message: problem };
  }
  const compiled = compile(source, ignoreCase || inline !== null ? "i" : "");
  if (typeof compiled === "string") return { ok: false, message: compiled };
  const test: LineTest = (line) => {
    const match = compiled.exec(line);
    return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
  };
  return { ok: true, test };
}

/** Lines are tested one by one, so `.` may match anything (`s`) and `^`/`$` mean the line without `m`. */
function compile(source: string, flags: string): RegExp | string {
  try {
    return new RegExp(source, `su${flags}`);
  } catch (error) {
    // Rust allows escapes (\- \" \_) that JavaScript's Unicode mode does not.
    if (!/\\[pP]/.test(source)) {
      try {
        return new RegExp(source, `s${flags}`);
      } catch {
        // The first error is the better one.
      }
    }
    return error instanceof Error ? error.message : "invalid regular expression";
  }
}

function translate(pattern: string): string {
  return pattern
    .replace(/\[:(\^?)(\w+):\]/g, (all, not, name) => (not === "" ? (POSIX_CLASSES[name] ?? all) : all))
    .replace(/\(\?P</g, "(?<")
    .replace(/\\A/g, "^")
    .replace(/\\z/g, "$$")
    .replace(/\\x\{([0-9A-Fa-f]+)\}/g, "\\u{$1}");
}

function refuse(source: string): string | undefined {
  if (/(?:^|[^\\])(?:\\\\)*\\n/.test(source)) return "a match lies within one line: \\n cannot match";
  for (const [, low, high] of source.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    if (Number(low) > MAX_REPEATS || Number(high ?? 0) > MAX_REPEATS) return `a repetition count is over ${MAX_REPEATS}`;
  }
  if (hasNestedRepetition(source))
    return "a repeated group that itself holds a repetition needs ripgrep (rg), which is not installed";
  return undefined;
}

const MAX_REPEATS = 1000;
const REPETITION = /^(?:[*+]|\{\d+,\}|\{\d{2,}(?:,\d*)?\}|\{\d+,\d{2,}\})/;

/** Whether an unbounded repetition contains another one or an alternation, the shapes that backtrack exponentially. */
function hasNestedRepetition(source: string): boolean {
  const risky: boolean[] = [false];
  let inClass = false;
  for (let index = 0; index < source.length; index++) {
    const character = source[index];
    if (character === "\\") index += 1;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") inClass = true;
    else if (character === "(") risky.push(false);
    else if (character === ")") {
      const inner = risky.pop() ?? false;
      const repeated = REPETITION.test(source.slice(index + 1, index + 24));
      if (inner && repeated) return true;
      if (inner || repeated) mark(risky);
    } else if (character === "|" || REPETITION.test(source.slice(index, index + 24))) mark(risky);
  }
  return false;
}

function mark(risky: boolean[]): void {
  risky[risky.length - 1] = true;
}
