/**
 * The one spawner (architecture rule 3): own session without a terminal, empty stdin (or a pipe), streamed output, monotonic
 * time-out, and an end for the whole tree. Refuses: choosing an environment (base/child-env.ts), interpreting output.
 */

import { closeSync } from "node:fs";
import { MARKER_VARIABLE } from "./child-env.ts";
import { type Flow, letGo, type OnChunk, readAll, type Source, sourceOf } from "./child-output.ts";
import { type Clock, monotonicClock } from "./clock.ts";
import { once } from "./once.ts";
import { createOrphanage } from "./orphans.ts";
import { type Kernel, loadKernel, type OpenPipe } from "./pipe.ts";
import { processStat } from "./process-stat.ts";
import { countStrays, endTree, findTree, groupExists, killTreeNow, type Root, type Tree } from "./process-tree.ts";
import { randomHex } from "./random.ts";
import { explainSpawnError, resolveProgram, type SpawnFailure } from "./spawn-failure.ts";
import { createEnder } from "./tree-ender.ts";

export { findExecutable } from "./spawn-failure.ts";

export type ProcessRequest = {
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Complete; see `childEnvironment`. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Without a receiver the stream is drained and dropped. */
  readonly onStdout?: OnChunk;
  readonly onStderr?: OnChunk;
  /**
   * `none` for programs known to start nothing (rg, fd): spares the search for their descendants. One that holds the output
   * all the same is ended before `done`: nobody asked for it.
   */
  readonly descendants?: "tracked" | "none";
  /** Go on delivering what descendants print after the direct child has exited (background processes). */
  readonly follow?: boolean;
  /** `pipe`: a protocol is spoken with the child (MCP, ACP), through `RunningProcess.input`. Without it stdin is empty. */
  readonly stdin?: "pipe";
  /** From TERM to KILL when this process is ended; 2 s when it is not said. */
  readonly graceMs?: number;
};

/** The child's stdin. */
type ProcessInput = {
  /** Resolves when the bytes are on their way. Rejects when the child no longer reads. */
  write(data: Uint8Array | string): Promise<void>;
  /** The child sees the end of its input. Idempotent. */
  end(): void;
};

export type ProcessEnd = {
  readonly started: true;
  /** null when a signal ended it, or when it could not be ended at all. */
  readonly exitCode: number | null;
  /** `SIGKILL` … */
  readonly signal?: string;
  readonly timedOut: boolean;
  /** Ended by the request's signal, `end()` or the owner. */
  readonly cancelled: boolean;
  /** Ended by an output receiver. */
  readonly stopped: boolean;
  /** The child is gone, a descendant still holds its output. */
  readonly heldPipe: boolean;
  /** Members of the tree that not even KILL could end (uninterruptible, or another user's). */
  readonly survivors: number;
  /** After a time-out or a cancel: processes that appeared since the start and may be the command's, but can not be told to be. */
  readonly strays: number;
  /** Until the child was gone; waiting for its output is not part of it. Never negative. */
  readonly elapsedMs: number;
};

export type ProcessOutcome = ProcessEnd | { readonly started: false; readonly failure: SpawnFailure };

export type RunningProcess = {
  readonly pid: number;
  /** Only with `stdin: "pipe"`. */
  readonly input?: ProcessInput;
  /** Resolves when the direct child has exited and output is drained, or 250 ms later. Rejects only when a receiver threw. */
  readonly done: Promise<ProcessEnd>;
  /** Ends the whole tree, also what is left of it after `done`; resolves when it is gone. */
  end(): Promise<void>;
};

type StartResult =
  | { readonly ok: true; readonly process: RunningProcess }
  | { readonly ok: false; readonly failure: SpawnFailure };

/**
 * Owns every process of one run. Descendants of a finished command may live on (a server started with `&`); they are
 * ended when their owner is.
 */
export interface ProcessOwner {
  start(request: ProcessRequest): Promise<StartResult>;
  /** Ends everything this owner ever started, TERM then KILL; resolves when it is gone. */
  reapAll(): Promise<void>;
  /** The last resort while the program dies: KILL, synchronously, in a few milliseconds. Returns how many resisted. */
  killAllNow(): number;
  /** An owner of its own inside this one: one conversation of several in a process ends its children, not the others'. */
  section(): ProcessOwner;
}

/** How long a descendant may keep the pipe open before the result is given without waiting for it. */
const HELD_PIPE_MS = 250;
/** A turn more for our own event loop, in case it was that which was late: first with a holder in sight, then without. */
const LATE_HELD_MS = 30;
const LATE_FREE_MS = 1000;
type Entry = { readonly root: Root; readonly process: RunningProcess };

