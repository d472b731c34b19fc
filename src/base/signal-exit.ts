/** Signals that end the program, and the exit code of a run or a command that was ended by one, by the person, or by a bug of ours. Refuses: listening to signals (program.ts). */
import { EXIT, type ExitCode, type SignalCode } from "./user-error.ts";

/**
 * All whose default is to end a program, as far as a program can listen to them here: unheard they would leave children alive and a
 * terminal in raw mode. Left out: those that tell of a fault of the program, SIGPIPE (ignored by the runtime), and SIGPWR and
 * SIGSTKFLT, of which the runtime keeps one for itself and does not know the other.
 */
export const ENDING_SIGNALS = [
  "SIGINT",
  "SIGQUIT",
  "SIGTERM",
  "SIGHUP",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGVTALRM",
  "SIGPROF",
  "SIGXCPU",
  "SIGIO",
] as const;

export type EndingSignal = (typeof ENDING_SIGNALS)[number];

const CODES: Readonly<Record<string, ExitCode>> = {
  "signal:SIGINT": EXIT.sigint,
  "signal:SIGQUIT": EXIT.sigquit,
  "signal:SIGTERM": EXIT.sigterm,
  "signal:SIGHUP": EXIT.sighup,
  "internal error": EXIT.internal,
};

/** The exit code of an abort reason (`signal:NAME`, `internal error`); undefined for any other reason. */
export function exitOf(reason: unknown): ExitCode | undefined {
  const text = String(reason);
  return CODES[text] ?? otherSignal(text);
}

/** The number of the others is the system's. */
function otherSignal(reason: string): ExitCode | undefined {
  const signal = ENDING_SIGNALS.find((name) => reason === `signal:${name}`);
  const number = signal && process.getBuiltinModule("node:os").constants.signals[signal];
  return number === undefined ? undefined : ((128 + number) as SignalCode);
}

/** 128 + n once signal n has been aborted (its reason is `signal:NAME`), else undefined. */
export function signalExit(signal: AbortSignal): ExitCode | undefined {
  return signal.aborted ? (exitOf(signal.reason) ?? EXIT.sigint) : undefined;
}
