/**
 * The writer lock of one session: `<id>.lock`, created exclusively, holding pid + start time + host (sessions.md, File).
 * A lock whose process is gone (or whose pid now belongs to another process) is taken over by exactly one taker.
 *
 * Take-over is race-safe without flock: each lock carries a nonce, and only the exclusive creator of a guard file named after
 * that nonce may replace it. A guard left by a taker that died is itself guarded the same way.
 */

import { existsSync, linkSync, lstatSync, readdirSync, readFileSync, readlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../base/file-problem.ts";
import { contentHash } from "../base/hash.ts";
import { hostName } from "../base/host-name.ts";
import { processStat, procIsOurs } from "../base/process-stat.ts";
import { randomHex } from "../base/random.ts";
import { readSmallFile } from "../base/small-file.ts";
import { UserError } from "../base/user-error.ts";
import { lockFile } from "./ids.ts";

/** Who holds a lock. `start` identifies the process beyond its pid (boot id and start tick on Linux, "" elsewhere). */
type LockHolder = {
  readonly pid: number;
  readonly start: string;
  readonly host: string;
  /** The pid namespace that `pid` counts in (Linux): a sandbox or a container has its own on the same host. */
  readonly space?: string;
  /** ISO 8601. */
  readonly since: string;
  readonly nonce: string;
};

export type Lock = {
  /** Removes the lock if it is still ours. Idempotent, never throws. */
  release(): void;
};

/** A lock file that cannot be read as a holder counts as live while it is younger than this: its writer may be mid-creation. */
const SETTLE_MS = 2_000;
const MAX_ROUNDS = 50;
/** Temporary files and guards live for milliseconds: older than this, nobody is coming back for them. */
const ABANDONED_MS = 10 * 60_000;
/** Only names we give: a sessions directory may hold a user's own files. */
const LOCK_NAME = /^(session-\d{8}-\d{6}-[0-9a-z]{4})\.lock(|\.[0-9a-f]{16}|\.takeover-[\w.-]+)$/;

/**
 * Takes the writer lock. Throws a UserError naming the holder when another live process has it; lets file system errors
 * (read-only directory, disk full) through for the caller to judge.
 */
export function acquireLock(dir: string, id: string, now: () => Date = () => new Date()): Lock {
  const path = lockFile(dir, id);
  const mine: LockHolder = {
    pid: process.pid,
    start: processStart(process.pid) ?? "",
    host: hostName(),
    ...pidSpace(),
    since: now().toISOString(),
    nonce: randomHex(8),
  };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if (createExclusively(path, mine)) return { release: () => releaseOwn(path, mine) };
    const found = readLock(path);
    if (found === undefined) continue;
    if (found.live) throw new UserError(describeHolder(id, path, found.holder));
    replaceStale(path, found.identity, mine, 0);
    if (readLock(path)?.holder?.nonce === mine.nonce) return { release: () => releaseOwn(path, mine) };
    Bun.sleepSync(2);
  }
  throw new UserError(`Session ${id} is being opened by another process (${path}). Try again.`);
}

/** The live holder of a session's lock, if any. */
export function lockHolder(dir: string, id: string): LockHolder | undefined {
  const found = readLock(lockFile(dir, id));
  return found?.live ? found.holder : undefined;
}

/** True when a live process holds the lock (also one whose content cannot be read yet). */
export function isLocked(dir: string, id: string): boolean {
  return readLock(lockFile(dir, id))?.live ?? false;
}

/**
 * Removes what processes that died left of locks: those of sessions that have no file (they died before the first line), and
 * half-made ones. Whatever a live process may still be making is left alone.
 */
export function sweepLocks(dir: string): void {
  const names = existsSync(dir) ? readdirSync(dir) : [];
  const present = new Set(names);
  for (const name of names) {
    const [, id, rest] = LOCK_NAME.exec(name) ?? [];
    if (id === undefined || rest === undefined) continue;
    const path = join(dir, name);
    try {
      if (rest === "" ? !present.has(`${id}.jsonl`) && !isLocked(dir, id) : isOld(path)) unlinkSync(path);
    } catch {
      // Gone already, or not ours to remove.
    }
  }
}

function isOld(path: string): boolean {
  return Date.now() - lstatSync(path).mtimeMs > ABANDONED_MS;
}

type FoundLock = { readonly live: boolean; readonly holder?: LockHolder; readonly identity: string };

