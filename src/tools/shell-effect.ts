/** How a command ended, as the `shell_exec` effect: one wording for every place a command can run in. Refuses: the model's text. */
import type { ProcessEnd } from "../base/process.ts";
import type { ShellExec } from "../types/event.ts";

/** What is known of an end, wherever the command ran. */
export type CommandEnd = Pick<ProcessEnd, "exitCode" | "signal" | "timedOut" | "cancelled" | "elapsedMs">;

export function endEffect(end: CommandEnd): Pick<ShellExec, "processStatus" | "exitCode" | "signal" | "elapsedMs"> {
  return {
    processStatus: end.timedOut ? "timeout" : end.cancelled ? "cancelled" : end.exitCode === 0 ? "ok" : "failed",
    exitCode: end.exitCode,
    ...(end.signal === undefined ? {} : { signal: end.signal }),
    elapsedMs: Math.round(end.elapsedMs),
  };
}

/** `cwd` from the workspace root. */
export function oneShotEffect(command: readonly string[], cwd: string, end: CommandEnd): ShellExec {
  return { kind: "shell_exec", command, cwd, ...endEffect(end), processKind: "one-shot" };
}
