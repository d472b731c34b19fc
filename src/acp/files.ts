/**
 * `fs/read_text_file` and `fs/write_text_file` for an external agent: the same proof and the same care as the file tools
 * (X04, security.md 3). Refuses: paths outside the workspace, links out of it, anything but text.
 */
import { isUtf8 } from "node:buffer";
import { createFile, installFile, MAX_FILE_BYTES, readSafe } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import { whyKept } from "../base/kept-files.ts";
import { quotePath } from "../base/path-quote.ts";
import type { SafePath, Workspace } from "../base/workspace.ts";
import type { FileWrite } from "../types/event.ts";
import { notFound, refuse } from "./refusal.ts";

/** Larger texts would fill a protocol line. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

export type Place = {
  readonly path: SafePath;
  /** From the workspace root. */
  readonly relative: string;
  readonly exists: boolean;
};

/** Proves a path an agent named. @throws RequestError when it is not inside. */
export async function provePlace(workspace: Workspace, path: string): Promise<Place> {
  const resolved = await workspace.resolve(path);
  if (!resolved.ok) throw refuse(resolved.message);
  if (resolved.danglingLink !== undefined) {
    throw refuse(`${quotePath(resolved.danglingLink)} is a symbolic link without a target; nothing is read or made through it.`);
  }
  return { path: resolved.path, relative: resolved.relative, exists: resolved.exists };
}

/** The same for a file to be written. @throws RequestError also for files that file tools leave alone; see base/kept-files.ts */
export async function proveWritable(workspace: Workspace, path: string, keepsLog: (path: string) => boolean): Promise<Place> {
  const place = await provePlace(workspace, path);
  const kept = keepsLog(place.path)
    ? "a session log of thndrs is only ever appended to"
    : whyKept(workspace.root, place.relative);
  if (kept !== undefined) throw refuse(`${quotePath(place.relative)}: ${kept}`);
  return place;
}

/** Lines `line` (from 1) on, at most `limit`, each with its line end. */
function slice(text: string, line: number | null | undefined, limit: number | null | undefined): string {
  let start = 0;
  for (let at = 1; at < (line ?? 1); at++) {
    const next = text.indexOf("\n", start);
    if (next < 0) return "";
    start = next + 1;
  }
  if (limit === null || limit === undefined) return text.slice(start);
  let end = start;
  for (let taken = 0; taken < limit && end < text.length; taken++) {
    const next = text.indexOf("\n", end);
    end = next < 0 ? text.length : next + 1;
  }
  return text.slice(start, end);
}

/** @throws RequestError that says why the file is not read. */
export async function readText(place: Place, line?: number | null, limit?: number | null): Promise<string> {
  const shown = quotePath(place.relative);
  if (!place.exists) throw notFound(`${shown} does not exist`);
  const file = await readSafe(place.path, { maxBytes: MAX_READ_BYTES });
  if (!file.ok) throw refuse(`${shown}: ${file.message}`);
  if (!isUtf8(file.bytes) || file.bytes.includes(0)) throw refuse(`${shown} is not a UTF-8 text file`);
  return slice(file.bytes.toString("utf8"), line, limit);
}

/**
 * Writes the whole text exactly as given, keeping mode and owner of a file that is there. Returns the audit data, also of a
 * write that failed: `error` says why.
 */
export async function writeText(
  workspace: Workspace,
  place: Place,
  content: string,
): Promise<{ readonly effect: FileWrite; readonly error?: string }> {
  const data = Buffer.from(content, "utf8");
  const original = place.exists ? await readSafe(place.path, { maxBytes: MAX_FILE_BYTES }) : undefined;
  const before =
    original?.ok === true ? { beforeHash: contentHash(original.bytes), beforeBytes: original.bytes.length } : undefined;
  const base = { kind: "file_write", op: place.exists ? "replace" : "create", path: place.relative, ...before } as const;
  const fail = (message: string) => ({
    effect: { ...base, status: "failed" } as const,
    error: `${quotePath(place.relative)}: ${message}`,
  });
  if (!content.isWellFormed()) return fail("the content holds half a surrogate pair, which cannot be written");
  if (data.length > MAX_FILE_BYTES) return fail(`the content is larger than ${MAX_FILE_BYTES} bytes`);
  if (original?.ok === false) return fail(original.message);
  const done = original
    ? await installFile(workspace, place.path, original, data)
    : await createFile(workspace, place.path, data);
  if (!done.ok) return fail(done.message);
  return { effect: { ...base, afterHash: contentHash(data), afterBytes: data.length, status: "ok" } };
}
