/**
 * Runs the compiled binary the way a shell or a CI job does: pipes, a fresh directory, a blank environment, a wall-clock
 * limit. A hang is a failure that shows what was said so far. Refuses: leaving a process or a directory behind.
 */
import { closeSync, openSync } from "node:fs";
import { type Launch, type LaunchOptions, prepare } from "./launch.ts";

/**
 * `null`: /dev/null. `closed`: no descriptor 0 at all. `open`: a pipe that nobody writes to or closes (in `startThndrs` the
 * test may). Otherwise the bytes, through a pipe, or a regular file.
 */
export type Stdin =
  | "null"
  | "closed"
  | "open"
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly file: string };

export type RunOptions = LaunchOptions & { readonly stdin?: Stdin };

export type RunResult = {
  /** Exit code; null when a signal ended the process. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;
  /** Start to exit of the process. */
  readonly elapsedMs: number;
  /** Exit of the process to the end of its output: more than nothing means that a child held the pipe. */
  readonly lingerMs: number;
  /** Command lines of processes that outlived it inside its directories; they have been killed. */
  readonly leftovers: readonly string[];
};

type Stream = "stdout" | "stderr";

export type Running = AsyncDisposable & {
  readonly pid: number;
  readonly cwd: string;
  readonly home: string;
  /** What has arrived so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves with the matched text once it has arrived. Rejects with all output at the limit or when the process ends first. */
  waitFor(what: string | RegExp, stream?: Stream): Promise<string>;
  /** Only with stdin `open`. */
  write(text: string | Uint8Array): void;
  endStdin(): void;
  /** Stops reading a stream and closes it, as `head` does. */
  closeOutput(stream: Stream): void;
  signal(name: NodeJS.Signals): void;
  readonly exited: Promise<RunResult>;
};

/** Collects a stream's bytes and wakes whoever waits for more. */
class Collector {
  readonly #chunks: Uint8Array[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly ended: Promise<void>;

  constructor(stream: ReadableStream<Uint8Array>, onMore: () => void) {
    this.#reader = stream.getReader();
    this.ended = this.#collect(onMore);
  }

  async #collect(onMore: () => void): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read().catch(() => ({ done: true, value: undefined }));
      if (value) this.#chunks.push(value);
      onMore();
      if (done) return;
    }
  }

  close(): void {
    void this.#reader.cancel().catch(() => {});
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}

/** What one process has said, and the promise of more. */
class Listener {
  readonly #waiting = new Set<() => void>();
  readonly wake = (): void => {
    for (const look of [...this.#waiting]) look();
  };

  /** Calls `look` now and after every change until it returns something. */
  until<T>(look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const attempt = () => {
        try {
          const found = look();
          if (found === undefined) return;
          this.#waiting.delete(attempt);
          resolve(found);
        } catch (error) {
          this.#waiting.delete(attempt);
          reject(error);
        }
      };
      this.#waiting.add(attempt);
      attempt();
    });
  }
}

function withStdin(launch: Launch, stdin: Stdin): { argv: string[]; stdin: "ignore" | "pipe" | Uint8Array | number } {
  const argv = [...launch.argv];
  if (stdin === "null") return { argv, stdin: "ignore" };
  if (stdin === "open") return { argv, stdin: "pipe" };
  if (stdin === "closed") return { argv: ["/bin/sh", "-c", 'exec "$@" <&-', "sh", ...argv], stdin: "ignore" };
  if ("file" in stdin) return { argv, stdin: openSync(stdin.file, "r") };
  return { argv, stdin: "pipe" };
}

/** Starts the binary and hands back control of it. Dispose it, or await `exited`. */
export async function startThndrs(options: RunOptions = {}): Promise<Running> {
  const launch = await prepare(options);
  const stdin = options.stdin ?? "null";
  const input = withStdin(launch, stdin);
  const started = performance.now();
  const child = Bun.spawn(input.argv, {
    cwd: launch.cwd,
    env: launch.env,
    stdin: input.stdin,
    stdout: "pipe",
    stderr: "pipe",
    // Its own group, so that the whole group can be ended.
    detached: true,
  });
  if (typeof input.stdin === "number") closeSync(input.stdin);
  const listener = new Listener();
  const stdout = new Collector(child.stdout, listener.wake);
  const stderr = new Collector(child.stderr, listener.wake);
  const sink = child.stdin;
  const pipe = sink !== undefined && sink !== null && typeof sink !== "number" ? sink : undefined;

  const said = () => `arguments: ${JSON.stringify(options.args ?? [])}\n── stdout\n${stdout.text()}\n── stderr\n${stderr.text()}`;
  let hung = false;
  let over = false;
  const limit = setTimeout(() => {
    hung = true;
    listener.wake();
    kill(-child.pid);
    stdout.close();
    stderr.close();
  }, launch.timeoutMs);

  async function finish(): Promise<RunResult> {
    try {
      await child.exited;
      const ended = performance.now();
      await Promise.all([stdout.ended, stderr.ended]);
      over = true;
      listener.wake();
      const lingerMs = performance.now() - ended;
      const leftovers = launch.cleanUp(child.pid);
      if (hung) throw new Error(`still running after ${launch.timeoutMs} ms\n${said()}`);
      return {
        code: child.exitCode,
        signal: child.signalCode as NodeJS.Signals | null,
        stdout: stdout.text(),
        stderr: stderr.text(),
        stdoutBytes: stdout.bytes(),
        stderrBytes: stderr.bytes(),
        elapsedMs: ended - started,
        lingerMs,
        leftovers,
      };
    } finally {
      clearTimeout(limit);
    }
  }
  const exited = finish();
  // A test that never looks at `exited` must not fail with an unhandled rejection on top.
  exited.catch(() => {});

  const write = (data: string | Uint8Array): void => {
    if (!pipe) throw new Error("stdin is not a pipe");
    // A process that has closed its end makes this reject; the test sees that in the exit.
    Promise.resolve(pipe.write(data))
      .then(() => pipe.flush())
      .catch(() => {});
  };
  const endStdin = (): void => {
    if (pipe) Promise.resolve(pipe.end()).catch(() => {});
  };
  if (typeof stdin === "object" && !("file" in stdin)) {
    write("text" in stdin ? stdin.text : stdin.bytes);
    endStdin();
  }

  return {
    pid: child.pid,
    cwd: launch.cwd,
    home: launch.home.path,
    stdout: () => stdout.text(),
    stderr: () => stderr.text(),
    waitFor: (what, stream = "stderr") =>
      listener.until(() => {
        const found = match(stream === "stdout" ? stdout.text() : stderr.text(), what);
        if (found !== undefined) return found;
        if (hung || over) throw new Error(`never saw ${what} on ${stream}\n${said()}`);
        return undefined;
      }),
    write,
    endStdin,
    closeOutput: (stream) => (stream === "stdout" ? stdout : stderr).close(),
    signal: (name) => void process.kill(child.pid, name),
    exited,
    [Symbol.asyncDispose]: async () => {
      kill(-child.pid);
      await exited.catch(() => {});
    },
  };
}

/** Runs the binary to its end. Rejects at the wall-clock limit, with what it had said. */
export async function runThndrs(options: RunOptions = {}): Promise<RunResult> {
  return await (await startThndrs(options)).exited;
}

function match(text: string, what: string | RegExp): string | undefined {
  if (typeof what === "string") return text.includes(what) ? what : undefined;
  return what.exec(text)?.[0];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}
