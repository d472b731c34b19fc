/**
 * Reading small settings files without surprises. Synchronous on purpose: an absent file, the usual case at start, costs a
 * tenth of a millisecond instead of several, and the size is bounded. Refuses: writing (private-file.ts).
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../base/file-problem.ts";
import { UserError } from "../base/user-error.ts";

/** Over this size a file of ours (keys, trust) is refused. */
const MAX_SETTINGS_BYTES = 1_048_576;
/** Over this size a configuration file is refused: it may be a stranger's, and it is read at every start. */
export const MAX_CONFIG_BYTES = 262_144;

export type FileRead =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "absent" }
  /** `reason` completes "cannot be read: …". `closed`: a directory on the way that may not be entered: nobody can know whether there is a file. */
  | { readonly kind: "unreadable"; readonly reason: string; readonly closed?: string };

const ABSENT: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

function failed(path: string, error: unknown): FileRead {
  const code = errnoOf(error) || String(error);
  if (ABSENT.has(code)) return { kind: "absent" };
  if (code !== "EACCES") return { kind: "unreadable", reason: code };
  const closed = closedDirectory(path);
  return { kind: "unreadable", reason: "permission denied", ...(closed !== undefined && { closed }) };
}

/** The outermost directory on the way to `path` that may not be entered. */
function closedDirectory(path: string): string | undefined {
  let closed: string | undefined;
  for (let at = path; ; at = dirname(at)) {
    try {
      lstatSync(at);
      return closed;
    } catch (error) {
      if (errnoOf(error) !== "EACCES" || at === dirname(at)) return closed;
      closed = dirname(at);
    }
  }
}

function readOpen(fd: number, maxBytes: number): FileRead {
  const stat = fstatSync(fd);
  if (!stat.isFile())
    return { kind: "unreadable", reason: stat.isDirectory() ? "it is a directory" : "it is not a regular file" };
  // One byte more than allowed: a file that grows meanwhile, or one whose size says nothing (/proc), is noticed too.
  const buffer = new Uint8Array(Math.min(Math.max(stat.size, 4096), maxBytes) + 1);
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(fd, buffer, length, buffer.length - length, null);
    if (count === 0) return { kind: "bytes", bytes: buffer.subarray(0, length), mode: stat.mode & 0o777 };
    length += count;
  }
  return { kind: "unreadable", reason: `it is larger than ${maxBytes} bytes` };
}

/** Reads a regular file of at most `maxBytes`. Never blocks on a FIFO or a device. */
export function readSettingsFile(path: string, maxBytes = MAX_SETTINGS_BYTES): FileRead {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    return readOpen(fd, maxBytes);
  } catch (error) {
    return failed(path, error);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The file's text, without a BOM. @throws UserError when it is not UTF-8 */
export function decodeSettings(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UserError(`${path}: is not UTF-8 text`);
  }
}
