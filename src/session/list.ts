/**
 * Finds and lists the sessions of a directory. Reads only the head and the tail of each file, so thousands of sessions and
 * gigabytes of them list in an instant. Refuses: following links, ids that are paths (J13).
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, type Stats } from "node:fs";
import { errnoOf } from "../base/file-problem.ts";
import { EXIT, UserError } from "../base/user-error.ts";
import { isEnvelope } from "./envelope.ts";
import { idOfFile, isSessionFile, isSessionId, type Owner, sessionFile } from "./ids.ts";
import { parseLine } from "./lines.ts";
import { readAt } from "./tail.ts";
import { cleanTitle } from "./title.ts";

export type SessionSummary = {
  readonly id: string;
  readonly path: string;
  readonly title: string;
  readonly model: string;
  readonly provider: string;
  readonly workspace: string;
  /** ISO 8601; "" when the file holds no readable record. */
  readonly created: string;
  /**
   * The later of the first and the last record's time, so a clock that went backwards does not hide a session (J15); no later than
   * the file was written: nobody claims to be the newest for ever.
   */
  readonly updated: string;
  readonly bytes: number;
  /** Milliseconds since 1970: when the file was last written, for one that says no time itself. */
  readonly modified: number;
};

const HEAD_BYTES = 8 * 1024;
const TAIL_BYTES = 16 * 1024;
/** A prompt or configuration may fill the head: then more of it is read, up to here. */
const HEAD_LIMIT = 256 * 1024;
/** The same for a last record that fills the tail. */
const TAIL_LIMIT = 1024 * 1024;

/** Ids of the session files in `dir`, in name order; a missing directory has none. Other files that end in `.jsonl` are none. */
export function sessionIds(dir: string): string[] {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error))) return [];
    throw new UserError(`Cannot read the sessions directory ${dir}: ${String(error)}`, EXIT.failed);
  }
  return names
    .map(idOfFile)
    .filter((id): id is string => id !== undefined && isLog(dir, id))
    .sort();
}

/** What each of our records says. */
const RECORD_MARKS = ['"schema_version":', '"seq":', '"type":'];

/** By its name; under another one (renamed by hand) the file says it itself: what is listed here is also what gets removed. */
function isLog(dir: string, id: string): boolean {
  if (isSessionFile(`${id}.jsonl`)) return true;
  const head = withFile(sessionFile(dir, id), (fd, { size }) => readAt(fd, 0, Math.min(size, HEAD_BYTES)).toString("latin1"));
  return head !== undefined && RECORD_MARKS.every((mark) => head.includes(mark));
}

/** Undefined when it is no regular file or vanished. */
function withFile<T>(path: string, use: (fd: number, stat: Stats) => T): T | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() ? use(fd, stat) : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Newest first. Stable: equal times are ordered by id. */
export function listSessions(dir: string): SessionSummary[] {
  const found = sessionIds(dir)
    .map((id) => summarize(dir, id))
    .filter((summary) => summary !== undefined);
  return found.sort((a, b) => compare(b.updated, a.updated) || compare(b.id, a.id));
}

/**
 * The id `wanted` stands for: exact, a unique prefix (with or without `session-`), or `latest`, which is the latest of `owner`.
 * @throws UserError naming the candidates, or saying that there is no such session.
 */
export function findSession(dir: string, wanted: string, owner?: Owner): string {
  if (wanted === "latest") return latestOf(dir, owner);
  if (!isSessionId(wanted)) throw noSuchSession(wanted);
  const ids = sessionIds(dir).filter((id) => isPlainFile(sessionFile(dir, id)));
  if (ids.includes(wanted)) return wanted;
  const candidates = ids.filter((id) => id.startsWith(wanted) || id.startsWith(`session-${wanted}`));
  const [only, ...more] = candidates;
  if (only === undefined) throw noSuchSession(wanted);
  if (more.length === 0) return only;
  const shown = candidates.slice(0, 20).map((id) => `  ${id}`);
  if (candidates.length > shown.length) shown.push(`  … and ${candidates.length - shown.length} more`);
  throw new UserError(`"${wanted}" could be any of ${candidates.length} sessions:\n${shown.join("\n")}`);
}

/** One that a repository has brought along comes after those that were made here. */
function latestOf(dir: string, owner: Owner | undefined): string {
  // A file without one readable record (the program died before its first line) is nothing to go on with.
  const found = listSessions(dir).filter((session) => session.updated !== "");
  const own = owner === undefined ? undefined : found.find((session) => session.workspace === owner.root);
  const latest = own ?? (owner?.alone === false ? undefined : found[0]);
  if (latest !== undefined) return latest.id;
  throw new UserError(`There are no sessions${owner?.alone === false ? ` of ${owner.root}` : ""} in ${dir}.`);
}

