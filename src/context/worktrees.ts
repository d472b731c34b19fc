/** Linked worktrees (A04): they hold the tracked files of their main checkout again. Refuses: git's own commands. */
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** What a linked worktree's `.git` says: where the repository is, and its own place there. */
const GIT_FILE = /^gitdir: *(.*)[/\\]worktrees[/\\][^/\\]+\s*$/m;
/** Git's own is one line. */
const MAX_GIT_FILE = 4096;

/** The repository that the linked worktree at `directory` belongs to, as its `.git` names it; undefined where it is none. */
function repositoryOf(directory: string): string | undefined {
  try {
    const path = join(directory, ".git");
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (!info?.isFile() || info.size > MAX_GIT_FILE) return undefined;
    return GIT_FILE.exec(readFileSync(path, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

/** Its own session serves it. A submodule is none. */
export function isLinkedWorktree(directory: string): boolean {
  return repositoryOf(directory) !== undefined;
}

/** The real directory of the main checkout of the linked worktree at `directory`; undefined where it is none, or has none. */
export function mainCheckout(directory: string): string | undefined {
  const repository = repositoryOf(directory);
  if (repository === undefined || basename(repository) !== ".git") return undefined;
  try {
    return realpathSync(resolve(directory, dirname(repository)));
  } catch {
    return undefined;
  }
}
