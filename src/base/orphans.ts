/**
 * Orphans that the program adopted: those that are over are taken notice of, or they would fill the process table of a long
 * run. Refuses: ending living ones (process-tree.ts).
 */
import type { Kernel } from "./pipe.ts";
import { deadOrphans } from "./process-tree.ts";

/** So many commands may leave their adopted dead in the process table before they are looked for. */
const LOOK_EVERY = 32;

/** Called before each command of a model; `own` are children that somebody waits for. */
export function createOrphanage(own: () => ReadonlySet<number>): (kernel: Kernel) => void {
  let commands = 0;
  let dead: ReadonlySet<number> = new Set();
  return (kernel) => {
    commands += 1;
    if (commands % LOOK_EVERY !== 0) return;
    const now = deadOrphans(own());
    // Only who was dead the last time already: a child of ours that has just exited is the runtime's to notice.
    for (const pid of now) if (dead.has(pid)) kernel.bury(pid);
    dead = new Set(now);
  };
}
