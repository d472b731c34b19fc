/**
 * Finds and ends all descendants of a command, also those that left its process group or session (H03). On Linux by
 * session, group, ancestry and a marker in the environment; elsewhere by process group only.
 * Refuses: starting anything. Not found: a process that cleared its environment, opened a session of its own and whose
 * parents had all exited before we looked.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "./clock.ts";

/** A direct child: it leads a session and a group of its number. */
export type Root = {
  readonly pid: number;
  /** Its number may belong to a stranger now; its session and group still mean its own descendants. */
  exited: boolean;
};

export type Tree = {
  readonly roots: readonly Root[];
  /** Text in the environment of every descendant; "" to look at groups only. */
  readonly marker: string;
};

export type Member = { readonly pid: number; readonly group: number; readonly stopped: boolean };

type Row = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly zombie: boolean;
  readonly stopped: boolean;
  readonly started: number;
};

/** From TERM to KILL. */
const GRACE_MS = 2000;
const KILL_ROUNDS = 40;

/** Living members of a tree, zombies left out. Synchronous: a few milliseconds, and needed while the program dies. */
export function findTree(tree: Tree): Member[] {
  const rows = readRows();
  if (rows.length === 0) {
    return tree.roots.filter((root) => groupExists(root.pid)).map(({ pid }) => ({ pid, group: pid, stopped: true }));
  }
  const self = process.pid;
  const born = rows.find((row) => row.pid === self)?.started ?? 0;
  const alive = new Set(rows.map((row) => row.pid));
  const roots = new Set(tree.roots.filter((root) => !root.exited || !alive.has(root.pid)).map((root) => root.pid));
  const members = new Set<number>();
  const children = new Map<number, number[]>();
  for (const row of rows) {
    const siblings = children.get(row.parent);
    if (siblings) siblings.push(row.pid);
    else children.set(row.parent, [row.pid]);
    if (row.pid === self) continue;
    const related = roots.has(row.pid) || roots.has(row.session) || roots.has(row.group);
    if (related || (row.started >= born && hasMarker(row.pid, tree.marker))) members.add(row.pid);
  }
  // A Set visits what is added to it while it is walked: this reaches every generation.
  for (const pid of members) for (const child of children.get(pid) ?? []) if (child !== self) members.add(child);
  return rows.filter((row) => members.has(row.pid) && !row.zombie);
}

/** KILL for every member until none is left; returns how many resisted (uninterruptible sleep, other owner). */
export function killTreeNow(tree: Tree, rounds = 5): number {
  let left: Member[] = [];
  for (let round = 0; round < rounds; round++) {
    left = findTree(tree);
    if (left.length === 0) return 0;
    sendAll(tree, left, "SIGKILL");
  }
  return left.length;
}

/** TERM, two seconds, KILL. Resolves when no member is left or nothing more can be done; says how many survived. */
export async function endTree(tree: Tree, clock: Clock): Promise<number> {
  let left = findTree(tree);
  sendAll(tree, left, "SIGTERM");
  // A stopped process gets its TERM only when it is continued.
  for (const member of left) if (member.stopped) signal(member.pid, "SIGCONT");
  const deadline = clock.now() + GRACE_MS;
  for (let pause = 5; left.length > 0 && clock.now() < deadline; pause = Math.min(pause * 2, 100)) {
    await clock.sleep(pause);
    left = left.filter(isRunning);
    if (left.length === 0) left = findTree(tree);
  }
  for (let round = 0; left.length > 0 && round < KILL_ROUNDS; round++) {
    sendAll(tree, left, "SIGKILL");
    await clock.sleep(5 + round);
    left = findTree(tree);
  }
  return left.length;
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

/** False when there is no such process or group, or it is not ours to signal. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function isRunning(member: Member): boolean {
  if (!isLinux()) return groupExists(member.group);
  const row = readRow(String(member.pid));
  return row !== undefined && !row.zombie;
}

function isLinux(): boolean {
  return process.platform === "linux";
}

function readRows(): Row[] {
  if (!isLinux()) return [];
  const rows: Row[] = [];
  for (const name of readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first < 0x31 || first > 0x39) continue;
    const row = readRow(name);
    if (row) rows.push(row);
  }
  return rows;
}

function readRow(pid: string): Row | undefined {
  if (!isLinux()) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name is in parentheses and may hold anything, parentheses too.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      pid: Number(pid),
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      zombie: fields[0] === "Z" || fields[0] === "X",
      stopped: fields[0] === "T",
      started: Number(fields[19]),
    };
  } catch {
    return undefined;
  }
}

function hasMarker(pid: number, marker: string): boolean {
  if (marker === "") return false;
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(marker);
  } catch {
    return false;
  }
}
