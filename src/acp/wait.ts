/** Waiting with an end: for an answer, a time limit or an abort, whichever comes first. Refuses: cancelling the work itself. */

/** Resolves with "late" after `ms`, with "cancelled" on abort; rejects as the work does. Leaves no timer and no listener behind. */
export async function bounded<T>(
  work: Promise<T>,
  limits: { readonly ms?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<T | "late" | "cancelled"> {
  const { ms, signal } = limits;
  const { promise, resolve } = Promise.withResolvers<"late" | "cancelled">();
  const timer = ms === undefined ? undefined : setTimeout(() => resolve("late"), ms);
  const stop = (): void => resolve("cancelled");
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
