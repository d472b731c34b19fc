/**
 * Proof that a path is inside the workspace. The only place that mints a SafePath (architecture.md, Key types), and the
 * place that finds the workspace root (C1). Refuses: opening, reading or writing what a path names (files.ts does).
 */
import { lstatSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { sweepStaleTemps } from "./file-temps.ts";
import { quotePath } from "./path-quote.ts";
import { isAscii, type Walk, walkPath } from "./path-walk.ts";
import { UserError } from "./user-error.ts";

declare const proved: unique symbol;

/** An absolute real path proved to be inside the workspace root. Only `workspace.resolve` makes one. */
export type SafePath = string & { readonly [proved]: true };

type Resolved =
  | {
      readonly ok: true;
      readonly path: SafePath;
      /** Relative to the root with `/` separators; `.` for the root. */
      readonly relative: string;
      readonly exists: boolean;
      /** Set when the path does not exist because this link (relative to the root) has no target. Nothing is created through it. */
      readonly danglingLink?: string;
      /** True when the name on disk differs from the input, but only in its Unicode normalisation form. */
      readonly respelled?: boolean;
    }
  /** `message` names the rule and is written for the model. */
  | { readonly ok: false; readonly message: string };

export type Workspace = {
  /** Real path of the workspace root (C1). */
  readonly root: string;
  /** Real path of the directory the run started in; inside `root`. Tool paths are relative to `root`, not to this. */
  readonly cwd: string;
  /** Proves one path as a model or user wrote it. */
  resolve(input: string): Promise<Resolved>;
  /** The files inside that are nobody's business, as the disk is now; see `openWorkspace`. */
  readonly closed?: Closed;
};

/** The result tells of a real path whether it is closed. */
type Closed = () => (path: string) => boolean;

/** Compares by whole segments, so `/ws-evil` is not inside `/ws`. Undefined when outside; `.` for the root itself. */
function segmentsBelow(root: string, path: string): string | undefined {
  if (path === root) return ".";
  const prefix = root.endsWith(sep) ? root : root + sep;
  return path.startsWith(prefix) ? path.slice(prefix.length).split(sep).join("/") : undefined;
}

/**
 * The same question asked of the disk: is some ancestor of `path` the very directory `root` is? True where two spellings (case,
 * normalisation form, a bind mount) name one directory; strings alone would call those outside.
 */
function identityBelow(root: string, path: string): string | undefined {
  const wanted = statSync(root, { bigint: true, throwIfNoEntry: false });
  if (wanted === undefined) return undefined;
  for (let ancestor = path; ; ancestor = dirname(ancestor)) {
    const stat = lstatSync(ancestor, { bigint: true, throwIfNoEntry: false });
    if (stat !== undefined && stat.dev === wanted.dev && stat.ino === wanted.ino) {
      return ancestor === path ? "." : relative(ancestor, path).split(sep).join("/");
    }
    if (dirname(ancestor) === ancestor) return undefined;
  }
}

function below(root: string, path: string): string | undefined {
  try {
    return segmentsBelow(root, path) ?? identityBelow(root, path);
  } catch {
    // An ancestor that cannot be looked at proves nothing.
    return undefined;
  }
}

/** Rules that need no disk. Returns the broken rule, written for the model. */
function formFault(input: string): string | undefined {
  if (input === "") return "The path is empty. Give a path relative to the workspace root; `.` is the root itself.";
  if (input.includes("\0")) return `The path ${quotePath(input)} holds a NUL character; no file name can.`;
  if (!input.isWellFormed()) return `The path ${quotePath(input)} holds half a surrogate pair, which is not a character.`;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(input)) {
    return `${quotePath(input)} is a URL, not a path. Write the path itself, relative to the workspace root.`;
  }
  if (input.startsWith("~")) {
    return `${quotePath(input)}: \`~\` is not expanded, and home directories are outside the workspace. For a file whose name begins with \`~\`, write ${quotePath(`./${input}`)}.`;
  }
  return undefined;
}

function outside(root: string, input: string, links: readonly string[]): string {
  const link = links.map((path) => segmentsBelow(root, path)).findLast((path) => path !== undefined && path !== ".");
  const why = link === undefined ? "" : ` The symbolic link ${quotePath(link)} leads out of it.`;
  return `${quotePath(input)} is outside the workspace.${why} File tools work only below ${quotePath(root)}: give a path relative to it, without leaving it through \`..\`, an absolute path or a link.`;
}

const OWN = "is one of thndrs' own files (keys, approvals, trust, history): no tool reads or writes it.";

