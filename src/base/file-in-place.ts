/**
 * For a file that nothing can be renamed onto because it is a mount point (`docker run -v file:/ws/file`): the new bytes, which lie
 * complete and synced in the temporary file beside it, are written over the old ones, and those are put back when that fails. A process
 * that is killed in between leaves a mixture: that is why this is for nothing else. Refuses: making a file, proving paths.
 */
import { closeSync, constants, fchmodSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { errnoOf, FileProblem } from "./file-problem.ts";
import { type FileVersion, sameVersion, versionOf } from "./file-read.ts";

const CHUNK = 1_048_576;
const TARGET = constants.O_RDWR | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);

/** Test seam: writes as `writeSync` does. */
export type Write = (fd: number, data: Uint8Array, position: number) => number;

const writeAt: Write = (fd, data, position) => writeSync(fd, data, 0, data.length, position);

type Place = {
  /** Paths good for one system call each (held-directory.ts). */
  readonly temp: () => string;
  readonly target: () => string;
  /** The state that may be overwritten. */
  readonly expected: FileVersion | undefined;
  /** Undefined: as it is. */
  readonly mode?: number;
};

/** Synchronous: between the look at the file and its last byte no other call of this process comes. @throws FileProblem or a system error */
export function overwriteInPlace(place: Place, write: Write = writeAt): void {
  const source = openSync(place.temp(), constants.O_RDONLY);
  let target: number | undefined;
  try {
    target = openSync(place.target(), TARGET);
    const found = versionOf(fstatSync(target, { bigint: true }));
    if (place.expected !== undefined && !sameVersion(found, place.expected))
      throw new FileProblem("changed", "it was changed on disk by somebody else meanwhile; nothing was written");
    const old = readWhole(target, found.size);
    try {
      copy(source, target, write);
      if (place.mode !== undefined) fchmodSync(target, place.mode);
    } catch (error) {
      putBack(target, old, errnoOf(error) || String(error));
      throw error;
    }
  } finally {
    closeSync(source);
    if (target !== undefined) closeSync(target);
  }
}

function readWhole(fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; ) {
    const count = readSync(fd, bytes, at, Math.min(CHUNK, size - at), at);
    if (count === 0) return bytes.subarray(0, at);
    at += count;
  }
  return bytes;
}

function writeWhole(fd: number, data: Uint8Array, position: number, write: Write): number {
  for (let at = 0; at < data.length; ) at += write(fd, data.subarray(at), position + at);
  return position + data.length;
}

function copy(source: number, target: number, write: Write): void {
  const buffer = new Uint8Array(CHUNK);
  let size = 0;
  for (;;) {
    const count = readSync(source, buffer, 0, CHUNK, size);
    if (count === 0) break;
    size = writeWhole(target, buffer.subarray(0, count), size, write);
  }
  ftruncateSync(target, size);
  fsyncSync(target);
}

/** Its blocks are there: a full disk takes the old bytes back. */
function putBack(target: number, old: Uint8Array, reason: string): void {
  try {
    ftruncateSync(target, writeWhole(target, old, 0, writeAt));
    fsyncSync(target);
  } catch (error) {
    const both = `${reason}; ${errnoOf(error) || String(error)}`;
    throw new FileProblem(
      "io",
      `it is a mount point, and writing into it failed and could not be undone (${both}): it is damaged`,
    );
  }
}
