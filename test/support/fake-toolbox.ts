/** A toolbox of tools that note what they were asked; for tests of the call machinery alone. */
import { z } from "zod";
import type { Toolbox, ToolEntry } from "../../src/agent/toolbox.ts";
import type { EffectKind, Tool, ToolContext, ToolResult } from "../../src/tools/tool.ts";
import { succeeded } from "../../src/tools/tool.ts";

export type FakeTool = {
  readonly name: string;
  readonly effect?: EffectKind;
  readonly run?: (input: Record<string, unknown>, context: ToolContext) => Promise<ToolResult> | ToolResult;
};

export function fakeToolbox(tools: readonly FakeTool[]): Toolbox {
  const entries = tools.map((fake): ToolEntry => {
    const effect = fake.effect ?? "read";
    const tool: Tool = {
      name: fake.name,
      description: `${fake.name} for tests`,
      effect,
      input: z.looseObject({ path: z.string().optional() }),
      example: {},
      run: async (input, context) => (fake.run ? await fake.run(input as Record<string, unknown>, context) : succeeded("done")),
    };
    return {
      spec: { name: fake.name, description: tool.description, parameters: { type: "object" } },
      effect,
      parallel: effect === "read",
      load: async () => tool,
    };
  });
  return {
    specs: () => entries.map((entry) => entry.spec),
    find: (name) => entries.find((entry) => entry.spec.name === name),
    withheld: () => false,
  };
}