function noSuchSession(wanted: string): UserError {
  return new UserError(`No such session: ${JSON.stringify(wanted)}. "thndrs sessions list" shows what there is.`);
}

function isPlainFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    // A directory that may be listed and not entered: opening it says why.
    return true;
  }
}

/** What the head and the tail of one file say; undefined when it is no regular file or vanished. */
export function summarize(dir: string, id: string): SessionSummary | undefined {
  const path = sessionFile(dir, id);
  return withFile(path, (fd, stat) => describe(fd, id, path, stat));
}

function describe(fd: number, id: string, path: string, { size, mtimeMs }: Stats): SessionSummary {
  const facts = newFacts();
  let headBytes = HEAD_BYTES;
  readHead(readAt(fd, 0, Math.min(size, headBytes)), facts);
  if (!facts.complete && size > headBytes) {
    headBytes = HEAD_LIMIT;
    readHead(readAt(fd, 0, Math.min(size, headBytes)), facts);
  }
  for (const window of [TAIL_BYTES, TAIL_LIMIT]) {
    const start = Math.max(0, size - window);
    if (readTail(readAt(fd, start, size - start), start === 0, facts) || start === 0) break;
  }
  return {
    id,
    path,
    title: facts.renamed ?? (facts.title || cleanTitle(facts.prompt)),
    model: facts.model,
    provider: facts.provider,
    workspace: facts.workspace,
    created: facts.first,
    updated: earlier(compare(facts.first, facts.last) > 0 ? facts.first : facts.last, mtimeMs),
    bytes: size,
    modified: mtimeMs,
  };
}

type Facts = {
  title: string;
  renamed: string | undefined;
  prompt: string;
  model: string;
  provider: string;
  workspace: string;
  first: string;
  last: string;
  complete: boolean;
};

function newFacts(): Facts {
  return {
    title: "",
    renamed: undefined,
    prompt: "",
    model: "",
    provider: "",
    workspace: "",
    first: "",
    last: "",
    complete: false,
  };
}

/** Lines from the start until the meta record and, where it has no title, the first prompt are found. */
function readHead(bytes: Buffer, facts: Facts): void {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    if (newline === -1) return;
    for (const value of parseLine(bytes.subarray(start, newline)).values) {
      const record = asRecord(value);
      if (record === undefined) continue;
      facts.first ||= record.time;
      facts.last ||= record.time;
      if (record.type === "session_meta") {
        facts.title = record.text("title");
        facts.model = record.text("model");
        facts.provider = record.text("provider");
        facts.workspace = record.text("workspace");
      } else if (record.type === "user") facts.prompt ||= record.text("text");
      else if (record.type === "session_renamed") facts.renamed = record.text("title");
    }
    facts.complete = facts.title !== "" || facts.prompt !== "";
    if (facts.complete) return;
    start = newline + 1;
  }
}

/** The last valid record's time, and the last title given in the tail. False when it holds no whole record. */
function readTail(bytes: Buffer, whole: boolean, facts: Facts): boolean {
  let found = false;
  for (let end = bytes.length; end > 0; ) {
    const newline = bytes.lastIndexOf(10, end - 1);
    if (newline === -1 && !whole) break;
    const line = bytes.subarray(newline + 1, end);
    end = newline;
    const renames = line.indexOf('"session_renamed"') !== -1;
    if (found && !renames) continue;
    for (const value of parseLine(line).values) {
      const record = asRecord(value);
      if (record === undefined) continue;
      if (!found) facts.last = record.time;
      found = true;
      if (record.type === "session_renamed") {
        facts.renamed = record.text("title");
        return true;
      }
    }
  }
  return found;
}

/** What a listing takes of each type. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  session_meta: ["title", "model", "provider", "workspace"],
  session_renamed: ["title"],
  user: ["text"],
};

type LooseRecord = { readonly type: string; readonly time: string; readonly text: (field: string) => string };

/** A record of a wrong shape says nothing, as for every other reader: a title of `null` names no session. */
function asRecord(value: unknown): LooseRecord | undefined {
  if (!isEnvelope(value)) return undefined;
  const { type, time } = value;
  if (TEXTS[type]?.some((field) => typeof value[field] !== "string")) return undefined;
  return {
    type,
    time,
    text: (field) => {
      const text = value[field];
      return typeof text === "string" ? text.toWellFormed() : "";
    },
  };
}

/** Clocks of files and of programs agree but for this. */
const SKEW_MS = 60_000;

function earlier(time: string, modifiedMs: number): string {
  const latest = new Date(modifiedMs + SKEW_MS).toISOString();
  return compare(time, latest) > 0 ? latest : time;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
