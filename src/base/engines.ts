/**
 * Which search programs this machine offers (S09, S10). Looks them up on a PATH value, per call and cheaply, so a changed
 * PATH needs no restart. Refuses: running them, programs that lie inside the workspace.
 */
import { realpathSync } from "node:fs";
import { delimiter } from "node:path";
import { findExecutable } from "./spawn-failure.ts";

export type Engines = {
  readonly rg: string | undefined;
  /** `fd`, or `fdfind` as Debian calls it. */
  readonly fd: string | undefined;
  readonly find: string | undefined;
};

/**
 * Absolute paths of the engines on `path` (a PATH value). A program inside `root` is passed over: opening a repository
 * must not run what the repository brought along (security.md 1), and `npx` puts its `node_modules/.bin` on PATH.
 */
export function detectEngines(path: string | undefined, root: string): Engines {
  const outside = path
    ?.split(delimiter)
    .filter((directory) => !isInside(directory, root))
    .join(delimiter);
  // An empty value would mean the system's standard places.
  if (outside === "" && path !== "") return { rg: undefined, fd: undefined, find: undefined };
  const locate = (name: string): string | undefined => {
    // A link on the way may lead into the workspace: then the next directory has its turn.
    for (const directory of outside?.split(delimiter) ?? [undefined]) {
      if (directory === "") continue;
      const found = findExecutable(name, directory);
      if (found !== undefined && !isInside(realOf(found), root)) return found;
    }
    return undefined;
  };
  return { rg: locate("rg"), fd: locate("fd") ?? locate("fdfind"), find: locate("find") };
}

/** The environment an engine gets: nothing of the user's settings, byte-wise names (S08). */
export function engineEnvironment(): Record<string, string> {
  // HOME and XDG_CONFIG_HOME lead to the global ignore files of git and fd, which no flag of fd 8 switches off.
  return { PATH: "/usr/bin:/bin", LC_ALL: "C", HOME: "/dev/null", XDG_CONFIG_HOME: "/dev/null" };
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
