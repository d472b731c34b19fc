/**
 * Owned background processes: ids, ring buffers, listing, cancel, reaping. One instance per run, made by app/.
 * Refuses: choosing environments and directories (the shell tool does), recording (whoever gets `onEffect` does).
 */
import { type Clock, monotonicClock } from "../base/clock.ts";
import { createProcessOwner, type ProcessEnd, type ProcessOwner, type RunningProcess } from "../base/process.ts";
import { cleanTerminalText, incompleteEscapeTail, incompleteUtf8Tail } from "../base/text.ts";
import type { ShellExec } from "../types/event.ts";
import { BACKGROUND_BUFFER_BYTES } from "./bounds.ts";
import { createByteRing } from "./byte-ring.ts";
import { endEffect } from "./shell-effect.ts";

export type BackgroundProcess = {
  /** `bg1`, `bg2`, … */
  readonly id: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly status: ShellExec["processStatus"];
  readonly exitCode: number | null;
  readonly signal?: string;
  readonly elapsedMs: number;
};

export interface BackgroundProcesses {
  start(request: {
    readonly argv: readonly string[];
    /** Absolute. */
    readonly cwd: string;
    readonly relativeCwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly timeoutMs?: number;
    readonly callId: string;
  }): Promise<{ readonly ok: true; readonly process: BackgroundProcess } | { readonly ok: false; readonly message: string }>;
  list(): readonly BackgroundProcess[];
  /** Output since the last call (ring buffer 256 KiB); undefined for an unknown id. */
  output(id: string): { readonly text: string; readonly droppedBytes: number; readonly process: BackgroundProcess } | undefined;
  /** Ends the whole tree; resolves when it is gone. */
  cancel(id: string): Promise<BackgroundProcess | undefined>;
  /** Ends every owned process; resolves when all are gone and their terminal effects were emitted. */
  reapAll(): Promise<void>;
  /**
   * Owner of the children, for one-shot commands too: what they leave running is then ended by `reapAll`, and
   * `processes.killAllNow()` is the synchronous last resort.
   */
  readonly processes?: ProcessOwner;
}

type BackgroundOptions = {
  /** Called with one `running` effect and exactly one terminal effect per process; `callId` is that of the starting call. */
  readonly onEffect: (effect: ShellExec, callId: string) => void;
  readonly processes?: ProcessOwner;
  readonly clock?: Clock;
};

type StartRequest = Parameters<BackgroundProcesses["start"]>[0];

type Entry = {
  readonly describe: () => BackgroundProcess;
  readonly running: RunningProcess;
  readonly take: () => { readonly text: string; readonly droppedBytes: number };
  /** Resolves after the terminal effect. */
  readonly finished: Promise<void>;
};

/** Finished processes that stay listed with their unread output. */
const KEEP_FINISHED = 32;

/** The returned `processes` is the owner given or made. */
export function createBackgroundProcesses(
  options: BackgroundOptions,
): BackgroundProcesses & { readonly processes: ProcessOwner } {
  const clock = options.clock ?? monotonicClock;
  const processes = options.processes ?? createProcessOwner({ clock });
  const entries = new Map<string, Entry>();
  let count = 0;

  const forgetOldest = (): void => {
    const finished = [...entries].filter(([, entry]) => entry.describe().status !== "running");
    for (const [id] of finished.slice(0, Math.max(0, finished.length - KEEP_FINISHED))) entries.delete(id);
  };

  return {
    processes,
    async start(request) {
      const output = createOutputStore();
      const started = await processes.start({
        argv: request.argv,
        cwd: request.cwd,
        env: request.env,
        timeoutMs: request.timeoutMs,
        onStdout: output.stream(),
        onStderr: output.stream(),
        follow: true,
      });
      if (!started.ok) return { ok: false, message: started.failure.message };
      const id = `bg${++count}`;
      const entry = follow(id, request, started.process, output, clock, options.onEffect);
      entries.set(id, entry);
      forgetOldest();
      return { ok: true, process: entry.describe() };
    },
    list: () => [...entries.values()].map((entry) => entry.describe()),
    output(id) {
      const entry = entries.get(id);
      return entry && { ...entry.take(), process: entry.describe() };
    },
    async cancel(id) {
      const entry = entries.get(id);
      if (!entry) return undefined;
      await entry.running.end();
      await entry.finished;
      return entry.describe();
    },
    async reapAll() {
      await processes.reapAll();
      await Promise.all([...entries.values()].map((entry) => entry.finished));
    },
  };
}

function follow(
  id: string,
  request: StartRequest,
  running: RunningProcess,
  output: OutputStore,
  clock: Clock,
  onEffect: BackgroundOptions["onEffect"],
): Entry {
  const began = clock.now();
  const base = { id, command: [...request.argv], cwd: request.relativeCwd };
  let ended: BackgroundProcess | undefined;
  const describe = (): BackgroundProcess =>
    ended ?? { ...base, status: "running", exitCode: null, elapsedMs: Math.round(clock.now() - began) };
  const emit = (): void => onEffect(toEffect(describe()), request.callId);
  emit();
  const finished = running.done.then((end) => {
    ended = { ...base, ...endOf(end) };
    emit();
  });
  return { describe, running, finished, take: () => output.take(ended !== undefined) };
}

function endOf(end: ProcessEnd): Pick<BackgroundProcess, "status" | "exitCode" | "signal" | "elapsedMs"> {
  const { processStatus: status, ...rest } = endEffect(end);
  return { status, ...rest };
}

function toEffect(process: BackgroundProcess): ShellExec {
  const { id, status, ...rest } = process;
  return { kind: "shell_exec", processId: id, processStatus: status, processKind: "background", ...rest };
}

type OutputStore = {
  /** A receiver for one stream; both streams share the ring, in order of arrival. */
  stream(): (chunk: Uint8Array) => void;
  take(ended: boolean): { readonly text: string; readonly droppedBytes: number };
};

function createOutputStore(): OutputStore {
  const ring = createByteRing(BACKGROUND_BUFFER_BYTES);
  return {
    stream() {
      let pending = new Uint8Array(0);
      return (chunk) => {
        const whole = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        // A character that is not complete waits, so that the other stream cannot get in between its bytes.
        const wait = incompleteUtf8Tail(whole);
        pending = whole.slice(whole.length - wait);
        ring.push(whole.subarray(0, whole.length - wait));
      };
    },
    take(ended) {
      const { bytes, dropped } = ring.take(ended ? () => 0 : incompleteEscapeTail);
      return { text: cleanTerminalText(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)), droppedBytes: dropped };
    },
  };
}
