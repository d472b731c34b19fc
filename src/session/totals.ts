/** Adds up usage records. Unknown stays unknown: a field no record had is absent, never 0 or NaN. */
import type { Usage } from "../types/message.ts";
import type { UsageFields } from "./records.ts";

/** A usage record in the conversation's own words. */
export function usageOf(record: UsageFields): Usage {
  return {
    ...(record.input_tokens === undefined ? {} : { inputTokens: record.input_tokens }),
    ...(record.output_tokens === undefined ? {} : { outputTokens: record.output_tokens }),
    ...(record.cache_read_tokens === undefined ? {} : { cacheReadTokens: record.cache_read_tokens }),
    ...(record.cache_write_tokens === undefined ? {} : { cacheWriteTokens: record.cache_write_tokens }),
    ...(record.reasoning_tokens === undefined ? {} : { reasoningTokens: record.reasoning_tokens }),
    ...(record.cost_usd === undefined ? {} : { costUsd: record.cost_usd }),
  };
}

/** The stored form of a usage: numbers that are finite and not negative only. */
export function usageFields(usage: Usage): UsageFields {
  const fields: Record<string, number> = {};
  const put = (name: string, value: number | undefined): void => {
    if (value !== undefined && Number.isFinite(value) && value >= 0) fields[name] = value;
  };
  put("input_tokens", usage.inputTokens);
  put("output_tokens", usage.outputTokens);
  put("cache_read_tokens", usage.cacheReadTokens);
  put("cache_write_tokens", usage.cacheWriteTokens);
  put("reasoning_tokens", usage.reasoningTokens);
  put("cost_usd", usage.costUsd);
  return fields;
}

/** A number that only one side knows is kept as it is. */
export function addUsage(sum: Usage, more: Usage): Usage {
  const out: { -readonly [K in keyof Usage]: Usage[K] } = { ...sum };
  for (const key of Object.keys(more) as (keyof Usage)[]) {
    const value = more[key];
    if (value !== undefined) out[key] = (out[key] ?? 0) + value;
  }
  return out;
}
