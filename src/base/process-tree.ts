/**
 * Finds and ends all descendants of a command, also those that left its process group or session (H03). On Linux by session,
 * group, ancestry and a marker in the environment; elsewhere, and where `/proc` is not of our pid namespace, by process group
 * only. A process that cleared its environment, opened a session of its own and whose parents are gone hangs below us where
 * orphans are adopted: one command's tree holds it while it holds the command's output, the whole run's tree always. Refuses:
 * starting anything.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { MARKER_VARIABLE } from "./child-env.ts";
import type { Clock } from "./clock.ts";
import { type ProcessStat, processStat, procIsOurs } from "./process-stat.ts";
import { readSmallFile } from "./small-file.ts";

/** A direct child: it leads a session and a group of its number, unless it has our terminal. */
export type Root = {
  readonly pid: number;
  /** It leads no group: it and its descendants are signalled one by one. */
  readonly inOurGroup?: true;
  /** Its number may belong to a stranger now; its session and group still mean its own descendants. */
  exited: boolean;
};

export type Tree = {
  readonly roots: readonly Root[];
  /** Text in the environment of every descendant; "" to look at groups only. */
  readonly marker: string;
  /** Whether orphans that this process adopted belong to it. */
  readonly adopted?: boolean;
  /** Numbers of the pipes that it was given for its output: an orphan that holds one is of this tree, whatever else it let go of. */
  readonly pipes?: readonly number[];
  /** Takes the exits of those who are over; negative: of a whole group. Where only groups can be looked at, the dead keep theirs alive. */
  readonly bury?: (pid: number) => void;
};

type Member = { readonly pid: number; readonly group: number; readonly stopped: boolean };

/** From TERM to KILL. */
const GRACE_MS = 2000;
const KILL_ROUNDS = 40;
/** No process's group. */
const NO_GROUP = 0;
const UNDECIDED_ROUNDS = 10;

type Scan = {
  readonly members: readonly Member[];
  /** True when a process was seen that may turn out to be a member in a few milliseconds. */
  readonly undecided: boolean;
};

/** Living members of a tree, zombies left out. Synchronous: a few milliseconds, and needed while the program dies. */
export function findTree(tree: Tree): readonly Member[] {
  return scan(tree).members;
}

function scan(tree: Tree): Scan {
  const rows = readRows();
  if (rows.length === 0) {
    const members = tree.roots.map(({ pid, inOurGroup }) => ({ pid, group: inOurGroup ? NO_GROUP : pid, stopped: true }));
    return { members: members.filter((member) => memberExists(tree, member)), undecided: false };
  }
  const self = process.pid;
  const born = rows.find((row) => row.pid === self)?.started ?? 0;
  const boot = ticksSinceBoot();
  const forebears = forebearsOf(self, rows);
  const alive = new Set(rows.map((row) => row.pid));
  const roots = new Set(tree.roots.filter((root) => !root.exited || !alive.has(root.pid)).map((root) => root.pid));
  const found = new Set<number>();
  let undecided = false;
  for (const row of rows) {
    if (row.pid === self) continue;
    const adopted = tree.adopted === true && row.parent === self;
    const related = adopted || roots.has(row.pid) || roots.has(row.session) || roots.has(row.group);
    const holds =
      !related && tree.pipes !== undefined && forebears.has(row.parent) && row.started >= born && holdsPipe(row, tree.pipes);
    const marked = !related && !holds && tree.marker !== "" && row.started >= born && hasMarker(row, tree.marker, boot);
    if (related || holds || marked === true) found.add(row.pid);
    // A member without living parents in the tree hangs below us or whoever adopts orphans.
    undecided ||= marked === "undecided" && forebears.has(row.parent);
  }
  addDescendants(found, rows, self);
  return { members: rows.filter((row) => found.has(row.pid) && !row.zombie), undecided };
}

/** Adopted orphans that are over and wait for their parent, us, to take notice; `own` are children somebody else waits for. */
export function deadOrphans(own: ReadonlySet<number>): readonly number[] {
  return readRows().flatMap((row) => (row.zombie && row.parent === process.pid && !own.has(row.pid) ? [row.pid] : []));
}

/** Whether a process has one of these pipes open. Those of another user do not say. */
function holdsPipe(row: ProcessStat, pipes: readonly number[]): boolean {
  if (row.zombie || pipes.length === 0) return false;
  const names = new Set(pipes.map((pipe) => `pipe:[${pipe}]`));
  try {
    const directory = `/proc/${row.pid}/fd`;
    return readdirSync(directory).some((fd) => names.has(linkOf(`${directory}/${fd}`)));
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed meanwhile.
    return "";
  }
}

/**
 * How many adopted orphans that began at `since` (clock ticks from boot) or later belong to nobody that can be told: without a name
 * of ours in their environment, in a session of their own.
 */
export function countStrays(since: number): number {
  const session = processStat(process.pid)?.session;
  const strays = readRows().filter((row) => row.parent === process.pid && row.started >= since && row.session !== session);
  return strays.filter((row) => !row.zombie && hasMarker(row, `${MARKER_VARIABLE}=`, 0) !== true).length;
}

