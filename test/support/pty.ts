/**
 * Runs the compiled binary on a pseudo-terminal: types keys, resizes, reads the raw bytes and the screen a person would see.
 * Refuses: sleeping. Tests wait for what must appear; a limit turns a hang into a failure that shows the screen.
 */
import { type LaunchOptions, prepare } from "./launch.ts";
import { Screen } from "./screen.ts";

export type TerminalOptions = LaunchOptions & {
  readonly columns?: number;
  readonly rows?: number;
  /** Default xterm-256color. */
  readonly term?: string;
  /** Sends a stream to a file (or from one) instead of the terminal. */
  readonly redirect?: { readonly stdin?: string; readonly stdout?: string; readonly stderr?: string };
};

export type TerminalResult = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly elapsedMs: number;
  readonly leftovers: readonly string[];
};

/** Line discipline as the process left it. A shell expects all three on. */
export type LineMode = { readonly canonical: boolean; readonly echo: boolean; readonly signals: boolean };

const KEYS = {
  enter: "\r",
  tab: "\t",
  "shift+tab": "\x1b[Z",
  escape: "\x1b",
  backspace: "\x7f",
  delete: "\x1b[3~",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  "page-up": "\x1b[5~",
  "page-down": "\x1b[6~",
  "alt+enter": "\x1b\r",
  "alt+left": "\x1b[1;3D",
  "alt+right": "\x1b[1;3C",
  "ctrl+left": "\x1b[1;5D",
  "ctrl+right": "\x1b[1;5C",
} as const;

export type Key = keyof typeof KEYS | `ctrl+${string}`;

function bytesOf(key: Key): string {
  const named = (KEYS as Readonly<Record<string, string>>)[key];
  if (named !== undefined) return named;
  const letter = key.slice("ctrl+".length).toUpperCase();
  return String.fromCharCode(letter.charCodeAt(0) & 0x1f);
}

export type Wanted = string | RegExp | ((screen: Screen) => boolean);

export class Terminal implements AsyncDisposable {
  readonly screen: Screen;
  readonly cwd: string;
  readonly home: string;
  readonly pid: number;
  readonly exited: Promise<TerminalResult>;

  readonly #child: Bun.Subprocess;
  readonly #pty: Bun.Terminal;
  readonly #limitMs: number;
  readonly #waiting = new Set<() => void>();
  readonly #decoder = new TextDecoder();
  #raw = "";
  #over = false;

  private constructor(launch: Awaited<ReturnType<typeof prepare>>, argv: readonly string[], options: TerminalOptions) {
    const columns = options.columns ?? 80;
    const rows = options.rows ?? 24;
    this.screen = new Screen(columns, rows);
    this.cwd = launch.cwd;
    this.home = launch.home.path;
    this.#limitMs = launch.timeoutMs;
    const started = performance.now();
    const drained = Promise.withResolvers<void>();
    this.#child = Bun.spawn([...argv], {
      cwd: launch.cwd,
      env: launch.env,
      terminal: {
        cols: columns,
        rows,
        name: options.term ?? "xterm-256color",
        data: (_, data) => this.#receive(data),
        exit: () => drained.resolve(),
      },
    });
    const pty = this.#child.terminal;
    if (!pty) throw new Error("no pseudo-terminal on this system");
    this.#pty = pty;
    this.pid = this.#child.pid;
    this.screen.onAnswer = (text) => this.write(text);
    this.exited = this.#finish(launch, drained.promise, started);
    this.exited.catch(() => {});
  }

  /** Starts the binary (or `command`) on a new terminal that is its controlling terminal. */
  static async start(options: TerminalOptions = {}): Promise<Terminal> {
    const env = { TERM: options.term ?? "xterm-256color", LANG: "C.UTF-8", ...options.env };
    const launch = await prepare({ ...options, env });
    const { stdin, stdout, stderr } = options.redirect ?? {};
    if (!stdin && !stdout && !stderr) return new Terminal(launch, launch.argv, options);
    const parts = [
      ["<", stdin],
      [">", stdout],
      ["2>", stderr],
    ].flatMap(([sign, path]) => (path ? [`${sign}'${path.replaceAll("'", "'\\''")}'`] : []));
    return new Terminal(launch, ["/bin/sh", "-c", `exec "$@" ${parts.join(" ")}`, "sh", ...launch.argv], options);
  }

  async #finish(launch: Awaited<ReturnType<typeof prepare>>, drained: Promise<void>, started: number): Promise<TerminalResult> {
    let hung = false;
    const limit = setTimeout(() => {
      hung = true;
      try {
        process.kill(-this.pid, "SIGKILL");
      } catch {
        // It ended at this very moment.
      }
    }, this.#limitMs);
    await this.#child.exited;
    clearTimeout(limit);
    const elapsedMs = performance.now() - started;
    const leftovers = launch.cleanUp(this.pid);
    // The end of the stream comes when the last holder of the terminal is gone.
    await drained;
    this.#over = true;
    this.#wake();
    if (hung) throw new Error(`still running after ${this.#limitMs} ms\n${this.describe()}`);
    return { code: this.#child.exitCode, signal: this.#child.signalCode as NodeJS.Signals | null, elapsedMs, leftovers };
  }

  #receive(data: Uint8Array): void {
    const text = this.#decoder.decode(data, { stream: true });
    this.#raw += text;
    this.screen.write(text);
    this.#wake();
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** Everything the process wrote, as text, control sequences included. */
  raw(): string {
    return this.#raw;
  }

  /** The screen in a frame, for error messages. */
  describe(): string {
    const { screen } = this;
    const bar = "─".repeat(screen.columns);
    return `${bar}\n${screen.lines().join("\n").trimEnd()}\n${bar}\ncursor ${screen.row},${screen.column}\nraw end: ${JSON.stringify(this.#raw.slice(-600))}`;
  }

  /** Resolves once scrollback and screen hold the text, match, or satisfy the condition. */
  async waitFor(wanted: Wanted): Promise<void> {
    await this.#until(wanted, () => (typeof wanted === "function" ? wanted(this.screen) : has(this.screen.everything(), wanted)));
  }

  /** Resolves once the raw bytes hold the text or match. */
  async waitForRaw(wanted: string | RegExp): Promise<void> {
    await this.#until(wanted, () => has(this.#raw, wanted));
  }

  #until(wanted: Wanted, holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds() && !this.#over) return;
        this.#waiting.delete(look);
        if (holds()) resolve();
        else reject(new Error(`never saw ${wanted}\n${this.describe()}`));
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Raw bytes to the process, as if typed. */
  write(text: string | Uint8Array): void {
    if (!this.#pty.closed) this.#pty.write(text as string);
  }

  press(...keys: readonly Key[]): void {
    for (const key of keys) this.write(bytesOf(key));
  }

  /** What a terminal sends for a paste: marked when the process has asked for it, newlines as carriage returns. */
  paste(text: string): void {
    const body = text.replaceAll("\n", "\r");
    this.write(this.screen.modes.has(2004) ? `\x1b[200~${body}\x1b[201~` : body);
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** The window is closed: the process gets SIGHUP and its terminal is gone. */
  hangUp(): void {
    this.#pty.close();
  }

  /** As it is now; after the exit, as it was left behind (Linux flag bits). */
  lineMode(): LineMode {
    const flags = this.#pty.localFlags;
    return { canonical: (flags & 0o2) !== 0, echo: (flags & 0o10) !== 0, signals: (flags & 0o1) !== 0 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      process.kill(-this.pid, "SIGKILL");
    } catch {
      // Already gone.
    }
    await this.exited.catch(() => {});
    this.#pty.close();
  }
}

function has(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
}
