/**
 * A JSON Schema as servers take it that turn schemas into a grammar (llama.cpp and what is built on it): there one keyword the
 * converter does not know, in one tool, makes every request fail. What only narrows a value goes; whoever gave the schema still
 * checks against the whole of it. Refuses: deciding who needs this (quirks.ts).
 */
import { isObject, type Json } from "../base/json.ts";

/** Taken as they are. */
const PLAIN: ReadonlySet<string> = new Set(["title", "type", "enum", "const", "default", "required"]);
const INNER: ReadonlySet<string> = new Set(["items", "additionalProperties"]);
const LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
/** Read as 64-bit integers. Counts are not here: each becomes a repetition, and the sum of them has a limit. */
const BOUNDS: ReadonlySet<string> = new Set(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
const FORMATS: ReadonlySet<unknown> = new Set(["date", "time", "date-time", "uuid"]);
/** A schema with none of these says nothing of its type: older converters refuse it, newer ones read `{}` as an object. */
const TYPED: readonly string[] = ["type", "enum", "const", "$ref", "properties", "items", ...LISTS];
const ANY = ["string", "number", "boolean", "object", "array", "null"];

const MAX_HINT_CHARS = 200;

/** Whether a reference leads to a schema. Converters know neither `#` nor escapes, and move inner `$defs` to the top. */
function leads(root: Json, reference: string): boolean {
  if (!/^#\/[^~%]+$/.test(reference) || reference.lastIndexOf("/$defs/") > 1) return false;
  let at: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    if (Array.isArray(at)) at = at[Number(part)];
    else at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  }
  return isObject(at);
}

type Visit = (schema: unknown) => Json;

/** What a keyword is left with; undefined when it has to go. */
function member(key: string, value: unknown, visit: Visit): unknown {
  if (PLAIN.has(key) || key === "$ref") return value;
  if (INNER.has(key)) return isObject(value) ? visit(value) : key === "additionalProperties" ? value : undefined;
  if (LISTS.has(key)) return Array.isArray(value) ? value.map(visit) : undefined;
  if (MAPS.has(key) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, visit(schema)]));
  }
  if (BOUNDS.has(key)) return Number.isSafeInteger(value) ? value : undefined;
  return key === "format" && FORMATS.has(value) ? value : undefined;
}

/** The pattern as words, for the model: the grammar cannot hold it. */
function describe({ description, pattern }: Json): string | undefined {
  const text = typeof description === "string" ? description : undefined;
  if (typeof pattern !== "string" || pattern.length > MAX_HINT_CHARS) return text;
  return `${text === undefined ? "" : `${text} `}(pattern: ${pattern})`;
}

function clean(schema: unknown): Json {
  if (!isObject(schema)) return { type: ANY };
  const kept = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    const left = member(key, value, clean);
    return left === undefined ? [] : [[key, left]];
  });
  const description = describe(schema);
  const made: Json = { ...Object.fromEntries(kept), ...(description !== undefined && { description }) };
  return TYPED.some((key) => made[key] !== undefined) ? made : { ...made, type: ANY };
}

/** Without the references that lead to nothing that was kept. */
function dropLost(root: Json, schema: Json): Json {
  const { $ref: reference, ...rest } = schema;
  if (typeof reference === "string" && !leads(root, reference)) return clean(rest);
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    const isInner = INNER.has(key) || LISTS.has(key) || MAPS.has(key);
    return [key, isInner ? member(key, value, (inner) => dropLost(root, inner as Json)) : value];
  });
  return Object.fromEntries(entries);
}

/** Nothing in it has to go: so are the built-in tools', which every first request carries. */
function isPlain(schema: unknown): boolean {
  if (!isObject(schema) || schema.type === undefined) return false;
  return Object.entries(schema).every(([key, value]) => {
    if (PLAIN.has(key) || key === "description") return true;
    if (BOUNDS.has(key)) return Number.isSafeInteger(value);
    if (key === "minItems") return value === 1;
    if (key === "items") return isPlain(value);
    return key === "properties" && isObject(value) && Object.values(value).every(isPlain);
  });
}

/** The schema in keywords that every such converter takes; wider than the original, never narrower. */
export function forGrammar(schema: Json): Json {
  if (isPlain(schema)) return schema;
  const cleaned = clean(schema);
  return dropLost(cleaned, cleaned);
}
