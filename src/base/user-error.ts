/** The one error class whose message is meant for the person at the keyboard. Refuses: stack traces, model-facing text. */

/** Exit codes as promised by spec cli.md. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  policy: 3,
  limit: 4,
  internal: 70,
  timeout: 124,
  sighup: 129,
  sigint: 130,
  sigquit: 131,
  sigpipe: 141,
  sigterm: 143,
} as const;

declare const ofSignal: unique symbol;
/** 128 + n for a signal that the table does not name (base/signal-exit.ts). */
export type SignalCode = number & { readonly [ofSignal]: true };

export type ExitCode = (typeof EXIT)[keyof typeof EXIT] | SignalCode;

/** A foreseeable end that a person can act on. `message` says what is wrong, where, and what to do; it may have several lines. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly exitCode: ExitCode;
  constructor(message: string, exitCode: ExitCode = EXIT.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}
