/**
 * Terminals an external agent opens here: each a process of ours, in the workspace, with the environment of a child, its
 * output kept to the limit it asked for. Refuses: deciding whether a command may run (the host does), terminals of a TTY.
 */
import type { TerminalExitStatus } from "@agentclientprotocol/sdk";
import type { ProcessEnd, ProcessOwner, RunningProcess } from "../base/process.ts";
import { incompleteUtf8Tail } from "../base/text.ts";
import { oneShotEffect } from "../tools/shell-effect.ts";
import type { ShellExec } from "../types/event.ts";
import { refuse, requestFailed } from "./refusal.ts";

/** Kept of a terminal's output when the agent names no limit, and at most whatever it names. */
const OUTPUT_BYTES = 1024 * 1024;
const MAX_TERMINALS = 64;

export type TerminalCommand = {
  readonly argv: readonly string[];
  /** Absolute, proved. */
  readonly cwd: string;
  /** From the workspace root. */
  readonly relativeCwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly outputBytes: number | undefined;
};

export type TerminalView = { readonly output: string; readonly truncated: boolean; readonly exitStatus?: TerminalExitStatus };

export interface Terminals {
  /** @throws RequestError when it cannot be started. */
  create(command: TerminalCommand): Promise<string>;
  output(id: string): TerminalView;
  /** Resolves when the command has ended. */
  wait(id: string): Promise<TerminalExitStatus>;
  kill(id: string): Promise<void>;
  /** Ends it if it runs, and forgets it. */
  release(id: string): Promise<void>;
  releaseAll(): Promise<void>;
}

/** The last bytes of a stream, whole characters only. */
class Tail {
  #parts: Uint8Array[] = [];
  #size = 0;
  truncated = false;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Uint8Array): void {
    this.#parts.push(chunk);
    this.#size += chunk.length;
    // Now and then, so that a chatty command costs linear time.
    if (this.#size > this.#limit * 2 + 65_536) this.#trim();
  }

  text(): string {
    this.#trim();
    const bytes = this.#parts[0] ?? new Uint8Array(0);
    return new TextDecoder().decode(bytes.subarray(0, bytes.length - incompleteUtf8Tail(bytes)));
  }

  #trim(): void {
    const whole = Buffer.concat(this.#parts);
    let start = Math.max(0, whole.length - this.#limit);
    if (start > 0) this.truncated = true;
    while (start > 0 && start < whole.length && ((whole[start] ?? 0) & 0xc0) === 0x80) start++;
    const kept = Buffer.from(whole.subarray(start));
    this.#parts = [kept];
    this.#size = kept.length;
  }
}

type Entry = { readonly process: RunningProcess; readonly tail: Tail; end: ProcessEnd | undefined };

function statusOf(end: ProcessEnd): TerminalExitStatus {
  return { exitCode: end.exitCode, signal: end.signal ?? null };
}

/** @param onEnd told once for each command that has ended. */
export function createTerminals(processes: ProcessOwner, onEnd: (id: string, effect: ShellExec) => void): Terminals {
  const entries = new Map<string, Entry>();
  let count = 0;
  const entryOf = (id: string): Entry => {
    const entry = entries.get(id);
    if (!entry) throw refuse(`there is no terminal ${JSON.stringify(id)}`);
    return entry;
  };
  const release = async (id: string): Promise<void> => {
    const entry = entryOf(id);
    entries.delete(id);
    await entry.process.end();
  };
  return {
    async create(command) {
      if (entries.size >= MAX_TERMINALS) throw refuse(`${MAX_TERMINALS} terminals are open: release some first`);
      const id = `term-${++count}`;
      const tail = new Tail(Math.min(command.outputBytes ?? OUTPUT_BYTES, OUTPUT_BYTES));
      const take = (chunk: Uint8Array): void => tail.push(chunk);
      const { argv, cwd, env } = command;
      const started = await processes.start({ argv, cwd, env, onStdout: take, onStderr: take });
      if (!started.ok) throw requestFailed(started.failure.message);
      const entry: Entry = { process: started.process, tail, end: undefined };
      entries.set(id, entry);
      started.process.done.then(
        (end) => {
          entry.end = end;
          onEnd(id, oneShotEffect(argv, command.relativeCwd, end));
        },
        () => undefined,
      );
      return id;
    },
    output(id) {
      const { tail, end } = entryOf(id);
      const output = tail.text();
      return { output, truncated: tail.truncated, ...(end && { exitStatus: statusOf(end) }) };
    },
    wait: async (id) => statusOf(await entryOf(id).process.done),
    kill: (id) => entryOf(id).process.end(),
    release,
    async releaseAll() {
      await Promise.all([...entries.keys()].map(release));
    },
  };
}
