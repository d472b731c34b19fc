/**
 * A tool's inputSchema as a server sent it → one every provider takes (M07, M08): an object with plain property names, all
 * references inside it, of bounded size. What cannot be repaired leaves the tool out, and only that. Refuses: validating
 * arguments (the server does).
 */
import { isObject, type Json, valueTooDeep } from "../base/json.ts";
import { cutChars } from "../base/text.ts";
import { checkReferences, resolvePointer } from "./schema-references.ts";

/** Of the schema's JSON; a request carries every tool's. */
const MAX_SCHEMA_CHARS = 64 * 1024;
/** Property names a provider takes at the top. */
const PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_PROPERTIES = 500;

export type RepairedSchema = {
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Property name as sent → as the server knows it; only the ones that differ. */
  readonly renamed: ReadonlyMap<string, string>;
  /** What was changed, for a diagnostic; empty when nothing was. */
  readonly notes: readonly string[];
};

export type SchemaResult =
  | ({ readonly ok: true } & RepairedSchema)
  /** Why no arguments could ever fit. */
  | { readonly ok: false; readonly reason: string };

function names(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

type Shape = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const NOTHING: Shape = { properties: new Map(), required: new Set() };

/** Top-level branches, their references followed. */
function branches(root: Json, value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((branch: unknown) => {
    if (!isObject(branch)) return [];
    const target = typeof branch.$ref === "string" ? resolvePointer(root, branch.$ref) : branch;
    return isObject(target) ? [target] : [];
  });
}

/**
 * The properties an object schema allows at its top: its own, all of `allOf`, any of `anyOf` and `oneOf`; required is only
 * what every alternative requires. Wider than the original, never narrower.
 */
function shapeOf(root: Json, schema: Json, seen: Set<Json>): Shape {
  // A schema may name itself, or one branch many times.
  if (seen.has(schema)) return NOTHING;
  seen.add(schema);
  const properties = new Map(isObject(schema.properties) ? Object.entries(schema.properties) : []);
  const required = new Set(names(schema.required));
  const add = (shape: Shape): void => {
    for (const [name, value] of shape.properties) if (!properties.has(name)) properties.set(name, value);
  };
  for (const part of branches(root, schema.allOf)) {
    const shape = shapeOf(root, part, seen);
    add(shape);
    for (const name of shape.required) required.add(name);
  }
  for (const key of ["anyOf", "oneOf"] as const) {
    const shapes = branches(root, schema[key]).map((part) => shapeOf(root, part, seen));
    for (const shape of shapes) add(shape);
    const [first, ...rest] = shapes;
    for (const name of first?.required ?? []) if (rest.every((shape) => shape.required.has(name))) required.add(name);
  }
  return { properties, required };
}

/** Providers refuse these at the top of a tool's parameters. */
const COMBINERS = ["anyOf", "oneOf", "allOf", "not", "enum", "if", "then", "else", "$ref", "$dynamicRef"] as const;
/** Say nothing to a model, or name another document. */
const IDENTITY = ["$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$comment"] as const;

function renameProperties(properties: ReadonlyMap<string, unknown>): {
  readonly renamed: Map<string, string>;
  readonly nameOf: (name: string) => string;
} {
  const renamed = new Map<string, string>();
  const sent = new Map<string, string>();
  const taken = new Set([...properties.keys()].filter((name) => PROPERTY_NAME.test(name)));
  for (const name of properties.keys()) {
    if (PROPERTY_NAME.test(name)) continue;
    const base = name.replace(/[^A-Za-z0-9_.-]/gu, "_").slice(0, 56) || "_";
    let made = base;
    for (let count = 2; taken.has(made); count++) made = `${base}_${count}`;
    taken.add(made);
    sent.set(name, made);
    renamed.set(made, name);
  }
  return { renamed, nameOf: (name) => sent.get(name) ?? name };
}

/** Names, types and short descriptions only: what is left of a schema that is too big to send. */
function outline(properties: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  return new Map(
    [...properties].slice(0, MAX_PROPERTIES).map(([name, value]) => {
      const { type, description } = isObject(value) ? value : { type: undefined, description: undefined };
      return [
        name,
        {
          ...(typeof type === "string" && { type }),
          ...(typeof description === "string" && { description: cutChars(description, 80) }),
        },
      ];
    }),
  );
}

/** Characters of a value's JSON; endless for one that is nested deeper than any honest one (a `default`, an `enum`). */
function sizeOf(value: Json): number {
  return valueTooDeep(value) ? Number.POSITIVE_INFINITY : JSON.stringify(value).length;
}

/** Repairs one schema. */
export function repairSchema(raw: unknown): SchemaResult {
  const notes: string[] = [];
  if (raw === undefined || raw === null) {
    return { ok: true, parameters: { type: "object", properties: {} }, renamed: new Map(), notes: ["it has no input schema"] };
  }
  if (!isObject(raw)) return { ok: false, reason: "its input schema is not an object" };
  const checked = checkReferences(raw);
  notes.push(...checked.notes);
  const root = checked.schema;
  const start = typeof root.$ref === "string" ? resolvePointer(root, root.$ref) : root;
  const top = isObject(start) ? start : {};
  const { type } = top;
  const mayBeObject = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  if (!mayBeObject)
    return { ok: false, reason: `its input schema is of type ${cutChars(JSON.stringify(type), 60)}, not an object` };
  const { properties, required } = shapeOf(root, top, new Set());
  const combined = COMBINERS.filter((key) => root[key] !== undefined);
  if (combined.length > 0) notes.push(`${combined.join(", ")} at the top of its schema became one object`);
  const { renamed, nameOf } = renameProperties(properties);
  if (renamed.size > 0) notes.push(`properties renamed: ${[...renamed.values()].slice(0, 5).join(", ")}`);
  const rest = Object.entries(root).filter(
    ([key]) => !["type", "properties", "required", ...COMBINERS, ...IDENTITY].includes(key),
  );
  const assemble = (shown: ReadonlyMap<string, unknown>, more: readonly (readonly [string, unknown])[]): Json => ({
    type: "object",
    properties: Object.fromEntries([...shown].map(([name, value]) => [nameOf(name), value])),
    ...(required.size > 0 && { required: [...required].filter((name) => shown.has(name)).map(nameOf) }),
    ...Object.fromEntries(more),
  });
  // What moved may have been referred to.
  const parameters = checkReferences(assemble(properties, rest)).schema;
  if (sizeOf(parameters) <= MAX_SCHEMA_CHARS) return { ok: true, parameters, renamed, notes };
  const small = checkReferences(assemble(outline(properties), [])).schema;
  if (sizeOf(small) > MAX_SCHEMA_CHARS) return { ok: false, reason: "its input schema is too big" };
  return { ok: true, parameters: small, renamed, notes: [...notes, "its schema is too big and was cut to an outline"] };
}

/** Arguments as the model wrote them → with the server's own property names. */
export function restoreNames(
  input: Readonly<Record<string, unknown>>,
  renamed: ReadonlyMap<string, string>,
): Readonly<Record<string, unknown>> {
  if (renamed.size === 0) return input;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [renamed.get(name) ?? name, value]));
}
