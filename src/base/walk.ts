/**
 * The in-process walk of a tree: regular files in path order, ignore-aware, lazily, with a little reading ahead.
 * Owns hidden, ignored and symlink rules of a walk. Refuses: patterns, limits, file contents, `.git`.
 */
import type { Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { type HeldDirectory, holdDirectory } from "./held-directory.ts";
import { enterDirectory, type IgnoreLevel, IgnoreTree, isIgnored, type PrivateIgnoreFile, parentOf } from "./ignore-rules.ts";

export type WalkOptions = {
  /** Absolute real path. */
  readonly root: string;
  /** Directory to walk, relative to the root; "" is the root. It is walked even when it is itself hidden or ignored. */
  readonly base: string;
  readonly includeHidden: boolean;
  readonly includeIgnored: boolean;
  /** Follows links whose target is inside the root; a directory reached by links is visited once. */
  readonly followSymlinks?: boolean;
  /** 1 is the base's own files. */
  readonly maxDepth?: number;
  readonly ownIgnoreFile?: PrivateIgnoreFile;
  readonly signal?: AbortSignal;
  /** Told each directory that could not be read (relative to the root). */
  readonly onUnreadable?: (relative: string) => void;
};

type Child = {
  readonly name: string;
  readonly relative: string;
  readonly real: string;
  readonly isDirectory: boolean;
  readonly linked: boolean;
};

type Frame = {
  readonly children: readonly Child[];
  readonly depth: number;
  readonly level: IgnoreLevel | undefined;
  /** Real paths from the base to here: a link to one of them is a loop. */
  readonly trail: readonly string[];
  next: number;
  /** Directory reads begun ahead of their turn. */
  readonly reads: Map<Child, Promise<Dirent[] | undefined>>;
  ahead: number;
};

const READ_AHEAD = 16;

/**
 * Yields batches of file paths relative to the root, `/`-separated, in path order (compared name by name, so a directory's
 * files stay together). Ends early, without an error, when the signal aborts.
 */
export async function* walkFiles(options: WalkOptions): AsyncGenerator<readonly string[]> {
  const seenThroughLinks = new Set<string>();
  const first = await openBase(options);
  if (first === undefined) return;
  const stack: Frame[] = [first];
  let batch: string[] = [];
  while (stack.length > 0) {
    if (options.signal?.aborted) return;
    const frame = stack[stack.length - 1];
    const child = frame?.children[frame.next];
    if (frame === undefined || child === undefined) {
      stack.pop();
      continue;
    }
    frame.next += 1;
    if (!child.isDirectory) {
      batch.push(child.relative);
      continue;
    }
    if (batch.length > 0) yield batch;
    batch = [];
    const entered = await enter(frame, child, options, seenThroughLinks);
    if (entered !== undefined) stack.push(entered);
  }
  if (batch.length > 0) yield batch;
}

/** Whether some component of `relative` below `base` begins with a dot. */
export function isHiddenBelow(relative: string, base: string): boolean {
  const from = base === "" ? 0 : base.length + 1;
  return relative.charCodeAt(from) === DOT || relative.indexOf("/.", from) >= 0;
}

const DOT = 46;

/** Real paths are compared: one that begins with two slashes would be of no place. */
function placeIn(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

async function openBase(options: WalkOptions): Promise<Frame | undefined> {
  const { root, base } = options;
  const real = base === "" ? root : placeIn(root, base);
  const entries = await readEntries(real);
  if (entries === undefined) {
    options.onUnreadable?.(base === "" ? "." : base);
    return undefined;
  }
  const above =
    options.includeIgnored || base === "" ? undefined : new IgnoreTree(root, options.ownIgnoreFile).level(parentOf(base));
  return frameOf(options, base, real, entries, above ?? undefined, 1, [real]);
}

async function enter(frame: Frame, child: Child, options: WalkOptions, seen: Set<string>): Promise<Frame | undefined> {
  if (options.maxDepth !== undefined && frame.depth >= options.maxDepth) return undefined;
  if (child.linked) {
    if (frame.trail.includes(child.real) || seen.has(child.real)) return undefined;
    seen.add(child.real);
  }
  readAhead(frame);
  const entries = await (frame.reads.get(child) ?? readEntries(child.real));
  frame.reads.delete(child);
  if (entries === undefined) {
    options.onUnreadable?.(child.relative);
    return undefined;
  }
  const trail = options.followSymlinks ? [...frame.trail, child.real] : frame.trail;
  return frameOf(options, child.relative, child.real, entries, frame.level, frame.depth + 1, trail, child.linked);
}

function readAhead(frame: Frame): void {
  while (frame.ahead < frame.children.length && frame.reads.size < READ_AHEAD) {
    const child = frame.children[frame.ahead];
    frame.ahead += 1;
    if (child?.isDirectory && frame.ahead >= frame.next) frame.reads.set(child, readEntries(child.real));
  }
}

async function frameOf(
  options: WalkOptions,
  relative: string,
  real: string,
  entries: Dirent[],
  parent: IgnoreLevel | undefined,
  depth: number,
  trail: readonly string[],
  linked = false,
): Promise<Frame> {
  let level: IgnoreLevel | undefined;
  if (!options.includeIgnored) {
    const special = new Set(entries.map((entry) => entry.name).filter((name) => name.charCodeAt(0) === DOT));
    level = enterDirectory(options.root, relative, parent, options.ownIgnoreFile, (name) => special.has(name));
  }
  const children: Child[] = [];
  for (const entry of entries) {
    const name = entry.name;
    if (name === ".git" || (!options.includeHidden && name.charCodeAt(0) === DOT)) continue;
    const path = relative === "" ? name : `${relative}/${name}`;
    const found = childOf(options, entry, path, placeIn(real, name), linked);
    const child = found instanceof Promise ? await found : found;
    if (child === undefined || (level !== undefined && isIgnored(level, path, child.isDirectory))) continue;
    children.push(child);
  }
  children.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { children, depth, level, trail, next: 0, reads: new Map(), ahead: 0 };
}

/** Promises only where the disk must be asked: most entries say what they are. */
function childOf(
  options: WalkOptions,
  entry: Dirent,
  relative: string,
  real: string,
  linked: boolean,
): Child | undefined | Promise<Child | undefined> {
  const name = entry.name;
  if (entry.isFile()) return { name, relative, real, isDirectory: false, linked };
  if (entry.isDirectory()) return { name, relative, real, isDirectory: true, linked };
  if (entry.isSymbolicLink()) return options.followSymlinks ? followLink(options.root, name, relative, real) : undefined;
  if (entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()) return undefined;
  return askDisk(name, relative, real, linked);
}

/** Some file systems do not say what an entry is. */
async function askDisk(name: string, relative: string, real: string, linked: boolean): Promise<Child | undefined> {
  const info = await lstat(real).catch(() => undefined);
  if (info === undefined || !(info.isFile() || info.isDirectory())) return undefined;
  return { name, relative, real, isDirectory: info.isDirectory(), linked };
}

async function followLink(root: string, name: string, relative: string, link: string): Promise<Child | undefined> {
  try {
    const real = await realpath(link);
    if (real !== root && !real.startsWith(root === "/" ? "/" : `${root}/`)) return undefined;
    const info = await stat(real);
    if (!info.isFile() && !info.isDirectory()) return undefined;
    return { name, relative, real, isDirectory: info.isDirectory(), linked: true };
  } catch {
    // A dangling link leads nowhere.
    return undefined;
  }
}

/** Of the directory that was proved to be there, whatever its path means a moment later. */
async function readEntries(path: string): Promise<Dirent[] | undefined> {
  let directory: HeldDirectory | undefined;
  try {
    directory = holdDirectory(path);
    return await readdir(directory.at("."), { withFileTypes: true });
  } catch {
    return undefined;
  } finally {
    directory?.close();
  }
}
