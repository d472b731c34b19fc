/**
 * Finds skills below the roots and reads their heads. Synchronous looks while nothing exists (the usual case costs a stat a
 * root), bounded in depth, number and size. Refuses: bodies, references, deciding what is trusted (a function says so).
 */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isBelow, realOf } from "../base/below.ts";
import { readRegularFile } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import type { Diagnostic } from "../types/event.ts";
import { parseSkill } from "./front-matter.ts";
import {
  type Duplicate,
  MAX_DEPTH,
  MAX_DIRECTORIES,
  MAX_SKILL_FILE_BYTES,
  MAX_SKILLS,
  NO_SKILLS,
  SKILL_FILE,
  type Skill,
  type SkillRoot,
  type SkillSet,
  skillProblem,
  type TrustState,
} from "./skill.ts";

/** What the user said of exactly these bytes at this path. */
export type TrustOf = (path: string, bytes: Uint8Array) => Promise<TrustState>;

/** What was read of one file in one state of it; a discovery that finds the same state does not read it again. */
type Read = {
  readonly state: string;
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly parsed: ReturnType<typeof parseSkill>;
};

export type Discovery = {
  readonly roots: readonly SkillRoot[];
  /** Real path. */
  readonly workspaceRoot: string;
  readonly trustOf: TrustOf;
  /** Kept by the caller from one discovery to the next. */
  readonly cache: Map<string, Read>;
};

type Candidate = { readonly path: string; readonly realPath: string; readonly root: SkillRoot };
type Walk = {
  readonly found: Candidate[];
  readonly problems: Diagnostic[];
  readonly seen: Set<string>;
  directories: number;
  /** The bound that ended it has been said. */
  full: boolean;
};

function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}

/** True when there is no more room; says so once. */
function isFull(walk: Walk, path: string): boolean {
  if (walk.full) return true;
  const what =
    walk.found.length >= MAX_SKILLS
      ? `more than ${MAX_SKILLS} skills; the rest is ignored`
      : walk.directories >= MAX_DIRECTORIES
        ? `more than ${MAX_DIRECTORIES} directories; the rest is not searched`
        : undefined;
  if (what === undefined) return false;
  walk.full = true;
  walk.problems.push(skillProblem("warning", "too_many", path, what));
  return true;
}

/** A skill owns its directory: nothing below it is another skill. */
function visit(directory: string, depth: number, root: SkillRoot, limit: string | undefined, walk: Walk): void {
  if (isFull(walk, root.path)) return;
  const real = realOf(directory);
  // One place under two names, or a circle of links.
  if (walk.seen.has(real)) return;
  walk.seen.add(real);
  walk.directories += 1;
  // What a repository links to from outside is not the repository's to offer.
  if (limit !== undefined && !isBelow(real, limit)) {
    walk.problems.push(skillProblem("warning", "outside", directory, "it is a link that leads out of the workspace; ignored"));
    return;
  }
  let entries: { readonly name: string; isDirectory(): boolean; isSymbolicLink(): boolean }[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    walk.problems.push(skillProblem("warning", "unreadable", directory, `it cannot be read (${code})`));
    return;
  }
  if (entries.some((entry) => entry.name === SKILL_FILE)) {
    const path = join(directory, SKILL_FILE);
    walk.found.push({ path, realPath: realOf(path), root });
    return;
  }
  if (depth >= MAX_DEPTH) return;
  const names = entries
    .filter((entry) => !entry.name.startsWith(".") && entry.name !== "node_modules")
    .filter((entry) => entry.isDirectory() || (entry.isSymbolicLink() && isDirectory(join(directory, entry.name))))
    .map((entry) => entry.name)
    .sort();
  for (const name of names) visit(join(directory, name), depth + 1, root, limit, walk);
}

