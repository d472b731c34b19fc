/** The exit code of a run or a command that was ended by a signal, by the person, or by a bug of ours. Refuses: listening to signals (program.ts). */
import { EXIT, type ExitCode } from "./user-error.ts";

const CODES: Readonly<Record<string, ExitCode>> = {
  "signal:SIGINT": EXIT.sigint,
  "signal:SIGQUIT": EXIT.sigquit,
  "signal:SIGTERM": EXIT.sigterm,
  "signal:SIGHUP": EXIT.sighup,
  "internal error": EXIT.internal,
};

/** The exit code of an abort reason (`signal:NAME`, `internal error`); undefined for any other reason. */
export function exitOf(reason: unknown): ExitCode | undefined {
  return CODES[String(reason)];
}

/** 130, 131, 143 or 129 once the signal has been aborted (its reason is `signal:NAME`), else undefined. */
export function signalExit(signal: AbortSignal): ExitCode | undefined {
  return signal.aborted ? (exitOf(signal.reason) ?? EXIT.sigint) : undefined;
}
