/**
 * `run_shell` in a terminal the editor lends, where the user sees it run. The working directory is proved here, the time
 * limit and the caps are ours; the environment is the editor's, so none of our keys is in it. Refuses: background processes
 * (they need an owner that ends them: they stay ours).
 */
import { childEnvironment } from "../base/child-env.ts";
import { createOutputCapture } from "../base/output-capture.ts";
import type { ProcessEnd } from "../base/process.ts";
import { MAX_LINE_CHARS, SHELL_HEAD_LINES, SHELL_TAIL_LINES } from "../tools/bounds.ts";
import type { ShellInput } from "../tools/shell.ts";
import { commandResult, resolvePlace, timeLimit } from "../tools/shell-run.ts";
import { findTouched, mergeTouched } from "../tools/shell-touch.ts";
import { failed, type Tool, type ToolContext, type ToolResult } from "../tools/tool.ts";
import { bounded } from "./wait.ts";

/** Every answer comes within a time limit of the lender's, whatever the editor does. */
export type LentTerminal = {
  readonly id: string;
  readonly exited: Promise<{ readonly exitCode?: number | null; readonly signal?: string | null }>;
  /** Undefined when the editor does not say. */
  output(): Promise<{ readonly output: string; readonly truncated: boolean } | undefined>;
  kill(): Promise<void>;
  release(): Promise<void>;
};

export type OpenTerminal = (request: {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly outputBytes: number;
  readonly callId: string;
  readonly signal: AbortSignal;
}) => Promise<LentTerminal>;

const OUTPUT_BYTES = 1024 * 1024;
/** How long a killed command may take to say so. */
const KILL_MS = 2000;

type Ended = Pick<ProcessEnd, "exitCode" | "signal" | "timedOut" | "cancelled">;

async function waitFor(terminal: LentTerminal, limitMs: number, signal: AbortSignal): Promise<Ended> {
  const first = await bounded(terminal.exited, { ms: limitMs, signal });
  const timedOut = first === "late";
  const cancelled = first === "cancelled";
  if (timedOut || cancelled) await terminal.kill();
  const end = timedOut || cancelled ? await bounded(terminal.exited, { ms: KILL_MS }) : first;
  const known = typeof end === "object" ? end : {};
  return {
    exitCode: known.exitCode ?? null,
    ...(typeof known.signal === "string" && { signal: known.signal }),
    timedOut,
    cancelled,
  };
}

async function runIn(open: OpenTerminal, call: ShellInput, context: ToolContext): Promise<ToolResult> {
  const { signal, callId } = context;
  const place = await resolvePlace(call.cwd, context);
  if ("status" in place) return place;
  const limit = timeLimit(call.timeout_ms, context);
  const touched = await findTouched(call.argv, place.path, context);
  const began = performance.now();
  const env = childEnvironment({});
  let terminal: LentTerminal;
  try {
    terminal = await open({ argv: call.argv, cwd: place.path, env, outputBytes: OUTPUT_BYTES, callId, signal });
  } catch (error) {
    if (signal.aborted) return { ...failed("Cancelled before it started."), status: "cancelled" };
    return failed(`Not started: the editor's terminal refused it (${error instanceof Error ? error.message : String(error)}).`);
  }
  try {
    const ended = await waitFor(terminal, limit.ms, signal);
    const elapsedMs = performance.now() - began;
    const stdout = createOutputCapture({ headLines: SHELL_HEAD_LINES, tailLines: SHELL_TAIL_LINES, lineChars: MAX_LINE_CHARS });
    const shown = await terminal.output();
    const truncated = shown?.truncated ?? false;
    stdout.push(Buffer.from(shown?.output ?? ""));
    const end = { ...ended, started: true as const, stopped: false, heldPipe: false, survivors: 0, strays: 0, elapsedMs };
    const notes = ["stdout and stderr are one stream: it ran in the editor's terminal."];
    if (!shown) notes.push("the editor did not hand over the output.");
    if (truncated) notes.push("the terminal kept only the end of the output.");
    const none = createOutputCapture({ headLines: 1, tailLines: 1, lineChars: 1 }).finish();
    return commandResult({
      argv: call.argv,
      place,
      end,
      streams: { stdout: stdout.finish(), stderr: none },
      limit,
      notes,
      truncated,
      touched: mergeTouched(touched, await findTouched(call.argv, place.path, context)),
    });
  } finally {
    await terminal.release();
  }
}

/** `run_shell` with its one-shot commands in the editor's terminals. */
export function terminalTool(tool: Tool, open: OpenTerminal): Tool {
  return {
    ...tool,
    run(input, context) {
      const call = input as ShellInput;
      return call.background === true || context.signal.aborted ? tool.run(input, context) : runIn(open, call, context);
    },
  };
}
