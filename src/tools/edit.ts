/** replace_range: one exact, unique text in one file becomes another; every other byte stays. Refuses: fuzzy matching. */
import { z } from "zod";
import { applyChange, findStale, readOriginal, refuse } from "./change.ts";
import { type Edit, planEdits } from "./edit-match.ts";
import { resolveTarget, type Target } from "./target.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";

const input = z.strictObject({
  path: z.string().describe("File, relative to the workspace root"),
  old_string: z.string().describe("Exact text to replace; must occur exactly once"),
  new_string: z.string().describe("Text to put there, taken literally"),
  expected_before_hash: z.string().optional().describe("Hash from read_file_range; refused when the file differs"),
});

type Input = z.infer<typeof input>;

/** The converted line ends are the one thing that is not taken literally, so it is said. */
export const CRLF_NOTE = "The file uses CRLF line ends; the LF in the given text was converted to CRLF.";

/**
 * Applies edits to one file, all or none, each matched against the original bytes. `label` names an edit in errors.
 * The hash guard comes first: a stale view explains a miss better than the nearest line does.
 */
export async function editFile(
  target: Target,
  edits: readonly (Edit & { readonly expected?: string | undefined })[],
  label: (index: number) => string,
  context: ToolContext,
): Promise<ToolResult> {
  const original = await readOriginal(target, context);
  if (!original.ok) return original.result;
  const stale = findStale(
    target,
    edits.map((edit) => edit.expected),
    original.hash,
  );
  if (stale !== undefined) return refuse(target, label(stale.index) + stale.message).result;
  const plan = planEdits(original.file.bytes, edits);
  if (!plan.ok) {
    const shown = plan.faults.slice(0, 5).map((fault) => label(fault.index) + fault.message);
    if (plan.faults.length > 5) shown.push(`… and ${plan.faults.length - 5} more edits that do not apply.`);
    return refuse(target, shown.join("\n")).result;
  }
  const notes = plan.converted ? [CRLF_NOTE] : [];
  return applyChange({ op: "edit", target, original, after: plan.after, spans: plan.spans, notes }, context);
}

async function run(asked: Input, context: ToolContext): Promise<ToolResult> {
  const target = await resolveTarget(asked.path, context);
  if (!target.ok) return target.result;
  const edit = { oldString: asked.old_string, newString: asked.new_string, expected: asked.expected_before_hash };
  return editFile(target, [edit], () => "", context);
}

/** replace_range (tools.md "Writes"). */
export const replaceRange: Tool<Input> = {
  name: "replace_range",
  description:
    "replace_range replaces one exact text in a file. Use it for a single small edit after reading the place; write_patch makes several at once. old_string must match byte for byte and occur exactly once: include enough surrounding text. new_string is inserted literally; everything else in the file stays as it is. Files over 64 MiB and files that are not UTF-8 are refused.",
  effect: "write",
  input,
  example: { path: "src/main.ts", old_string: "const port = 80;", new_string: "const port = 8080;" },
  run,
};
