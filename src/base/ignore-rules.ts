/**
 * Which paths of a tree are ignored, the way git, ripgrep and fd see it. Owns the sources and their precedence, lowest
 * first: `.git/info/exclude`, `.gitignore` (root down, each beats its parents; a nested repository starts afresh),
 * `.ignore`, and the one private file of the engine a listing stands in for (`.fdignore`, `.rgignore`).
 * Rules count outside git repositories too. Refuses: files above the root, global and per-user ignore files.
 */
import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { Ignore } from "ignore";
import { isReadOtherwise } from "./ignore-dialect.ts";
import { type GlobstarRule, globstarRule, hasManyGlobstars } from "./ignore-globstars.ts";
import { lookAt } from "./look.ts";
import { once } from "./once.ts";

/** The ignore file only one engine reads; honoured by every stand-in for that engine. */
export type PrivateIgnoreFile = ".fdignore" | ".rgignore";

/** Rules in force inside one directory. Opaque: made by `enterDirectory`, asked by `isIgnored`. */
export type IgnoreLevel = {
  readonly git: Rules;
  readonly dot: Rules;
  readonly own: Rules;
  /** All of the above in order. Replaced now and then to drop its cache. */
  all: Rules;
  tests: number;
};

/** In order: a later one has the last word. */
type Rules = readonly (Ignore | GlobstarRule)[];

/** A start in a tree without ignore files does not pay for the matcher (0.5 ms). Synchronous: rules are asked for in walks. */
const matchers = once((): typeof import("ignore") => require("ignore"));

const NO_RULES: Omit<IgnoreLevel, "tests"> = { git: [], dot: [], own: [], all: [] };
/** An ignore file larger than this is no ignore file. */
const MAX_IGNORE_BYTES = 1_048_576;
const MAX_RULE_CHARS = 4096;
/** Of a directory, for the system. */
const MAX_PATH_CHARS = 4096;
/** The matcher caches every answer; past this many it starts afresh, so memory stays bounded. */
const MAX_CACHED_ANSWERS = 20_000;

/**
 * Rules inside the directory `relative` of `root` ("" is the root), given those of its parent. `has` may say which names
 * the directory holds, where the caller has read it, and saves the look-ups. Reads small files synchronously: one
 * bounded read per ignore file, far cheaper than a hop to the thread pool per directory.
 */
export function enterDirectory(
  root: string,
  relative: string,
  parent: IgnoreLevel | undefined,
  own: PrivateIgnoreFile | undefined,
  has: (name: string) => boolean = () => true,
): IgnoreLevel {
  const above = parent ?? { ...NO_RULES, tests: 0 };
  const directory = relative === "" ? root : `${root}/${relative}`;
  const isRepository = has(".git") && lookAt(`${directory}/.git`) !== undefined;
  const lines = (name: string) => (has(name) ? readRules(`${directory}/${name}`) : []);

  const gitLines = [...(isRepository ? readRules(excludeFile(directory)) : []), ...lines(".gitignore")];
  const dotLines = lines(".ignore");
  const ownLines = own === undefined ? [] : lines(own);
  const gitAbove = isRepository ? NO_RULES.git : above.git;
  if (gitAbove === above.git && gitLines.length + dotLines.length + ownLines.length === 0) return above;

  const git = extend(gitAbove, gitLines, relative);
  const dot = extend(above.dot, dotLines, relative);
  const ownRules = extend(above.own, ownLines, relative);
  return { git, dot, own: ownRules, all: combine([...git, ...dot, ...ownRules]), tests: 0 };
}

/** Whether a path (relative to the root, no trailing slash) is ignored by the rules of its directory. */
export function isIgnored(level: IgnoreLevel, relative: string, isDirectory: boolean): boolean {
  if (level.all.length === 0) return false;
  level.tests += 1;
  if (level.tests % MAX_CACHED_ANSWERS === 0) level.all = combine(level.all);
  const path = asBytes(relative);
  for (let index = level.all.length - 1; index >= 0; index--) {
    const verdict = ask(level.all[index], path, isDirectory);
    if (verdict !== undefined) return verdict;
  }
  return false;
}

function ask(rules: Ignore | GlobstarRule | undefined, path: string, isDirectory: boolean): boolean | undefined {
  if (rules === undefined || typeof rules === "function") return rules?.(path, isDirectory);
  const { ignored, unignored } = rules.test(isDirectory ? `${path}/` : path);
  return ignored || unignored ? ignored : undefined;
}

/** Rules of every directory of a tree, looked up by path; for callers that see paths and not a walk. */
export class IgnoreTree {
  readonly #root: string;
  readonly #own: PrivateIgnoreFile | undefined;
  /** Rules inside each directory asked about; null inside an ignored one. */
  readonly #levels = new Map<string, IgnoreLevel | null>();

  constructor(root: string, own?: PrivateIgnoreFile) {
    this.#root = root;
    this.#own = own;
  }

  /** Whether a file or directory, or a directory above it, is ignored. `relative` is not the root itself. */
  ignores(relative: string, isDirectory = false): boolean {
    const level = this.level(parentOf(relative));
    return level === null || isIgnored(level, relative, isDirectory);
  }

