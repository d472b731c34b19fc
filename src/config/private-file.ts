/**
 * Small files of the user's own config home: written whole, readable by nobody else, changed by one process at a time.
 * Refuses: anything inside a workspace.
 */

import { dirname } from "node:path";
import { mkdir, open, rm, stat } from "../base/async-fs.ts";
import { errnoOf } from "../base/file-problem.ts";
import { writeOwnFile } from "../base/files.ts";
import { UserError } from "../base/user-error.ts";
import { type FileRead, readSettingsFile } from "./settings-file.ts";

/** A lock older than this was left behind: no change takes that long. */
const STALE_LOCK_MS = 10_000;
const LOCK_WAIT_MS = 15_000;
const LOCK_POLL_MS = 20;

/**
 * Writes `text` whole, mode 0600, in a directory made 0700 where it is missing.
 * @throws UserError with the reason
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const written = await writeOwnFile(path, text, 0o600);
  if (!written.ok) throw new UserError(`${path} cannot be written: ${written.message}`);
}

/** Which file a lock is, and how old; undefined where there is none. */
async function look(lock: string): Promise<{ readonly id: string; readonly isStale: boolean } | undefined> {
  const found = await stat(lock).catch(() => undefined);
  return found && { id: `${found.ino}-${found.mtimeMs}`, isStale: Date.now() - found.mtimeMs > STALE_LOCK_MS };
}

/**
 * Takes a lock away that was left behind, if it is still that one. Only who makes the guard named after it may: another taker would
 * remove what the first has made in its place.
 */
async function removeStale(lock: string, id: string): Promise<void> {
  const guard = `${lock}.${id}`;
  try {
    await (await open(guard, "wx", 0o600)).close();
  } catch (error) {
    const code = errnoOf(error) || String(error);
    if (code !== "EEXIST") throw new UserError(`${lock} was left behind, and cannot be removed: ${code}`);
    if ((await look(guard))?.isStale) await rm(guard, { force: true });
    return;
  }
  try {
    if ((await look(lock))?.id === id) await rm(lock, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

/** Apart from the lock: a plain file in the directory's place is EEXIST too, and no lock. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  } catch (error) {
    const code = errnoOf(error) || String(error);
    const reason = code === "EEXIST" || code === "ENOTDIR" ? `${dirname(path)} is not a directory` : code;
    throw new UserError(`${path} cannot be written: ${reason}`);
  }
}

/** Answers how to let go of it. */
async function takeLock(path: string, signal: AbortSignal | undefined): Promise<() => Promise<void>> {
  const lock = `${path}.lock`;
  const deadline = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    signal?.throwIfAborted();
    await makeDirectory(path);
    try {
      await (await open(lock, "wx", 0o600)).close();
      const mine = await look(lock);
      return async () => {
        if ((await look(lock))?.id === mine?.id) await rm(lock, { force: true });
      };
    } catch (error) {
      const code = errnoOf(error) || String(error);
      if (code !== "EEXIST") throw new UserError(`${path} cannot be written: ${code}`);
      if (performance.now() > deadline)
        throw new UserError(`${path} is being changed by another thndrs; if there is none, remove ${lock}`);
      const found = await look(lock);
      if (found?.isStale) await removeStale(lock, found.id);
      if (await look(lock)) await Bun.sleep(LOCK_POLL_MS);
    }
  }
}

/**
 * Reads the file, lets `change` answer with its new text, and writes that with `mode`; nobody else's change is lost between the
 * two. `signal` ends the wait for somebody else's change.
 * @throws UserError with the reason; what `signal` was aborted with
 */
export async function updateSettingsFile(
  path: string,
  mode: number,
  change: (read: Exclude<FileRead, { kind: "unreadable" }>) => string | Promise<string>,
  signal?: AbortSignal,
): Promise<void> {
  const release = await takeLock(path, signal);
  try {
    const read = readSettingsFile(path);
    // Writing over what cannot be read would lose it.
    if (read.kind === "unreadable") throw new UserError(`${path} cannot be read: ${read.reason}`);
    const written = await writeOwnFile(path, await change(read), mode);
    if (!written.ok) throw new UserError(`${path} cannot be written: ${written.message}`);
  } finally {
    await release();
  }
}

/** The same for a file that nobody else may read. */
export function updatePrivateFile(
  path: string,
  change: (read: FileRead) => string | Promise<string>,
  signal?: AbortSignal,
): Promise<void> {
  return updateSettingsFile(path, 0o600, change, signal);
}

/** Takes a private file away; one that is not there is no error, nor is one that cannot be removed. */
export async function removePrivateFile(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}
