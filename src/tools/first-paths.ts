/** Keeps the first paths of a listing in path order, whatever order and number they arrive in. Refuses: wording. */
import type { PathFilter } from "./path-filter.ts";
import { comparePaths } from "./path-order.ts";

export type FirstPaths = {
  readonly take: (paths: readonly string[]) => void;
  /** As if nothing had been taken. */
  readonly forget: () => void;
  /** Accepted paths seen. */
  total(): number;
  /** At most `limit`, in path order. */
  paths(): readonly string[];
};

/** Memory: at most twice the limit, or 512 paths. A small room: once it was full, most paths are behind its last and cost one comparison. */
export function createFirstPaths(limit: number, accept: PathFilter): FirstPaths {
  const room = Math.max(limit * 2, 512);
  const held: string[] = [];
  let total = 0;
  /** Paths behind this one cannot be among the first any more. */
  let bound: string | undefined;
  const shrink = (): void => {
    held.sort(comparePaths);
    if (held.length <= limit) return;
    held.length = limit;
    bound = held[limit - 1];
  };
  return {
    take(paths) {
      for (const path of paths) {
        if (!accept(path)) continue;
        total += 1;
        if (bound !== undefined && comparePaths(path, bound) >= 0) continue;
        held.push(path);
        if (held.length >= room) shrink();
      }
    },
    forget() {
      held.length = 0;
      total = 0;
      bound = undefined;
    },
    total: () => total,
    paths() {
      shrink();
      return held;
    },
  };
}
