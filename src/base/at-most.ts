/** Waiting with an end. Refuses: ending what is waited for. */

/** Resolves when `work` is over, at the latest after `ms`. Rejects as `work` does. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
