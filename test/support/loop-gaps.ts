/** How long work kept everything else from its turn of the event loop. */

export type Watched<T> = { readonly value: T; readonly tookMs: number; readonly longestGapMs: number };

/** Runs it beside a timer; the longest wait between two turns of that timer. */
export async function watchLoop<T>(run: () => Promise<T>): Promise<Watched<T>> {
  const began = performance.now();
  let last = began;
  let longestGapMs = 0;
  const tick = (): void => {
    longestGapMs = Math.max(longestGapMs, performance.now() - last);
    last = performance.now();
  };
  const ticking = setInterval(tick, 10);
  try {
    const value = await run();
    tick();
    return { value, tookMs: performance.now() - began, longestGapMs };
  } finally {
    clearInterval(ticking);
  }
}
