/**
 * What may stand behind each keyword of a JSON Schema (2020-12, and what earlier drafts and people write): MCP servers send all
 * sorts of things, and a provider that checks schemas refuses the whole request for one of them (M07). Refuses: following references.
 */
import { isObject } from "./json.ts";
import { once } from "./once.ts";

/** Longer than any pattern a person writes. */
const MAX_PATTERN_CHARS = 2000;

export type KeywordKind =
  /** A schema; a list of schemas; schemas under names the author chose. */
  | "schema"
  | "schemas"
  | "map"
  /** A schema, or yes and no. */
  | "limit"
  | "reference"
  /** Any value, and never a schema. */
  | "data"
  /** See `plainValue`. */
  | "plain";

const KINDS: Readonly<Record<Exclude<KeywordKind, "plain">, readonly string[]>> = {
  schema: ["items", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"],
  schemas: ["anyOf", "oneOf", "allOf", "prefixItems"],
  map: ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
  limit: ["additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties"],
  reference: ["$ref", "$dynamicRef", "$recursiveRef"],
  data: ["const", "default"],
};

type Check = (value: unknown) => unknown;

const ofType =
  (type: "string" | "boolean"): Check =>
  (value) =>
    typeof value === type ? value : undefined;
const numeric: Check = (value) => (typeof value === "number" ? value : undefined);
const positive: Check = (value) => (typeof value === "number" && value > 0 ? value : undefined);
const count: Check = (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined);
const list: Check = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);
const names: Check = (value) =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === "string"))] : undefined;

export const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
/** Names of other languages that leave no doubt. */
const OTHER_TYPES: ReadonlyMap<string, string> = new Map([
  ["str", "string"],
  ["int", "integer"],
  ["float", "number"],
  ["double", "number"],
  ["bool", "boolean"],
  ["dict", "object"],
  ["list", "array"],
]);

function typeName(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const name = value.toLowerCase();
  return TYPES.has(name) ? name : OTHER_TYPES.get(name);
}

const types: Check = (value) => {
  if (!Array.isArray(value)) return typeName(value);
  const known = [...new Set(value.flatMap((one) => typeName(one) ?? []))];
  return known.length === 0 ? undefined : known;
};

/** A pattern of whatever dialect: what no reading makes sense of is left out. */
const pattern: Check = (value) => (typeof value === "string" && isPattern(value) ? value : undefined);

export function isPattern(text: string): boolean {
  if (text.length > MAX_PATTERN_CHARS) return false;
  return ["u", ""].some((flags) => {
    try {
      new RegExp(text, flags);
      return true;
    } catch {
      return false;
    }
  });
}

/** The lists of a map of lists of names. */
const nameLists: Check = (value) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).flatMap(([key, inner]) => (Array.isArray(inner) ? [[key, names(inner)]] : [])))
    : undefined;

const PLAIN: readonly (readonly [Check, readonly string[]])[] = [
  [types, ["type"]],
  [list, ["enum", "examples"]],
  [names, ["required"]],
  [nameLists, ["dependentRequired"]],
  [pattern, ["pattern"]],
  [positive, ["multipleOf"]],
  [numeric, ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]],
  [count, ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"]],
  [ofType("boolean"), ["uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"]],
  [ofType("string"), ["title", "description", "format", "contentEncoding", "contentMediaType", "$comment"]],
  [ofType("string"), ["$schema", "$id", "$anchor", "$dynamicAnchor"]],
];

const kinds = once(
  (): ReadonlyMap<string, KeywordKind> =>
    new Map([
      ...Object.entries(KINDS).flatMap(([kind, keys]) => keys.map((key) => [key, kind as KeywordKind] as const)),
      ...PLAIN.flatMap(([, keys]) => keys.map((key) => [key, "plain"] as const)),
    ]),
);
const checks = once(
  (): ReadonlyMap<string, Check> => new Map(PLAIN.flatMap(([check, keys]) => keys.map((key) => [key, check] as const))),
);

/** Undefined for a keyword nobody knows. */
export function kindOf(key: string): KeywordKind | undefined {
  return kinds().get(key);
}

/** The value as that keyword takes it; undefined when it cannot stand there. */
export function plainValue(key: string, value: unknown): unknown {
  return checks().get(key)?.(value);
}
