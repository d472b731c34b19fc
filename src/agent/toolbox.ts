/** The tools one run may use, built-in and outside ones alike, behind one face. Refuses: knowing where a tool comes from. */
import type { EffectKind, Tool } from "../tools/tool.ts";
import type { ToolSpec } from "../types/message.ts";

export type ToolEntry = {
  readonly spec: ToolSpec;
  readonly effect: EffectKind;
  /** Whether it may run beside other calls of the same message (reading tools). */
  readonly parallel: boolean;
  readonly mcp?: { readonly server: string; readonly tool: string };
  /** Loads the executor on first use. */
  readonly load: () => Promise<Tool>;
};

export interface Toolbox {
  /** What the next request offers; the same array object while nothing changed. */
  specs(): readonly ToolSpec[];
  find(name: string): ToolEntry | undefined;
  /** Whether there is such a tool, and the policy of this run leaves it out. */
  withheld(name: string): boolean;
}
