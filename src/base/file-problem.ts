/** Why a file operation did not happen, as a value. Refuses: paths and advice (callers know what the reader can do). */

type FileReason =
  | "missing"
  | "exists"
  | "denied"
  | "read_only"
  | "directory"
  | "not_regular"
  | "too_large"
  /** The file is not the one that was read, or not any more. */
  | "changed"
  /** A directory on the way was swapped or moved while we worked. */
  | "escaped"
  | "no_space"
  | "name"
  | "cancelled"
  | "io";

/** `message` is a clause that fits after "`path`: " and before a full stop. */
export type FileFailure = { readonly ok: false; readonly reason: FileReason; readonly message: string };

/** Thrown inside base/ only; every exported operation turns it into a `FileFailure`. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
  readonly reason: FileReason;
  constructor(reason: FileReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const MEANINGS: Readonly<Record<string, readonly [FileReason, string]>> = {
  ENOENT: ["missing", "it does not exist"],
  EEXIST: ["exists", "it already exists"],
  ENOTEMPTY: ["exists", "the directory is not empty"],
  EACCES: ["denied", "permission denied"],
  EPERM: ["denied", "the operation is not permitted"],
  EROFS: ["read_only", "the file system is read-only"],
  EISDIR: ["directory", "it is a directory"],
  ENOTDIR: ["name", "a part of the path is a file, not a directory"],
  ELOOP: ["escaped", "a part of the path became a symbolic link meanwhile"],
  ENXIO: ["not_regular", "it is not a regular file"],
  ENAMETOOLONG: ["name", "the name is too long for this file system"],
  EINVAL: ["name", "the file system does not accept this name"],
  EILSEQ: ["name", "the file system does not accept this name"],
  ENOSPC: ["no_space", "no space is left on the device"],
  EDQUOT: ["no_space", "the disk quota is used up"],
  EFBIG: ["too_large", "the file would be larger than the file system allows"],
  EMFILE: ["io", "too many files are open"],
  ENFILE: ["io", "too many files are open"],
  EBUSY: ["denied", "it is in use by the system (a mount point, say)"],
  ETXTBSY: ["denied", "the file is being executed"],
};

/** The `E…` code of a system error; "" for anything else. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Turns a system error or a `FileProblem` into a failure. Anything else is a bug and is thrown on. */
export function failureOf(error: unknown): FileFailure {
  if (error instanceof FileProblem) return { ok: false, reason: error.reason, message: error.message };
  const code = errnoOf(error);
  if (code === "") throw error;
  const [reason, message] = MEANINGS[code] ?? ["io", `input/output error (${code})`];
  return { ok: false, reason, message };
}
