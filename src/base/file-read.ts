/**
 * Opens and reads regular files without surprises: never blocks on a FIFO, socket or device, never reads more than asked,
 * never decodes. Refuses: writing, text.
 */
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, open, read, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { type FileFailure, FileProblem, failureOf } from "./file-problem.ts";
import { holdDirectory } from "./held-directory.ts";
import type { SafePath } from "./workspace.ts";

/** What identifies one state of one file. Times are nanoseconds since the epoch. */
export type FileVersion = {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  /** Permission bits, `0o7777`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Number of hard links. */
  readonly links: number;
};

/** A file open for reading. What may wait for a slow disk is done elsewhere; each step elsewhere costs a tenth of a millisecond. */
export interface ReadHandle {
  /** Bytes read into `buffer` from `offset` on, at most `length`; 0 at the end of the file. Rejects with a system error. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  close(): void;
}

/** An open regular file. The caller closes `handle`. */
export type OpenFile = { readonly ok: true; readonly handle: ReadHandle; readonly version: FileVersion };

export type ReadFile = {
  readonly ok: true;
  /** At most `maxBytes`. */
  readonly bytes: Buffer;
  readonly version: FileVersion;
  /** True when the file is longer than `bytes` (only with `cut`). */
  readonly truncated: boolean;
};

type ReadOptions = {
  readonly maxBytes: number;
  /** Refuse a link as the last component (default: follow). Links on the way to it are followed either way. */
  readonly noFollow?: boolean;
  /** Return the first `maxBytes` of a longer file instead of failing with `too_large`. */
  readonly cut?: boolean;
};

/** O_NONBLOCK: between the look and the open a FIFO may take the file's place; O_NOCTTY: so may a terminal. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** What a `stat` says of a file's identity and state. */
export function versionOf(stat: BigIntStats): FileVersion {
  return {
    dev: stat.dev,
    ino: stat.ino,
    size: Number(stat.size),
    mtimeNs: stat.mtimeNs,
    ctimeNs: stat.ctimeNs,
    mode: Number(stat.mode & 0o7777n),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    links: Number(stat.nlink),
  };
}

/** Is it still the same file in the same state? */
export function sameVersion(one: FileVersion, other: FileVersion): boolean {
  return (
    one.dev === other.dev &&
    one.ino === other.ino &&
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  );
}

function kindOf(stat: BigIntStats): string {
  if (stat.isFIFO()) return "a FIFO";
  if (stat.isSocket()) return "a socket";
  if (stat.isCharacterDevice() || stat.isBlockDevice()) return "a device";
  return stat.isSymbolicLink() ? "a symbolic link" : "something else";
}

/** @throws FileProblem `directory` or `not_regular` */
export function demandRegular(stat: BigIntStats): void {
  if (stat.isFile()) return;
  if (stat.isDirectory()) throw new FileProblem("directory", "it is a directory");
  throw new FileProblem("not_regular", `it is not a regular file but ${kindOf(stat)}`);
}

function opened(path: string, flags: number): Promise<number> {
  return new Promise((done, failed) => open(path, flags, (error, fd) => (error ? failed(error) : done(fd))));
}

function readHandle(fd: number): ReadHandle {
  return {
    read: (buffer, offset, length, position) =>
      new Promise((done, failed) => {
        read(fd, buffer, offset, length, position, (error, bytesRead) => (error ? failed(error) : done(bytesRead)));
      }),
    close: () => closeSync(fd),
  };
}

/** Looks first (opening a device may do something), opens, looks again (it may have been swapped). */
async function openChecked(path: string, before: BigIntStats, flags: number): Promise<OpenFile> {
  demandRegular(before);
  const fd = await opened(path, READ_FLAGS | flags);
  try {
    const stat = fstatSync(fd, { bigint: true });
    demandRegular(stat);
    return { ok: true, handle: readHandle(fd), version: versionOf(stat) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Opens a proved path for reading. It is opened relative to its directory, which is held and proved to be where the path says,
 * so nothing outside the workspace can be opened by swapping directories and links.
 */
export async function openSafe(path: SafePath): Promise<OpenFile | FileFailure> {
  try {
    if (dirname(path) === path) throw new FileProblem("directory", "it is a directory");
    const directory = holdDirectory(dirname(path));
    try {
      const name = basename(path);
      const before = directory.look(name);
      if (before === undefined) throw new FileProblem("missing", "it does not exist");
      return await openChecked(directory.at(name), before, NO_FOLLOW);
    } finally {
      directory.close();
    }
  } catch (error) {
    return failureOf(error);
  }
}

/** Reads an open file of `expected` bytes from its beginning to its end or to `limit` bytes, whichever comes first. */
export async function readUpTo(handle: ReadHandle, limit: number, expected: number): Promise<Buffer> {
  // One byte more than expected: a read that leaves it empty has found the end.
  let buffer = Buffer.allocUnsafe(Math.min(limit, expected + 1));
  let length = 0;
  while (length < limit) {
    if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(limit, Math.max(65_536, buffer.length * 2)));
    const bytesRead = await handle.read(buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length === expected) break;
  }
  return buffer.subarray(0, length);
}

async function readOpened({ handle, version }: OpenFile, options: ReadOptions): Promise<ReadFile> {
  const { maxBytes, cut = false } = options;
  if (version.size > maxBytes && !cut) throw tooLarge(version.size, maxBytes);
  // Files in /proc say 0 and have content; a log may grow while it is read. The limit holds for what is there.
  const bytes = await readUpTo(handle, maxBytes + 1, version.size);
  if (bytes.length <= maxBytes) return { ok: true, bytes, version, truncated: false };
  if (!cut) throw tooLarge(bytes.length, maxBytes);
  return { ok: true, bytes: bytes.subarray(0, maxBytes), version, truncated: true };
}

function tooLarge(size: number, maxBytes: number): FileProblem {
  return new FileProblem("too_large", `it has ${size} bytes; the limit is ${maxBytes}`);
}

/** Reads a whole proved file of at most `maxBytes` bytes. */
export async function readSafe(path: SafePath, options: ReadOptions): Promise<ReadFile | FileFailure> {
  const file = await openSafe(path);
  return file.ok ? readAndClose(file, options) : file;
}

/**
 * Reads a regular file anywhere (instruction files, settings, skills): the caller answers for the path. Never blocks, never
 * reads more than `maxBytes`, decodes nothing.
 */
export async function readRegularFile(path: string, options: ReadOptions): Promise<ReadFile | FileFailure> {
  let file: OpenFile;
  try {
    const look = options.noFollow === true ? lstatSync : statSync;
    file = await openChecked(path, look(path, { bigint: true }), options.noFollow === true ? NO_FOLLOW : 0);
  } catch (error) {
    return failureOf(error);
  }
  return readAndClose(file, options);
}

async function readAndClose(file: OpenFile, options: ReadOptions): Promise<ReadFile | FileFailure> {
  try {
    return await readOpened(file, options);
  } catch (error) {
    return failureOf(error);
  } finally {
    file.handle.close();
  }
}
