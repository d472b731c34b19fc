/**
 * The append-only writer of one session file (sessions.md, File). The only place that writes JSONL (house rule 2).
 * Refuses: reading records for anybody, rewriting, validating (no zod on this path).
 */
import { closeSync, constants, existsSync, fchmodSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../base/file-problem.ts";
import { wellFormed } from "../base/json.ts";
import { UserError } from "../base/user-error.ts";
import { newSessionId, sessionFile } from "./ids.ts";
import { acquireLock, type Lock } from "./lock.ts";
import { demandWithin, ensureDirectory } from "./log-directory.ts";
import { SCHEMA_VERSION, type SessionRecord } from "./records.ts";
import { examineTail, type Tail } from "./tail.ts";

export { newSessionId } from "./ids.ts";

export interface SessionLog {
  readonly id: string;
  readonly path: string;
  /** Seq of the last record that is in the file; -1 when there is none. */
  readonly lastSeq: number;
  /** False once a write failed (or the directory could not be written at all): appends are dropped. */
  readonly healthy: boolean;
  /** Appends one record as one complete line. Returns false when the log is broken (already reported once through `onBroken`). */
  append(record: SessionRecord): boolean;
  /** fsync; at the end of each turn and before a side effect is reported as done. */
  sync(): void;
  /** Syncs, closes, removes the lock. Idempotent. */
  close(): void;
}

/**
 * Called once with one line for a person when the log cannot be written (any more), and with the reason alone, for a sentence of
 * somebody else's. The run goes on.
 */
export type OnBroken = (message: string, why: string) => void;

type OpenLogOptions = {
  /** Absolute path of the sessions directory; created 0700 when missing. */
  readonly dir: string;
  /** Real path that `dir` must not leave through symbolic links: a cloned repository does not say where transcripts go. */
  readonly within?: string;
  /** Defaults to a new id. */
  readonly id?: string;
  /** True continues an existing file after its highest valid seq. */
  readonly resume?: boolean;
  readonly now?: () => Date;
  readonly onBroken: OnBroken;
};

/** After so many bytes more of log a title given by `session_renamed` is repeated on close, so that listings find it in the tail. */
const TITLE_REACH_BYTES = 8 * 1024;
const LINE_SEPARATORS = /[\u2028\u2029]/g;

/**
 * Opens the log and takes its lock. Throws a UserError when another process writes this session or the session to resume does
 * not exist. A directory that cannot be written is not an error: the log is returned broken, after one `onBroken`.
 */
export async function openSessionLog(options: OpenLogOptions): Promise<SessionLog> {
  const now = options.now ?? (() => new Date());
  const id = options.id ?? newSessionId(now());
  const path = sessionFile(options.dir, id);
  let lock: Lock | undefined;
  try {
    if (options.within !== undefined) demandWithin(options.dir, options.within);
    ensureDirectory(options.dir);
    lock = acquireLock(options.dir, id, now);
    const file = options.resume === true ? openExisting(path, id) : { fd: createFile(path, id), lastSeq: -1 };
    return new FileLog({ id, path, lock, now, options }, file);
  } catch (error) {
    lock?.release();
    if (error instanceof UserError) throw error;
    tellBroken(options, options.dir, error);
    return new BrokenLog(id, path);
  }
}

type Opened = {
  readonly id: string;
  readonly path: string;
  readonly lock: Lock;
  readonly now: () => Date;
  readonly options: OpenLogOptions;
};

type LogFile = { readonly fd: number; readonly lastSeq: number; readonly renamed?: NonNullable<Tail["renamed"]> };

class FileLog implements SessionLog {
  readonly id: string;
  readonly path: string;
  readonly #options: OpenLogOptions;
  readonly #now: () => Date;
  #lastSeq: number;
  #healthy = true;
  #closed = false;
  #renamed: SessionRecord | undefined;
  #bytesSinceRename: number;
  #dirty = false;
  #fd: number;
  #lock: Lock;

  constructor(opened: Opened, { fd, lastSeq, renamed }: LogFile) {
    this.id = opened.id;
    this.path = opened.path;
    this.#options = opened.options;
    this.#now = opened.now;
    this.#lock = opened.lock;
    this.#fd = fd;
    this.#lastSeq = lastSeq;
    this.#renamed = renamed && { type: "session_renamed", title: renamed.title };
    this.#bytesSinceRename = renamed?.bytesSince ?? 0;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  append(record: SessionRecord): boolean {
    if (!this.#healthy || this.#closed) return false;
    const line = encodeLine(record, this.#lastSeq + 1, this.#now());
    let size: number;
    try {
      size = writeWhole(this.#fd, line);
    } catch (error) {
      this.#break(error);
      return false;
    }
    this.#lastSeq += 1;
    this.#dirty = true;
    this.#bytesSinceRename += size;
    if (record.type === "session_renamed") {
      this.#renamed = record;
      this.#bytesSinceRename = 0;
    }
    return true;
  }

  sync(): void {
    if (!this.#healthy || this.#closed || !this.#dirty) return;
    try {
      if (fstatSync(this.#fd).nlink === 0) this.#putBack();
      fsyncSync(this.#fd);
      this.#dirty = false;
    } catch (error) {
      if (!isUnsupportedSync(error)) this.#break(error);
    }
  }

  close(): void {
    if (this.#closed) return;
    if (this.#renamed !== undefined && this.#bytesSinceRename > TITLE_REACH_BYTES) this.append(this.#renamed);
    this.sync();
    this.#closed = true;
    try {
      closeSync(this.#fd);
    } catch {
      // Every record was written before; a failing close has nothing left to lose.
    }
    this.#lock.release();
  }

  /**
   * The file was deleted under us: `git clean -fdx` does that to what is ignored. What was recorded is still there behind the open
   * descriptor, and is written where it was. Not where the whole workspace is gone, and never over another file.
   */
  #putBack(): void {
    const dir = dirname(this.path);
    const { within } = this.#options;
    if (!existsSync(within ?? dirname(dir))) throw new Error("the directory was deleted");
    if (within !== undefined) demandWithin(dir, within);
    ensureDirectory(dir);
    this.#lock.release();
    this.#lock = acquireLock(dir, this.id, this.#now);
    const fd = createFile(this.path, this.id);
    try {
      copyAll(this.#fd, fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    closeSync(this.#fd);
    this.#fd = fd;
  }

  #break(error: unknown): void {
    this.#healthy = false;
    tellBroken(this.#options, dirname(this.path), error);
  }
}

/** Stands in when the sessions directory cannot be written: the run goes on without a log. */
class BrokenLog implements SessionLog {
  readonly id: string;
  readonly path: string;
  readonly lastSeq = -1;
  readonly healthy = false;
  constructor(id: string, path: string) {
    this.id = id;
    this.path = path;
  }
  append(): boolean {
    return false;
  }
  sync(): void {}
  close(): void {}
}

/** One line, newline included. Lone surrogates become U+FFFD; U+2028/2029 are escaped (they can only be inside strings). */
export function encodeLine(record: SessionRecord, seq: number, time: Date): string {
  let body = JSON.stringify(record);
  // JSON.stringify writes a lone surrogate as \udXXX, which strict readers in other languages refuse.
  if (body.includes("\\ud")) body = JSON.stringify(wellFormed(record));
  if (body.includes("\u2028") || body.includes("\u2029")) {
    body = body.replace(LINE_SEPARATORS, (separator) => (separator === "\u2028" ? "\\u2028" : "\\u2029"));
  }
  return `{"schema_version":${SCHEMA_VERSION},"seq":${seq},"time":"${time.toISOString()}",${body.slice(1)}\n`;
}

/** One write a record; a short write (disk almost full) goes on until it fails or is whole. Answers its bytes. */
function writeWhole(fd: number, line: string): number {
  // Not Buffer.from: its first call of a run takes 0.2 ms.
  const bytes = new TextEncoder().encode(line);
  let written = 0;
  while (written < bytes.length) {
    const count = writeSync(fd, bytes, written, bytes.length - written);
    if (count <= 0) throw new Error("the file system accepted no more bytes");
    written += count;
  }
  return written;
}

function copyAll(from: number, to: number): void {
  const chunk = Buffer.alloc(1024 * 1024);
  for (let at = 0; ; ) {
    const count = readSync(from, chunk, 0, chunk.length, at);
    if (count === 0) return;
    for (let written = 0; written < count; ) written += writeSync(to, chunk, written, count - written);
    at += count;
  }
}

function createFile(path: string, id: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | constants.O_NOFOLLOW;
  try {
    const fd = openSync(path, flags, 0o600);
    fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") throw new UserError(`Session ${id} exists already; resume it or choose another id.`);
    throw error;
  }
}

/** Opens for appending and closes a torn last line with a newline: never glued onto, never removed. */
function openExisting(path: string, id: string): LogFile {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (["ENOENT", "ELOOP"].includes(errnoOf(error))) throw new UserError(`No such session: ${id}`);
    throw error;
  }
  try {
    if (!fstatSync(fd).isFile()) throw new UserError(`No such session: ${id}`);
    const tail = examineTail(fd);
    if (tail.torn) writeWhole(fd, "\n");
    return { fd, lastSeq: tail.highestSeq, ...(tail.renamed && { renamed: tail.renamed }) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EACCES: "the directory cannot be written",
  EROFS: "the directory cannot be written",
  EPERM: "the directory cannot be written",
  ENOTDIR: "a part of the path is no directory",
  ELOOP: "a part of the path is no directory",
};

function tellBroken({ onBroken }: OpenLogOptions, dir: string, error: unknown): void {
  const reason = REASONS[errnoOf(error)] ?? (error instanceof Error ? error.message : String(error));
  const why = `${reason} (${dir})`;
  onBroken(`This session is not being saved from here on: ${why}.`, why);
}

/** Pipes and some network file systems cannot sync; that is not a broken log. */
function isUnsupportedSync(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP", "EROFS"].includes(errnoOf(error));
}
