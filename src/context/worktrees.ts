/** Linked worktrees (A04): they hold the tracked files of their main checkout again. Refuses: git's own commands. */
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";

const GIT_FILE = /^gitdir: *(.*[/\\])\.git[/\\]worktrees[/\\][^/\\\s]+\s*$/m;
/** Git's own is one line. */
const MAX_GIT_FILE = 4096;

/** The real directory of the main checkout of the linked worktree at `directory`; undefined where it is none. */
export function mainCheckout(directory: string): string | undefined {
  try {
    const path = join(directory, ".git");
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (!info?.isFile() || info.size > MAX_GIT_FILE) return undefined;
    const [, main] = GIT_FILE.exec(readFileSync(path, "utf8")) ?? [];
    return main === undefined ? undefined : realpathSync(resolve(directory, main));
  } catch {
    return undefined;
  }
}
