/**
 * Reads one instruction file (C2, C5): never blocks, never follows a link out, never guesses an encoding.
 * Refuses: knowing what the text means.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type FileHandle, lstat, open, readdir, realpath, stat } from "../base/async-fs.ts";
import { contentHash } from "../base/hash.ts";
import { isInside } from "./places.ts";
import { isSecretFile, mayLead } from "./secret-files.ts";

/** A file over this is named, not sent (C6). */
const MAX_BYTES = 1024 * 1024;
const SMALL_BYTES = 128 * 1024;
/** Larger files are fingerprinted by their head alone: nobody waits for gigabytes of AGENTS.md. */
const MAX_HASHED_BYTES = 32 * 1024 * 1024;

export type Stamp = { readonly mtimeMs: number; readonly size: number; readonly ino: number };

type Known = {
  /** Real path. */
  readonly path: string;
  /** Device and inode: two names of one file are one source. */
  readonly identity: string;
  readonly stamp: Stamp;
  readonly contentHash: string;
  readonly byteCount: number;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
};

export type Loaded =
  | (Known & { readonly kind: "text"; readonly text: string })
  | (Known & { readonly kind: "large" })
  | { readonly kind: "missing" }
  | { readonly kind: "empty" }
  /** `message` is a sentence for a person, without the path. */
  | { readonly kind: "refused"; readonly message: string };

/** Says whether a link may lead to this real path: `false` where it leads outside, a sentence for any other reason. */
export type Confine = (real: string) => boolean | string;

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "EIO";
}

function failure(error: unknown): Loaded {
  const code = errorCode(error);
  if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
  if (code === "EACCES" || code === "EPERM") return { kind: "refused", message: "it may not be read (permission denied)" };
  if (code === "ELOOP") return { kind: "refused", message: "its link does not lead to a file" };
  return { kind: "refused", message: `it cannot be read (${code})` };
}

