/**
 * The directory that logs are kept in: made private, kept out of commits, and never outside where it may be (sessions.md, File).
 * Refuses: logs themselves.
 */
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { errnoOf } from "../base/file-problem.ts";
import { readSmallFile } from "../base/small-file.ts";

/** @throws Error when the part of `dir` that exists already leads out of `root`. */
export function demandWithin(dir: string, root: string): void {
  let existing = dir;
  // A dangling link exists too: what it names would be made on its other side.
  while (lstatSync(existing, { throwIfNoEntry: false }) === undefined) existing = dirname(existing);
  const real = realpathSync(existing);
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw new Error("the sessions directory is a link that leads out of the workspace; name another with --session-dir");
  }
}

/**
 * Why `dir` is no directory and none can be made of it; undefined when it is one or can be. Leaves nothing behind. One that is there and
 * cannot be written is told by the log, which a run can do without.
 */
export function directoryProblem(dir: string): string | undefined {
  try {
    if (isThere(dir)) {
      const found = statSync(dir, { throwIfNoEntry: false });
      if (found === undefined) return "it is a link that leads nowhere";
      return found.isDirectory() ? undefined : "it is no directory";
    }
    let above = dirname(dir);
    while (!isThere(above)) above = dirname(above);
    if (statSync(above, { throwIfNoEntry: false })?.isDirectory() !== true) return `it cannot be made: ${above} is no directory`;
    accessSync(above, constants.W_OK | constants.X_OK);
    // Root may write everywhere, until it tries: /sys and /proc take no directory.
    if (process.getuid?.() === 0) rmdirSync(mkdtempSync(join(above, ".thndrs-")));
    return undefined;
  } catch (error) {
    if (errnoOf(error) === "EROFS") return "it cannot be made: the file system is read-only";
    if (["EACCES", "EPERM", "ENOENT"].includes(errnoOf(error))) return "it cannot be made: permission denied";
    return `it cannot be made: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Nothing is below a file. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

/** Makes the directory (0700) where it is missing; one that is ours gets a `.gitignore`. */
export function ensureDirectory(dir: string): void {
  mkdirSync(dirname(dir), { recursive: true });
  let created = false;
  try {
    mkdirSync(dir, { mode: 0o700 });
    created = true;
    chmodSync(dir, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  if (created || ownsDirectory(dir)) writeIgnoreFile(dir);
}

/** A directory somebody made by hand gets our `.gitignore` only when it is plainly ours: it must never hide a user's files. */
function ownsDirectory(dir: string): boolean {
  // Asked before every session: a directory of a thousand logs is not read for it.
  if (lstatSync(join(dir, ".gitignore"), { throwIfNoEntry: false }) !== undefined) return false;
  return isNamedOurs(dir) || readdirSync(dir).length === 0;
}

function isNamedOurs(dir: string): boolean {
  return basename(dir) === "sessions" && basename(dirname(dir)) === ".thndrs";
}

/** Rules that are about every log, as far as they are simple. */
const ABOUT_LOGS = /^!?\/?(?:\*\*\/)?(?:\*{1,2}|\*\.jsonl|session-\*(?:\.jsonl)?)$/;

/**
 * What to tell where our own directory has an ignore file that lets git take the logs: somebody wrote it, or it came with the
 * repository. It is not written over.
 */
export function ignoreProblem(dir: string): string | undefined {
  if (!isNamedOurs(dir)) return undefined;
  const path = join(dir, ".gitignore");
  let text: string;
  try {
    // Opening anything else can take for ever.
    if (!statSync(path).isFile()) return undefined;
    text = readSmallFile(path);
  } catch {
    return undefined;
  }
  if (text === OUR_RULES) return undefined;
  const last = text.split(/\r?\n/).findLast((line) => ABOUT_LOGS.test(line.trimEnd()));
  if (last !== undefined && !last.startsWith("!")) return undefined;
  return `${path} does not keep session logs out of git; put a line with * at its end, or remove it, and the next session makes one`;
}

const OUR_RULES = "*\n";

function writeIgnoreFile(dir: string): void {
  try {
    writeFileSync(join(dir, ".gitignore"), OUR_RULES, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
