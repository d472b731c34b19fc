/** Monotonic time and timers, injectable (H16). Refuses: dates. */

export type Clock = {
  /** Milliseconds from an arbitrary start; never goes back, whatever happens to the wall clock. */
  now(): number;
  /** Calls `action` once after `ms`; the result cancels it. */
  after(ms: number, action: () => void): () => void;
  sleep(ms: number): Promise<void>;
};

/** The longest delay a timer takes (2^31 - 1 ms); longer ones would fire at once. */
export const LONGEST_TIMER = 2_147_483_647;

/** Whole milliseconds until a moment of `performance.now()`, at least one: what is left for a second try. */
export function msUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** The real clock. */
export const monotonicClock: Clock = {
  now: () => performance.now(),
  after(ms, action) {
    const end = performance.now() + ms;
    const arm = (left: number): NodeJS.Timeout =>
      left <= LONGEST_TIMER
        ? setTimeout(action, left)
        : setTimeout(() => {
            timer = arm(Math.max(0, end - performance.now()));
          }, LONGEST_TIMER);
    let timer = arm(ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};
