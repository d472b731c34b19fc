/**
 * The only hand on stdout and stderr (house rule 5). Everything written arrives, whatever the speed of the reader;
 * a reader that goes away ends the stream quietly. Refuses: colours, sanitising, deciding what is said.
 */
import { isTerminal } from "./device.ts";
import { openSink, type Sink } from "./sink.ts";
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
  /** From now on a reader that takes nothing for `stallMs` is given up: the stream breaks with ETIMEDOUT. */
  hurry(stallMs: number): void;
  /** A write is going on. Where the stream is broken all the same, nobody waits for it, and it keeps the program from ending. */
  readonly busy: boolean;
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

class FileStream implements OutputStream {
  broken: string | undefined;
  readonly #fd: 1 | 2;
  readonly #options: OutputOptions;
  #terminal: boolean | undefined;
  #sink: Sink | undefined;
  #queue: (string | Uint8Array)[] = [];
  #pump: Promise<void> | undefined;
  #writing = false;
  #stallMs: number | undefined;
  #stall: ReturnType<typeof setTimeout> | undefined;
  readonly #gone = Promise.withResolvers<void>();
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
    // In the middle of another write it would be torn, or wait as long as that.
    if (this.#writing) {
      this.write(text);
      return;
    }
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

  #open(): Sink {
    this.#sink ??= openSink(this.#fd);
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
    while (this.#pump && this.broken === undefined) await Promise.race([this.#pump, this.#gone.promise]);
  }

  hurry(stallMs: number): void {
    if (this.#stallMs !== undefined && this.#stallMs <= stallMs) return;
    this.#stallMs = stallMs;
    if (this.#writing) this.#watch();
  }

  get busy(): boolean {
    return this.#writing;
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
        for (const part of joined(batch)) for (const piece of pieces(part, sink.pieceBytes)) await this.#send(sink, piece);
      }
    } catch (error) {
      this.#break(error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "EIO");
    } finally {
      this.#pump = undefined;
    }
  }

  async #send(sink: Sink, part: string | Uint8Array): Promise<void> {
    this.#writing = true;
    this.#watch();
    try {
      await sink.write(part);
    } finally {
      clearTimeout(this.#stall);
      this.#writing = false;
    }
  }

  #watch(): void {
    if (this.#stallMs === undefined) return;
    clearTimeout(this.#stall);
    this.#stall = setTimeout(() => this.#break("ETIMEDOUT"), this.#stallMs);
  }

  #break(code: string): void {
    if (this.broken !== undefined) return;
    this.broken = code;
    this.#queue = [];
    this.#gone.resolve();
    for (const listener of this.#listeners.splice(0)) listener(this.broken);
  }
}

function joined(batch: readonly (string | Uint8Array)[]): readonly (string | Uint8Array)[] {
  if (batch.length === 1) return batch;
  if (batch.every((part) => typeof part === "string")) return [batch.join("")];
  return [...batch];
}

function* pieces(part: string | Uint8Array, most: number): Generator<string | Uint8Array> {
  if (part.length * 3 <= most || Buffer.byteLength(part) <= most) return yield part;
  const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
  for (let from = 0; from < bytes.length; from += most) yield bytes.subarray(from, from + most);
}

/** One line on stdout for a program that says nothing else. False when it was lost; a reader that is not there loses nothing. */
export async function writeLine(text: string): Promise<boolean> {
  try {
    await Bun.write(Bun.stdout, `${text}\n`);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPIPE";
  }
}

/** Opens both streams; each one's terminal and colour questions are answered for itself. */
export function openOutput(options: OutputOptions): Output {
  return { stdout: new FileStream(1, options), stderr: new FileStream(2, options) };
}
