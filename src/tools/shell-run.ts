/**
 * What a one-shot command has in common wherever it runs, as a child of ours or in an editor's terminal: its place, its time
 * limit, and what the model, the log and the loop guard get of its end. Refuses: starting anything.
 */
import type { CapturedOutput } from "../base/output-capture.ts";
import type { ProcessEnd } from "../base/process.ts";
import { sayDuration } from "../base/text.ts";
import { oneShotEffect } from "./shell-effect.ts";
import { operatorNote } from "./shell-operators.ts";
import { reportCommand, sayEnd } from "./shell-report.ts";
import { failed, type ToolContext, type ToolResult, type TouchedPath } from "./tool.ts";

export type Place = { readonly path: string; readonly relative: string };

export async function resolvePlace(cwd: string | undefined, { workspace }: ToolContext): Promise<Place | ToolResult> {
  if (cwd === undefined) return { path: workspace.root, relative: "." };
  const resolved = await workspace.resolve(cwd);
  if (!resolved.ok) return failed(`cwd: ${resolved.message}`);
  if (!resolved.exists) return failed(`cwd: the directory ${resolved.relative} does not exist. Create it, or leave cwd out.`);
  return { path: resolved.path, relative: resolved.relative };
}

export type TimeLimit = { readonly ms: number; readonly notes: readonly string[] };

/** The limit that applies, and what the model should know of it. */
export function timeLimit(askedMs: number | undefined, { settings }: ToolContext): TimeLimit {
  const asked = askedMs ?? settings.shellTimeoutMs;
  const ms = Math.min(asked, settings.shellMaxTimeoutMs);
  return { ms, notes: asked > ms ? [`timeout_ms was lowered to the maximum, ${sayDuration(ms)}.`] : [] };
}

export type FinishedCommand = {
  readonly argv: readonly string[];
  readonly place: Place;
  readonly end: ProcessEnd;
  readonly streams: { readonly stdout: CapturedOutput; readonly stderr: CapturedOutput };
  readonly limit: TimeLimit;
  readonly notes?: readonly string[];
  /** Output is missing already. */
  readonly truncated?: boolean;
  readonly touched: readonly TouchedPath[];
};

/** An exit code is a fact about the program, not a failure of the tool (H18); being killed or stopped is one (H08). */
export function commandResult(command: FinishedCommand): ToolResult {
  const { argv, place, end, limit, touched } = command;
  const operator = operatorNote(argv);
  const notes = [...limit.notes, ...(command.notes ?? []), ...(operator === undefined ? [] : [operator])];
  const report = reportCommand(end, command.streams, limit.ms, notes);
  const body = report.text.slice(sayEnd(end, limit.ms).length);
  return {
    status: end.cancelled ? "cancelled" : end.exitCode === null || end.timedOut ? "failed" : "ok",
    text: report.text,
    stable: `${sayEnd({ ...end, elapsedMs: 0 }, limit.ms)}${body}`,
    truncated: report.cut || command.truncated === true,
    effects: [oneShotEffect(argv, place.relative, end)],
    touched,
  };
}
