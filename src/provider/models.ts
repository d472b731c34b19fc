/**
 * What is known of models without asking: windows, output limits, prices in US dollars per million tokens. Small on
 * purpose; `[models."provider/id"]` overrides it, `GET /models` (listing.ts) adds to it. Refuses: guesses.
 */
import type { ModelSettings } from "../types/settings.ts";
import type { ModelInfo } from "./provider.ts";

type Row = readonly [
  id: string,
  window: number,
  maxOutput: number,
  input: number,
  output: number,
  cacheRead?: number,
  cacheWrite?: number,
];

/** Ids as the makers name them. A dated or suffixed id finds the longest row it begins with. */
const TABLE: readonly Row[] = [
  ["claude-opus-5-5", 1_000_000, 128_000, 4, 20, 0.2, 5],
  ["claude-opus-5", 1_000_000, 128_000, 5, 25, 0.5, 6.25],
  ["claude-opus-4-8", 1_000_000, 128_000, 5, 25, 0.5, 6.25],
  ["claude-opus-4-7", 1_000_000, 128_000, 5, 25, 0.5, 6.25],
  ["claude-opus-4-6", 1_000_000, 128_000, 5, 25, 0.5, 6.25],
  ["claude-opus-4-5", 200_000, 64_000, 5, 25, 0.5, 6.25],
  ["claude-sonnet-5-5", 1_000_000, 128_000, 2, 10, 0.1, 2.5],
  ["claude-sonnet-5", 1_000_000, 128_000, 2, 10, 0.2, 2.5],
  ["claude-sonnet-4-6", 1_000_000, 128_000, 3, 15, 0.3, 3.75],
  ["claude-sonnet-4-5", 200_000, 64_000, 3, 15, 0.3, 3.75],
  ["claude-haiku-4-5", 200_000, 64_000, 1, 5, 0.1, 1.25],
  ["gpt-5.6-sol", 1_050_000, 128_000, 5, 30, 0.5],
  ["gpt-5.6-terra", 1_050_000, 128_000, 2.5, 15, 0.25],
  ["gpt-5.6-luna", 1_050_000, 128_000, 1, 6, 0.1],
  ["gpt-5.4", 1_050_000, 128_000, 2.5, 15, 0.25],
  ["gpt-5.2", 400_000, 128_000, 1.75, 14, 0.175],
  ["gpt-5.1", 400_000, 128_000, 1.25, 10, 0.125],
  ["gpt-5", 400_000, 128_000, 1.25, 10, 0.125],
  ["gpt-5-mini", 400_000, 128_000, 0.25, 2, 0.025],
  ["gpt-5-nano", 400_000, 128_000, 0.05, 0.4, 0.005],
  ["gemini-3.6-flash", 1_048_576, 65_536, 1.5, 7.5, 0.15],
  ["gemini-3.5-flash", 1_048_576, 65_536, 1.5, 9, 0.15],
  ["gemini-3.5-flash-lite", 1_048_576, 65_536, 0.3, 2.5, 0.03],
  ["gemini-3.1-pro", 1_048_576, 65_536, 2, 12, 0.2],
  ["gemini-2.5-pro", 1_048_576, 65_536, 1.25, 10, 0.125],
  ["gemini-2.5-flash", 1_048_576, 65_536, 0.3, 2.5, 0.03],
  ["grok-4.5", 500_000, 64_000, 2, 6, 0.5],
];

/** Providers that charge the makers' own prices; elsewhere only windows are taken from the table. */
const MAKERS: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, "anthropic"],
  [/^gpt-/, "openai"],
  [/^gemini-/, "gemini"],
  [/^grok-/, "xai"],
];

/** What is known of `provider/id`; overrides (keyed `provider/id`) win member by member. Unknown stays undefined. */
export function modelInfo(provider: string, id: string, overrides: Readonly<Record<string, ModelSettings>> = {}): ModelInfo {
  const own = overrides[`${provider}/${id}`] ?? {};
  const row = findRow(id.slice(id.lastIndexOf("/") + 1));
  const priced = row !== undefined && MAKERS.some(([pattern, maker]) => maker === provider && pattern.test(row[0]));
  const contextWindow = own.contextWindow ?? row?.[1];
  const maxOutput = own.maxOutput ?? row?.[2];
  const price = own.price ?? (priced && row !== undefined ? priceOf(row) : undefined);
  return {
    id,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutput === undefined ? {} : { maxOutput }),
    ...(price === undefined ? {} : { price }),
    ...(row === undefined ? {} : { vision: true }),
  };
}

function priceOf([, , , input, output, cacheRead, cacheWrite]: Row): NonNullable<ModelInfo["price"]> {
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  };
}

/** The row itself, or with a date or a preview mark behind it: `gpt-5-2025-08-07` is `gpt-5`, `gpt-5-pro` is not. */
function findRow(id: string): Row | undefined {
  return TABLE.find(
    ([name]) =>
      id === name || (id.startsWith(name) && /^-(?:\d{8}|\d{4}-\d\d-\d\d|latest|preview.*)$/.test(id.slice(name.length))),
  );
}
