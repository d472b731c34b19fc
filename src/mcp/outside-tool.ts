/**
 * The executor of a server's tool. Its arguments are any object: the server checks them against its own schema. Loaded with
 * the first call, because zod is. Refuses: knowing the connection.
 */
import { looseObject } from "zod";
import { isObject } from "../base/json.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";
import type { ToolSpec } from "../types/message.ts";

export function outsideTool(
  spec: ToolSpec,
  run: (input: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<ToolResult>,
): Tool {
  return {
    name: spec.name,
    description: spec.description,
    effect: "net",
    input: looseObject({}),
    example: {},
    run: (input, context) => run(isObject(input) ? input : {}, context.signal),
  };
}
