/**
 * What differs between generations of Claude on the Messages wire: thinking, effort, structured output, output limits.
 * Models of other makers on the same wire get the oldest, plainest form. Refuses: prices (models.ts).
 */
import { isObject, list } from "../base/json.ts";
import type { ProviderRequest, ReasoningEffort } from "./provider.ts";

/** `max_tokens` is mandatory: half of what current models could write, less where nothing is known. */
export const DEFAULT_MAX_OUTPUT = { known: 64_000, unknown: 16_384 } as const;

const BUDGET: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
};

/** 4.6 for `claude-opus-4-6`, 3.7 for `claude-3-7-sonnet-…`; undefined for models that are no Claude. */
function claudeVersion(model: string): number | undefined {
  const found = /claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?/.exec(model);
  if (found === null) return undefined;
  return Number(`${found[1]}.${found[2] ?? "0"}`);
}

/** `max_tokens`, `thinking` and `output_config`, in this order. */
export function claudeOptions(request: ProviderRequest, limit: number): Readonly<Record<string, unknown>> {
  const version = claudeVersion(request.model);
  const effort = request.reasoningEffort;
  const thinking = version !== undefined && version >= 4.6 ? adaptive(version, effort) : budgeted(version, effort, limit);
  const format =
    request.outputSchema !== undefined && version !== undefined && version >= 4.5 && isClosed(request.outputSchema)
      ? { format: { type: "json_schema", schema: request.outputSchema } }
      : {};
  const config = { ...thinking.config, ...format };
  return {
    max_tokens: thinking.limit ?? limit,
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
  };
}

type Thinking = { readonly thinking?: object; readonly config: object; readonly limit?: number };

/** 4.6 and later decide themselves how long to think. From 5.0 they think unless told not to, from 5.5 always. */
function adaptive(version: number, effort: ReasoningEffort | undefined): Thinking {
  // Without a display setting newer models send thinking blocks without their text.
  const on = { type: "adaptive", display: "summarized" };
  if (effort === undefined) return version >= 5 ? { thinking: on, config: {} } : { config: {} };
  if (effort === "none") {
    if (version >= 5.5) return { thinking: on, config: { effort: "low" } };
    return version >= 5 ? { thinking: { type: "disabled" }, config: {} } : { config: {} };
  }
  const level = effort === "minimal" ? "low" : effort === "xhigh" ? (version >= 4.7 ? "xhigh" : "max") : effort;
  return { thinking: on, config: { effort: level } };
}

function budgeted(version: number | undefined, effort: ReasoningEffort | undefined, limit: number): Thinking {
  if (effort === undefined || effort === "none" || (version !== undefined && version < 3.7)) return { config: {} };
  // The budget counts towards max_tokens and must leave room for an answer.
  const budget = Math.max(1_024, Math.min(BUDGET[effort], Math.floor(limit * 0.75)));
  return { thinking: { type: "enabled", budget_tokens: budget }, config: {}, limit: Math.max(limit, budget + 1_024) };
}

const PLAIN = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "const",
  "anyOf",
  "description",
  "title",
  "$schema",
]);

/** True when the schema stays inside what the server can enforce; any other is only checked by us. */
function isClosed(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (Object.keys(schema).some((key) => !PLAIN.has(key))) return false;
  if (schema.type === "object" && schema.additionalProperties !== false) return false;
  const properties = isObject(schema.properties) ? Object.values(schema.properties) : [];
  const items = schema.items === undefined ? [] : [schema.items];
  return [...properties, ...items, ...list(schema.anyOf)].every(isClosed);
}