const STOPS: Readonly<Record<(Walk & { ok: false })["reason"], string>> = {
  denied: "permission denied",
  loop: "the symbolic links go round in a circle",
  too_long: "the name is too long",
  dangling: "a symbolic link on the way has no target",
  io: "the file system reports an error there",
};

function prove(root: string, input: string): Resolved {
  const fault = formFault(input);
  if (fault !== undefined) return { ok: false, message: fault };
  const absolute = resolve(root, input);
  const exact = proveWalk(root, input, walkPath(absolute));
  if (exact.ok && exact.exists) return exact;
  // Only what is not there under its own name may be meant for its other spelling (W05).
  const other = isAscii(absolute) ? exact : proveWalk(root, input, walkPath(absolute, true));
  return other.ok ? other : exact;
}

function proveWalk(root: string, input: string, walk: Walk): Resolved {
  if (!walk.ok) {
    const at = segmentsBelow(root, walk.at);
    // Nothing is said about places outside, not even whether they exist.
    if (at === undefined) return { ok: false, message: outside(root, input, walk.links) };
    return { ok: false, message: `${quotePath(input)} cannot be followed: ${STOPS[walk.reason]} (at ${quotePath(at)}).` };
  }
  const inside = below(root, walk.path);
  if (inside === undefined) return { ok: false, message: outside(root, input, walk.links) };
  const danglingLink = walk.danglingLink === undefined ? undefined : below(root, walk.danglingLink);
  return {
    ok: true,
    path: (inside === "." ? root : join(root, inside)) as SafePath,
    relative: inside,
    exists: walk.exists,
    ...(danglingLink === undefined ? {} : { danglingLink }),
    ...(walk.respelled ? { respelled: true } : {}),
  };
}

/**
 * Does this `.git` make a workspace root? A directory or a file counts (worktrees, submodules). One that belongs to somebody
 * else entirely does not: anybody can plant `/tmp/.git`.
 */
function marksRoot(git: string, cwdOwner: number): boolean {
  try {
    const stat = statSync(git);
    if (!stat.isDirectory() && !stat.isFile()) return false;
    return stat.uid === 0 || stat.uid === process.getuid?.() || stat.uid === cwdOwner;
  } catch {
    return false;
  }
}

function findRoot(cwd: string): string {
  const owner = statSync(cwd).uid;
  for (let directory = cwd; ; directory = dirname(directory)) {
    if (marksRoot(join(directory, ".git"), owner)) return directory;
    if (dirname(directory) === directory) return cwd;
  }
}

/**
 * Opens the workspace that `cwd` (absolute) lies in: the nearest directory upwards that holds `.git`, else `cwd` itself (C1).
 * Also clears away the temporary files of writers that were killed here. `closed`: files that no path leads to.
 * @throws UserError when `cwd` is missing or no directory
 */
export async function openWorkspace(cwd: string, closed?: Closed): Promise<Workspace> {
  if (!isAbsolute(cwd)) throw new Error(`openWorkspace needs an absolute path, got ${cwd}`);
  const exact = walkPath(resolve(cwd));
  const walk = exact.ok && exact.exists ? exact : walkPath(resolve(cwd), true);
  if (!walk.ok) throw new UserError(`The working directory ${quotePath(cwd)} cannot be opened: ${STOPS[walk.reason]}.`);
  if (!walk.exists) throw new UserError(`The working directory ${quotePath(cwd)} does not exist.`);
  if (!statSync(walk.path).isDirectory()) throw new UserError(`The working directory ${quotePath(cwd)} is not a directory.`);
  const root = findRoot(walk.path);
  sweepStaleTemps(root);
  if (closed === undefined) return { root, cwd: walk.path, resolve: async (input) => prove(root, input) };
  const resolveOpen = async (input: string): Promise<Resolved> => {
    const resolved = prove(root, input);
    return resolved.ok && closed()(resolved.path) ? { ok: false, message: `${quotePath(input)} ${OWN}` } : resolved;
  };
  return { root, cwd: walk.path, resolve: resolveOpen, closed };
}

/**
 * Where a path as a model wrote it leads: as its words say (`..` and `.` followed), and through links where that is another place.
 * Relative to `root` with `/` separators; absolute where it lies outside. For comparing with patterns: proves nothing.
 */
export function placesOf(root: string, input: string): readonly string[] {
  const absolute = resolve(root, input);
  const written = segmentsBelow(root, absolute) ?? absolute;
  const real = input.includes("\0") ? undefined : prove(root, input);
  return real?.ok && real.relative !== written ? [written, real.relative] : [written];
}

/** Exactly the directory `root` (a real path) and what is below it: for reading in places that are not the workspace. */
export function confineTo(root: string): Workspace {
  return { root, cwd: root, resolve: async (input) => prove(root, input) };
}
