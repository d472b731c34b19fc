/** Files of a workspace that nobody writes as a file, whoever asks. Refuses: reading what is in them. */
import { lstatSync } from "node:fs";
import { join } from "node:path";

const GIT = "git's own files (hooks and settings run programs) are not written by file tools";

/**
 * As git itself tells one, whatever its name: a bare repository, or where the `.git` file of a worktree leads (`commondir`). `next`
 * counts as if it were there: who writes the rest first and `HEAD` last has made a repository too.
 */
function isGitDirectory(path: string, next: string): boolean {
  const has = (name: string) =>
    name.toLowerCase() === next.toLowerCase() || lstatSync(join(path, name), { throwIfNoEntry: false }) !== undefined;
  try {
    return lstatSync(path).isDirectory() && has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
  } catch {
    // Nothing is there yet, or it cannot be entered: one file makes no repository of it.
    return false;
  }
}

/**
 * Why the file at `relative` (from the workspace's `root`, links resolved) is not to be written, as the end of a sentence;
 * undefined when nothing speaks against it. Compared without case: on some disks `.GIT` is the same directory.
 */
export function whyKept(root: string, relative: string): string | undefined {
  const names = relative.split("/");
  if (names.some((name) => name.toLowerCase() === ".git")) return GIT;
  return names.some((next, depth) => isGitDirectory(join(root, ...names.slice(0, depth)), next)) ? GIT : undefined;
}