export type OwnerOptions = {
  readonly clock?: Clock;
  readonly platform?: NodeJS.Platform;
  /** Every child of this process is this owner's: orphans are adopted and ended with the rest. For the program itself. */
  readonly adopts?: boolean;
  /** Told when a command of a model is about to start. */
  readonly onTracked?: () => Promise<unknown>;
};

/** Made once per run by app/; tests make their own. */
export function createProcessOwner(options: OwnerOptions = {}): ProcessOwner {
  const clock = options.clock ?? monotonicClock;
  // A run that starts nothing needs no name.
  const id = once(() => randomHex(8));
  const entries = new Set<Entry>();
  const open: Flow["open"] = new Set();
  const adopts = options.adopts === true;
  let kernel: Promise<Kernel> | undefined;
  let loadedKernel: Kernel | undefined;
  const bury = (pid: number): void => loadedKernel?.bury(pid);
  let count = 0;
  let everTracked = false;

  const wholeTree = (): Tree => ({
    roots: [...entries].map((entry) => entry.root),
    marker: everTracked ? `${id()}.` : "",
    adopted: adopts && everTracked,
    bury,
  });
  const sections = new Set<ProcessOwner>();
  const load = async (): Promise<Kernel> => {
    const loaded = await loadKernel(options.platform ?? process.platform);
    if (adopts) loaded.adoptOrphans();
    return loaded;
  };
  const noteOrphans = createOrphanage(() => new Set([...entries].map((entry) => entry.root.pid)));
  const noteTracked = async (): Promise<void> => {
    everTracked = true;
    kernel ??= load();
    loadedKernel = await kernel;
    if (adopts) noteOrphans(loadedKernel);
    await options.onTracked?.();
  };

  return {
    async start(request) {
      const tracked = request.descendants !== "none";
      if (tracked) await noteTracked();
      // Programs we know do not open their output again; the runtime's own pipes cost nothing to prepare.
      const openPipe = tracked && loadedKernel ? loadedKernel.openPipe : () => undefined;
      if (request.signal?.aborted) return { ok: false, failure: { kind: "cancelled", message: "Cancelled before it started." } };
      const marker = `${id()}.${++count};`;
      const spawned = spawn(request, marker, openPipe);
      if (!spawned.ok) return spawned;
      const root: Root = { pid: spawned.child.pid, exited: false };
      const pipes = [spawned.stdout.pipe, spawned.stderr.pipe].filter((pipe) => pipe !== undefined);
      const running = supervise(spawned, request, { roots: [root], marker, pipes, bury }, clock, open);
      const entry: Entry = { root, process: running };
      entries.add(entry);
      // A group that is still there holds descendants; others are found by the marker.
      const settle = (): void => void (groupExists(root.pid) || entries.delete(entry));
      running.done.then(settle, settle);
      return { ok: true, process: running };
    },
    async reapAll() {
      await Promise.all([...sections].map((section) => section.reapAll()));
      const live = [...entries].filter((entry) => !entry.root.exited);
      await Promise.all(live.map((entry) => entry.process.end()));
      if (everTracked || entries.size > 0) await endTree(wholeTree(), clock);
      await Promise.allSettled(live.map((entry) => entry.process.done));
      letGo(open);
    },
    killAllNow() {
      const resisted = [...sections].reduce((sum, section) => sum + section.killAllNow(), 0);
      return everTracked || entries.size > 0 ? resisted + killTreeNow(wholeTree()) : resisted;
    },
    section() {
      const section = createProcessOwner({ ...options, adopts: false, onTracked: noteTracked });
      sections.add(section);
      return section;
    },
  };
}

/**
 * Runs one command to its end. Without an owner nothing outlives the call: descendants are ended before it returns.
 * Never throws unless a receiver does.
 */
export async function runProcess(
  request: ProcessRequest & { readonly owner?: ProcessOwner | undefined },
): Promise<ProcessOutcome> {
  const owner = request.owner ?? createProcessOwner();
  const started = await owner.start(request);
  if (!started.ok) return { started: false, failure: started.failure };
  try {
    return await started.process.done;
  } finally {
    if (request.owner === undefined && request.descendants !== "none") await owner.reapAll();
  }
}

type Child = ReturnType<typeof launch>;
type Spawned = { readonly ok: true; readonly child: Child; readonly stdout: Source; readonly stderr: Source };

