/** What the file tools need to run in a test: a context around one workspace, and looks at the disk. */
import { readdirSync } from "node:fs";
import { openWorkspace, type Workspace } from "../../src/base/workspace.ts";
import { createSeenFiles, type SeenFiles } from "../../src/tools/seen-files.ts";
import type { Tool, ToolContext, ToolResult } from "../../src/tools/tool.ts";

export type FileTools = {
  readonly workspace: Workspace;
  readonly context: ToolContext;
  run<Input>(tool: Tool<Input>, input: Input): Promise<ToolResult>;
};

const nothing = () => undefined;

export async function fileTools(
  directory: string,
  signal: AbortSignal = new AbortController().signal,
  seen: SeenFiles = createSeenFiles(),
): Promise<FileTools> {
  const workspace = await openWorkspace(directory);
  const context: ToolContext = {
    workspace,
    env: {},
    signal,
    callId: "call",
    seen,
    settings: {
      shellTimeoutMs: 1000,
      shellMaxTimeoutMs: 1000,
      shellEnvAllow: [],
      webAllowHosts: [],
      webSearch: "none",
      credential: nothing,
    },
    background: {
      start: async () => ({ ok: false, message: "none here" }),
      list: () => [],
      output: nothing,
      cancel: async () => undefined,
      reapAll: async () => {},
    },
  };
  // Through the schema, like agent/calls does: a test cannot send what a model could not.
  return { workspace, context, run: (tool, input) => tool.run(tool.input.parse(input), context) };
}

/** Every name below a directory, sorted; what a test compares to be sure that nothing was left or made. */
export function allNames(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
}
