/** Looks at other processes through /proc, for tests on what is left behind. Linux only. Refuses: ending them. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** False for processes that are gone or only wait for their parent to notice. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** Ids of running processes whose command line (words joined by spaces) contains `text`; this process left out. */
export function runningWith(text: string): number[] {
  return others().filter((pid) => commandLine(pid).includes(text));
}

/** Ids of running processes whose current directory is `directory`; this process left out. */
export function runningIn(directory: string): number[] {
  return others().filter((pid) => currentDirectory(pid) === directory);
}

function others(): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => pid !== process.pid && isRunning(pid));
}

function currentDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
