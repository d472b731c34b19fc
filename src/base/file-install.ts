/**
 * Puts a complete file in place of nothing, or of an older one, so that a reader (or the survivor of a crash) sees the old bytes
 * or the new, never a mixture: temporary file beside the target, written, synced, mode copied, then one `link` or `rename` (a mount
 * point: file-in-place.ts).
 * Refuses: deciding what the bytes are, proving paths.
 */
import { accessSync, constants, linkSync, renameSync, unlinkSync } from "node:fs";
import { type FileHandle, open } from "./async-fs.ts";
import { copyExtras } from "./file-extras.ts";
import { overwriteInPlace } from "./file-in-place.ts";
import { errnoOf, FileProblem } from "./file-problem.ts";
import { demandRegular, type FileVersion, type ReadFile, sameVersion, versionOf } from "./file-read.ts";
import { noteTemp, sweepDirectory, tempName } from "./file-temps.ts";
import type { HeldDirectory } from "./held-directory.ts";

/** The moments between which an install can be interrupted, in order; `linking` and `linked` only when a file is created. */
export type InstallStep =
  | "noted"
  | "made"
  | "written"
  | "synced"
  | "checked"
  | "linking"
  | "linked"
  | "installed"
  | "settled"
  | "forgotten";

export type InstallOptions = {
  /** Looked at until the moment of installation; afterwards the install is completed. */
  readonly signal?: AbortSignal;
  /** Test seam: called at each step; what it throws is treated like a failing system call of that step. */
  readonly onStep?: (step: InstallStep) => void;
};

/** `O_NOFOLLOW` costs nothing with `O_EXCL`, which never follows; it says what is meant. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
const CHUNK = 1_048_576;

/** What file systems without hard links answer (FAT, some network and FUSE mounts). */
const NO_HARD_LINKS: ReadonlySet<string> = new Set(["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV"]);

const CHANGED = "it was changed on disk by somebody else meanwhile; nothing was written. Read it again and repeat the call";

type Target = {
  /** Where the note of the temporary file is kept; undefined for thndrs' own files. */
  readonly root?: string;
  readonly directory: HeldDirectory;
  readonly name: string;
};

/** Bytes at hand, or pieces as they are made: those are never all held. */
export type Content = Uint8Array | AsyncIterable<Uint8Array>;

async function writeContent(handle: FileHandle, content: Content): Promise<void> {
  if (content instanceof Uint8Array) return writeAll(handle, content);
  for await (const piece of content) await writeAll(handle, piece);
}

/** Goes on where the last write ended. */
export async function writeAll(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let offset = 0; offset < data.length; ) {
    const { bytesWritten } = await handle.write(data, offset, Math.min(data.length - offset, 8 * CHUNK));
    offset += bytesWritten;
  }
}

/** True when the name is not there any more. */
function tryUnlink(directory: HeldDirectory, name: string): boolean {
  try {
    unlinkSync(directory.at(name));
    return true;
  } catch (error) {
    // Else the directory has become unusable: the note stays, and the next start tries again.
    return errnoOf(error) === "ENOENT";
  }
}

/**
 * Writes the temporary file and hands its name to `commit`. Whatever happens, no temporary file stays; a killed process leaves one
 * that the next start removes.
 */
async function throughTemp(
  target: Target,
  content: Content,
  mode: number,
  options: InstallOptions,
  finish: {
    /** Sets owner and mode of the written file. */
    readonly dress?: (handle: FileHandle, temp: string) => Promise<void>;
    /** Last look at the target; may take its time. */
    readonly check?: () => Promise<void>;
    readonly commit: (temp: string) => Promise<void> | void;
  },
): Promise<void> {
  const { directory, root } = target;
  const step = options.onStep ?? (() => {});
  const temp = tempName();
  const note = root === undefined ? undefined : noteTemp(root, directory.path, temp);
  if (note === undefined) sweepDirectory(directory);
  try {
    step("noted");
    const handle = await open(directory.at(temp), NEW_FILE, mode);
    try {
      step("made");
      await writeContent(handle, content);
      step("written");
      await finish.dress?.(handle, temp);
      await handle.sync();
      step("synced");
    } finally {
      await handle.close();
    }
    await finish.check?.();
    step("checked");
    if (options.signal?.aborted === true) throw new FileProblem("cancelled", "cancelled before anything was written");
    directory.demandInPlace();
    await finish.commit(temp);
    step("installed");
    await directory.sync();
    step("settled");
  } finally {
    const gone = tryUnlink(directory, temp);
    if (gone) note?.forget();
    note?.close();
    step("forgotten");
  }
}

const LIST_LOST =
  "its access control list cannot be kept, and without it others might read or write it; nothing was written. Change it through run_shell";

/**
 * Owner and group where we may, access control list, then the mode (in this order: changing the owner clears the set-id bits, and
 * until the mode is set nobody else may do anything).
 */
