/**
 * Which paths a search or listing is about: pattern, glob and extensions, matched in process so that every engine means
 * the same by them (tools.md find_files). Refuses: walking, reading.
 */

export type PathFilterInput = {
  /** Glob when it holds `* ? [ {`, else a smart-case substring of the relative path. */
  readonly pattern?: string | undefined;
  readonly glob?: string | undefined;
  readonly extensions?: readonly string[] | undefined;
  /** Directory the call searches, relative to the root; "" is the root. */
  readonly base: string;
};

/** Takes a path relative to the root. */
export type PathFilter = (path: string) => boolean;

const GLOB_CHARACTER = /[*?[{]/;

/** Builds the filter. A glob holding `/` is matched on the path from the root or from `base`, else on the name. */
export function pathFilter(input: PathFilterInput): PathFilter {
  const tests: PathFilter[] = [];
  if (input.pattern) tests.push(isGlob(input.pattern) ? globFilter(input.pattern, input.base) : substringFilter(input.pattern));
  if (input.glob) tests.push(globFilter(input.glob, input.base));
  const suffixes = suffixesOf(input.extensions);
  if (suffixes.length > 0) tests.push((path) => suffixes.some((suffix) => path.toLowerCase().endsWith(suffix)));
  const [only] = tests;
  if (only !== undefined && tests.length === 1) return only;
  return (path) => tests.every((test) => test(path));
}

/** A pattern written as an absolute path inside the workspace means the path below the root. */
export function belowRoot(pattern: string | undefined, root: string): string | undefined {
  const prefix = root.endsWith("/") ? root : `${root}/`;
  return pattern?.startsWith(prefix) ? pattern.slice(prefix.length) : pattern;
}

/** tools.md: a pattern with one of `* ? [ {` is a glob. */
export function isGlob(pattern: string): boolean {
  return GLOB_CHARACTER.test(pattern);
}

/**
 * Name globs of which every accepted file matches at least one, for an engine to narrow its walk with; undefined when the
 * filter says nothing an engine could be trusted to read the same way.
 */
export function nameGlobs(glob: string | undefined, extensions: readonly string[] | undefined): string[] | undefined {
  const suffixes = suffixesOf(extensions).map((suffix) => suffix.slice(1));
  if (suffixes.length > 0 && suffixes.every((suffix) => PLAIN_NAME.test(suffix))) {
    return suffixes.map((suffix) => `*.${suffix.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)}`);
  }
  if (glob === undefined || glob.startsWith("!")) return undefined;
  const last = glob.slice(glob.lastIndexOf("/") + 1);
  return PLAIN_NAME.test(last) && last !== "**" ? [last] : undefined;
}

/**
 * Arguments that make fd print fewer paths than there are, never one less than the filter accepts. Ends with fd's pattern.
 */
export function fdPattern(input: PathFilterInput): { readonly flags: string[]; readonly pattern: string } {
  const { pattern, glob, extensions } = input;
  const isPart = pattern !== undefined && pattern !== "" && !isGlob(pattern);
  const part = isPart ? pattern.replace(/^\.\//, "") : "";
  if (/^[A-Za-z0-9_./-]+$/.test(part)) {
    const caseFlag = part === part.toLowerCase() ? "--ignore-case" : "--case-sensitive";
    return { flags: ["--full-path", "--fixed-strings", caseFlag], pattern: part };
  }
  // Not --extension: it wants a character of UTF-8 before the dot.
  const names = nameGlobs(isPart ? glob : pattern || glob, extensions) ?? [];
  if (names.length === 0 || names.some((name) => name.includes("**"))) return { flags: [], pattern: "" };
  return { flags: ["--glob", "--case-sensitive"], pattern: names.length === 1 ? names.join() : `{${names.join()}}` };
}

const PLAIN_NAME = /^[A-Za-z0-9_.*-]+$/;

function suffixesOf(extensions: readonly string[] | undefined): string[] {
  return (extensions ?? [])
    .map((extension) => `.${extension.replace(/^\*?\.?/, "").toLowerCase()}`)
    .filter((suffix) => suffix !== ".");
}

function substringFilter(pattern: string): PathFilter {
  const wanted = pattern.replace(/^\.\//, "");
  if (wanted !== wanted.toLowerCase()) return (path) => path.includes(wanted);
  return (path) => path.toLowerCase().includes(wanted);
}

function globFilter(pattern: string, base: string): PathFilter {
  const negative = pattern.startsWith("!");
  const positive = positiveGlob(negative ? pattern.slice(1) : pattern, base);
  return negative ? (path) => !positive(path) : positive;
}

/** Each group that is widened is tried in two ways; nobody names more directories like that, or longer ones. */
const MAX_LITERAL_GROUPS = 8;
const MAX_WIDENED_CHARS = 4096;

/**
 * `[id]` and `{id}` are also names, of directories and files in some frameworks: such a part of a glob matches itself, too, beside the
 * rest of it that is meant as a glob (`app/[id]/*.tsx`).
 */
function withLiteralGroups(glob: string): string {
  if (glob.length > MAX_WIDENED_CHARS) return glob;
  let count = 0;
  const widened = glob.replace(GROUP, (part) => {
    if (part.startsWith("\\")) return part;
    count += 1;
    const itself = part.replace(/[\\{}[\],*?!]/g, "\\$&");
    // `{1..3}` is a range by itself only.
    const inner = part.startsWith("{") && !part.includes("..") ? part.replace(/^\{{1,2}|\}{1,2}$/g, "") : part;
    return `{${inner},${itself}}`;
  });
  return count > MAX_LITERAL_GROUPS ? glob : widened;
}

/** An escaped character, a class, braces without alternatives, once or (`{{name}}`) twice. */
const GROUP = /\\[\s\S]|\[[!^]?(?:\\[^/]|[^/\\])(?:\\[^/]|[^\]/\\])*\]|\{\{[^{}[\],/\\]*\}\}|\{[^{}[\],/\\]*\}/g;

function positiveGlob(pattern: string, base: string): PathFilter {
  const trimmed = pattern.replace(/^(?:\.?\/)+/, "");
  const wanted = trimmed.endsWith("/") ? `${trimmed}**` : trimmed;
  const both = withLiteralGroups(wanted);
  // A leading "!" that survived is a character of the name, not Bun's negation.
  const glob = new Bun.Glob(both.startsWith("!") ? `\\${both}` : both);
  // Also for what is no whole glob: a bracket that is not closed.
  const matches = (text: string): boolean => text === wanted || glob.match(text);
  if (!pattern.includes("/")) return (path) => matches(path.slice(path.lastIndexOf("/") + 1));
  if (base === "") return matches;
  const from = base.length + 1;
  return (path) => matches(path) || matches(path.slice(from));
}
