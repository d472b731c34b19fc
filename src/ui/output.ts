/**
 * The only hand on stdout and stderr (house rule 5). Everything written arrives, whatever the speed of the reader;
 * a reader that goes away ends the stream quietly. Refuses: colours, sanitising, deciding what is said.
 */
import { isTerminal } from "./device.ts";
import { ttySize } from "./tty.ts";

/** One output stream. Writes are queued in order; nothing throws. */
export interface OutputStream {
  readonly isTerminal: boolean;
  /** Whether ANSI may be written: a terminal, no NO_COLOR, not TERM=dumb, or forced by `--color always`. */
  readonly color: boolean;
  /** Width in columns; 80 where it is not a terminal. */
  readonly columns: number;
  /** Set once the reader went away (EPIPE) or a write failed (ENOSPC …): the error's code. */
  readonly broken: string | undefined;
  /** Whether output was lost for another reason than a reader that went away: a full disk is no success. */
  readonly lost: boolean;
  /** Opens what the first write needs: waiting for a model is the time for it. */
  prepare(): void;
  write(text: string | Uint8Array): void;
  line(text: string): void;
  /** Resolves when all that was written has left the process, or the stream broke. Await it between large writes: back-pressure. */
  flush(): Promise<void>;
  /** Calls back once when the stream breaks (at once if it already has). */
  onBroken(listener: (code: string) => void): void;
  /** Height in rows; 24 where it is not a terminal. */
  readonly rows: number;
  /** Calls back after every change of the terminal's size; the result stops it. */
  onResize(listener: () => void): () => void;
  /** Writes at once, past everything that waits: for giving the terminal back while the program dies. Never throws. */
  writeNow(text: string): void;
}

export type Output = { readonly stdout: OutputStream; readonly stderr: OutputStream };

export type OutputOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly color: "auto" | "always" | "never";
};

/** Text collected before it is handed to the kernel in one go. */
const BATCH_BYTES = 64 * 1024;

class FileStream implements OutputStream {
  broken: string | undefined;
  readonly #fd: 1 | 2;
  readonly #options: OutputOptions;
  #terminal: boolean | undefined;
  #sink: Bun.FileSink | undefined;
  #queue: (string | Uint8Array)[] = [];
  #pump: Promise<void> | undefined;
  #listeners: ((code: string) => void)[] = [];

  constructor(fd: 1 | 2, options: OutputOptions) {
    this.#fd = fd;
    this.#options = options;
  }

  get isTerminal(): boolean {
    this.#terminal ??= isTerminal(this.#fd);
    return this.#terminal;
  }

  get color(): boolean {
    const { color, env } = this.#options;
    if (color !== "auto") return color === "always";
    return this.isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  }

  get lost(): boolean {
    return this.broken !== undefined && this.broken !== "EPIPE" && this.broken !== "ECONNRESET";
  }

  get columns(): number {
    return (this.isTerminal && this.#size()[0]) || 80;
  }

  get rows(): number {
    return (this.isTerminal && this.#size()[1]) || 24;
  }

  /** Asked of the terminal each time: what Node's stream remembers is late by one event. */
  #size(): readonly [number, number] {
    try {
      return ttySize(this.#fd) ?? (this.#fd === 1 ? process.stdout : process.stderr).getWindowSize();
    } catch {
      return [0, 0];
    }
  }

  onResize(listener: () => void): () => void {
    process.on("SIGWINCH", listener);
    return () => void process.off("SIGWINCH", listener);
  }

  writeNow(text: string): void {
    try {
      process.getBuiltinModule("node:fs").writeSync(this.#fd, text);
    } catch {
      // The terminal is gone, or takes no more: there is nobody to tell.
    }
  }

  prepare(): void {
    try {
      this.#open();
    } catch {
      // The first write will say so.
    }
  }

  #open(): Bun.FileSink {
    this.#sink ??= (this.#fd === 1 ? Bun.stdout : Bun.stderr).writer({ highWaterMark: BATCH_BYTES });
    return this.#sink;
  }

  write(text: string | Uint8Array): void {
    if (this.broken !== undefined || text.length === 0) return;
    this.#queue.push(text);
    this.#pump ??= this.#run();
  }

  line(text: string): void {
    this.write(`${text}\n`);
  }

  async flush(): Promise<void> {
    while (this.#pump) await this.#pump;
  }

  onBroken(listener: (code: string) => void): void {
    if (this.broken !== undefined) listener(this.broken);
    else this.#listeners.push(listener);
  }

  async #run(): Promise<void> {
    // One turn of the loop later: a burst of small writes becomes one system call.
    await undefined;
    try {
      const sink = this.#open();
      while (this.#queue.length > 0 && this.broken === undefined) {
        const batch = this.#queue;
        this.#queue = [];
        for (const part of joined(batch)) await sink.write(part);
        await sink.flush();
      }
    } catch (error) {
      this.#break(error);
    } finally {
      this.#pump = undefined;
    }
  }

  #break(error: unknown): void {
    this.broken = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "EIO";
    this.#queue = [];
    for (const listener of this.#listeners.splice(0)) listener(this.broken);
  }
}

function joined(batch: readonly (string | Uint8Array)[]): readonly (string | Uint8Array)[] {
  if (batch.length === 1) return batch;
  if (batch.every((part) => typeof part === "string")) return [batch.join("")];
  return [...batch];
}

/** Opens both streams; each one's terminal and colour questions are answered for itself. */
export function openOutput(options: OutputOptions): Output {
  return { stdout: new FileStream(1, options), stderr: new FileStream(2, options) };
}