async function copyAttributes(target: Target, handle: FileHandle, temp: string, version: FileVersion): Promise<void> {
  const chown = (uid: number, gid: number) =>
    handle.chown(uid, gid).then(
      () => true,
      () => false,
    );
  const own = await handle.stat();
  let mode = version.mode;
  const foreign = own.uid !== version.uid || own.gid !== version.gid;
  if (foreign && !(await chown(version.uid, version.gid))) {
    // Set-id bits were granted for that owner and that group, not for ours.
    if (own.uid !== version.uid) mode &= ~0o4000;
    if (own.gid !== version.gid && !(await chown(own.uid, version.gid))) mode &= ~0o2000;
  }
  const { directory, name } = target;
  if (!(await copyExtras(directory.at(name), directory.at(temp)))) throw new FileProblem("denied", LIST_LOST);
  await handle.chmod(mode);
}

/** The bytes are compared, not only the times: a write within one clock tick that keeps the size would be lost otherwise. */
async function demandSameBytes(target: Target, original: ReadFile): Promise<void> {
  const changed = () => new FileProblem("changed", CHANGED);
  const found = target.directory.look(target.name);
  if (found === undefined || !sameVersion(versionOf(found), original.version)) throw changed();
  const handle = await open(target.directory.at(target.name), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, original.bytes.length + 1));
    for (let offset = 0; ; ) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0 && offset === original.bytes.length) return;
      const expected = original.bytes.subarray(offset, offset + bytesRead);
      if (bytesRead === 0 || !expected.equals(buffer.subarray(0, bytesRead))) throw changed();
      offset += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

/** Rename needs only the directory, so the file's own protection is asked first; the mode bits hold for root as well. */
function demandWritable(target: Target, version: FileVersion): void {
  if ((version.mode & 0o222) === 0) {
    const mode = version.mode.toString(8).padStart(4, "0");
    throw new FileProblem("denied", `permission denied: it is write-protected (mode ${mode})`);
  }
  accessSync(target.directory.at(target.name), constants.W_OK);
}

/** Replaces the file that `original` was read from. Fails with `changed` when it is not that file in that state any more. */
export async function replaceThroughTemp(
  target: Target,
  original: ReadFile,
  data: Uint8Array,
  options: InstallOptions,
): Promise<void> {
  demandWritable(target, original.version);
  // Nobody may read the new bytes through a wider mode than the file has, not even for a moment.
  await throughTemp(target, data, 0o600, options, {
    dress: (handle, temp) => copyAttributes(target, handle, temp, original.version),
    check: () => demandSameBytes(target, original),
    commit: (temp) => {
      // No await between this look and the rename: within one process no other call can come between.
      const found = target.directory.look(target.name);
      if (found === undefined || !sameVersion(versionOf(found), original.version)) throw new FileProblem("changed", CHANGED);
      putInPlace(target, temp, { expected: original.version });
    },
  });
}

/** Renames; a mount point, which cannot be renamed onto, is overwritten. */
function putInPlace(target: Target, temp: string, how: { readonly expected?: FileVersion; readonly mode?: number }): void {
  const { directory, name } = target;
  try {
    renameSync(directory.at(temp), directory.at(name));
  } catch (error) {
    if (errnoOf(error) !== "EBUSY") throw error;
    overwriteInPlace({ temp: () => directory.at(temp), target: () => directory.at(name), expected: undefined, ...how });
  }
}

/** Creates a file that is not there, mode 0666 less the umask. Fails with `exists` whenever the name is taken, even at the last moment. */
export async function createThroughTemp(target: Target, data: Uint8Array, options: InstallOptions): Promise<void> {
  const { directory, name } = target;
  const step = options.onStep ?? (() => {});
  await throughTemp(target, data, 0o666, options, {
    commit: async (temp) => {
      try {
        step("linking");
        linkSync(directory.at(temp), directory.at(name));
        step("linked");
        unlinkSync(directory.at(temp));
      } catch (error) {
        if (!NO_HARD_LINKS.has(errnoOf(error))) throw error;
        await writeExclusively(directory, name, data);
      }
    },
  });
}

/** Where there are no hard links: still never over an existing file, but a crash may leave a part of the new one. */
async function writeExclusively(directory: HeldDirectory, name: string, data: Uint8Array): Promise<void> {
  const handle = await open(directory.at(name), NEW_FILE, 0o666);
  try {
    await writeAll(handle, data);
    await handle.sync();
  } catch (error) {
    tryUnlink(directory, name);
    throw error;
  } finally {
    await handle.close();
  }
}

/** A device, a FIFO or a directory is not replaced by a file, least of all by root; nor is what its owner protected. */
function demandReplaceable(target: Target): void {
  const found = target.directory.look(target.name);
  if (found === undefined) return;
  demandRegular(found);
  demandWritable(target, versionOf(found));
}

/** Puts a file of thndrs' own in place with exactly `mode`, instead of nothing or of an older regular file. */
export async function putThroughTemp(target: Target, content: Content, mode: number, options: InstallOptions): Promise<void> {
  demandReplaceable(target);
  await throughTemp(target, content, 0o600, options, {
    dress: (handle) => handle.chmod(mode),
    commit: (temp) => {
      demandReplaceable(target);
      putInPlace(target, temp, { mode });
    },
  });
}