async function readCandidate(candidate: Candidate, discovery: Discovery): Promise<Read | string> {
  const { path, root } = candidate;
  if (root.needsTrust && !isBelow(candidate.realPath, discovery.workspaceRoot))
    return "it is a link that leads out of the workspace";
  const known = discovery.cache.get(path);
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  const state = stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  if (known !== undefined && known.state === state) return known;
  const read = await readRegularFile(path, { maxBytes: MAX_SKILL_FILE_BYTES });
  if (!read.ok) return read.message;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read.bytes);
  } catch {
    return "it is not UTF-8 text";
  }
  const fresh = {
    state,
    bytes: read.bytes,
    hash: contentHash(read.bytes),
    parsed: parseSkill(text, basename(dirname(candidate.realPath))),
  };
  discovery.cache.set(path, fresh);
  return fresh;
}

/**
 * The user's word for a SKILL.md where it was found, or where links lead from there: trust is of a place, and both are places of
 * this workspace. One that is found outside and lies inside counts by where it lies.
 */
export async function trustIn(
  { path, realPath }: Pick<Candidate, "path" | "realPath">,
  bytes: Uint8Array,
  { trustOf, workspaceRoot }: Pick<Discovery, "trustOf" | "workspaceRoot">,
): Promise<TrustState> {
  const places = new Set([path, realPath].filter((place) => isBelow(place, workspaceRoot)));
  const states = await Promise.all([...places].map((place) => trustOf(place, bytes)));
  return states.find((state) => state === "trusted") ?? states.find((state) => state === "changed") ?? "untrusted";
}

async function load(candidate: Candidate, discovery: Discovery, problems: Diagnostic[]): Promise<Skill | undefined> {
  const { path, realPath, root } = candidate;
  let read: Read | string;
  try {
    read = await readCandidate(candidate, discovery);
  } catch (error) {
    // stat of a file in a directory without search permission, a circle of links …
    read = `it cannot be read (${error instanceof Error && "code" in error ? String(error.code) : String(error)})`;
  }
  if (typeof read === "string") {
    problems.push(skillProblem("error", "unreadable", path, read));
    return undefined;
  }
  for (const { severity, what, line } of read.parsed.faults) problems.push(skillProblem(severity, "invalid", path, what, line));
  if (!read.parsed.head) return undefined;
  return {
    ...read.parsed.head,
    path,
    realPath,
    directory: dirname(realPath),
    source: root.source,
    needsTrust: root.needsTrust,
    trust: root.needsTrust ? await trustIn(candidate, read.bytes, discovery) : "trusted",
    contentHash: read.hash,
    byteCount: read.bytes.length,
  };
}

function select(all: readonly Skill[], problems: readonly Diagnostic[]): SkillSet {
  const skills = new Map<string, Skill>();
  const available = new Map<string, Skill>();
  const ignored = new Map<string, string[]>();
  for (const skill of all) {
    if (skill.trust === "trusted" && !available.has(skill.name)) available.set(skill.name, skill);
    if (!skills.has(skill.name)) skills.set(skill.name, skill);
    else ignored.set(skill.name, [...(ignored.get(skill.name) ?? []), skill.path]);
  }
  const duplicates: Duplicate[] = [...ignored].map(([name, paths]) => ({
    name,
    selected: skills.get(name)?.path ?? "",
    ignored: paths,
  }));
  return { skills: [...skills.values()], available: [...available.values()], duplicates, problems };
}

/** Looks at every root. Never throws; what is wrong is in `problems`. */
export async function discoverSkills(discovery: Discovery): Promise<SkillSet> {
  const roots = discovery.roots.filter((root) => isDirectory(root.path));
  if (roots.length === 0) return NO_SKILLS;
  const walk: Walk = { found: [], problems: [], seen: new Set(), directories: 0, full: false };
  for (const root of roots) visit(root.path, 0, root, root.needsTrust ? discovery.workspaceRoot : undefined, walk);
  const problems = walk.problems;
  const found = await Promise.all(
    walk.found.map(async (candidate) => {
      const own: Diagnostic[] = [];
      return { skill: await load(candidate, discovery, own), own };
    }),
  );
  // In the order of the roots, whatever order the reads ended in.
  for (const { own } of found) problems.push(...own);
  return select(
    found.flatMap(({ skill }) => (skill ? [skill] : [])),
    problems,
  );
}
