/** The exit code of a command that was ended by a signal or by the person. Refuses: listening to signals (main.ts). */
import { EXIT, type ExitCode } from "../base/user-error.ts";

const CODES: Readonly<Record<string, ExitCode>> = {
  "signal:SIGINT": EXIT.sigint,
  "signal:SIGTERM": EXIT.sigterm,
  "signal:SIGHUP": EXIT.sighup,
};

/** 130, 143 or 129 once the signal has been aborted (its reason is `signal:NAME`), else undefined. */
export function signalExit(signal: AbortSignal): ExitCode | undefined {
  return signal.aborted ? (CODES[String(signal.reason)] ?? EXIT.sigint) : undefined;
}
