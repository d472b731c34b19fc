/** `background_process`: list, read and end what `run_shell` started with `background: true`. Refuses: starting anything. */
import { z } from "zod";
import { createOutputCapture, renderOutput } from "../base/output-capture.ts";
import { groupDigits, sayDuration } from "../base/text.ts";
import type { BackgroundProcess } from "./background.ts";
import { MAX_LINE_CHARS, MAX_RESULT_BYTES, SHELL_HEAD_LINES, SHELL_TAIL_LINES } from "./bounds.ts";
import { sayCommand } from "./command-text.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

const input = z.strictObject({
  action: z.enum(["list", "output", "cancel"]).describe("output gives what came since the last call."),
  process_id: z.string().optional().describe('Id from run_shell, like "bg1"; required for output and cancel.'),
});

type BackgroundProcessInput = z.infer<typeof input>;

const FRAME_BYTES = 1024;

export const backgroundProcess: Tool<BackgroundProcessInput> = {
  name: "background_process",
  description:
    "background_process lists, reads and ends programs started by run_shell with background: true. Use output to see what a process " +
    "printed since you last asked (each part is given once; at most 256 KiB of unread output is kept), and cancel to end it with " +
    "everything it started.",
  effect: "shell",
  input,
  example: { action: "list" },
  async run(call, context) {
    if (call.action === "list") return succeeded(sayList(context.background.list()));
    const id = normaliseId(call.process_id);
    if (id === undefined) return failed(`process_id is required for ${call.action}. ${sayKnown(context)}`);
    if (call.action === "output") return readOutput(id, context);
    const ended = await context.background.cancel(id);
    return ended ? succeeded(sayState(ended)) : unknownId(id, context);
  },
};

/** A model may write `1` for `bg1`. */
function normaliseId(id: string | undefined): string | undefined {
  const trimmed = id?.trim().toLowerCase();
  return trimmed === undefined || trimmed === "" ? undefined : /^\d+$/.test(trimmed) ? `bg${trimmed}` : trimmed;
}

function readOutput(id: string, context: ToolContext): ToolResult {
  const output = context.background.output(id);
  if (output === undefined) return unknownId(id, context);
  const capture = createOutputCapture({ headLines: SHELL_HEAD_LINES, tailLines: SHELL_TAIL_LINES, lineChars: MAX_LINE_CHARS });
  capture.push(Buffer.from(output.text));
  const rendered = renderOutput(capture.finish(), MAX_RESULT_BYTES - FRAME_BYTES);
  const parts = [sayState(output.process)];
  if (output.droppedBytes > 0)
    parts.push(`[${groupDigits(output.droppedBytes)} older bytes were dropped: only 256 KiB are kept]`);
  parts.push(rendered.text === "" ? "(no new output)" : rendered.text);
  return succeeded(parts.join("\n"), { truncated: rendered.cut || output.droppedBytes > 0 });
}

function unknownId(id: string, context: ToolContext): ToolResult {
  return failed(`There is no background process "${id}". ${sayKnown(context)}`);
}

function sayKnown(context: ToolContext): string {
  const ids = context.background.list().map((process) => process.id);
  return ids.length === 0 ? "None was started in this run." : `Known: ${ids.join(", ")}.`;
}

function sayList(processes: readonly BackgroundProcess[]): string {
  return processes.length === 0 ? "No background process was started in this run." : processes.map(sayState).join("\n");
}

/** `bg1 running for 2.1 s: npm run dev (in .)` */
function sayState(process: BackgroundProcess): string {
  const took = sayDuration(process.elapsedMs);
  const how = process.signal === undefined ? `exit ${process.exitCode ?? "unknown"}` : `killed by ${process.signal}`;
  const states: Readonly<Record<BackgroundProcess["status"], string>> = {
    running: `running for ${took}`,
    ok: `ended after ${took}, ${how}`,
    failed: `ended after ${took}, ${how}`,
    timeout: `timed out after ${took}`,
    cancelled: `cancelled after ${took}`,
  };
  return `${process.id} ${states[process.status]}: ${sayCommand(process.command)} (in ${process.cwd})`;
}