function readLock(path: string): FoundLock | undefined {
  let text: string;
  let age: number;
  let inode: number;
  try {
    const stat = lstatSync(path);
    if (!stat.isFile()) return { live: true, identity: "not-a-file" };
    age = Date.now() - stat.mtimeMs;
    inode = stat.ino;
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  const holder = parseHolder(text);
  if (holder === undefined) return { live: age < SETTLE_MS, identity: `${inode}-${contentHash(text).slice(6)}` };
  return { live: isAlive(holder), holder, identity: holder.nonce };
}

function parseHolder(text: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { pid, start, host, space, since, nonce } = value as Record<string, unknown>;
    if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0) return undefined;
    if (typeof start !== "string" || typeof host !== "string" || typeof since !== "string") return undefined;
    if (typeof nonce !== "string" || !/^[0-9a-f]{1,64}$/.test(nonce)) return undefined;
    return { pid, start, host, ...(typeof space === "string" && { space }), since, nonce };
  } catch {
    return undefined;
  }
}

/** Whole content or no file: a temporary file is linked into place. File systems without hard links get `O_EXCL`. */
function createExclusively(path: string, holder: LockHolder): boolean {
  const text = `${JSON.stringify(holder)}\n`;
  const temporary = `${path}.${holder.nonce}`;
  try {
    // Inside: a full disk leaves an empty file behind.
    writeFileSync(temporary, text, { flag: "wx", mode: 0o600 });
    return linkOrCreate(temporary, path, text);
  } finally {
    removeQuietly(temporary);
  }
}

function linkOrCreate(temporary: string, path: string, text: string): boolean {
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
  }
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    // Created, but not filled: it would look like a lock for as long as it is young.
    removeQuietly(path);
    throw error;
  }
}

/** Replaces the lock called `identity` by ours, if it is still there and we win its guard. */
function replaceStale(path: string, identity: string, mine: LockHolder, depth: number): void {
  const guard = `${path}.takeover-${identity}`;
  if (!createExclusively(guard, mine)) {
    const other = readLock(guard);
    if (other === undefined || other.live || depth > 8) return;
    // The taker died between guard and lock: its guard is a stale lock like any other.
    replaceStale(guard, other.identity, mine, depth + 1);
    if (readLock(guard)?.holder?.nonce !== mine.nonce) return;
  }
  try {
    // Between reading the lock and winning the guard a faster taker may have finished.
    if (readLock(path)?.identity !== identity) return;
    removeQuietly(path);
    createExclusively(path, mine);
  } finally {
    removeQuietly(guard);
  }
}

function releaseOwn(path: string, mine: LockHolder): void {
  try {
    // Whose it is, is all that counts: whether the holder lives costs two looks into /proc.
    if (lstatSync(path).isFile() && parseHolder(readSmallFile(path))?.nonce === mine.nonce) unlinkSync(path);
  } catch {
    // A lock that cannot be removed goes stale with this process.
  }
}

function isAlive(holder: LockHolder): boolean {
  // Neither can be examined from here; but nobody outlives a boot.
  if (holder.host !== hostName()) return true;
  if (isElsewhere(holder)) return bootOf(holder) === bootId();
  if (procIsOurs()) {
    const start = processStart(holder.pid);
    return start !== undefined && (start === holder.start || holder.start === "" || holder.start === `${bootId()}:`);
  }
  const bootedAt = Date.now() - process.getBuiltinModule("node:os").uptime() * 1000;
  if (Date.parse(holder.since) < bootedAt - 60_000) return false;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === "EPERM";
  }
}

/** On another machine, or in another pid namespace: its number means somebody else here, or nobody. */
function isElsewhere(holder: LockHolder): boolean {
  return holder.host !== hostName() || (holder.space !== undefined && holder.space !== pidSpace().space);
}

function pidSpace(): { readonly space?: string } {
  if (process.platform !== "linux") return {};
  try {
    return { space: readlinkSync("/proc/self/ns/pid") };
  } catch {
    return {};
  }
}

/** Boot id and start tick of a live process (no tick where `/proc` is not ours); undefined when it is gone or a zombie. "" elsewhere. */
function processStart(pid: number): string | undefined {
  if (!procIsOurs()) return process.platform === "linux" ? `${bootId()}:` : "";
  const stat = processStat(pid);
  return stat === undefined || stat.zombie ? undefined : `${bootId()}:${stat.started}`;
}

function bootOf(holder: LockHolder): string {
  return holder.start.split(":")[0] ?? "";
}

function bootId(): string {
  try {
    return readSmallFile("/proc/sys/kernel/random/boot_id").trim();
  } catch {
    return "";
  }
}

function describeHolder(id: string, path: string, holder: LockHolder | undefined): string {
  if (holder === undefined)
    return `Session ${id} is in use, and its lock does not say by whom. If no thndrs works on it, remove ${path}.`;
  const place = holder.host === hostName() ? " of another container or sandbox" : ` on host ${holder.host}`;
  const elsewhere = isElsewhere(holder) ? place : "";
  const hint = isElsewhere(holder) ? `If that process is gone, remove ${path}.` : "Close it there first.";
  return `Session ${id} is in use by process ${holder.pid}${elsewhere}, since ${holder.since}. ${hint}`;
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Somebody else removed it, or nobody can: either way there is nothing more to do here.
  }
}
