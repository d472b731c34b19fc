/** What Linux says of one process (`/proc/PID/stat`). Refuses: other systems, deciding what a process is to us. */
import { readlinkSync } from "node:fs";
import { once } from "./once.ts";
import { readSmallFile } from "./small-file.ts";

export type ProcessStat = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Dead, its exit code not fetched yet: it keeps its number all the same. */
  readonly zombie: boolean;
  readonly stopped: boolean;
  /** Clock ticks from boot to its start: tells it from a later process of the same number. */
  readonly started: number;
};

/**
 * False where there is no `/proc`, and where it counts in another pid namespace than we do (a sandbox that made one and kept the
 * `/proc` of outside): its numbers then name strangers, and whoever went by them would signal those.
 */
export const procIsOurs = once((): boolean => {
  try {
    return readlinkSync("/proc/self") === String(process.pid);
  } catch {
    return false;
  }
});

/** Undefined when there is no such process, or no `/proc` that speaks of ours. Synchronous: microseconds, and needed while the program dies. */
export function processStat(pid: number): ProcessStat | undefined {
  if (!procIsOurs()) return undefined;
  try {
    // Of ourselves the main thread says the same, and the kernel need not add up the others for it (0.2 ms).
    const stat = readSmallFile(pid === process.pid ? `/proc/self/task/${pid}/stat` : `/proc/${pid}/stat`);
    // The name is in parentheses and may hold anything, parentheses too.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      pid,
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
