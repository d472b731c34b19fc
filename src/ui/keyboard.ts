/**
 * The keyboard of the REPL: raw mode, bracketed paste, reading and decoding; lending it to a prompt or an editor; giving
 * the terminal back on every way out (repl.md; L03, L04). The only reader of a terminal's keys. Refuses: what a key does.
 */
import { monotonicClock } from "../base/clock.ts";
import { createKeySource } from "./key-source.ts";
import { createKeyDecoder, type KeyDecoder, type KeyEvent } from "./keys.ts";
import type { OutputStream } from "./output.ts";
import { createRawMode } from "./tty.ts";

export type KeyboardOptions = {
  /** The terminal's own stream, for switching modes. */
  readonly stream: OutputStream;
  /** TERM=dumb: no control sequence may be written. */
  readonly plain: boolean;
  readonly onEvents: (events: readonly KeyEvent[]) => void;
  /** The program was stopped from outside and goes on: what stands on the terminal is not known any more. */
  readonly onContinue: () => void;
  /** The terminal is gone. */
  readonly onGone: () => void;
};

export interface Keyboard {
  /** A paste has begun and not ended. */
  readonly pasting: boolean;
  /** Opens it and reads what was typed ahead; nothing may have been drawn before. */
  openFirst(): Promise<void>;
  open(): void;
  /** Hands keys and terminal modes to `work` and takes them back afterwards: with more care where it came to undefined, a failure. */
  lend<T>(work: () => Promise<T>): Promise<T>;
  /** Stops the program as Ctrl+Z does; resolves when it goes on. */
  suspend(): Promise<void>;
  /** Gives the terminal back. Synchronous, for dying too; idempotent. */
  close(): void;
}

const ON = "\x1b[?2004h\x1b[?u";
const OFF = "\x1b[?2004l\x1b[?25h";
/**
 * What a full-screen program that failed may have left on: reports of the mouse and of the focus, application keys, another screen.
 * Not 1049: where that screen is not on, it moves the cursor all the same (tmux, xterm).
 */
const LEFT_ON =
  "\x1b[?47l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1l\x1b>\x1b[?7h\x1b[0m";
/**
 * Keys that have no code of their own (Shift+Enter) are reported, where the terminal said that it can; and beside a letter of another
 * alphabet the one that stands there on a US keyboard.
 */
const REPORT_KEYS = "\x1b[>5u";
const REPORT_NO_KEYS = "\x1b[<u";
/** How long a stop signal may take to arrive. */
const STOP_MS = 50;
/** Time in which what was typed before raw mode is read. */
const TYPED_AHEAD_MS = 5;

class TerminalKeyboard implements Keyboard {
  readonly #options: KeyboardOptions;
  readonly #source = createKeySource();
  readonly #setRawMode = createRawMode();
  #decoder: KeyDecoder = createKeyDecoder();
  #text = new TextDecoder();
  #cancelIdle: (() => void) | undefined;
  #reading = false;
  #typedAhead = false;
  #reportsKeys = false;
  #closed = false;

  constructor(options: KeyboardOptions) {
    this.#options = options;
  }

  get pasting(): boolean {
    return this.#decoder.pasting;
  }

  async openFirst(): Promise<void> {
    this.#typedAhead = true;
    this.open();
    await monotonicClock.sleep(TYPED_AHEAD_MS);
    this.#typedAhead = false;
  }

  open(): void {
    if (this.#closed || this.#reading) return;
    this.#reading = true;
    this.#decoder = createKeyDecoder();
    this.#text = new TextDecoder();
    process.on("SIGCONT", this.#onContinue);
    const { onGone, plain, stream } = this.#options;
    this.#source.start(this.#onData, onGone);
    if (!this.#setRawMode(true)) onGone();
    else if (!plain) stream.write(ON);
  }

  async lend<T>(work: () => Promise<T>): Promise<T> {
    await this.#options.stream.flush();
    this.#stop();
    let result: T | undefined;
    try {
      result = await work();
      return result;
    } finally {
      if (result === undefined && !this.#options.plain) this.#options.stream.writeNow(LEFT_ON);
      if (this.#closed) this.#tidy();
      else this.open();
    }
  }

  async suspend(): Promise<void> {
    await this.#options.stream.flush();
    this.#stop();
    const resumed = Promise.withResolvers<void>();
    process.once("SIGCONT", resumed.resolve);
    const stop = monotonicClock.after(STOP_MS, resumed.resolve);
    // The whole job, so that a shell or wrapper that started us is stopped as well.
    process.kill(0, "SIGTSTP");
    await resumed.promise;
    stop();
    process.removeListener("SIGCONT", resumed.resolve);
    this.open();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    // Also while it is lent: we may be gone before whoever has it. In the middle of a write the system would let us wait for its end.
    const { stream } = this.#options;
    if (stream.busy) void stream.flush().then(() => this.#tidy());
    else this.#tidy();
  }

  /** Whoever had it may have been ended before it tidied up. */
  #tidy(): void {
    this.#reading = true;
    this.#stop();
  }

  #stop(): void {
    if (!this.#reading) return;
    this.#reading = false;
    this.#cancelIdle?.();
    process.removeListener("SIGCONT", this.#onContinue);
    this.#source.stop();
    if (!this.#options.plain) this.#options.stream.writeNow(this.#reportsKeys ? REPORT_NO_KEYS + OFF : OFF);
    this.#reportsKeys = false;
    // Where the terminal is gone it has no mode to restore; one that takes nothing would hold us up, and the runtime restores it at exit.
    if (!this.#options.stream.busy) this.#setRawMode(false);
  }

  readonly #onContinue = (): void => {
    // Set anew: the shell may have changed it behind our back.
    this.#setRawMode(false);
    this.#setRawMode(true);
    if (!this.#options.plain) this.#options.stream.write(ON);
    this.#options.onContinue();
  };

  readonly #onData = (data: Uint8Array): void => {
    const text = this.#text.decode(data, { stream: true });
    // The terminal has made line feeds of the Enter keys that were pressed before raw mode.
    this.#deliver(this.#decoder.push(this.#typedAhead ? text.replaceAll("\n", "\r") : text));
  };

  #deliver(events: readonly KeyEvent[]): void {
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
    if (events.some((event) => event.type === "reports-keys") && !this.#reportsKeys && !this.#options.plain) {
      this.#reportsKeys = true;
      this.#options.stream.write(REPORT_KEYS);
    }
    const decoder = this.#decoder;
    // What follows in this turn of the loop is decided before any of it acts: an action may close or lend the keyboard.
    const { wait } = decoder;
    if (wait !== undefined) {
      this.#cancelIdle = monotonicClock.after(wait, () => {
        if (decoder === this.#decoder && this.#reading) this.#deliver(decoder.idle());
      });
    }
    this.#options.onEvents(events);
  }
}

/** The keyboard of a terminal; nothing happens before `open`. */
export function createKeyboard(options: KeyboardOptions): Keyboard {
  return new TerminalKeyboard(options);
}
