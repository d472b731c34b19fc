/** Turns of the event loop for work that never has to wait. Refuses: doing the work, ending it. */

/** Work between two turns. */
const SLICE_MS = 8;

/**
 * Asked after each small piece of work: once a slice is used up it gives a promise to wait for, so that timers, signals and
 * keys get their turn. Mostly undefined, which costs less than a promise per piece.
 */
export function createBreather(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        since = performance.now();
        resolve();
      }),
    );
  };
}
