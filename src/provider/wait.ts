/**
 * How long a server asks to wait: headers and the sentences providers write into error bodies (P12). Times are
 * milliseconds. Refuses: deciding whether to wait (retry.ts).
 */
import { once } from "../base/once.ts";

const UNIT_MS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|millisecond)/, 1],
  [/^s/, 1_000],
  [/^m/, 60_000],
  [/^h/, 3_600_000],
  [/^d/, 86_400_000],
];

const AMOUNT = "\\d+(?:\\.\\d+)?\\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])";
/** What a server asks for: "timed out after 600 s" and "crashed after 3 s" ask for nothing. */
const ASKED =
  "\\b(?:try|retry|retrying|again|resets?|refresh(?:es)?|available|back|next)\\b[^.\\n]{0,40}?[\\s-](?:in|after)\\b:?";
/** Everything is bounded: a server may send anything, and this runs to its end. */
const sentence = once(
  () =>
    new RegExp(
      `(?:${ASKED}|\\bwait(?:\\s+(?:for|at least|about))*|retrydelay"?:?(?:\\s*")?)\\s*((?:${AMOUNT}(?:\\s|,|and){0,8}|${AMOUNT.replace("(?![a-z])", "")}){1,8})`,
      "i",
    ),
);
const DATE = /\breset[a-z]*(?:\s+(?:at|on))?[\s:"]*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)/i;

/** `Retry-After` (seconds or HTTP date) or `retry-after-ms`; undefined for nonsense, negative values and the past. */
export function retryAfterHeader(headers: Headers, now: number): number | undefined {
  const exact = headers.get("retry-after-ms");
  if (exact !== null && /^\d+(?:\.\d+)?$/.test(exact.trim())) return Math.ceil(Number(exact));
  const raw = headers.get("retry-after")?.trim();
  if (raw === undefined || raw === "") return undefined;
  if (/^\d+(?:\.\d+)?$/.test(raw)) {
    const ms = Math.ceil(Number(raw) * 1_000);
    return Number.isSafeInteger(ms) ? ms : undefined;
  }
  // An HTTP date names a day or a month; anything else Date.parse would guess at.
  if (!/[A-Za-z]{3}/.test(raw) || !/\d{2}:\d{2}:\d{2}/.test(raw)) return undefined;
  const until = Date.parse(raw) - now;
  return Number.isFinite(until) && until > 0 ? until : undefined;
}

/** "try again in 1h2m", "retryDelay": "34s", "resets at 2026-12-01T00:00:00Z". */
export function waitInText(text: string, now: number): number | undefined {
  const date = DATE.exec(text)?.[1];
  if (date !== undefined) {
    const until = Date.parse(/[Z]|[+-]\d\d:?\d\d$/.test(date) ? date : `${date}Z`) - now;
    if (Number.isFinite(until) && until > 0) return until;
  }
  const amounts = sentence().exec(text)?.[1];
  if (amounts === undefined) return undefined;
  let total = 0;
  for (const [, number = "0", unit = ""] of amounts.matchAll(/((?<!\d)\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    const scale = UNIT_MS.find(([pattern]) => pattern.test(unit.toLowerCase()))?.[1];
    total += Number(number) * (scale ?? 0);
  }
  return total > 0 ? Math.ceil(total) : undefined;
}

/** `45 s`, `12 min`, `12 h 5 min`, for a person. */
export function humanWait(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 72) return `${Math.floor(hours / 24)} days`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}
