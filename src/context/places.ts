/** Questions about paths (C1–C4) that need little or no disk. Refuses: reading files. */
import { realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, parse, relative, sep } from "node:path";
import { realpath, stat } from "../base/async-fs.ts";
import { isBelow } from "../base/below.ts";

/** Directories that hold other people's or generated files; what lies below them is never project context (C4). */
const SKIPPED = new Set([
  "node_modules",
  "target",
  "dist",
  "build",
  "out",
  ".git",
  ".hg",
  ".svn",
  ".jj",
  ".bzr",
  "CVS",
  "_darcs",
]);

/** True for the root itself and everything below it. Both paths absolute and normalised. */
export function isInside(root: string, path: string): boolean {
  return isBelow(path, root);
}

export function isSkippedName(name: string): boolean {
  return SKIPPED.has(name);
}

/** The first name between the root and a directory that is skipped; undefined where tools and mentions count. */
export function skippedBelow(root: string, directory: string): string | undefined {
  return segmentsBelow(root, directory).find(isSkippedName);
}

/** Scope label of a directory: `.` for the root, else relative with `/`. */
export function scopeOf(root: string, directory: string): string {
  const label = relative(root, directory);
  return label === "" ? "." : label.replaceAll(sep, "/");
}

/** Segments of a directory below the root; empty for the root. */
export function segmentsBelow(root: string, directory: string): string[] {
  return relative(root, directory)
    .split(sep)
    .filter((part) => part !== "");
}

/** `directory` and its parents up to and including `top`, closest first. */
export function upTo(top: string, directory: string): string[] {
  const places: string[] = [];
  let here = directory;
  while (isInside(top, here)) {
    places.push(here);
    if (here === top) break;
    here = dirname(here);
  }
  return places;
}

/**
 * The real directory that governs `path`: the path itself where it is a directory, else the closest existing parent.
 * Stat decides; a suffix decides nothing, because a path that does not exist falls back to its parent anyway.
 */
export async function governingDirectory(path: string): Promise<string | undefined> {
  let here = path;
  for (let step = 0; step < 128; step++) {
    const real = await realpath(here).catch(() => undefined);
    if (real !== undefined) {
      const info = await stat(real).catch(() => undefined);
      if (info) return info.isDirectory() ? real : dirname(real);
    }
    const parent = dirname(here);
    if (parent === here) return undefined;
    here = parent;
  }
  return undefined;
}

/** The same at once, for a path where a tool has just been: three hops to another thread are a tenth of a turn. */
export function governingDirectoryNow(path: string): string | undefined {
  for (const here of upTo(parse(path).root, path)) {
    try {
      const real = realpathSync.native(here);
      return statSync(real).isDirectory() ? real : dirname(real);
    } catch {
      // Not there (any more): its parent governs it.
    }
  }
  return undefined;
}

/** Normalised, one spelling for `a` and `a/`. */
function place(...parts: readonly string[]): string {
  const path = join(...parts);
  return path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path;
}

/** A path as a person wrote it, made absolute against each base; none for no words at all. */
export function absoluteCandidates(text: string, bases: readonly string[], home: string | undefined): string[] {
  if (text.trim() === "") return [];
  if (text === "~" || text.startsWith("~/")) return home === undefined ? [] : [place(home, text.slice(1))];
  if (isAbsolute(text)) return [place(text)];
  return [...new Set(bases)].map((base) => place(base, text));
}
