/**
 * Small files of the user's own config home: read without surprises, written whole and readable by nobody else. Refuses:
 * anything inside a workspace (base/files.ts writes there).
 */
import { constants } from "node:fs";
import { chmod, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Over this size a settings file is refused. */
export const MAX_SETTINGS_BYTES = 1_048_576;

export type FileRead =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "absent" }
  /** `reason` completes "cannot be read: …". */
  | { readonly kind: "unreadable"; readonly reason: string };

const ABSENT: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Reads a regular file of at most 1 MiB. Never blocks on a FIFO or a device. */
export async function readSettingsFile(path: string): Promise<FileRead> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = codeOf(error);
    if (ABSENT.has(code)) return { kind: "absent" };
    return { kind: "unreadable", reason: code === "EACCES" ? "permission denied" : code || String(error) };
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile())
      return { kind: "unreadable", reason: stat.isDirectory() ? "it is a directory" : "it is not a regular file" };
    if (stat.size > MAX_SETTINGS_BYTES) return { kind: "unreadable", reason: `it is larger than ${MAX_SETTINGS_BYTES} bytes` };
    const bytes = await handle.readFile();
    return { kind: "bytes", bytes, mode: stat.mode & 0o777 };
  } catch (error) {
    return { kind: "unreadable", reason: codeOf(error) || String(error) };
  } finally {
    await handle.close();
  }
}

/**
 * Writes `text` whole (temp file, fsync, rename), mode 0600, in a directory made 0700 where it is missing. A symlink is
 * kept and its target replaced.
 * @throws the file system's error
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const target = await realpath(path).catch(() => path);
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // The mask of the process may have taken bits away; it can never have added any.
    await chmod(temporary, 0o600);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
