/** Token usage in the contract's terms, and what it costs. Unknown stays unknown (P14). Refuses: estimates. */
import { count } from "../base/json.ts";
import type { Usage } from "../types/message.ts";
import type { ModelInfo } from "./provider.ts";

/** Leaves out what is unknown, so that it can neither be 0 nor hide an earlier number. */
export function known(usage: { readonly [K in keyof Usage]: Usage[K] | undefined }): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined)) as Usage;
}

/** What a request takes in: never nothing once something was counted. */
const TAKEN_IN = /input|cache/i;

/** Later numbers replace earlier ones; unknown ones leave them, and so does a 0 for what was taken in and counted before. */
export function newer<T extends Readonly<Record<string, unknown>>>(earlier: T, later: T): T {
  const news = Object.entries(later).filter(([name, value]) => {
    if (value === null || value === undefined) return false;
    return value !== 0 || !TAKEN_IN.test(name) || (count(earlier[name]) ?? 0) === 0;
  });
  return { ...earlier, ...Object.fromEntries(news) };
}

/** The same usage with its cost in US dollars where the price and both token counts are known. */
export function withCost(usage: Usage, price: ModelInfo["price"]): Usage {
  if (usage.costUsd !== undefined || price === undefined) return usage;
  if (usage.inputTokens === undefined || usage.outputTokens === undefined) return usage;
  const read = usage.cacheReadTokens ?? 0;
  const write = usage.cacheWriteTokens ?? 0;
  const fresh = Math.max(0, usage.inputTokens - read - write);
  const dollars =
    fresh * price.input +
    read * (price.cacheRead ?? price.input) +
    write * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output;
  return { ...usage, costUsd: dollars / 1_000_000 };
}