function forebearsOf(self: number, rows: readonly ProcessStat[]): ReadonlySet<number> {
  const parents = new Map(rows.map((row) => [row.pid, row.parent]));
  const forebears = new Set<number>();
  for (let pid: number | undefined = self; pid && !forebears.has(pid); pid = parents.get(pid)) forebears.add(pid);
  return forebears;
}

function addDescendants(found: Set<number>, rows: readonly ProcessStat[], self: number): void {
  const children = new Map<number, number[]>();
  for (const row of rows) {
    const siblings = children.get(row.parent);
    if (siblings) siblings.push(row.pid);
    else children.set(row.parent, [row.pid]);
  }
  // A Set visits what is added to it while it is walked: this reaches every generation.
  for (const pid of found) for (const child of children.get(pid) ?? []) if (child !== self) found.add(child);
}

/** KILL for every member until none is left; returns how many resisted (uninterruptible sleep, other owner). */
export function killTreeNow(tree: Tree): number {
  let seen = scan(tree);
  for (let round = 0; round < KILL_ROUNDS && (seen.members.length > 0 || seen.undecided); round++) {
    sendAll(tree, seen.members, "SIGKILL");
    Bun.sleepSync(2);
    seen = scan(tree);
  }
  return seen.members.length;
}

/** TERM, two seconds (or `graceMs`), KILL. Resolves when no member is left or nothing more can be done; says how many survived. */
export async function endTree(tree: Tree, clock: Clock, graceMs = GRACE_MS): Promise<number> {
  let left = await decidedMembers(tree, clock);
  sendAll(tree, left, "SIGTERM");
  // A stopped process gets its TERM only when it is continued.
  for (const member of left) if (member.stopped) signal(member.pid, "SIGCONT");
  const deadline = clock.now() + graceMs;
  for (let pause = 5; left.length > 0 && clock.now() < deadline; pause = Math.min(pause * 2, 100)) {
    await clock.sleep(pause);
    left = left.filter((member) => isRunning(tree, member));
    if (left.length === 0) left = await decidedMembers(tree, clock);
  }
  for (let round = 0; left.length > 0 && round < KILL_ROUNDS; round++) {
    sendAll(tree, left, "SIGKILL");
    await clock.sleep(5 + round);
    left = await decidedMembers(tree, clock);
  }
  return left.length;
}

/** Members, after a short wait for processes in the middle of their exec. */
async function decidedMembers(tree: Tree, clock: Clock): Promise<readonly Member[]> {
  let seen = scan(tree);
  for (let round = 0; seen.undecided && round < UNDECIDED_ROUNDS; round++) {
    await clock.sleep(2 + round);
    seen = scan(tree);
  }
  return seen.members;
}

function sendAll(tree: Tree, members: readonly Member[], name: NodeJS.Signals): void {
  const roots = new Set(tree.roots.map((root) => root.pid));
  const groups = new Set(members.map((member) => member.group).filter((group) => roots.has(group)));
  // A group in one call, so that no member sees another die and forks a replacement. Nobody gets a signal twice: for
  // many programs the second one means "at once".
  for (const group of groups) signal(-group, name);
  for (const member of members) if (!groups.has(member.group)) signal(member.pid, name);
}

/** True while any process, a zombie included, is in the group. */
export function groupExists(group: number): boolean {
  return signal(-group, 0);
}

function memberExists(tree: Tree, { pid, group }: Member): boolean {
  // Before that its exit is the runtime's to take.
  if (tree.roots.some((root) => root.pid === group && root.exited)) tree.bury?.(-group);
  return group === NO_GROUP ? signal(pid, 0) : groupExists(group);
}

/** False when there is no such process or group, or it is not ours to signal. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function isRunning(tree: Tree, member: Member): boolean {
  if (!procIsOurs()) return memberExists(tree, member);
  const row = processStat(member.pid);
  return row !== undefined && !row.zombie;
}

function readRows(): ProcessStat[] {
  if (!procIsOurs()) return [];
  const rows: ProcessStat[] = [];
  for (const name of processNames()) {
    const first = name.charCodeAt(0);
    if (first < 0x31 || first > 0x39) continue;
    const row = processStat(Number(name));
    if (row) rows.push(row);
  }
  return rows;
}

/** None when `/proc` cannot be read (no descriptor left, say): groups are then all there is, and ending them must still work. */
function processNames(): readonly string[] {
  try {
    return readdirSync("/proc");
  } catch {
    return [];
  }
}

/** An empty environment of a process this young may only mean that it is in the middle of its exec. */
const YOUNG_TICKS = 100;

function hasMarker(row: ProcessStat, marker: string, bootTicks: number): boolean | "undecided" {
  try {
    const environ = readFileSync(`/proc/${row.pid}/environ`);
    if (environ.length > 0) return environ.includes(marker);
    return bootTicks - row.started < YOUNG_TICKS && !row.zombie ? "undecided" : false;
  } catch {
    return false;
  }
}

/** Time since boot in hundredths of a second, the unit of a process's start. */
function ticksSinceBoot(): number {
  try {
    return Number(readSmallFile("/proc/uptime").split(" ")[0]) * 100;
  } catch {
    return 0;
  }
}
