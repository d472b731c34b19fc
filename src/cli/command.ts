/** What every subcommand is handed, and what it answers. Each `cli/<command>.ts` exports `run<Command>(context)`. */
import type { ProcessOwner } from "../base/process.ts";
import type { ExitCode } from "../base/user-error.ts";
import type { Diagnostic } from "../types/event.ts";
import type { Verbosity } from "../ui/notices.ts";
import type { Output } from "../ui/output.ts";
import { visible } from "../ui/sanitize.ts";
import type { Flags } from "./args.ts";

export type CommandContext = {
  /** Words after the command's name (`sessions inspect ID` → ["inspect", "ID"]). */
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly output: Output;
  /** The environment as config/env.ts read it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Real path of `--cwd`, or of the directory the program was started in. */
  readonly cwd: string;
  /** Aborted by a signal that ends the program (base/signal-exit.ts). */
  readonly signal: AbortSignal;
  /** Owner of whatever the command starts; main ends what is left. A test may leave it out. */
  readonly processes?: ProcessOwner;
};

export type RunCommand = (context: CommandContext) => Promise<ExitCode>;

/** How much is said on stderr. */
export function verbosityOf(flags: Flags): Verbosity {
  return flags.quiet ? "quiet" : flags.verbose ? "verbose" : "normal";
}

/** The environment without holes. */
export function environmentOf(env: CommandContext["env"]): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Settings that could not be looked for are none: whoever goes by them is told. Other diagnostics are for those who use what they are about. */
export function tellUnread({ output, flags }: CommandContext, diagnostics: readonly Diagnostic[]): void {
  if (flags.quiet) return;
  for (const { code, message } of diagnostics)
    if (code === "config_unreachable") output.stderr.line(`thndrs: warning: ${visible(message)}`);
}
