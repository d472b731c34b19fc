/** What a runtime is opened with. Refuses: defaults, behaviour. */
import type { ProcessOwner } from "../base/process.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Authority } from "../types/settings.ts";
import type { RunFacts } from "./inventory.ts";
import type { AskApproval } from "./permit.ts";
import type { RunFile } from "./run-file.ts";
import type { WrapTool } from "./toolbox.ts";

/** The flags a runtime looks at; cli/'s `Flags` fits. */
export type RunFlags = {
  readonly model?: string | undefined;
  readonly reasoningEffort?: string;
  readonly sessionDir?: string;
  readonly ephemeral?: boolean;
  readonly maxTurns?: number;
  readonly maxCost?: number;
  readonly authority?: string;
  readonly allowTool?: readonly string[];
  readonly denyTool?: readonly string[];
  readonly pin?: readonly string[];
  readonly noContext?: boolean;
  readonly noMcp?: boolean;
  readonly skillDir?: readonly string[];
  readonly outputSchema?: string;
  readonly trustProject?: boolean;
};

export type OpenOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** Real path. */
  readonly cwd: string;
  readonly processes: ProcessOwner;
  /** Ends what is waited for on the way: the run that follows ends at once. */
  readonly signal?: AbortSignal;
  readonly rendererMode: RunFacts["rendererMode"];
  readonly flags: RunFlags;
  /** `--replay FILE`, relative to `cwd`. */
  readonly replayFile?: string;
  /** Absolute path for `--record`. */
  readonly recordFile?: string;
  /** Of `--capture`: one for every conversation of the program. */
  readonly captureFile?: RunFile;
  /** A session id, a unique prefix, or `latest`. */
  readonly resume?: string;
  readonly ask?: AskApproval;
  /** Resolves when the conversation before this one has ended: until then this one starts nothing (servers). */
  readonly after?: Promise<void>;
  /** The id of a new session, where somebody was promised one. */
  readonly sessionId?: string;
  /** The authority now, where it may change between requests; never more than the configuration gives. */
  readonly authority?: () => Authority;
  /** Puts something round the built-in tools when they are first called. */
  readonly wrapTool?: WrapTool;
  /** What is added to the configuration once it is read. */
  readonly extend?: (loaded: LoadedConfig) => LoadedConfig;
};