async function readBytes(handle: FileHandle, size: number): Promise<Uint8Array> {
  const wanted = Math.min(size, MAX_HASHED_BYTES);
  const bytes = new Uint8Array(wanted);
  let filled = 0;
  while (filled < wanted) {
    const { bytesRead } = await handle.read(bytes, filled, wanted - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Strict UTF-8; a byte order mark is dropped and CRLF becomes LF. Undefined where the bytes are not UTF-8. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    const text = strict.decode(bytes);
    const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    return plain.includes("\r\n") ? plain.replaceAll("\r\n", "\n") : plain;
  } catch {
    return undefined;
  }
}

type Opened = { readonly isFile: boolean; readonly bytes: Uint8Array; readonly info: Stats };

const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Five hops to the thread pool cost more than reading a small regular file: those are read in one go (bounded). */
function openSmall(path: string): Opened {
  const fd = openSync(path, FLAGS);
  try {
    const info = fstatSync(fd);
    if (!info.isFile()) return { isFile: false, bytes: new Uint8Array(), info };
    const bytes = new Uint8Array(Math.min(info.size, MAX_BYTES));
    let filled = 0;
    for (let got = 1; filled < bytes.length && got > 0; filled += got)
      got = readSync(fd, bytes, filled, bytes.length - filled, filled);
    return { isFile: true, bytes: bytes.subarray(0, filled), info };
  } finally {
    closeSync(fd);
  }
}

async function openLarge(path: string): Promise<Opened> {
  const handle = await open(path, FLAGS);
  try {
    const info = await handle.stat();
    if (!info.isFile()) return { isFile: false, bytes: new Uint8Array(), info };
    return { isFile: true, bytes: await readBytes(handle, info.size), info };
  } finally {
    await handle.close();
  }
}

async function readRegular(path: string, size: number): Promise<Loaded> {
  let opened = size <= SMALL_BYTES ? openSmall(path) : await openLarge(path);
  // It has grown since its size was asked for.
  if (opened.info.size > MAX_BYTES && size <= SMALL_BYTES) opened = await openLarge(path);
  const { isFile, bytes, info } = opened;
  if (!isFile) return { kind: "refused", message: "it is not a regular file" };
  const known: Known = {
    path,
    identity: `${info.dev}:${info.ino}`,
    stamp: { mtimeMs: info.mtimeMs, size: info.size, ino: info.ino },
    contentHash: contentHash(bytes),
    byteCount: info.size,
    uid: info.uid,
    gid: info.gid,
    mode: info.mode,
  };
  if (info.size > MAX_BYTES) return { kind: "large", ...known };
  const text = decode(bytes);
  if (text === undefined) return { kind: "refused", message: "it is not valid UTF-8" };
  if (text.trim() === "") return { kind: "empty" };
  return { kind: "text", ...known, byteCount: bytes.length, text };
}

/**
 * Reads one file (C5). `path` may be a link; its target must satisfy `confine`. A file that is not regular is never opened,
 * so a FIFO or a device cannot hold the run up.
 */
export async function loadFile(path: string, confine: Confine): Promise<Loaded> {
  try {
    let real = path;
    // One look at a name takes less than the way to the thread pool and back.
    let info = lstatSync(path);
    if (info.isSymbolicLink()) {
      real = await realpath(path);
      const leads = confine(real);
      if (leads !== true) return { kind: "refused", message: leads || "it is a link that leads outside" };
      info = lstatSync(real);
    }
    if (!info.isFile()) {
      return { kind: "refused", message: info.isDirectory() ? "it is a directory" : "it is not a regular file" };
    }
    return await readRegular(real, info.size);
  } catch (error) {
    // A dangling link exists but leads nowhere: that deserves a word, a missing file does not.
    if (errorCode(error) === "ENOENT" && (await lstat(path).catch(() => undefined))?.isSymbolicLink()) {
      return { kind: "refused", message: "its link does not lead to a file" };
    }
    return failure(error);
  }
}

/** Spellings of the instruction file names present among `entries`, in the order they are tried (C2). */
export function matchNames(entries: readonly string[], filenames: readonly string[]): string[] {
  const folded = new Map<string, string[]>();
  const wanted = new Set(filenames.map((name) => name.toLowerCase()));
  for (const entry of entries) {
    if (entry.length > 64) continue;
    const key = entry.toLowerCase();
    if (!wanted.has(key)) continue;
    folded.set(key, [...(folded.get(key) ?? []), entry]);
  }
  return filenames.flatMap((name) => {
    const found = folded.get(name.toLowerCase()) ?? [];
    return found.sort((a, b) => Number(b === name) - Number(a === name) || (a < b ? -1 : 1)).slice(0, 1);
  });
}

type OnDisk = Extract<Loaded, { kind: "text" | "large" }>;

export type Found = {
  /** Whether an instruction file's name is there at all. */
  readonly named: boolean;
  /** The directory's instruction file, if it has one. */
  readonly file?: OnDisk;
  /** Names that were passed over, and why. */
  readonly refused: readonly { readonly path: string; readonly message: string }[];
};

/**
 * The instruction file of one directory (C2): the first name that is a non-empty, readable, regular file, and that `distrust`
 * says nothing against.
 */
export async function findInDirectory(
  directory: string,
  filenames: readonly string[],
  root: string,
  entries?: readonly string[],
  distrust: (file: OnDisk) => string | undefined = () => undefined,
): Promise<Found> {
  const names = matchNames(entries ?? (await readdir(directory).catch(() => [])), filenames);
  const refused: { path: string; message: string }[] = [];
  const confine: Confine = (real) => {
    const named = matchNames([basename(real)], filenames).length > 0;
    return (named && (isInside(root, real) ? !isSecretFile(root, real) : dirname(real) === directory)) || mayLead(root, real);
  };
  for (const name of names) {
    const path = join(directory, name);
    const loaded = await loadFile(path, confine);
    if (loaded.kind === "refused") refused.push({ path, message: loaded.message });
    if (loaded.kind !== "text" && loaded.kind !== "large") continue;
    const reason = distrust(loaded);
    if (reason === undefined) return { named: true, file: loaded, refused };
    refused.push({ path: loaded.path, message: reason });
  }
  return { named: names.length > 0, refused };
}

/** A directory's modification time; undefined where it cannot be told. */
export async function directoryStamp(directory: string): Promise<number | undefined> {
  return (await stat(directory).catch(() => undefined))?.mtimeMs;
}
