/**
 * The program: argv → door, signals, the working directory, how it all ends. The only place that listens to signals (an editor's
 * Ctrl+C is kept from it by base/interactive.ts) and reads the working directory. Refuses: setting the exit code (main.ts does),
 * what a door does.
 */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { commit, version } from "./app/version.ts";
import { ignoredSignals } from "./base/ignored-signals.ts";
import type { ProcessOwner } from "./base/process.ts";
import { ENDING_SIGNALS, type EndingSignal, exitOf } from "./base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "./base/user-error.ts";
import { type Parsed, parseArgs } from "./cli/args.ts";
import { readEnvironment } from "./config/env.ts";
import { isTerminal } from "./ui/device.ts";
import { type Output, openOutput } from "./ui/output.ts";
import type { PrintFormat } from "./ui/print.ts";

/** How long what was told to end goes on writing to a reader that takes nothing. */
const STALL_MS = 1000;

/** How long the program may take to end by itself once it is done. */
const LINGER_MS = 500;

/** How long a run may take to wind down after a bug: what is broken may be what it waits for. */
const BUG_GRACE_MS = 5000;

/** First signal: everything winds down, children first. Second (`endNow`): the program ends at once, children killed. */
function listenToSignals(controller: AbortController, endNow: EndNow): void {
  // Whoever started us may ignore SIGCHLD, which we inherit: then the system forgets how our children ended. A listener undoes that.
  process.on("SIGCHLD", () => {});
  const ignored = ignoredSignals();
  for (const signal of ENDING_SIGNALS) {
    // `nohup thndrs -p …` is to outlive its terminal; at a terminal nobody asks for that. A script's background job is not meant by a
    // SIGQUIT that is typed at its terminal; an interrupt from elsewhere is heeded all the same.
    if (ignored.has(signal) && (signal !== "SIGHUP" || !isTerminal(0))) continue;
    process.on(signal, () => {
      if (!controller.signal.aborted) return controller.abort(`signal:${signal}`);
      endNow(signal);
    });
  }
}

type EndNow = (signal: EndingSignal) => void;

