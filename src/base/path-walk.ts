/**
 * Follows a path one component at a time, the way the kernel would, and says where it really leads even when it does not
 * exist yet. Refuses: deciding whether that place is allowed (workspace.ts does), opening anything.
 */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, parse, sep } from "node:path";
import { errnoOf } from "./file-problem.ts";

/** Linux gives up after 40 as well. */
const MAX_LINKS = 40;

export type Walk =
  | {
      readonly ok: true;
      /** Absolute; every link of its existing part is followed. */
      readonly path: string;
      readonly exists: boolean;
      /** Absolute paths of the links that were followed, in order. */
      readonly links: readonly string[];
      /** The link whose own target is missing, when that is why the path does not exist. */
      readonly danglingLink?: string;
      /** True when a name was found only under its other Unicode normalisation form. */
      readonly respelled: boolean;
    }
  | {
      readonly ok: false;
      readonly reason: "denied" | "loop" | "too_long" | "dangling" | "io";
      /** Where the walk stopped. */
      readonly at: string;
      readonly links: readonly string[];
    };

type Followed = { readonly path: string; readonly depth: number };

/** Components in reverse, so that the next one is popped. */
function reversed(path: string): string[] {
  return path.split(sep).reverse();
}

/** ASCII has one normalisation form only. */
export function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text);
}

/** The one entry of `directory` that is `name` up to Unicode normalisation; ASCII names cost nothing. */
function otherSpelling(directory: string, name: string): string | undefined {
  if (isAscii(name)) return undefined;
  const wanted = name.normalize("NFC");
  try {
    const found = readdirSync(directory).filter((entry) => entry.normalize("NFC") === wanted);
    return found.length === 1 ? found[0] : undefined;
  } catch {
    return undefined;
  }
}

function stopReason(code: string): "denied" | "too_long" | "loop" | "io" {
  if (code === "EACCES" || code === "EPERM") return "denied";
  if (code === "ENAMETOOLONG") return "too_long";
  return code === "ELOOP" ? "loop" : "io";
}

/** Systems that fold case or normalisation accept many spellings; the one on disk is the comparable one. */
function spelledOnDisk(path: string): string {
  if (process.platform === "linux") return path;
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/**
 * Walks an absolute, lexically normalised path. Synchronous on purpose: a handful of `lstat`s is far cheaper than one hop to
 * the thread pool, and the number of steps is bounded. Never opens a file, so no FIFO or device can block it. With `respell`, a name that
 * does not exist is looked for under its other normalisation form.
 */
export function walkPath(absolute: string, respell = false): Walk {
  let current = parse(absolute).root;
  const pending = reversed(absolute.slice(current.length));
  const followed: Followed[] = [];
  const links = () => followed.map((link) => link.path);
  let missing = false;
  let danglingLink: string | undefined;
  let respelled = false;

  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      // Only a link's target can hold `..` here. Past a missing name the kernel would not get there either.
      if (missing) return { ok: false, reason: "dangling", at: current, links: links() };
      current = dirname(current);
      continue;
    }
    const next = join(current, name);
    if (missing) {
      current = next;
      continue;
    }
    try {
      if (!lstatSync(next).isSymbolicLink()) {
        current = next;
        continue;
      }
      followed.push({ path: next, depth: pending.length });
      if (followed.length > MAX_LINKS) return { ok: false, reason: "loop", at: next, links: links() };
      const target = readlinkSync(next);
      const root = parse(target).root;
      if (root !== "") current = root;
      pending.push(...reversed(target.slice(root.length)));
    } catch (error) {
      const code = errnoOf(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") return { ok: false, reason: stopReason(code), at: next, links: links() };
      const other = respell && code === "ENOENT" ? otherSpelling(current, name) : undefined;
      if (other !== undefined && other !== name) {
        respelled = true;
        pending.push(other);
        continue;
      }
      current = spelledOnDisk(current);
      missing = true;
      danglingLink = followed.findLast((link) => pending.length >= link.depth)?.path;
      current = join(current, name);
    }
  }
  const path = missing ? current : spelledOnDisk(current);
  return { ok: true, path, exists: !missing, links: links(), respelled, ...(danglingLink === undefined ? {} : { danglingLink }) };
}
