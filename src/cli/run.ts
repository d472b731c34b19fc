/**
 * The run door: configuration, prompt, runtime, then print mode or the REPL. Refuses: what a turn does (app/, agent/).
 */
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type OpenedRuntime, openRuntime } from "../app/open.ts";
import type { AskApproval } from "../app/permit.ts";
import type { RunFile } from "../app/run-file.ts";
import { monotonicClock } from "../base/clock.ts";
import type { ProcessOwner } from "../base/process.ts";
import { redactValue } from "../base/redact.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { OUTPUT_VERSION } from "../ui/events-json.ts";
import { createNotices, type Notices } from "../ui/notices.ts";
import type { Output } from "../ui/output.ts";
import { runPrint } from "../ui/print.ts";
import { readStdin, stdinKind } from "../ui/stdin.ts";
import { type Flags, printOnly } from "./args.ts";
import { verbosityOf } from "./command.ts";

export type RunContext = {
  readonly words: readonly string[];
  readonly dash: boolean;
  readonly flags: Flags;
  readonly output: Output;
  readonly env: Readonly<Record<string, string>>;
  /** Real path. */
  readonly cwd: string;
  readonly processes: ProcessOwner;
  /** Aborted by signals with `signal:NAME` as its reason. */
  readonly controller: AbortController;
  /** Milliseconds since the program started. */
  readonly elapsed: () => number;
  /** Of `--capture`: the conversations of a program (`/new`, `/resume`) share it. */
  readonly captureFile?: RunFile;
};

const STDIN_WAIT_MS = 2000;
const STDIN_MAX_BYTES = 16 * 1024 * 1024;

/** Print mode is asked for, or chosen by itself when stdin or stdout is not a terminal. */
function wantsPrint(context: RunContext): boolean {
  const { flags, output } = context;
  if (flags.print || flags.printPrompt || flags.outputFormat !== undefined || context.dash) return true;
  if (stdinKind() !== "terminal") return true;
  if (output.stdout.isTerminal) return false;
  // `thndrs > FILE` without a prompt: a person sits at the terminal behind stderr; the answers go to the file (L07).
  return context.words.length > 0 || flags.stdin === "require" || !output.stderr.isTerminal;
}

async function collectPrompt(context: RunContext, notices: Notices): Promise<string> {
  const { flags, words, dash } = context;
  const argument = words.join(" ");
  const { text, notice } = await readStdin({
    mode: dash ? "require" : (flags.stdin ?? "auto"),
    hasPrompt: argument.trim() !== "",
    waitMs: flags.stdinWait ?? STDIN_WAIT_MS,
    maxBytes: flags.stdinMaxBytes ?? STDIN_MAX_BYTES,
    signal: context.controller.signal,
  });
  if (notice !== undefined) notices.note(notice);
  const piped = text !== undefined && text.trim() !== "" ? text : "";
  const prompt = argument !== "" && piped !== "" ? `${argument}\n\n${piped}` : argument || piped;
  if (prompt.trim() !== "" || context.controller.signal.aborted) return prompt;
  throw new UserError('the prompt is empty: thndrs -p "what to do", or pipe it: echo "what to do" | thndrs');
}

async function printPrompt(opened: OpenedRuntime, prompt: string, { flags, output }: RunContext): Promise<void> {
  const preview = await opened.runtime.preview(prompt);
  const { stdout } = output;
  if (flags.outputFormat === "json" || flags.outputFormat === "stream-json") {
    return stdout.line(JSON.stringify(redactValue({ version: OUTPUT_VERSION, type: "prompt", ...preview }, opened.redact)));
  }
  stdout.line(`System Prompt\n\n${opened.redact(preview.system)}\n`);
  stdout.line(`Tool Catalog (${preview.tools.length} tools)\n\n${opened.redact(JSON.stringify(preview.tools, null, 2))}\n`);
  stdout.line("Messages");
  for (const message of preview.messages) stdout.line(`\n[${message.role}]\n${opened.redact(message.text)}`);
}

