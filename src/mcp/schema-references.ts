/**
 * `$ref` in a schema from outside (M08): kept where it leads to a place in the same schema, replaced by "anything" where it
 * leads nowhere, elsewhere, or only back to itself. Bounded in depth. Refuses: fetching anything.
 */
import { isObject, type Json } from "../base/json.ts";
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

/** A copy of the schema in which every reference resolves; notes say what was replaced. */
export function checkReferences(root: Json): { readonly schema: Json; readonly notes: readonly string[] } {
  const lost = new Set<string>();
  let tooDeep = false;
  const visit = (value: unknown, depth: number, isSchema: boolean): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) {
      tooDeep = true;
      return Array.isArray(value) ? [] : {};
    }
    if (Array.isArray(value)) return value.map((item) => visit(item, depth + 1, isSchema));
    const kept = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
      if (isSchema && (key === "$ref" || key === "$dynamicRef") && typeof inner === "string") {
        if (key === "$ref" && resolvePointer(root, inner) !== undefined) return [[key, inner]];
        lost.add(inner);
        return [];
      }
      // Under these names stand names the author chose, and below those schemas again.
      const mapOfSchemas = isSchema && /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas)$/.test(key);
      const data = isSchema && /^(?:enum|const|default|examples)$/.test(key);
      return [[key, data ? inner : mapOfSchemas ? visitMap(inner, depth + 1) : visit(inner, depth + 1, isSchema)]];
    });
    return Object.fromEntries(kept);
  };
  const visitMap = (value: unknown, depth: number): unknown =>
    Object.fromEntries(isObject(value) ? Object.entries(value).map(([key, inner]) => [key, visit(inner, depth + 1, true)]) : []);
  const schema = visit(root, 0, true) as Json;
  const some = [...lost].slice(0, 3).map((reference) => cutChars(reference, 80));
  const notes = [
    ...(lost.size > 0 ? [`references that lead nowhere: ${some.join(", ")}`] : []),
    ...(tooDeep ? ["its schema is too deep and was cut"] : []),
  ];
  return { schema, notes };
}
