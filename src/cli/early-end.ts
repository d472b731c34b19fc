/**
 * The end of a program that has no run to speak of: usage, configuration, bugs. One line on stderr, and the result object
 * where the output format wants one, so that status, error and exit code agree always (C06). Refuses: exiting.
 */
import { version } from "../app/version.ts";
import { exitOf } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { jsonLine, OUTPUT_VERSION, type RunResult } from "../ui/events-json.ts";
import { createNotices } from "../ui/notices.ts";
import type { Output } from "../ui/output.ts";
import type { PrintFormat } from "../ui/print.ts";
import { writeCrashReport } from "./crash-report.ts";

export type EarlyEnd = {
  readonly output: Output;
  readonly format: PrintFormat;
  readonly verbose: boolean;
  readonly elapsedMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** The result object of a run that ended before there was a session: usage, configuration, bugs. */
function emptyResult(code: ExitCode, errorClass: string, message: string, elapsedMs: number): RunResult {
  return {
    version: OUTPUT_VERSION,
    status: code === EXIT.usage ? "usage" : code === EXIT.policy ? "policy" : code === EXIT.internal ? "internal" : "failed",
    exit_code: code,
    session_id: null,
    model: null,
    turns: 0,
    text: "",
    usage: null,
    cost_usd: null,
    duration_ms: Math.round(elapsedMs),
    changed_files: [],
    error: { class: errorClass, message },
  };
}

/** Writes that object where the format wants one. */
function writeResult(output: Output, format: PrintFormat, result: RunResult): void {
  if (format === "text") return;
  output.stdout.line(jsonLine(format === "json" ? result : { ...result, type: "result" }));
}

/** An error made for the person: its text, its exit code. */
function reportUserError(error: UserError, end: EarlyEnd): ExitCode {
  createNotices(end.output.stderr, "normal").error(`error: ${error.message}`);
  const errorClass = error.exitCode === EXIT.usage ? "usage" : "setup";
  writeResult(end.output, end.format, emptyResult(error.exitCode, errorClass, error.message, end.elapsedMs));
  return error.exitCode;
}

/** An error nobody foresaw: one line; with `-v` the stack, and the path of a report (B06). */
export async function reportBug(error: unknown, end: EarlyEnd): Promise<ExitCode> {
  const notices = createNotices(end.output.stderr, "normal");
  const message = error instanceof Error ? error.message : String(error);
  notices.error(`internal error: ${message.split("\n")[0]} (this is a bug in thndrs ${version}; -v shows where)`);
  if (!end.verbose) return EXIT.internal;
  if (error instanceof Error && error.stack) notices.error(error.stack);
  const path = await writeCrashReport(error, end.env);
  if (path !== undefined) notices.error(`crash report: ${path}`);
  return EXIT.internal;
}

/** What was said on stdout did not arrive, and not because its reader had enough. */
export function reportLost({ output }: EarlyEnd): void {
  const code = output.stdout.broken ?? "";
  createNotices(output.stderr, "normal").error(`error: stdout could not be written (${code}): the output is incomplete`);
}

/**
 * The same for an error that ended everything: with its result object. What `signal` was aborted with is none: a command that
 * was reading has been ended by it.
 */
export async function reportFatal(error: unknown, end: EarlyEnd, signal?: AbortSignal): Promise<ExitCode> {
  const ended = signal?.aborted && error === signal.reason ? exitOf(error) : undefined;
  if (ended !== undefined && ended !== EXIT.internal) return ended;
  if (error instanceof UserError) return reportUserError(error, end);
  const message = error instanceof Error ? error.message : String(error);
  writeResult(end.output, end.format, emptyResult(EXIT.internal, "internal", message, end.elapsedMs));
  return reportBug(error, end);
}