/** Loads everything a run needs; the caller closes it. */
export async function openRun(
  context: RunContext,
  rendererMode: "print" | "direct-inline",
  { ask, after }: { readonly ask?: AskApproval; readonly after?: Promise<void> | undefined } = {},
): Promise<OpenedRuntime> {
  const { flags, env, cwd, processes, captureFile } = context;
  return openRuntime({
    env,
    cwd,
    processes,
    signal: context.controller.signal,
    rendererMode,
    flags,
    ...(ask && { ask }),
    ...(after && { after }),
    ...(flags.replay !== undefined && { replayFile: flags.replay }),
    ...(flags.record !== undefined && { recordFile: resolve(cwd, flags.record) }),
    ...(captureFile && { captureFile }),
    ...(flags.continue && { resume: "latest" }),
    ...(flags.resume !== undefined && { resume: flags.resume }),
  });
}

async function print(context: RunContext, opened: OpenedRuntime, prompt: string, notices: Notices): Promise<ExitCode> {
  const { flags, output, controller } = context;
  if (flags.printPrompt) {
    await printPrompt(opened, prompt, context);
    return EXIT.ok;
  }
  return runPrint({
    runtime: opened.runtime,
    cwd: opened.controls.cwd,
    prompt,
    format: flags.outputFormat ?? "text",
    output,
    notices,
    logPromised: flags.sessionDir !== undefined || flags.continue === true || flags.resume !== undefined,
    ...(flags.lastMessage !== undefined && { keepAnswer: opened.writer(resolve(context.cwd, flags.lastMessage)) }),
    close: () => opened.runtime.close(),
    inventory: opened.inventory,
    signal: controller.signal,
    elapsed: context.elapsed,
  });
}

/** Print mode within `--timeout`, which counts from here: waiting for stdin and setting up are part of a run. */
async function printWithin(context: RunContext, notices: Notices): Promise<ExitCode> {
  const { flags, controller } = context;
  const stopTimer =
    flags.timeout === undefined ? () => {} : monotonicClock.after(flags.timeout, () => controller.abort("timeout"));
  try {
    const prompt = await collectPrompt(context, notices);
    const opened = await openRun(context, "print");
    try {
      const code = await print(context, opened, prompt, notices);
      // What is not out yet is part of the run.
      await Promise.all([context.output.stdout.flush(), context.output.stderr.flush()]);
      return code;
    } finally {
      // After a run it is closed already, and what that failed at is in the result.
      await opened.runtime.close().catch(() => undefined);
    }
  } finally {
    stopTimer();
  }
}

/** @throws UserError when the file of `--capture` cannot be written. */
async function withCapture(context: RunContext): Promise<RunContext> {
  const { flags, cwd } = context;
  if (flags.capture === undefined) return context;
  // Lazy door: for the few runs that ask for it.
  const { openRunFile } = await import("../app/run-file.ts");
  return { ...context, captureFile: openRunFile(resolve(cwd, flags.capture), 0o600, "the capture") };
}

/** @throws UserError when one file is to hold two things: whichever is written last would be all that is left. */
function demandOneUse({ flags, cwd }: RunContext): void {
  const uses = new Map<string, string>();
  for (const name of ["capture", "record", "lastMessage", "replay", "outputSchema"] as const) {
    const path = flags[name];
    if (path === undefined) continue;
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const place = realPlace(resolve(cwd, path));
    const other = uses.get(place);
    if (other !== undefined) throw new UserError(`${other} and ${flag} name the same file: ${path}`);
    uses.set(place, flag);
  }
}

/** With links followed, also where there is no such file yet. */
function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const directory = dirname(path);
    return directory === path ? path : join(realPlace(directory), basename(path));
  }
}

/** @throws UserError for a flag that the REPL would not heed. */
function demandHeeded({ flags }: RunContext): void {
  const given = printOnly(flags);
  if (given.length === 0) return;
  const [go, them] = given.length === 1 ? ["goes", "it"] : ["go", "them"];
  throw new UserError(`${given.join(", ")} ${go} with print mode only: add -p (thndrs -p "what to do"), or leave ${them} out`);
}

/** Runs a prompt in print mode, or the REPL on a terminal. */
export async function runDoor(started: RunContext): Promise<ExitCode> {
  const isPrint = wantsPrint(started);
  if (!isPrint) demandHeeded(started);
  demandOneUse(started);
  const context = await withCapture(started);
  const notices = createNotices(context.output.stderr, verbosityOf(context.flags));
  if (!isPrint) {
    // Lazy door: print mode loads nothing of the REPL.
    const { runRepl } = await import("./repl.ts");
    return runRepl(context);
  }
  return printWithin(context, notices);
}
