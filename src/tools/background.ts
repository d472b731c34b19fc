/** Owned background processes: ids, ring buffers, listing, cancel, reaping. One instance per run, made by app/. */
import type { ShellExec } from "../types/event.ts";

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
}
