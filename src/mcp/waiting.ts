/** Waiting with an end: by time, by signal, whichever comes first; no timer is left behind. Refuses: deciding what is too long. */

/** Resolves when `work` has settled, after `ms`, or when the signal is aborted. */
export async function atMost(ms: number, work: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = (): void => resolve();
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  await Promise.race([work.catch(() => undefined), promise]);
  clearTimeout(timer);
  signal?.removeEventListener("abort", stop);
}

/** `work`, or a rejection with the signal's reason as soon as it is aborted. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