function launch(
  program: string,
  request: ProcessRequest,
  env: Record<string, string>,
  out: number | "pipe",
  err: number | "pipe",
) {
  return Bun.spawn([program, ...request.argv.slice(1)], {
    argv0: request.argv[0] ?? program,
    cwd: request.cwd,
    env,
    stdin: request.stdin ?? "ignore",
    stdout: out,
    stderr: err,
    // setsid: a session of its own has no terminal to open and is one group to signal.
    detached: true,
  });
}

function spawn(
  request: ProcessRequest,
  marker: string,
  openPipe: OpenPipe,
): Spawned | { readonly ok: false; readonly failure: SpawnFailure } {
  const resolved = resolveProgram(request.argv, request.cwd, request.env);
  if (!resolved.ok) return resolved;
  const env = { ...request.env };
  // A thndrs inside a thndrs keeps the outer mark, so that the outer one can end both.
  env[MARKER_VARIABLE] = (env[MARKER_VARIABLE] ?? "") + marker;
  const out = openPipe();
  const err = openPipe();
  const ends = [out?.read, err?.read].filter((fd) => fd !== undefined);
  try {
    const child = launch(resolved.program, request, env, out?.write ?? "pipe", err?.write ?? "pipe");
    return { ok: true, child, stdout: sourceOf(out, child.stdout), stderr: sourceOf(err, child.stderr) };
  } catch (error) {
    for (const fd of ends) closeSync(fd);
    return { ok: false, failure: explainSpawnError(error, resolved.program, request.cwd) };
  } finally {
    for (const pipe of [out, err]) if (pipe) closeSync(pipe.write);
  }
}

function supervise(spawned: Spawned, request: ProcessRequest, tree: Tree, clock: Clock, open: Flow["open"]): RunningProcess {
  const { child } = spawned;
  const began = clock.now();
  const tracked = request.descendants !== "none";
  const bornAt = tracked ? processStat(child.pid)?.started : undefined;
  const ender = createEnder(tracked ? tree : { ...tree, marker: "" }, clock, request.graceMs);
  const clearTimer = request.timeoutMs === undefined ? () => {} : clock.after(request.timeoutMs, () => void ender.end("timeout"));
  const cancel = (): void => void ender.end("cancel");
  const stop = (): void => void ender.end("stop");
  request.signal?.addEventListener("abort", cancel, { once: true });

  const flow: Flow = { dropping: false, open };
  const drained = Promise.all([
    readAll(spawned.stdout, request.onStdout, stop, flow),
    readAll(spawned.stderr, request.onStderr, stop, flow),
  ]);
  // A receiver's throw is reported through `done`; the child must not run on without a reader meanwhile.
  drained.catch(stop);

  const finish = async (): Promise<ProcessEnd> => {
    await Promise.race([child.exited, ender.gaveUp]);
    const elapsedMs = clock.now() - began;
    ender.childExited();
    clearTimer();
    request.signal?.removeEventListener("abort", cancel);
    await ender.settled();
    const heldPipe = !(await within(HELD_PIPE_MS, drained, clock)) && !(await within(lateness(tree), drained, clock));
    flow.dropping = heldPipe && request.follow !== true;
    if (heldPipe && !tracked) await endTree(tree, clock, request.graceMs);
    const reason = ender.reason();
    return {
      started: true,
      exitCode: child.exitCode,
      ...(child.signalCode ? { signal: String(child.signalCode) } : {}),
      timedOut: reason === "timeout",
      cancelled: reason === "cancel",
      stopped: reason === "stop",
      heldPipe,
      survivors: ender.survivors(),
      strays: bornAt !== undefined && (reason === "timeout" || reason === "cancel") ? countStrays(bornAt) : 0,
      elapsedMs,
    };
  };
  const input = inputOf(child);
  return { pid: child.pid, ...(input && { input }), done: finish(), end: () => ender.end("cancel") };
}

function inputOf(child: Child): ProcessInput | undefined {
  const sink = child.stdin;
  if (typeof sink !== "object" || sink === null) return undefined;
  let ended = false;
  return {
    async write(data) {
      if (ended) throw new Error("the input of this process has ended");
      await sink.write(data);
      await sink.flush();
    },
    end() {
      if (ended) return;
      ended = true;
      // A child that is gone already has closed its side.
      Promise.resolve(sink.end()).catch(() => {});
    },
  };
}

function lateness(tree: Tree): number {
  return findTree(tree).length > 0 ? LATE_HELD_MS : LATE_FREE_MS;
}

/** True when `promise` resolved in time. Leaves no timer behind that would keep the program from ending. */
async function within(ms: number, promise: Promise<unknown>, clock: Clock): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancelTimer = clock.after(ms, () => late.resolve(false));
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    cancelTimer();
  }
}
