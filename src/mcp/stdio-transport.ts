/**
 * A stdio server: its process, its messages, its stderr (M01, M03, M16). The process belongs to the run's owner, so its whole
 * tree is gone when the run ends, whatever it ignores. Refuses: knowing any method, inheriting our environment.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { MARKER_VARIABLE } from "../base/child-env.ts";
import type { ProcessOwner, RunningProcess } from "../base/process.ts";
import { cleanTerminalText } from "../base/text.ts";
import { type ByteRing, createByteRing } from "../tools/byte-ring.ts";
import { createMessageLines, type Junk, type MessageLines } from "./message-lines.ts";
import { atMost } from "./waiting.ts";

/** Newest bytes of stderr that are kept. */
const STDERR_BYTES = 64 * 1024;
/** A server that is told to end by the end of its input gets this long, then TERM, then KILL. */
const EOF_GRACE_MS = 200;
const TERM_GRACE_MS = 300;

/** What a server inherits besides its declared variables (M15). Locale, time zone and where things are; nothing secret. */
const SAFE_NAMES = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"] as const;

export type StdioOptions = {
  readonly command: string;
  readonly args: readonly string[];
  /** Declared variables, already expanded. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  /** Our own environment, of which only the safe names are passed on. */
  readonly inherit: Readonly<Record<string, string | undefined>>;
  readonly processes: ProcessOwner;
};

/** The complete environment of a server: the safe names, the declared variables, and the run's mark. */
function serverEnvironment(options: Pick<StdioOptions, "env" | "inherit">): Record<string, string> {
  const env: Record<string, string> = { TERM: "dumb", NO_COLOR: "1" };
  for (const [name, value] of Object.entries(options.inherit)) {
    if (value === undefined) continue;
    if (name.startsWith("LC_") || name === MARKER_VARIABLE || SAFE_NAMES.some((safe) => safe === name)) env[name] = value;
  }
  return Object.assign(env, options.env);
}

/** The program could not be started; `message` says why. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

/** One start of one server; a class because the protocol's client wants an object with a life cycle. */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #options: StdioOptions;
  readonly #stderr: ByteRing = createByteRing(STDERR_BYTES);
  #lines: MessageLines | undefined;
  #process: RunningProcess | undefined;
  #exit: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  /** @throws StartFailure */
  async start(): Promise<void> {
    const { command, args, cwd, processes } = this.#options;
    const lines = createMessageLines((message) => this.onmessage?.(message as unknown as JSONRPCMessage));
    this.#lines = lines;
    const started = await processes.start({
      argv: [command, ...args],
      cwd,
      env: serverEnvironment(this.#options),
      stdin: "pipe",
      graceMs: TERM_GRACE_MS,
      onStdout: (chunk) => lines.push(chunk),
      onStderr: (chunk) => this.#stderr.push(chunk),
    });
    if (!started.ok) throw new StartFailure(started.failure.message);
    this.#process = started.process;
    const over = (why: string): void => {
      this.#exit = why;
      lines.finish();
      this.onclose?.();
    };
    started.process.done.then(
      (end) => over(end.exitCode === null ? `ended by ${end.signal ?? "a signal"}` : `exited with code ${end.exitCode}`),
      (error: unknown) => over(String(error)),
    );
    if (this.#closing) await this.close();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#process?.input;
    if (!input || this.#exit !== undefined) throw new Error("the server is not running");
    await input.write(`${JSON.stringify(message)}\n`);
  }

  /** End of input, then TERM, then KILL for the whole tree; resolves when it is gone. */
  close(): Promise<void> {
    if (!this.#process) {
      // Still starting: what start() finds then is ended.
      this.#closing ??= Promise.resolve();
      return this.#closing;
    }
    this.#closing = this.#end(this.#process);
    return this.#closing;
  }

  async #end(running: RunningProcess): Promise<void> {
    running.input?.end();
    if (this.#exit === undefined) await atMost(EOF_GRACE_MS, running.done);
    // Also when the direct child has gone by itself: what it started may not have.
    await running.end();
  }

  /** How the process ended; undefined while it runs. */
  get exit(): string | undefined {
    return this.#exit;
  }

  junk(): Junk {
    return this.#lines?.junk() ?? { lines: 0, sample: "" };
  }

  /** The newest of its stderr as text without control sequences. */
  stderr(): string {
    let seen: Uint8Array = new Uint8Array();
    this.#stderr.take((all) => {
      seen = all;
      return all.length;
    });
    return cleanTerminalText(new TextDecoder().decode(seen)).trim();
  }
}
