/**
 * The one door to files: reading without surprises, writing without damage (house rule 4). User files are written only to a
 * SafePath, each operation relative to a directory that is held and proved. Refuses: text, matching, decisions about content.
 *
 * Interrupted writers: see file-temps.ts. What a killed process leaves is removed when the workspace is opened next.
 * Not kept by a replacement: other hard links (they keep the old bytes); other than on Linux extended attributes and access lists.
 */
import { accessSync, constants, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { type Content, createThroughTemp, type InstallOptions, putThroughTemp, replaceThroughTemp } from "./file-install.ts";
import { errnoOf, type FileFailure, FileProblem, failureOf } from "./file-problem.ts";
import type { ReadFile } from "./file-read.ts";
import { holdDirectory, makeDirectories } from "./held-directory.ts";
import type { SafePath } from "./workspace.ts";

export type { InstallStep } from "./file-install.ts";
export type { FileFailure } from "./file-problem.ts";
export {
  type OpenFile,
  openSafe,
  type ReadFile,
  readRegularFile,
  readSafe,
  readUpTo,
} from "./file-read.ts";
export { sweepStaleTemps } from "./file-temps.ts";

/** Larger files are neither edited nor hashed whole (tools.md "Writes"). */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

type Done = { readonly ok: true };

type Root = { readonly root: string };

async function asResult(work: () => Promise<void>): Promise<Done | FileFailure> {
  try {
    await work();
    return { ok: true };
  } catch (error) {
    return failureOf(error);
  }
}

/** Splits a directory path into the part that exists and the names that have to be made. */
function existingPart(root: string, directory: string): { start: string; names: string[] } {
  let start = directory;
  const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  while (start !== root && !isThere(start)) start = dirname(start);
  if (!isThere(start)) throw new FileProblem("missing", "the workspace directory does not exist any more");
  return {
    start,
    names: relative(start, directory)
      .split(sep)
      .filter((name) => name !== ""),
  };
}

/**
 * Creates a file that does not exist, and the directories it needs. Never replaces anything: not a file that appears meanwhile,
 * not a link. On failure nothing stays, no directory either.
 */
export function createFile(
  workspace: Root,
  path: SafePath,
  data: Uint8Array,
  options: InstallOptions = {},
): Promise<Done | FileFailure> {
  return asResult(async () => {
    if (path === workspace.root) throw new FileProblem("directory", "it is a directory");
    const { start, names } = existingPart(workspace.root, dirname(path));
    const made = makeDirectories(start, names);
    const name = basename(path);
    try {
      const found = made.directory.look(name);
      if (found?.isDirectory() === true) throw new FileProblem("directory", "it is a directory");
      if (found !== undefined) throw new FileProblem("exists", "it already exists");
      await createThroughTemp({ root: workspace.root, directory: made.directory, name }, data, options);
      await made.sync();
    } catch (error) {
      made.undo();
      throw error;
    } finally {
      made.close();
    }
  });
}

/**
 * Replaces the content of an existing file, of which `original` is what was read: keeps mode bits, and owner where allowed; fails
 * with `changed` when the file is not in that state any more, with `denied` when it is write-protected (also for root).
 */
export function installFile(
  workspace: Root,
  path: SafePath,
  original: ReadFile,
  data: Uint8Array,
  options: InstallOptions = {},
): Promise<Done | FileFailure> {
  return asResult(async () => {
    const directory = holdDirectory(dirname(path));
    try {
      await replaceThroughTemp({ root: workspace.root, directory, name: basename(path) }, original, data, options);
    } finally {
      directory.close();
    }
  });
}

/** A link is kept and its target replaced: people link their settings from elsewhere. */
export function ownTarget(path: string): string {
  if (!isAbsolute(path)) throw new Error(`a file of our own needs an absolute path, got ${path}`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
      throw new FileProblem("missing", "it is a symbolic link without a target");
    }
    return join(realpathSync(dirname(path)), basename(path));
  }
}

/**
 * Why `writeOwnFile` would fail at this absolute path, as far as that can be told beforehand: work that takes minutes should not
 * end in a result that has no place. Undefined when nothing speaks against it.
 */
export function ownFileProblem(path: string): FileFailure | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) throw new FileProblem("directory", "it is a directory");
    if (found !== undefined && !found.isFile()) throw new FileProblem("not_regular", "it is not a regular file");
    let directory = dirname(found === undefined ? path : realpathSync(path));
    while (statSync(directory, { throwIfNoEntry: false }) === undefined && directory !== dirname(directory)) {
      directory = dirname(directory);
    }
    if (!statSync(directory).isDirectory()) throw new FileProblem("name", "a part of the path is a file, not a directory");
    accessSync(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return failureOf(error);
  }
}

/**
 * Writes a file of thndrs' own (settings, exports) at an absolute path: whole or not at all, durable, with exactly `mode`.
 * Missing directories are made with mode 0700. The caller answers for the path; workspace files are written with the two above.
 * Pieces are written as they come; what their maker throws is thrown on, and nothing is installed then.
 */
export function writeOwnFile(
  path: string,
  content: Content | string,
  mode = 0o600,
  options: InstallOptions = {},
): Promise<Done | FileFailure> {
  return asResult(async () => {
    const target = ownTarget(path);
    const directory = holdDirectory(dirname(target));
    try {
      const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
      await putThroughTemp({ directory, name: basename(target) }, bytes, mode, options);
    } finally {
      directory.close();
    }
  });
}
