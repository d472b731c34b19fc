/**
 * Picks a door, sets the exit code. The only place that reads argv and the working directory, listens to signals and sets
 * process.exitCode. Refuses: everything else.
 */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { commit, version } from "./app/version.ts";
import { createProcessOwner, type ProcessOwner } from "./base/process.ts";
import { EXIT, type ExitCode, UserError } from "./base/user-error.ts";
import { type Parsed, parseArgs } from "./cli/args.ts";
import { runCommand } from "./cli/commands.ts";
import { emptyResult, runDoor, writeResult } from "./cli/run.ts";
import { usageText } from "./cli/usage-text.ts";
import { readEnvironment } from "./config/env.ts";
import { createNotices } from "./ui/notices.ts";
import { type Output, openOutput } from "./ui/output.ts";
import type { PrintFormat } from "./ui/print.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** First signal: everything winds down, children first. Second: the program ends at once, children killed. */
function listenToSignals(processes: ProcessOwner): AbortController {
  const controller = new AbortController();
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (!controller.signal.aborted) return controller.abort(`signal:${signal}`);
      processes.killAllNow();
      for (const name of SIGNALS) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    });
  }
  return controller;
}

function workingDirectory(flag: string | undefined): string {
  let path: string;
  try {
    path = flag === undefined ? process.cwd() : resolve(process.cwd(), flag);
  } catch {
    throw new UserError("the current directory is gone: cd to one that exists, or give --cwd DIR");
  }
  try {
    if (statSync(path).isDirectory()) return realpathSync(path);
  } catch {
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

async function open(
  parsed: Parsed,
  env: Readonly<Record<string, string>>,
  output: Output,
  elapsed: () => number,
): Promise<ExitCode> {
  const { command, words, flags, dash } = parsed;
  if (flags.version) {
    output.stdout.line(
      flags.verbose
        ? `thndrs ${version} (${commit}, bun ${Bun.version}, ${process.platform} ${process.arch})`
        : `thndrs ${version}`,
    );
    return EXIT.ok;
  }
  if (flags.help) {
    output.stdout.line(usageText(command));
    return EXIT.ok;
  }
  const cwd = workingDirectory(flags.cwd);
  const processes = createProcessOwner();
  const controller = listenToSignals(processes);
  try {
    if (command !== "") return await runCommand(command, { words, flags, output, env, cwd, signal: controller.signal });
    return await runDoor({ words, dash, flags, output, env, cwd, processes, controller, elapsed });
  } finally {
    await processes.reapAll();
  }
}

/** Tells of an error nobody foresaw: one line, the stack only with `-v` (B06). */
function reportBug(error: unknown, output: Output, verbose: boolean): ExitCode {
  const notices = createNotices(output.stderr, verbose ? "verbose" : "normal");
  const message = error instanceof Error ? error.message : String(error);
  notices.error(`internal error: ${message} (this is a bug in thndrs ${version}; -v shows where)`);
  if (verbose && error instanceof Error && error.stack) notices.error(error.stack);
  return EXIT.internal;
}

async function main(argv: readonly string[]): Promise<void> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  const env = readEnvironment();
  let output = openOutput({ env, color: "auto" });
  let format = formatOf(argv);
  let verbose = argv.includes("-v") || argv.includes("--verbose");
  const finish = async (code: ExitCode): Promise<void> => {
    process.exitCode = code;
    await Promise.all([output.stdout.flush(), output.stderr.flush()]);
  };
  const onBug = (error: unknown): void => {
    const code = reportBug(error, output, verbose);
    process.exitCode = code;
  };
  process.on("uncaughtException", onBug);
  process.on("unhandledRejection", onBug);
  try {
    const parsed = parseArgs(argv);
    format = parsed.flags.outputFormat ?? "text";
    verbose = parsed.flags.verbose ?? false;
    if (parsed.flags.color && parsed.flags.color !== "auto") output = openOutput({ env, color: parsed.flags.color });
    await finish(await open(parsed, env, output, elapsed));
  } catch (error) {
    if (!(error instanceof UserError)) {
      writeResult(
        output,
        format,
        emptyResult(EXIT.internal, "internal", error instanceof Error ? error.message : String(error), elapsed()),
      );
      return finish(reportBug(error, output, verbose));
    }
    createNotices(output.stderr, "normal").error(`error: ${error.message}`);
    writeResult(
      output,
      format,
      emptyResult(error.exitCode, error.exitCode === EXIT.usage ? "usage" : "setup", error.message, elapsed()),
    );
    await finish(error.exitCode);
  }
}

await main(process.argv.slice(2));
