/** Durations as people write them. Refuses: rounding up, negative values, units longer than a day. */

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `1.5h`, `1h30m`, or plain seconds → milliseconds; undefined when it is not a duration. */
export function durationMs(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) total += Number(part[1]) * (UNITS[part[2] ?? ""] ?? 0);
  return Math.round(total);
}

/** Milliseconds → the shortest exact form `durationMs` reads back (`1m30s`, `250ms`, `0s`). */
export function formatDuration(ms: number): string {
  if (ms < 1000 || ms % 1000 !== 0) return ms === 0 ? "0s" : `${ms}ms`;
  let rest = ms;
  let text = "";
  for (const [unit, size] of [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
  ] as const) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}