  /** Rules inside a directory; null when it is ignored: what lies in it has no say. */
  level(relative: string): IgnoreLevel | null {
    // Further down no rule file can be opened by its path.
    if (relative.length > MAX_PATH_CHARS) return this.level(parentOf(relative.slice(0, MAX_PATH_CHARS)));
    const known = this.#levels.get(relative);
    if (known !== undefined) return known;
    const parent = relative === "" ? undefined : this.level(parentOf(relative));
    const ignored = parent === null || (parent !== undefined && isIgnored(parent, relative, true));
    const level = ignored ? null : enterDirectory(this.#root, relative, parent, this.#own);
    this.#levels.set(relative, level);
    return level;
  }
}

/**
 * Whether rg and fd would read a rule in force inside `relative` otherwise than git. Rule files further down are not looked for,
 * which would cost as much as the walk itself.
 */
export function hasRulesReadOtherwise(root: string, relative: string, own: PrivateIgnoreFile): boolean {
  const directory = relative === "" ? root : `${root}/${relative}`;
  const linked = linkedGitDirectory(directory);
  const more = linked === undefined ? [] : [`${linked}/commondir`];
  const files = [excludeFile(directory), ...more, ...[".gitignore", ".ignore", own].map((name) => `${directory}/${name}`)];
  if (files.some((path) => isOpenedOtherwise(path) || readRules(path).some(isReadOtherwise))) return true;
  return relative !== "" && hasRulesReadOtherwise(root, parentOf(relative), own);
}

/** Read by them, and not by us: what has no end (a link to /dev/zero, a pipe), or hardly one. */
function isOpenedOtherwise(path: string): boolean {
  const found = lookAt(path);
  return found !== undefined && !found.isDirectory() && (!found.isFile() || found.size > MAX_IGNORE_BYTES);
}

/** The directory of a relative path, "" for the root. */
export function parentOf(relative: string): string {
  const slash = relative.lastIndexOf("/");
  return slash < 0 ? "" : relative.slice(0, slash);
}

/** The same rules in as few parts as possible, without what they remember. */
function combine(rules: Rules): Rules {
  const parts: (Ignore | GlobstarRule)[] = [];
  for (const part of rules) {
    const last = parts.at(-1);
    if (typeof part === "function") parts.push(part);
    else if (last === undefined || typeof last === "function") parts.push(newMatcher().add(part));
    else last.add(part);
  }
  return parts;
}

function extend(above: Rules, lines: readonly string[], directory: string): Rules {
  if (lines.length === 0) return above;
  const parts: (Ignore | GlobstarRule)[] = [];
  for (const line of lines) {
    const rule = asBytes(directory === "" ? line : anchorRule(line, directory));
    const last = parts.at(-1);
    if (hasManyGlobstars(rule)) parts.push(globstarRule(rule, (pattern) => newMatcher().add(pattern)));
    else if (last === undefined || typeof last === "function") parts.push(newMatcher().add(rule));
    else last.add(rule);
  }
  return combine([...above, ...parts]);
}

function newMatcher(): Ignore {
  return matchers()({ ignorecase: false });
}

/**
 * One character for each byte: to git `?` and `[^a]` are one byte, so `?.txt` is not `é.txt`. What was no UTF-8 is a byte of its own.
 */
function asBytes(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1").replaceAll("\xef\xbf\xbd", "\xff");
}

/** One rule of `directory`'s ignore file, rewritten to mean the same from the root. */
export function anchorRule(line: string, directory: string): string {
  const negative = line.startsWith("!");
  const body = negative ? line.slice(1) : line;
  const slash = body.indexOf("/");
  const anchored = slash >= 0 && slash < body.replace(/ +$/, "").length - 1;
  const literal = directory.replace(/[\\*?[\]]/g, "\\$&");
  const rest = body.startsWith("/") ? body.slice(1) : body;
  return `${negative ? "!" : ""}/${literal}/${anchored || body.startsWith("/") ? "" : "**/"}${rest}`;
}

/** Rule lines of one file; none for anything that is not a regular file of sane size. */
function readRules(path: string): string[] {
  try {
    const stat = lookAt(path);
    if (stat === undefined || !stat.isFile() || stat.size > MAX_IGNORE_BYTES) return [];
    const text = readFileSync(path, "utf8");
    return (text.startsWith("\uFEFF") ? text.slice(1) : text).split(/\r?\n/).filter(isRule);
  } catch {
    // Unreadable rules are no rules, as for git.
    return [];
  }
}

function isRule(line: string): boolean {
  // Nothing honest is longer than a path; a matcher would look for the end of a longer one again and again.
  if (line.length > MAX_RULE_CHARS) return false;
  // One of slashes only would be the directory itself, which git never means.
  return !/^!?[/ ]*$/.test(line) && !line.startsWith("#");
}

/**
 * `info/exclude` of a repository. A worktree's `.git` file leads to the common directory; as for rg and fd only an absolute
 * pointer counts, which is what git writes for worktrees.
 */
function excludeFile(directory: string): string {
  const gitDir = linkedGitDirectory(directory);
  const common = gitDir === undefined ? undefined : pointer(`${gitDir}/commondir`, "");
  return `${gitDir === undefined || common === undefined ? `${directory}/.git` : resolve(gitDir, common)}/info/exclude`;
}

/** Where the `.git` file of a worktree leads. */
function linkedGitDirectory(directory: string): string | undefined {
  const gitDir = pointer(`${directory}/.git`, "gitdir: ");
  return gitDir !== undefined && isAbsolute(gitDir) ? gitDir : undefined;
}

function pointer(path: string, prefix: string): string | undefined {
  const stat = lookAt(path);
  if (stat === undefined || !stat.isFile() || stat.size > 65_536) return undefined;
  try {
    const line = readFileSync(path, "utf8").split("\n", 1)[0]?.trimEnd() ?? "";
    return line.startsWith(prefix) ? line.slice(prefix.length) : undefined;
  } catch {
    return undefined;
  }
}
