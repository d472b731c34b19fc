/** Files of a workspace that nobody writes as a file, whoever asks. Refuses: reading what is in them. */
import { statSync } from "node:fs";
import { join } from "node:path";

const GIT = "git's own files (hooks and settings run programs) are not written by file tools";

function kindOf(path: string): "directory" | "file" | undefined {
  try {
    return statSync(path).isDirectory() ? "directory" : "file";
  } catch {
    return undefined;
  }
}

/** As git itself tells one, whatever its name: a bare repository, or where the `.git` file of a worktree leads. */
function isGitDirectory(path: string): boolean {
  return (
    kindOf(join(path, "HEAD")) === "file" &&
    kindOf(join(path, "objects")) === "directory" &&
    kindOf(join(path, "refs")) === "directory"
  );
}

/**
 * Why the file at `relative` (from the workspace's `root`, links resolved) is not to be written, as the end of a sentence;
 * undefined when nothing speaks against it. Compared without case: on some disks `.GIT` is the same directory.
 */
export function whyKept(root: string, relative: string): string | undefined {
  const names = relative.split("/");
  if (names.some((name) => name.toLowerCase() === ".git")) return GIT;
  return names.some((_, depth) => isGitDirectory(join(root, ...names.slice(0, depth)))) ? GIT : undefined;
}