/** As a signal that nobody listens to would end it. */
function dieOf(signal: EndingSignal): void {
  for (const name of ENDING_SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
}

function workingDirectory(flag: string | undefined): string {
  let path: string;
  try {
    path = flag === undefined ? process.cwd() : resolve(process.cwd(), flag);
  } catch {
    // Gone before the start, the runtime says so itself, whatever argv holds.
    throw new UserError("the current directory is gone: cd to one that exists");
  }
  try {
    if (statSync(path).isDirectory()) return realpathSync(path);
  } catch {
    // The name of a directory one stands in can be no text at all: then it cannot be named to the system again.
    if (flag === undefined) throw new UserError("the current directory cannot be opened by its name (is that name UTF-8?)");
    throw new UserError(`--cwd ${flag}: there is no such directory`);
  }
  throw new UserError(`--cwd ${flag}: is not a directory`);
}

/** The output format as far as argv tells, for usage errors found before argv is understood. */
function formatOf(argv: readonly string[]): PrintFormat {
  const words = argv.flatMap((word) =>
    word.startsWith("--output-format=") ? ["--output-format", word.slice("--output-format=".length)] : [word],
  );
  const value = words[words.indexOf("--output-format") + 1];
  return words.includes("--output-format") && (value === "json" || value === "stream-json") ? value : "text";
}

/** Of a run that went well but for its output, which did not get out (in time). */
function lateCode({ reason }: AbortSignal): ExitCode {
  return exitOf(reason) ?? (reason === "timeout" ? EXIT.timeout : EXIT.failed);
}

type Start = {
  readonly parsed: Parsed;
  readonly env: Readonly<Record<string, string>>;
  readonly output: Output;
  readonly controller: AbortController;
  readonly elapsed: () => number;
  /** Told who owns the processes, as soon as somebody does. */
  readonly adopt: (processes: ProcessOwner) => void;
  readonly endNow: EndNow;
};

/** How the program ends: `code` takes its exit code, the last one counts; `now` ends it whatever is still going on. */
export type Exit = { readonly code: (code: ExitCode) => void; readonly now: () => void };

async function open({ parsed, env, output, controller, elapsed, adopt, endNow }: Start): Promise<ExitCode> {
  const { command, words, flags, dash } = parsed;
  if (flags.version) {
    output.stdout.line(
      flags.verbose
        ? `thndrs ${version} (${commit}, bun ${Bun.version}, ${process.platform} ${process.arch})`
        : `thndrs ${version}`,
    );
    return EXIT.ok;
  }
  // Lazy doors: the version is there before anything else is loaded, a subcommand loads no run and a run no subcommand.
  if (flags.help) {
    const { usageText } = await import("./cli/usage-text.ts");
    output.stdout.line(usageText(command));
    return EXIT.ok;
  }
  const cwd = workingDirectory(flags.cwd);
  const { createProcessOwner } = await import("./base/process.ts");
  const processes = createProcessOwner({ adopts: true });
  adopt(processes);
  listenToSignals(controller, endNow);
  try {
    if (command !== "") {
      const { runCommand } = await import("./cli/commands.ts");
      return await runCommand(command, { words, flags, output, env, cwd, signal: controller.signal, processes });
    }
    const { runDoor } = await import("./cli/run.ts");
    return await runDoor({ words, dash, flags, output, env, cwd, processes, controller, elapsed });
  } finally {
    await processes.reapAll();
  }
}

/** Runs what argv asks for, to its end. A reader that takes nothing and was given up keeps the program from ending by itself. */
export async function runProgram(argv: readonly string[], exit: Exit): Promise<void> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  const env = readEnvironment();
  const controller = new AbortController();
  let output = openOutput({ env, color: "auto" });
  // Before argv is understood it is asked for by errors only.
  let format: PrintFormat | undefined;
  let verbose = argv.includes("-v") || argv.includes("--verbose");
  let bug = false;
  let processes: ProcessOwner | undefined;
  const adopt = (owner: ProcessOwner): void => {
    processes = owner;
  };
  const endNow: EndNow = (signal) => {
    processes?.killAllNow();
    // A terminal in the middle of a write gets its modes back from the runtime only, which a signal would not let do it. And no
    // signal that nobody listens to ends the first process of a container.
    if (!output.stdout.busy && !output.stderr.busy && process.pid !== 1) return dieOf(signal);
    if (!bug) exit.code(exitOf(`signal:${signal}`) ?? EXIT.internal);
    exit.now();
  };
  const end = () => ({ output, format: format ?? formatOf(argv), verbose, elapsedMs: elapsed(), env });
  // A bug in a timer or a callback winds the run down like a signal does; what it ends with is its own code (B06).
  let telling: Promise<unknown> | undefined;
  const tell = async (error: unknown): Promise<void> => {
    const { reportBug } = await import("./cli/early-end.ts");
    await reportBug(error, end());
  };
  const onBug = async (error: unknown): Promise<void> => {
    bug = true;
    exit.code(EXIT.internal);
    // Does not keep the program: only one that hangs meets it.
    setTimeout(() => endNow("SIGTERM"), BUG_GRACE_MS).unref();
    // The cause is said before what comes of it.
    telling = tell(error);
    await telling.finally(() => controller.abort("internal error"));
  };
  controller.signal.addEventListener("abort", () => {
    output.stdout.hurry(STALL_MS);
    output.stderr.hurry(STALL_MS);
  });
  process.on("uncaughtException", onBug);
  process.on("unhandledRejection", onBug);
  let code: ExitCode;
  try {
    const parsed = parseArgs(argv);
    format = parsed.flags.outputFormat ?? "text";
    verbose = parsed.flags.verbose ?? false;
    if (parsed.flags.color && parsed.flags.color !== "auto") output = openOutput({ env, color: parsed.flags.color });
    code = await open({ parsed, env, output, controller, elapsed, adopt, endNow });
  } catch (error) {
    const { reportFatal } = await import("./cli/early-end.ts");
    code = await reportFatal(error, end(), controller.signal);
  }
  exit.code(bug ? EXIT.internal : code);
  const { stdout, stderr } = output;
  await telling;
  await Promise.all([stdout.flush(), stderr.flush()]);
  if (stdout.lost) {
    if (!bug && code === EXIT.ok) exit.code(lateCode(controller.signal));
    // The same terminal, as likely as not.
    if (stdout.broken === "ETIMEDOUT") stderr.hurry(STALL_MS);
    const { reportLost } = await import("./cli/early-end.ts");
    reportLost(end());
    await stderr.flush();
  }
  if ([stdout, stderr].some(({ broken, busy }) => broken !== undefined && busy)) exit.now();
  // Nothing of ours goes on here. A question to a keychain cannot be called back and would keep the program; the timer does not.
  setTimeout(exit.now, controller.signal.aborted ? 0 : LINGER_MS).unref();
}
