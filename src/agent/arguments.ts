/**
 * Tool arguments as a model wrote them → a value, or an error the model can act on (P06, P19). Never repairs JSON.
 */
import type { ZodError, ZodType } from "zod";
import { nestedTooDeep } from "../base/json.ts";

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
