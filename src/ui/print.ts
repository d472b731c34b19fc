/**
 * Print mode (cli.md): one prompt, one answer, one honest exit code. stdout carries the answer only; stderr the rest.
 */

import type { Runtime } from "../app/runtime.ts";
import { exitOf } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import type { RunEvent, TurnOutcome } from "../types/event.ts";
import { eventLine, jsonLine, OUTPUT_VERSION, type RunResult, usageJson } from "./events-json.ts";
import type { Notices } from "./notices.ts";
import type { Output, OutputStream } from "./output.ts";
import { createStreamSanitizer } from "./sanitize-stream.ts";

export type PrintFormat = "text" | "json" | "stream-json";

export type PrintOptions = {
  readonly runtime: Runtime;
  /** The directory of the run, which may lie below the workspace's root. */
  readonly cwd: string;
  readonly prompt: string;
  readonly format: PrintFormat;
  readonly output: Output;
  readonly notices: Notices;
  /** Whether a log that could not be kept is a failure (`--session-dir` or `--continue` given). */
  readonly logPromised: boolean;
  /** Takes the final answer of a run that went well (`--last-message`). */
  readonly keepAnswer?: (text: string) => Promise<void>;
  /** Closes the run and writes what it owes (`--record`, `--capture`): the result is not said before that went well. */
  readonly close: () => Promise<void>;
  /** The startup display; shown with `-v` once the instructions are loaded. */
  readonly inventory: () => readonly string[];
  readonly signal: AbortSignal;
  /** Milliseconds since the program started. */
  readonly elapsed: () => number;
};

/** The exit code of an outcome (cli.md, exit table). */
export function exitCodeOf(outcome: TurnOutcome, cancelReason: string): ExitCode {
  switch (outcome.status) {
    case "ok":
      return EXIT.ok;
    case "failed":
      return EXIT.failed;
    case "policy":
      return EXIT.policy;
    case "limit":
      return EXIT.limit;
    case "timeout":
      return EXIT.timeout;
    case "cancelled":
      return exitOf(cancelReason) ?? EXIT.sigint;
  }
}

/** Streams text to a terminal as it comes; keeps paragraphs of different responses apart. */
function textStreamer(stream: OutputStream): { event: (event: RunEvent) => void; end: () => void } {
  let column = 0;
  const sanitizer = createStreamSanitizer();
  const write = (text: string): void => {
    if (text === "") return;
    stream.write(text);
    column = text.endsWith("\n") ? 0 : 1;
  };
  const end = (): void => {
    write(sanitizer.end());
    write(column > 0 ? "\n" : "");
  };
  return {
    end,
    event(event) {
      if (event.type === "text_delta") write(sanitizer.push(event.text));
      else if (event.type === "assistant_finished" || event.type === "retrying") end();
    },
  };
}

function resultOf(options: PrintOptions, outcome: TurnOutcome, code: ExitCode): RunResult {
  const { runtime } = options;
  const totals = runtime.totals();
  return {
    version: OUTPUT_VERSION,
    status: code === EXIT.internal ? "internal" : outcome.status === "ok" && code !== EXIT.ok ? "failed" : outcome.status,
    exit_code: code,
    session_id: runtime.sessionPath === undefined ? null : runtime.sessionId,
    model: runtime.model,
    turns: totals.requests,
    text: outcome.text,
    usage: usageJson(totals.usage),
    cost_usd: totals.usage.costUsd ?? null,
    duration_ms: Math.round(options.elapsed()),
    changed_files: totals.changedFiles,
    ...(outcome.error && { error: { class: outcome.error.class, message: outcome.error.message } }),
  };
}

const saying = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What went wrong after the answer: a log that was promised, a file that cannot be written. */
async function lateFailure(options: PrintOptions, ended: TurnOutcome): Promise<string | undefined> {
  const { runtime, logPromised } = options;
  let problem: string | undefined;
  const well = ended.status === "ok";
  if (well && logPromised && runtime.logFailure !== undefined)
    problem = `the session log could not be kept: ${runtime.logFailure}`;
  // Without an answer the file is emptied: what an earlier run left there must not pass for this one's.
  await options.keepAnswer?.(well ? ended.text : "").catch((error: unknown) => {
    problem ??= `the answer could not be written: ${saying(error)}`;
  });
  try {
    await options.close();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    problem ??= error.message;
  }
  return problem;
}

/** The outcome with all that can still go wrong after the answer. The first failure of a run stays the one that is said. */
async function settle(options: PrintOptions, ended: TurnOutcome): Promise<TurnOutcome> {
  const message = await lateFailure(options, ended);
  if (message === undefined || ended.status !== "ok") return ended;
  return { ...ended, status: "failed", error: { class: "internal", message } };
}

/**
 * The code of a run; one that was cut short because stdout broke ends as a reader that went away, or as a failed write. So does one
 * whose events were not taken to the end.
 */
function codeOf(options: PrintOptions, outcome: TurnOutcome): ExitCode {
  const { signal, output, format } = options;
  const isCut = outcome.status === "cancelled" || (outcome.status === "ok" && format === "stream-json");
  if (isCut && !signal.aborted && output.stdout.broken !== undefined) return output.stdout.lost ? EXIT.failed : EXIT.sigpipe;
  return exitCodeOf(outcome, typeof signal.reason === "string" ? signal.reason : "");
}

/** Runs one prompt to its end, closes the run and says how it went. The caller flushes the streams. */
export async function runPrint(options: PrintOptions): Promise<ExitCode> {
  const { runtime, format, output, notices } = options;
  const { stdout } = output;
  const streamer = format === "text" && stdout.isTerminal ? textStreamer(stdout) : undefined;
  if (format === "stream-json") {
    stdout.line(
      jsonLine({
        version: OUTPUT_VERSION,
        type: "started",
        session_id: runtime.sessionPath === undefined ? null : runtime.sessionId,
        model: runtime.model,
        cwd: options.cwd,
      }),
    );
  }
  if (runtime.sessionPath !== undefined) notices.note(`session ${runtime.sessionId}`);
  stdout.onBroken(() => runtime.cancel("output closed"));
  const unsubscribe = runtime.subscribe((event) => {
    if (notices.verbose && event.type === "turn_started") for (const line of options.inventory()) notices.detail(line);
    notices.event(event);
    if (event.type === "request_started") setImmediate(() => stdout.prepare());
    streamer?.event(event);
    if (format !== "stream-json") return;
    const line = eventLine(event);
    if (line !== undefined) stdout.line(line);
  });
  const ended = await runtime.submit(options.prompt, options.signal);
  if (streamer) streamer.end();
  // An answer there is, is given, also where its log or its copy could not be kept.
  else if (format === "text" && ended.status === "ok") stdout.line(ended.text);
  const outcome = await settle(options, ended);
  unsubscribe();
  if (format === "stream-json") await stdout.flush();
  const code = codeOf(options, outcome);
  if (format !== "text") {
    const result = resultOf(options, outcome, code);
    stdout.line(jsonLine(format === "json" ? result : { ...result, type: "result" }));
  }
  if (outcome.error && stdout.broken === undefined) notices.error(`error: ${outcome.error.message}`);
  return code;
}
