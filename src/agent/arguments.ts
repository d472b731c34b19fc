/**
 * Tool arguments as a model wrote them → a value, or an error the model can act on (P06, P19). Never repairs JSON.
 */
import type { ZodError, ZodType } from "zod";
import { field, isObject, list, nestedTooDeep } from "../base/json.ts";

export type ParsedArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly message: string };

/** JSON text → object. Empty text, white space and `null` mean `{}`; anything that is not an object is an error. */
export function parseArguments(text: string): ParsedArguments {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "null") return { ok: true, value: {} };
  if (nestedTooDeep(trimmed)) {
    return { ok: false, message: "The arguments are nested too deep. The call was not run; send them as the schema has them." };
  }
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      ok: false,
      message: `The arguments are not valid JSON (${reason}). The call was not run; send it again with valid JSON.`,
    };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const kind = Array.isArray(value) ? "an array" : `a ${typeof value}`;
    return { ok: false, message: `The arguments must be a JSON object, not ${kind}. The call was not run.` };
  }
  return { ok: true, value: value as Record<string, unknown> };
}

/** Whether a schema takes null, or does not say. */
function takesNull(schema: unknown): boolean {
  if (!isObject(schema) || schema.nullable === true) return true;
  const { type, anyOf, oneOf } = schema;
  if (type !== undefined && type !== "null" && !list(type).includes("null")) return false;
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  if ("const" in schema) return schema.const === null;
  const ways = [...list(anyOf), ...list(oneOf)];
  return ways.length === 0 || ways.some(takesNull);
}

/**
 * Models send null for what they leave out: it is absent where the schema has an optional property that takes no null. What the
 * schema does not describe stays as it is. The same value when there is nothing to leave out.
 */
export function withoutNulls<V>(value: V, schema: unknown): V {
  if (Array.isArray(value))
    return kept(
      value,
      value.map((item) => withoutNulls(item, field(schema, "items"))),
    ) as V;
  const properties = field(schema, "properties");
  if (!isObject(value) || !isObject(properties)) return value;
  const required = list(field(schema, "required"));
  const left = Object.entries(value).filter(
    ([name, given]) =>
      given !== null || !Object.hasOwn(properties, name) || required.includes(name) || takesNull(properties[name]),
  );
  const inner = left.map(([name, given]) => withoutNulls(given, Object.hasOwn(properties, name) ? properties[name] : undefined));
  const same = left.length === Object.keys(value).length && inner.every((given, at) => given === left[at]?.[1]);
  return same ? value : (Object.fromEntries(left.map(([name], at) => [name, inner[at]])) as V);
}

function kept(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((item, at) => item === before[at]) ? before : after;
}

function where(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) text += typeof key === "number" ? `[${key}]` : `${text === "" ? "" : "."}${String(key)}`;
  return text === "" ? "(arguments)" : text;
}

function explain(error: ZodError, given: Readonly<Record<string, unknown>>): string {
  const lines = error.issues.slice(0, 8).map((issue) => {
    let at: unknown = given;
    for (const key of issue.path)
      at = typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined;
    const hint =
      typeof at === "string" && /array|object|number|boolean/.test(issue.message)
        ? " (it was sent as a JSON string; send the value itself)"
        : "";
    return `- ${where(issue.path)}: ${issue.message}${hint}`;
  });
  return lines.join("\n");
}

/** Checks arguments against a tool's schema; the error names each field's path. */
export function checkArguments<Input>(
  name: string,
  schema: ZodType<Input>,
  value: Readonly<Record<string, unknown>>,
): { readonly ok: true; readonly input: Input } | { readonly ok: false; readonly message: string } {
  const result = schema.safeParse(value);
  if (result.success) return { ok: true, input: result.data };
  return { ok: false, message: `${name} was not run: its arguments do not fit.\n${explain(result.error, value)}` };
}
