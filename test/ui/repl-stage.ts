/** The REPL on a pseudo-terminal against a scripted model: what every end-to-end test of it starts with. */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { binary } from "../support/launch.ts";
import type { LoopbackOptions, Script } from "../support/loopback.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { Terminal, type TerminalOptions } from "../support/pty.ts";

export type ReplStage = AsyncDisposable & {
  readonly terminal: Terminal;
  readonly model: TestModel;
  /** Types a line and Enter, as two reads. */
  send(text: string): void;
  /** Bodies of the user messages of request `n` (from 1), instruction text left out. */
  userTexts(n: number): string[];
  /** The records of the one session of the starting directory. */
  records(): Promise<readonly Readonly<Record<string, unknown>>[]>;
};

export type StageOptions = TerminalOptions & { readonly model?: LoopbackOptions; readonly ready?: boolean };

/** The compiled binary, or the source with `THNDRS_FROM_SOURCE=1`. */
export function sourceOrBinary(): string[] {
  return process.env.THNDRS_FROM_SOURCE ? [process.execPath, join(import.meta.dir, "..", "..", "src", "main.ts")] : [binary];
}

/** Reads the only session file below `cwd`. */
export async function sessionRecords(cwd: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const dir = join(cwd, ".thndrs", "sessions");
  const [name, ...more] = (await readdir(dir)).filter((file) => file.endsWith(".jsonl"));
  if (name === undefined || more.length > 0) throw new Error(`${more.length + (name ? 1 : 0)} sessions in ${dir}`);
  return readFileSync(join(dir, name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Starts it and waits for the startup display (unless `ready` is false). */
export async function startRepl(script: Script, options: StageOptions = {}): Promise<ReplStage> {
  const model = await startModel(script, options.model ?? {});
  const terminal = await Terminal.start({
    timeoutMs: 20_000,
    command: sourceOrBinary(),
    ...options,
    env: { ...model.env, THNDRS_RETRY_MAX_TRIES: "1", ...options.env },
  });
  const stage: ReplStage = {
    terminal,
    model,
    send: (text) => {
      terminal.write(text);
      terminal.press("enter");
    },
    userTexts(n) {
      const messages = (model.server.requests[n - 1]?.body.messages ?? []) as { role: string; content: string }[];
      return messages
        .filter((message) => message.role === "user")
        .map((message) => message.content.replace(/^<(project_context|thndrs_self_knowledge_update)>[\s\S]*?<\/\1>\n\n/g, ""));
    },
    records: () => sessionRecords(terminal.cwd),
    [Symbol.asyncDispose]: async () => {
      await terminal[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
  if (options.ready !== false) await terminal.waitFor("[Diagnostics]");
  return stage;
}

/** Everything settled or on screen, line breaks of the terminal taken out: for texts that a narrow terminal wraps. */
export function flat(terminal: Terminal): string {
  return terminal.screen.everything().replace(/[\n │]/g, "");
}

/** Waits for a text wherever a narrow terminal broke it. */
export function waitForFlat(terminal: Terminal, text: string): Promise<void> {
  const wanted = text.replace(/[ │]/g, "");
  return terminal.waitFor(() => flat(terminal).includes(wanted));
}

/** Rows that begin with the prompt mark and are not settled text above the live region. */
export function promptRows(terminal: Terminal): number {
  return terminal.screen.lines().filter((line) => line.startsWith("❯")).length;
}

export const WIDTHS = [80, 20] as const;
