/**
 * `run_shell`: one program from an argv array (tools.md run_shell, H01–H18). Refuses: shell strings, expansion, being a
 * sandbox.
 */
import { z } from "zod";
import { childEnvironment } from "../base/child-env.ts";
import { createOutputCapture } from "../base/output-capture.ts";
import { runProcess } from "../base/process.ts";
import { MAX_LINE_CHARS, SHELL_HEAD_LINES, SHELL_TAIL_LINES } from "./bounds.ts";
import { sayCommand } from "./command-text.ts";
import { operatorNote } from "./shell-operators.ts";
import { commandResult, type Place, resolvePlace, timeLimit } from "./shell-run.ts";
import { findTouched, mergeTouched } from "./shell-touch.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

const input = z.strictObject({
  argv: z.array(z.string()).min(1).describe('Program and arguments: ["npm","test"]; shell syntax: ["sh","-c","…"].'),
  cwd: z.string().optional().describe("Directory inside the workspace; default: the workspace root."),
  timeout_ms: z.number().int().min(1).optional().describe("Time-out in milliseconds; there is a default."),
  background: z.boolean().optional().describe("Return an id at once and let the program run (servers, watchers)."),
});

export type ShellInput = z.infer<typeof input>;

export const runShell: Tool<ShellInput> = {
  name: "run_shell",
  description:
    "run_shell runs one program and returns its exit code, stdout and stderr. Use it for builds, tests, git and anything no narrower " +
    "tool does; prefer the file and search tools for files. argv is not a shell line: nothing is expanded. There is no stdin and no " +
    "terminal, so prompts and editors fail. Output is limited to the first and last 200 lines of each stream.",
  effect: "shell",
  input,
  example: { argv: ["git", "status", "--short"] },
  async run(call, context) {
    const place = await resolvePlace(call.cwd, context);
    if ("status" in place) return place;
    return call.background === true ? startInBackground(call, place, context) : runOnce(call, place, context);
  },
};

function environmentFor(context: ToolContext): Record<string, string> {
  const { shellEnvAllow, credentialNames } = context.settings;
  return childEnvironment(context.env, { allow: shellEnvAllow, credentialNames: credentialNames ?? [] });
}

async function runOnce(call: ShellInput, place: Place, context: ToolContext): Promise<ToolResult> {
  const limit = timeLimit(call.timeout_ms, context);
  const limits = { headLines: SHELL_HEAD_LINES, tailLines: SHELL_TAIL_LINES, lineChars: MAX_LINE_CHARS };
  const stdout = createOutputCapture(limits);
  const stderr = createOutputCapture(limits);
  // Before and after: a command may delete what it names, or create it.
  const touchedBefore = await findTouched(call.argv, place.path, context);

  const outcome = await runProcess({
    argv: call.argv,
    cwd: place.path,
    env: environmentFor(context),
    timeoutMs: limit.ms,
    signal: context.signal,
    onStdout: (chunk) => stdout.push(chunk),
    onStderr: (chunk) => stderr.push(chunk),
    owner: context.background.processes,
  });
  if (!outcome.started) {
    if (outcome.failure.kind === "cancelled") return failed("Cancelled before the command started.", { status: "cancelled" });
    return failed(`Not started: ${outcome.failure.message}`);
  }
  const touched = mergeTouched(touchedBefore, await findTouched(call.argv, place.path, context));
  const streams = { stdout: stdout.finish(), stderr: stderr.finish() };
  return commandResult({ argv: call.argv, place, end: outcome, streams, limit, touched });
}

async function startInBackground(call: ShellInput, place: Place, context: ToolContext): Promise<ToolResult> {
  const touched = await findTouched(call.argv, place.path, context);
  if (context.signal.aborted) return failed("Cancelled before the command started.", { status: "cancelled" });
  const started = await context.background.start({
    argv: call.argv,
    cwd: place.path,
    relativeCwd: place.relative,
    env: environmentFor(context),
    ...(call.timeout_ms === undefined ? {} : { timeoutMs: call.timeout_ms }),
    callId: context.callId,
  });
  if (!started.ok) return failed(`Not started: ${started.message}`);
  const { id } = started.process;
  const text =
    `${id} started: ${sayCommand(call.argv)} (in ${place.relative}). It runs until it ends by itself, is cancelled, or thndrs exits, ` +
    `which ends it. Next: background_process with {"action":"output","process_id":"${id}"} to read what it printed, "cancel" to end it.`;
  const operator = operatorNote(call.argv);
  const note = operator === undefined ? "" : `\nnote: ${operator}`;
  // Its effects are emitted by the owner: one when it runs, one when it has ended.
  return succeeded(`${text}${note}`, { touched });
}
