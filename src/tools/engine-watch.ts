/**
 * Notices that a running fd or rg reads without end: a repository may hold an ignore file that is a link to /dev/zero, or a pipe,
 * which they open where git and our own walk do not. Looks only after a while, so that an ordinary search pays nothing.
 * Refuses: ending the engine. Without /proc there is nothing to look at.
 */
import { readdirSync } from "node:fs";
import { lookAt } from "../base/look.ts";
import { readSmallFile } from "../base/small-file.ts";

const EVERY_MS = 100;
/** More than any honest search takes: a line of that length is searched better in pieces. */
const MAX_ENGINE_KIB = 524_288;
/** Where the kernel has somebody wait who opens a pipe that nobody writes. */
const OPENS_PIPE = /^(?:wait_for_partner|fifo_open)/;

/** Calls `onTrap` at most once. Answers with what ends the watch. */
export function watchEngine(pid: number, onTrap: () => void): () => void {
  if (process.platform !== "linux") return () => {};
  const timer = setInterval(() => {
    if (!isTrapped(pid)) return;
    clearInterval(timer);
    onTrap();
  }, EVERY_MS);
  return () => clearInterval(timer);
}

function isTrapped(pid: number): boolean {
  const own = `/proc/${pid}`;
  try {
    const [, kib = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(readSmallFile(`${own}/status`)) ?? [];
    if (Number(kib) > MAX_ENGINE_KIB) return true;
    if (readdirSync(`${own}/fd`).some((fd) => Number(fd) > 2 && isEndless(`${own}/fd/${fd}`))) return true;
    return readdirSync(`${own}/task`).some((task) => OPENS_PIPE.test(readSmallFile(`${own}/task/${task}/wchan`)));
  } catch {
    // It has ended, or the kernel does not tell.
    return false;
  }
}

/** Neither a directory nor a file of a certain size: no engine has anything to read there. */
function isEndless(path: string): boolean {
  const found = lookAt(path);
  return found !== undefined && (found.isCharacterDevice() || found.isBlockDevice() || found.isFIFO());
}
