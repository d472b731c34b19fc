/**
 * A directory that is held open, so that what is done in it is done in *it*, not in whatever its path means a moment later.
 * On Linux names are reached through `/proc/self/fd/N/name`; elsewhere the path is proved again before each use. Refuses:
 * deciding whether the directory may be used (its path must already be proved and free of links).
 */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
} from "node:fs";
import { join } from "node:path";
import { errnoOf, FileProblem } from "./file-problem.ts";

const DIRECTORY_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

const MOVED = "its directory was moved or replaced by a link meanwhile; nothing was changed";

export interface HeldDirectory {
  /** Real path at the time it was opened. */
  readonly path: string;
  /**
   * A path for one name in this directory, good for one system call. It must not be shown to anybody.
   * @throws FileProblem `escaped` where the platform has no held names and the directory is not where it was
   */
  at(name: string): string;
  /** `lstat` of one name; undefined when there is none. */
  look(name: string): BigIntStats | undefined;
  /**
   * Throws `escaped` when the directory is not at its path any more: what is put into it now would not be where the caller says it is.
   */
  demandInPlace(): void;
  /** Makes new names durable. Silent where the file system cannot sync directories. */
  sync(): Promise<void>;
  close(): void;
}

function procPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** Where an open directory is now; undefined without `/proc`. */
function whereIs(fd: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return readlinkSync(procPath(fd));
  } catch {
    return undefined;
  }
}

/**
 * Whether an open file or directory is where its real `path` says: no directory on the way was replaced by a link while it was opened.
 * Without `/proc` the path is looked at again, which is the best there is.
 */
export function isOpenAt(fd: number, path: string): boolean {
  return isHere(whereIs(fd), path, fd);
}

function isHere(where: string | undefined, path: string, fd: number): boolean {
  return where === undefined ? stillAt(path, fd) : where === path;
}

/**
 * Whether a path that somebody else reported still is a real one. A name that is no UTF-8 cannot be asked for: it is believed.
 */
export function isInPlace(path: string): boolean {
  try {
    return realpathSync.native(path) === path;
  } catch (error) {
    return errnoOf(error) === "ENOENT" && path.includes("\ufffd");
  }
}

/** The best there is without `/proc`: the path still is real, and is still the directory that was opened. */
function stillAt(path: string, fd: number): boolean {
  try {
    const held = fstatSync(fd, { bigint: true });
    const there = lstatSync(path, { bigint: true });
    return realpathSync.native(path) === path && held.dev === there.dev && held.ino === there.ino;
  } catch {
    return false;
  }
}

function hold(fd: number, path: string, named: boolean): HeldDirectory {
  const at = (name: string): string => {
    if (named) return `${procPath(fd)}/${name}`;
    if (!stillAt(path, fd)) throw new FileProblem("escaped", MOVED);
    return join(path, name);
  };
  const demandInPlace = (): void => {
    if (named ? whereIs(fd) !== path : !stillAt(path, fd)) throw new FileProblem("escaped", MOVED);
  };
  return {
    path,
    at,
    demandInPlace,
    look: (name) => lstatSync(at(name), { bigint: true, throwIfNoEntry: false }),
    sync: () => new Promise((done) => fsync(fd, () => done())),
    close: () => closeSync(fd),
  };
}

/**
 * Opens a directory by its real path and proves that what was opened is what the path said: no link was followed.
 * @throws FileProblem or a system error
 */
export function holdDirectory(path: string): HeldDirectory {
  const fd = openDirectory(path);
  const where = whereIs(fd);
  if (isHere(where, path, fd)) return hold(fd, path, where !== undefined);
  closeSync(fd);
  throw new FileProblem("escaped", MOVED);
}

function openDirectory(path: string): number {
  try {
    return openSync(path, DIRECTORY_FLAGS);
  } catch (error) {
    // With O_DIRECTORY|O_NOFOLLOW a link says ENOTDIR, like a file does.
    if (errnoOf(error) === "ENOTDIR" && isLink(path)) throw new FileProblem("escaped", MOVED);
    throw error;
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Opens a directory inside a held one. Its name is looked up there and a link is never followed. */
export function holdChild(parent: HeldDirectory, name: string): HeldDirectory {
  const fd = openDirectory(parent.at(name));
  return hold(fd, join(parent.path, name), whereIs(fd) !== undefined);
}

/** A held directory together with those that had to be made for it. */
type MadeDirectory = {
  readonly directory: HeldDirectory;
  /** Makes the new directories durable. */
  sync(): Promise<void>;
  /** Takes the new directories away again, as far as they are still empty. */
  undo(): void;
  close(): void;
};

/**
 * Holds `start` (which exists) and goes down through `names`, making what is missing (mode 0777 less the umask). Each step is
 * taken relative to the last, so no swap can lead it elsewhere.
 * @throws FileProblem or a system error; nothing new is left then
 */
export function makeDirectories(start: string, names: readonly string[]): MadeDirectory {
  let directory = holdDirectory(start);
  const held = [directory];
  const made: { readonly parent: HeldDirectory; readonly name: string }[] = [];
  const close = () => {
    for (const one of held) one.close();
  };
  const undo = () => {
    for (const { parent, name } of made.toReversed()) {
      try {
        rmdirSync(parent.at(name));
      } catch {
        // Somebody put something into it, or took it away: it is theirs now.
        return;
      }
    }
  };
  const sync = async () => {
    for (const { parent } of made) await parent.sync();
  };
  try {
    for (const name of names) {
      if (makeOne(directory, name)) made.push({ parent: directory, name });
      directory = holdChild(directory, name);
      held.push(directory);
    }
  } catch (error) {
    undo();
    close();
    throw error;
  }
  return { directory, sync, undo, close };
}

/** True when this call made it; false when it was there already. */
export function makeOne(parent: HeldDirectory, name: string): boolean {
  try {
    mkdirSync(parent.at(name));
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}
