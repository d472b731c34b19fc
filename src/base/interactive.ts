/**
 * Runs a program that takes the terminal over (an editor), and ends it when we are told to end. The one spawn beside
 * base/process.ts: those children must not see the terminal, this one must. Refuses: capturing output, anything a model asked for.
 */
import { monotonicClock } from "./clock.ts";
import { killTreeNow, type Tree } from "./process-tree.ts";
import { ENDING_SIGNALS } from "./signal-exit.ts";
import { createEnder } from "./tree-ender.ts";

export type InteractiveOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The program is told to end, and so is what has its terminal. */
  readonly signal: AbortSignal;
};

/** What the terminal sends to all of its foreground group, us included: it is meant for whoever has the terminal. */
const TYPED_SIGNALS = ["SIGINT", "SIGQUIT"] as const;
/** From TERM to KILL. */
const GRACE_MS = 2000;
/** How much later than the program's end the Ctrl+C that led to it may reach us. */
const LATE_MS = 50;

type Child = Bun.Subprocess<"inherit", "inherit" | number, "inherit">;

/**
 * Waits for `argv` with our stdin and stderr, and the terminal for its screen wherever our stdout goes (L07). Ctrl+C is its own meanwhile: a SIGINT from elsewhere cannot be told apart.
 * @returns its exit code, 128 + n when signal n ended it; undefined when `signal` came, before or meanwhile
 * @throws the spawn error (ENOENT) when it cannot be started
 */
export async function runInteractive(argv: readonly string[], options: InteractiveOptions): Promise<number | undefined> {
  const { cwd, env, signal } = options;
  if (signal.aborted) return undefined;
  const takeBack = leaveTypedSignals();
  const screen = openScreen();
  try {
    const stdout = screen.descriptor ?? "inherit";
    const child = Bun.spawn([...argv], { cwd, env: { ...env }, stdin: "inherit", stdout, stderr: "inherit" });
    const code = await exitOrEnd(child, signal);
    if (!signal.aborted) await monotonicClock.sleep(LATE_MS);
    return signal.aborted ? undefined : code;
  } finally {
    screen.close();
    takeBack();
  }
}

type Screen = { readonly descriptor?: number; close(): void };

/** The terminal that a person with keys looks at; no descriptor where that is our stdout, or where there is none. */
function openScreen(): Screen {
  const { isatty } = process.getBuiltinModule("node:tty");
  const close = (): void => {};
  if (isatty(1) || !isatty(0)) return { close };
  if (isatty(2)) return { descriptor: 2, close };
  const { openSync, closeSync } = process.getBuiltinModule("node:fs");
  try {
    const descriptor = openSync("/dev/tty", "r+");
    return { descriptor, close: () => closeSync(descriptor) };
  } catch {
    return { close };
  }
}

/** Typed signals mean nothing to us until the result is called. */
function leaveTypedSignals(): () => void {
  const ignore = (): void => {};
  const before = TYPED_SIGNALS.map((name) => [name, process.listeners(name)] as const);
  // There is always a listener: without one the system would end us.
  for (const [name, listeners] of before) {
    process.on(name, ignore);
    for (const listener of listeners) process.off(name, listener);
  }
  return () => {
    for (const [name, listeners] of before) {
      for (const listener of listeners) process.on(name, listener);
      process.off(name, ignore);
    }
  };
}

/** Resolves when the child is gone, and after `signal` also what it started; undefined when not even KILL could end it. */
async function exitOrEnd(child: Child, signal: AbortSignal): Promise<number | undefined> {
  const tree: Tree = { roots: [{ pid: child.pid, exited: false, inOurGroup: true }], marker: "" };
  const ender = createEnder(tree, monotonicClock, GRACE_MS);
  const end = (): void => void ender.end("cancel");
  const endNow = (): void => void (signal.aborted && killTreeNow(tree));
  signal.addEventListener("abort", end, { once: true });
  // Before the listener that ends us: the second signal does so at once (program.ts), and nothing of ours may outlive that.
  const ends = ENDING_SIGNALS.filter((name) => !TYPED_SIGNALS.some((typed) => typed === name));
  for (const name of ends) process.prependListener(name, endNow);
  try {
    const code = await Promise.race([child.exited, ender.gaveUp]);
    ender.childExited();
    await ender.settled();
    return code ?? undefined;
  } finally {
    signal.removeEventListener("abort", end);
    for (const name of ends) process.off(name, endNow);
    child.unref();
  }
}
