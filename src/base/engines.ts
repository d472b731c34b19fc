/**
 * Which search programs this machine offers (S09, S10). Looks them up on a PATH value, per call and cheaply, so a changed
 * PATH needs no restart. Refuses: running them, programs that lie inside the workspace.
 */
import { delimiter, dirname, join } from "node:path";
import { isBelow, realOf } from "./below.ts";
import { lookAt } from "./look.ts";
import { findExecutable } from "./spawn-failure.ts";

export type Engines = {
  readonly rg: string | undefined;
  /** `fd`, or `fdfind` as Debian calls it. */
  readonly fd: string | undefined;
  readonly find: string | undefined;
  /** Names that are on PATH, but lead into the workspace only. */
  readonly inside?: readonly string[];
};

/**
 * Absolute paths of the engines on `path` (a PATH value). A program inside `root` is passed over: opening a repository
 * must not run what the repository brought along (security.md 1), and `npx` puts its `node_modules/.bin` on PATH.
 */
export function detectEngines(path: string | undefined, root: string): Engines {
  const inside: string[] = [];
  const locate = (name: string): string | undefined => {
    // A link on the way may lead into the workspace: then the next directory has its turn.
    for (const directory of path?.split(delimiter) ?? [undefined]) {
      // An empty value would mean the system's standard places.
      const found = directory === "" ? undefined : findExecutable(name, directory);
      if (found === undefined) continue;
      const real = realOf(found);
      if (!(isBelow(found, root) || isBelow(real, root)) || isOfSystem(found, real, root)) return found;
      inside.push(name === "fdfind" ? "fd" : name);
    }
    return undefined;
  };
  const engines = { rg: locate("rg"), fd: locate("fd") ?? locate("fdfind"), find: locate("find") };
  const only = (["rg", "fd"] as const).filter((name) => engines[name] === undefined && inside.includes(name));
  return only.length === 0 ? engines : { ...engines, inside: only };
}

const SYSTEM = ["/usr", "/bin", "/sbin"];

/**
 * Whether a program came with the system although the workspace holds the system, as it does where a container has no working
 * directory: only root can have put it there, and no repository begins at the workspace's root that could have brought it.
 */
function isOfSystem(found: string, real: string, root: string): boolean {
  if (!SYSTEM.some((directory) => isBelow(directory, root)) || lookAt(join(root, ".git")) !== undefined) return false;
  return [found, real].every((path) => SYSTEM.some((directory) => isBelow(path, directory)) && isRootsAlone(path));
}

/** What is at `path`, and every directory above it, is written by root only. */
function isRootsAlone(path: string): boolean {
  const there = lookAt(path);
  if (there === undefined || there.uid !== 0 || (there.mode & 0o002) !== 0) return false;
  if ((there.mode & 0o020) !== 0 && there.gid !== 0) return false;
  return dirname(path) === path || isRootsAlone(dirname(path));
}

/** The environment an engine gets: nothing of the user's settings, byte-wise names (S08). */
export function engineEnvironment(): Record<string, string> {
  // HOME and XDG_CONFIG_HOME lead to the global ignore files of git and fd, which no flag of fd 8 switches off.
  return { PATH: "/usr/bin:/bin", LC_ALL: "C", HOME: "/dev/null", XDG_CONFIG_HOME: "/dev/null" };
}
