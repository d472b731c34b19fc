/**
 * What keeps a JSON Schema from meaning what its author wrote: an unknown type, a keyword of the wrong shape, a reference that leads
 * nowhere, a pattern that is none. Validators pass over these without a word. Refuses: validating answers.
 */
import { isObject, type Json } from "../base/json.ts";
import { kindOf, TYPES } from "../base/schema-keywords.ts";

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Identity escapes that Unicode patterns refuse (`\-` outside a class, `\:`); without the backslash they mean the same. */
const NEEDLESS_ESCAPE = /\\([^A-Za-z0-9^$\\.*+?()[\]{}|/])/g;

/** The pattern as `new RegExp(…, "u")` takes it; undefined when it is none in either dialect. */
function unicodePattern(pattern: string): string | undefined {
  for (const candidate of [pattern, pattern.replace(NEEDLESS_ESCAPE, "$1")]) {
    try {
      new RegExp(candidate, "u");
      return candidate;
    } catch {
      // The next one, or none.
    }
  }
  return undefined;
}

/** All subschemas with where they stand, the schema itself first. */
function* subschemas(schema: unknown, at: string): Generator<{ readonly schema: unknown; readonly at: string }> {
  yield { schema, at };
  if (!isObject(schema)) return;
  for (const [key, value] of Object.entries(schema)) {
    const kind = kindOf(key);
    const isSchema = kind === "schema" || kind === "limit";
    // `items` was a list in earlier drafts.
    if (Array.isArray(value) && (isSchema || kind === "schemas")) {
      for (const [index, item] of value.entries()) yield* subschemas(item, `${at}/${key}/${index}`);
    } else if (isSchema) yield* subschemas(value, `${at}/${key}`);
    else if (kind === "map" && isObject(value)) {
      for (const [name, item] of Object.entries(value)) yield* subschemas(item, `${at}/${key}/${name}`);
    }
  }
}

function leadsSomewhere(reference: string, root: Json, names: ReadonlySet<string>): boolean {
  if (!reference.startsWith("#/")) return reference === "#" || names.has(reference.replace(/^#/, "").replace(/#$/, ""));
  let value: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}

function problemOf(schema: unknown, root: Json, names: ReadonlySet<string>): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return "is no schema (an object, true or false)";
  const { type, required, pattern, $ref: reference } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  for (const name of types) if (!TYPES.has(name)) return `has the type ${JSON.stringify(name)}, which is none`;
  if (required !== undefined && !isStrings(required)) return `has a "required" that is no list of names`;
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) return `has an "enum" that is no list`;
  for (const [key, value] of Object.entries(schema)) {
    if (kindOf(key) === "schemas" && !Array.isArray(value)) return `has ${key} that is no list`;
    if (kindOf(key) === "map" && !isObject(value)) return `has ${key} that is no object`;
  }
  if (reference !== undefined && !(typeof reference === "string" && leadsSomewhere(reference, root, names)))
    return `refers to ${JSON.stringify(reference)}, which is not in it`;
  if (pattern !== undefined && (typeof pattern !== "string" || unicodePattern(pattern) === undefined))
    return `has a pattern that is no regular expression: ${JSON.stringify(pattern)}`;
  for (const key of Object.keys(isObject(schema.patternProperties) ? schema.patternProperties : {}))
    if (unicodePattern(key) === undefined) return `has a pattern that is no regular expression: ${JSON.stringify(key)}`;
  return undefined;
}

/** One sentence that begins with where it is (`#/properties/a`); undefined for a schema that can be checked. */
export function schemaProblem(root: Json): string | undefined {
  const all = [...subschemas(root, "#")];
  const names = new Set<string>();
  for (const { schema } of all)
    if (isObject(schema))
      for (const key of ["$id", "id", "$anchor", "$dynamicAnchor"]) if (typeof schema[key] === "string") names.add(schema[key]);
  for (const { schema, at } of all) {
    const problem = problemOf(schema, root, names);
    if (problem !== undefined) return `${at} ${problem}`;
  }
  return undefined;
}

/** The schema with every pattern as a Unicode pattern; the validator knows no other. */
export function withUnicodePatterns<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => withUnicodePatterns(item)) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    if (key === "pattern" && typeof inner === "string") return [key, unicodePattern(inner) ?? inner];
    if (key === "enum" || key === "const" || key === "default") return [key, inner];
    if (kindOf(key) !== "map" || !isObject(inner)) return [key, withUnicodePatterns(inner)];
    // Names of the author's own: one may be called like a keyword.
    const newName = (name: string): string => (key === "patternProperties" ? (unicodePattern(name) ?? name) : name);
    return [key, Object.fromEntries(Object.entries(inner).map(([k, v]) => [newName(k), withUnicodePatterns(v)]))];
  });
  return Object.fromEntries(entries) as T;
}
