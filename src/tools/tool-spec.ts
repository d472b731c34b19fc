/**
 * A tool's schema as JSON Schema for providers: small, and with keys in one fixed order. Used when the catalog is
 * generated and checked. Refuses: being loaded at run time.
 */
import { toJSONSchema } from "zod";
import type { CatalogEntry } from "./registry.ts";
import type { Tool } from "./tool.ts";

const KEY_ORDER = [
  "type",
  "description",
  "enum",
  "const",
  "default",
  "minimum",
  "maximum",
  "minItems",
  "items",
  "properties",
  "required",
];

/** Executors enforce these themselves and say so; in every request they would only cost tokens. */
const SILENT: ReadonlySet<string> = new Set(["$schema", "additionalProperties", "minLength"]);

/** The catalog entry of a tool. Equal tools give equal JSON text. */
export function describeTool(tool: Tool): CatalogEntry {
  const schema = toJSONSchema(tool.input, { io: "input" });
  return {
    name: tool.name,
    effect: tool.effect,
    description: tool.description,
    parameters: tidy(schema) as CatalogEntry["parameters"],
  };
}

/** Drops what says nothing to a model and sorts keywords; properties keep the order they were declared in. */
function tidy(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(tidy);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key, value]) => !SILENT.has(key) && !isSafeIntegerBound(key, value));
  entries.sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, key === "properties" ? tidyProperties(value) : tidy(value)]));
}

function tidyProperties(properties: unknown): unknown {
  if (typeof properties !== "object" || properties === null) return properties;
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, tidy(schema)]));
}

function rank(key: string): number {
  const index = KEY_ORDER.indexOf(key);
  return index < 0 ? KEY_ORDER.length : index;
}

function isSafeIntegerBound(key: string, value: unknown): boolean {
  return (key === "maximum" || key === "minimum") && typeof value === "number" && Math.abs(value) === Number.MAX_SAFE_INTEGER;
}
