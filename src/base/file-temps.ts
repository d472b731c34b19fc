/**
 * Temporary files that cannot be forgotten. Each carries its maker in its name, and while one exists a note in
 * `<root>/.thndrs/installs/` (named like the temporary file, holding its directory relative to the root) says where it lies. So the
 * next start finds what a killed writer left without searching the tree. Refuses: deleting anything that does not carry such a
 * name, lies behind a link, or may still be in use.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync, rmdirSync, unlinkSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { errnoOf } from "./file-problem.ts";
import { type HeldDirectory, holdChild, holdDirectory, makeOne } from "./held-directory.ts";
import { hostName } from "./host-name.ts";
import { processStat } from "./process-stat.ts";
import { readSmallFile } from "./small-file.ts";

const STATE_DIRECTORY = ".thndrs";
const NOTES_DIRECTORY = "installs";

/** `.thndrs-tmp-<pid>-<where><random>`: `where` (8 hex digits) names the boot and process namespace the pid counts in. */
const TEMP_NAME = /^\.thndrs-tmp-(\d{1,10})-([0-9a-f]{8})[0-9a-f]{16}$/;

/** No install takes this long. Also ends the doubt about process ids of another namespace or an earlier boot. */
const MAX_AGE_MS = 10 * 60_000;

/** Process ids mean something only within one boot and one pid namespace. */
function pidSpace(): string {
  let space = hostName();
  try {
    space = `${readSmallFile("/proc/sys/kernel/random/boot_id")}${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux: the host is as good as it gets.
  }
  return Bun.hash.xxHash64(space).toString(16).padStart(16, "0").slice(0, 8);
}

/** A fresh name that says who made the file. */
export function tempName(): string {
  const random = crypto.getRandomValues(new Uint8Array(8)).toHex();
  return `.thndrs-tmp-${process.pid}-${pidSpace()}${random}`;
}

/** A killed process whose parent does not reap it keeps its id for ever; it is dead all the same. */
function isAlive(pid: number): boolean {
  const stat = processStat(pid);
  if (stat !== undefined) return !stat.zombie;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== "ESRCH";
  }
}

/** True when nobody can be writing this file any more. `modified` in milliseconds since the epoch. */
function isStale(name: string, modified: number): boolean {
  const parts = TEMP_NAME.exec(name);
  if (parts === null) return false;
  if (Date.now() - modified > MAX_AGE_MS) return true;
  if (parts[2] !== pidSpace()) return false;
  const pid = Number(parts[1]);
  return pid !== process.pid && !isAlive(pid);
}

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // Clearing up is best effort: what stays is tried again at the next start.
  }
}

/** A note on the disk. It outlives the process unless it is forgotten. */
type TempNote = {
  /** Takes the note back: the temporary file is gone. */
  forget(): void;
  close(): void;
};

/**
 * Notes that `name` is about to be made in `directory`. Undefined when no note can be kept (the root is not writable, `.thndrs` is
 * a link): the install goes on without.
 */
export function noteTemp(root: string, directory: string, name: string): TempNote | undefined {
  const below = relative(root, directory);
  if (isAbsolute(below) || below.split(sep)[0] === "..") return undefined;
  const held: HeldDirectory[] = [];
  const close = () => {
    for (const one of held) one.close();
  };
  try {
    const top = holdDirectory(root);
    held.push(top);
    makeOne(top, STATE_DIRECTORY);
    const state = holdChild(top, STATE_DIRECTORY);
    held.push(state);
    makeOne(state, NOTES_DIRECTORY);
    const notes = holdChild(state, NOTES_DIRECTORY);
    held.push(notes);
    writeFileSync(notes.at(name), below, { flag: "wx", mode: 0o600 });
    const forget = () => {
      attempt(() => unlinkSync(notes.at(name)));
      // Fails, as it should, while another install is noted or something else is kept there.
      attempt(() => {
        rmdirSync(state.at(NOTES_DIRECTORY));
        rmdirSync(top.at(STATE_DIRECTORY));
      });
    };
    return { forget, close };
  } catch {
    close();
    return undefined;
  }
}

/** Removes the temporary file a note speaks of, then the note. A note is data from the disk: every word of it is checked. */
function settle(root: string, notes: HeldDirectory, name: string): void {
  const note = notes.look(name);
  if (note?.isFile() !== true || !isStale(name, Number(note.mtimeMs))) return;
  const below = note.size > 4096n ? "\0" : readFileSync(notes.at(name), "utf8");
  const path = join(root, below);
  const inside =
    !below.includes("\0") && !isAbsolute(below) && (path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
  if (inside) attempt(() => removeStale(path, name));
  attempt(() => unlinkSync(notes.at(name)));
}

function removeStale(path: string, name: string): void {
  const directory = holdDirectory(path);
  try {
    if (directory.look(name)?.isFile() === true) unlinkSync(directory.at(name));
  } finally {
    directory.close();
  }
}

/**
 * Removes what killed writers left in this workspace. Costs one failing `readdir` when there is nothing to do. Never throws.
 * A live writer's files are left alone.
 */
export function sweepStaleTemps(root: string): void {
  const held: HeldDirectory[] = [];
  try {
    if (lstatSync(join(root, STATE_DIRECTORY, NOTES_DIRECTORY), { throwIfNoEntry: false }) === undefined) return;
    const top = holdDirectory(root);
    held.push(top);
    const state = holdChild(top, STATE_DIRECTORY);
    held.push(state);
    const notes = holdChild(state, NOTES_DIRECTORY);
    held.push(notes);
    for (const name of readdirSync(notes.at("."))) if (TEMP_NAME.test(name)) attempt(() => settle(root, notes, name));
    rmdirSync(state.at(NOTES_DIRECTORY));
    rmdirSync(top.at(STATE_DIRECTORY));
  } catch {
    // Not ours to clear, or not empty: both are fine.
  } finally {
    for (const one of held) one.close();
  }
}

/** The same for one directory that has no notes (thndrs' own state, a workspace whose root is not writable): by name. Never throws. */
export function sweepDirectory(directory: HeldDirectory): void {
  attempt(() => {
    for (const name of readdirSync(directory.at("."))) {
      if (!TEMP_NAME.test(name)) continue;
      const found = directory.look(name);
      if (found?.isFile() === true && isStale(name, Number(found.mtimeMs))) attempt(() => unlinkSync(directory.at(name)));
    }
  });
}
