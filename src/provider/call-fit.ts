/**
 * Whether a recorded call is one that the tools of this run can take: the names of its arguments, no more. Refuses: judging values
 * (the tool does).
 */
import { field, isObject, list, parseJson } from "../base/json.ts";
import type { ToolCall, ToolSpec } from "../types/message.ts";

/** What is wrong with a call's arguments, to go on after "calls read_file_range"; undefined when nothing is. */
export function unfitArguments(call: Pick<ToolCall, "name" | "arguments">, tools: readonly ToolSpec[]): string | undefined {
  const parameters = tools.find((tool) => tool.name === call.name)?.parameters;
  if (parameters === undefined) return undefined;
  const text = call.arguments.trim();
  const given = text === "" ? {} : (parseJson(text) ?? undefined);
  if (!isObject(given)) return "with arguments that are no JSON object";
  const required = list(field(parameters, "required")).filter((name): name is string => typeof name === "string");
  const missing = required.filter((name) => !Object.hasOwn(given, name));
  if (missing.length > 0) return `without ${missing.join(", ")}, which it now needs`;
  const declared = field(parameters, "properties");
  const open = field(parameters, "additionalProperties") ?? false;
  if (!isObject(declared) || open !== false) return undefined;
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(declared, name));
  return unknown.length > 0 ? `with ${unknown.join(", ")}, which it does not know` : undefined;
}
