/**
 * Small files of the user's own config home: read without surprises, written whole and readable by nobody else. Refuses:
 * anything inside a workspace.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { writeOwnFile } from "../base/files.ts";
import { UserError } from "../base/user-error.ts";

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
 * Writes `text` whole, mode 0600, in a directory made 0700 where it is missing.
 * @throws UserError with the reason
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const written = await writeOwnFile(path, text, 0o600);
  if (!written.ok) throw new UserError(`${path} cannot be written: ${written.message}`);
}
