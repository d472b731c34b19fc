/**
 * Session ids and the files they name. An id is never a path (J13): nothing here joins an unchecked id to a directory.
 */

import { realpathSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { randomHex } from "../base/random.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const SAFE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** `session-YYYYMMDD-HHMMSS-xxxx` (UTC, four random base-32 characters). */
export function newSessionId(date: Date): string {
  // YYYY-MM-DDTHH:MM:SS.mmmZ, cut by position: the first regular expression and the first iterator of a start cost 0.2 ms each.
  const text = date.toISOString();
  const day = text.slice(0, 4) + text.slice(5, 7) + text.slice(8, 10);
  const time = text.slice(11, 13) + text.slice(14, 16) + text.slice(17, 19);
  const random = randomHex(4);
  let tail = "";
  for (let at = 0; at < 8; at += 2) tail += ALPHABET[Number.parseInt(random.slice(at, at + 2), 16) % 32];
  return `session-${day}-${time}-${tail}`;
}

/** True when the text may name a session: one plain file name, no separators, no dots. */
export function isSessionId(text: string): boolean {
  return SAFE_ID.test(text);
}

/** The id a directory entry stands for, or undefined when it is not a session file. */
export function idOfFile(name: string): string | undefined {
  if (!name.endsWith(".jsonl")) return undefined;
  const id = name.slice(0, -".jsonl".length);
  return isSessionId(id) ? id : undefined;
}

/** True for the name of a log or a lock as we give them: what nobody else writes. */
export function isSessionFile(name: string): boolean {
  return /^session-\d{8}-\d{6}-[0-9a-z]{4}\.(jsonl|lock)$/.test(name);
}

/** Whether a path leads to a log or a lock that is there: only the log itself writes those, whoever names one as a target. */
export function leadsToLog(path: string): boolean {
  try {
    return isSessionFile(basename(realpathSync(path)));
  } catch {
    return false;
  }
}

/**
 * Whose `latest` is meant in a directory of sessions: of the workspace at `root`. `alone`: nobody else's are there, so where none
 * was made at that place the workspace was once called otherwise (or has brought them along).
 */
export type Owner = { readonly root: string; readonly alone: boolean };

/** A directory inside a workspace is its own. */
export function ownerOf(dir: string, root: string): Owner {
  return { root, alone: dir.startsWith(root.endsWith(sep) ? root : root + sep) };
}

/** `id` has passed `isSessionId`. */
export function sessionFile(dir: string, id: string): string {
  return join(dir, `${id}.jsonl`);
}

/** `id` has passed `isSessionId`. */
export function lockFile(dir: string, id: string): string {
  return join(dir, `${id}.lock`);
}
