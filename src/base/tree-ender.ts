/** Ends one command's tree once at a time and remembers why (time-out, cancel, stop). Refuses: reading output. */
import type { Clock } from "./clock.ts";
import { endTree, type Tree } from "./process-tree.ts";

/** After KILL a child that is not gone within this time is left to the kernel. */
const UNKILLABLE_MS = 500;

type EndReason = "timeout" | "cancel" | "stop";

type Ender = {
  /** Ends the tree; the first reason given while the child lives is the reason. */
  end(reason: EndReason): Promise<void>;
  childExited(): void;
  /** Resolves when no end is under way. */
  settled(): Promise<void>;
  /** Resolves when an end was tried to the last and the child did not go. */
  readonly gaveUp: Promise<void>;
  reason(): EndReason | undefined;
  survivors(): number;
};

/** `tree.roots` are marked as exited by `childExited`. `graceMs`: from TERM to KILL. */
export function createEnder(tree: Tree, clock: Clock, graceMs?: number): Ender {
  const gaveUp = Promise.withResolvers<void>();
  let reason: EndReason | undefined;
  let survivors = 0;
  let ending: Promise<void> | undefined;
  let exited = false;
  let cancelTimer = (): void => {};

  const endOnce = async (): Promise<void> => {
    survivors = await endTree(tree, clock, graceMs);
    ending = undefined;
    if (!exited) cancelTimer = clock.after(UNKILLABLE_MS, gaveUp.resolve);
  };
  return {
    end(why) {
      if (!exited) reason ??= why;
      ending ??= endOnce();
      return ending;
    },
    childExited() {
      exited = true;
      cancelTimer();
      for (const root of tree.roots) root.exited = true;
    },
    settled: async () => ending,
    gaveUp: gaveUp.promise,
    reason: () => reason,
    survivors: () => survivors,
  };
}
