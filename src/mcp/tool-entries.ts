/**
 * A server's tools → entries of the catalog: names, schemas and descriptions every provider takes. One odd tool costs only
 * itself (M05, M07). Refuses: calling anything.
 */
import { cutChars } from "../base/text.ts";
import type { EffectKind, Tool, ToolResult } from "../tools/tool.ts";
import type { Diagnostic } from "../types/event.ts";
import type { ToolSpec } from "../types/message.ts";
import { toolName } from "./names.ts";
import { repairSchema, restoreNames } from "./schema.ts";

const MAX_DESCRIPTION_CHARS = 4000;

/** Fits `ToolEntry` of agent/. */
export type OutsideTool = {
  readonly spec: ToolSpec;
  readonly effect: EffectKind;
  readonly parallel: boolean;
  readonly mcp: { readonly server: string; readonly tool: string };
  readonly load: () => Promise<Tool>;
  /** What the loaded tool runs, without a context. Never rejects. */
  readonly call: (input: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<ToolResult>;
};

/** Calls a tool by its original name. Never rejects. */
export type CallTool = (tool: string, input: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<ToolResult>;

export type EntriesRequest = {
  readonly server: string;
  /** As the server sent them. */
  readonly tools: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
  /** The configured allow-list. */
  readonly allowed?: readonly string[] | undefined;
  readonly call: CallTool;
  readonly diagnose: (diagnostic: Diagnostic) => void;
};

/** Control characters and the invisible ones in which text is hidden from people: nobody writes them into a description. */
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

function describe(tool: Readonly<Record<string, unknown>>): string {
  const text = [tool.description, tool.title].find((value) => typeof value === "string" && value.trim() !== "");
  const said =
    typeof text === "string"
      ? text.toWellFormed().replace(HIDDEN, "").trim()
      : `The tool "${String(tool.name)}" of an MCP server.`;
  return said.length <= MAX_DESCRIPTION_CHARS ? said : `${cutChars(said, MAX_DESCRIPTION_CHARS)} [cut]`;
}

function entryOf(request: EntriesRequest, tool: EntriesRequest["tools"][number]): OutsideTool | undefined {
  const { server, call, diagnose } = request;
  const say = (severity: "info" | "warning", code: string, what: string): void =>
    diagnose({ severity, code, message: `MCP server ${server}, tool ${cutChars(tool.name, 100)}: ${what}` });
  const schema = repairSchema(tool.inputSchema);
  if (!schema.ok) {
    say("warning", "mcp.tool", `left out: ${schema.reason}`);
    return undefined;
  }
  if (schema.notes.length > 0) say("info", "mcp.schema", schema.notes.join("; "));
  const { name, exact } = toolName(server, tool.name);
  if (!exact) say("info", "mcp.name", `the model knows it as ${name}`);
  const spec: ToolSpec = { name, description: describe(tool), parameters: schema.parameters };
  const run = (input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult> =>
    call(tool.name, restoreNames(input, schema.renamed), signal);
  return {
    spec,
    // Whatever a server does, it does outside of what --authority read-only promises.
    effect: "net",
    // Alone, whatever the server says of itself (`readOnlyHint` is its word).
    parallel: false,
    mcp: { server, tool: tool.name },
    // Lazy door: zod, with the first call.
    load: async () => (await import("./outside-tool.ts")).outsideTool(spec, run),
    call: run,
  };
}

/** Every tool that can be offered, in the server's order, each name once. */
export function toolEntries(request: EntriesRequest): readonly OutsideTool[] {
  const { server, tools, allowed, diagnose } = request;
  const wanted = allowed && new Set(allowed);
  const known = new Set(tools.map((tool) => tool.name));
  for (const name of wanted ?? []) {
    if (known.has(name)) continue;
    const message = `MCP server ${server} has no tool "${name}" (mcp.servers.${server}.tools)`;
    diagnose({ severity: "info", code: "mcp.tool", message });
  }
  const entries = new Map<string, OutsideTool>();
  for (const tool of tools) {
    if (wanted && !wanted.has(tool.name)) continue;
    const entry = entryOf(request, tool);
    if (entry && !entries.has(entry.spec.name)) entries.set(entry.spec.name, entry);
  }
  return [...entries.values()];
}
