/**
 * Tries again when trying again can help: exponential back-off with full jitter, the server's own wish first. Every wait
 * is an event and can be cancelled (P10, P12, P13). Nothing of a response may have been acted on before its `stop`.
 * Refuses: deciding what a failure is (failure.ts).
 */
import type { FailureClass } from "../types/event.ts";
import type { RetrySettings } from "../types/settings.ts";
import type { ProviderEvent, ProviderFailure } from "./provider.ts";
import { humanWait } from "./wait.ts";

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

type RetryOptions = {
  readonly settings: RetrySettings;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Wall clock, ms. */
  readonly now: () => number;
  /** Resolves after the time or when the signal fires, whichever is first. */
  readonly sleep: Sleep;
};

const RETRYABLE: ReadonlySet<FailureClass> = new Set(["rate_limit", "overloaded", "network", "stalled", "truncated"]);
const BASE_MS = 1_000;

/** Resolves early, without an error, when the signal fires. */
export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
  });

/** `attempt` makes one try; it must end with exactly one stop or failure. */
export async function* withRetry(
  attempt: (signal: AbortSignal) => AsyncIterable<ProviderEvent>,
  options: RetryOptions,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent> {
  const { maxTries } = options.settings;
  for (let tries = 1; ; tries += 1) {
    let failed: ProviderFailure | undefined;
    for await (const event of attempt(signal)) {
      if (event.type === "failure") failed = event;
      else yield event;
    }
    if (failed === undefined) return;
    const plan = planRetry(failed, tries, options);
    if (typeof plan !== "number") return yield plan;
    yield {
      type: "retrying",
      attempt: tries + 1,
      maxAttempts: maxTries,
      delayMs: plan,
      failure: failed.class,
      message: failed.message,
    };
    await options.sleep(plan, signal);
    if (signal.aborted) return yield { type: "failure", class: "cancelled", message: "cancelled" };
  }
}

/** The delay before the next try, or the failure that ends the request. */
function planRetry(failed: ProviderFailure, tries: number, options: RetryOptions): number | ProviderFailure {
  const { maxTries, capMs, maxRetryAfterMs } = options.settings;
  const asked = failed.retryAfterMs;
  const retryable = RETRYABLE.has(failed.class);
  // A spent quota is not waited for, but a person wants to know when it is free again.
  if (asked !== undefined && asked > maxRetryAfterMs && (retryable || failed.class === "quota"))
    return { ...failed, message: `${failed.message} (${freeAgain(asked, options.now())})` };
  if (!retryable) return failed;
  if (tries >= maxTries) return tries === 1 ? failed : { ...failed, message: `${failed.message} (gave up after ${tries} tries)` };
  if (asked !== undefined && asked > 0) return asked;
  return Math.round(options.random() * Math.min(capMs, BASE_MS * 2 ** (tries - 1)));
}

function freeAgain(ms: number, now: number): string {
  const at = now + ms;
  // A date outside what a calendar can show is not worth naming.
  const when = at < 8.64e15 ? `, at ${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC` : "";
  return `the server asks to wait ${humanWait(ms)}${when}; not waiting that long`;
}
