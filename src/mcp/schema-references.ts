/**
 * A schema from outside made whole (M07, M08): what is no schema becomes "anything", a value that its keyword does not take goes,
 * `$ref` is kept where it leads to a place in the same schema and not only back to itself. Bounded in depth. Refuses: fetching
 * anything.
 */
import { isObject, type Json } from "../base/json.ts";
import { isPattern, kindOf, plainValue } from "../base/schema-keywords.ts";
import { cutChars } from "../base/text.ts";

/** Deeper than any schema a person writes; the rest means "anything". */
const MAX_DEPTH = 64;
const MAX_HOPS = 32;

/** Follows `#`, `#/$defs/x` (RFC 6901), and then whatever `$ref` stands there. Undefined when that ends nowhere. */
export function resolvePointer(root: Json, reference: string): unknown {
  let next = reference;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const found = lookUp(root, next);
    if (!isObject(found) || typeof found.$ref !== "string" || Object.keys(found).length > 1) return found;
    next = found.$ref;
  }
  return undefined;
}

function lookUp(root: Json, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isObject(at) && Object.hasOwn(at, key)) at = at[key];
    else return undefined;
  }
  return at;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Findings = { readonly lost: Set<string>; readonly odd: Set<string>; tooDeep: boolean };

/** What a keyword is left with; undefined when it has to go. */
function member(root: Json, key: string, value: unknown, depth: number, found: Findings): unknown {
  const inner = (schema: unknown): Json => schemaOf(root, schema, depth + 1, found, key);
  switch (kindOf(key)) {
    case "reference":
      if (key === "$ref" && typeof value === "string" && isSchema(resolvePointer(root, value))) return value;
      found.lost.add(typeof value === "string" ? value : "(no text)");
      return undefined;
    case "schema":
      return inner(value);
    case "schemas":
      return Array.isArray(value) && value.length > 0 ? value.map(inner) : undefined;
    case "map":
      if (!isObject(value)) return undefined;
      return Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => key !== "patternProperties" || isPattern(name))
          .map(([name, schema]) => [name, inner(schema)]),
      );
    case "limit":
      return typeof value === "boolean" ? value : isObject(value) ? inner(value) : undefined;
    case "data":
      return value;
    case "plain":
      return plainValue(key, value);
    case undefined:
      // A reference may lead to a schema in there.
      if (Array.isArray(value)) return value.map((item) => (isObject(item) ? inner(item) : item));
      return isObject(value) ? inner(value) : value;
  }
}

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === "boolean";
}

/** Lists of schemas by position, as earlier drafts write them, have another name now. */
function tuple(schema: Json): Json {
  if (!Array.isArray(schema.items)) return schema;
  const { items, additionalItems, ...rest } = schema;
  return {
    ...rest,
    ...(items.length > 0 && { prefixItems: items }),
    ...(isSchema(additionalItems) && { items: additionalItems }),
  };
}

/** What stands where a schema belongs, as a schema; what is none means "anything". `at` names the place for a note. */
function schemaOf(root: Json, value: unknown, depth: number, found: Findings, at: string): Json {
  if (typeof value === "boolean") return value ? {} : { not: {} };
  if (!isObject(value)) {
    found.odd.add(at);
    return {};
  }
  if (depth > MAX_DEPTH) {
    found.tooDeep = true;
    return {};
  }
  const schema = tuple(value);
  const kept = Object.entries(schema).flatMap(([key, inner]): [string, unknown][] => {
    const left = member(root, key, inner, depth, found);
    if (left === undefined && kindOf(key) !== "reference") found.odd.add(key);
    return left === undefined ? [] : [[key, left]];
  });
  const made = Object.fromEntries(kept);
  // Some providers refuse a list of anything that does not say so.
  return made.type === "array" && made.items === undefined ? { ...made, items: {} } : made;
}

const some = (words: ReadonlySet<string>): string =>
  [...words]
    .slice(0, 3)
    .map((word) => cutChars(word, 80))
    .join(", ");

/** A copy that is a schema in every part and in which every reference resolves; notes say what was replaced or left out. */
export function checkReferences(root: Json): { readonly schema: Json; readonly notes: readonly string[] } {
  const found: Findings = { lost: new Set(), odd: new Set(), tooDeep: false };
  const schema = schemaOf(root, root, 0, found, "");
  const notes = [
    ...(found.lost.size > 0 ? [`references that lead nowhere: ${some(found.lost)}`] : []),
    ...(found.odd.size > 0 ? [`parts of its schema that are none were left out: ${some(found.odd)}`] : []),
    ...(found.tooDeep ? ["its schema is too deep and was cut"] : []),
  ];
  return { schema, notes };
}
