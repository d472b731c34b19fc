/** What the REPL is handed by the door that opens it (cli/repl.ts). Refuses: behaviour. */
import type { OpenedRuntime } from "../app/open.ts";
import type { AskApproval } from "../app/permit.ts";
import type { ExitCode } from "../base/user-error.ts";
import type { Change } from "./desk.ts";
import type { Output } from "./output.ts";

export type ReplOptions = {
  readonly output: Output;
  readonly env: Readonly<Record<string, string>>;
  /** Aborted by a signal or a bug; its reason says which. */
  readonly signal: AbortSignal;
  /** Opens a conversation, which starts nothing before `after` resolves; `{}` is a new one. */
  readonly open: (change: Change, ask: AskApproval, after?: Promise<void>) => Promise<OpenedRuntime>;
  /** Asks the configured endpoints what they serve. */
  readonly listModels: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Models that can be named without asking anybody. */
  readonly knownModels: () => readonly string[];
  readonly firstPrompt: string;
  /** What the first conversation goes on with. */
  readonly first: Change;
  readonly plain: boolean;
  readonly reflows: boolean;
  readonly calmMs: number;
  readonly exitCodeOf: (reason: string) => ExitCode | undefined;
};
