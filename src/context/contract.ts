/**
 * The shapes of the instruction engine (context.md C1–C15): what it is given, what it answers.
 * Refuses: behaviour. Outsiders import these from engine.ts.
 */
import type { Diagnostic, SourceInfo } from "../types/event.ts";
import type { ContextSettings } from "../types/settings.ts";
import type { Drop } from "./drops.ts";

/** Values for templates (C8). `model_id` is the provider's name. */
export type TemplateFacts = {
  readonly model_name: string;
  readonly model_id: string;
  readonly session_id: string;
  readonly current_date: string;
  readonly is_non_interactive: boolean;
  readonly supports_vision: boolean;
  readonly available_tools: readonly string[];
  readonly available_mcp_servers: readonly string[];
  readonly available_skills: readonly string[];
};

export type ContextOptions = {
  /** Real paths. */
  readonly root: string;
  readonly cwd: string;
  /** The config home (`$THNDRS_HOME` …): global instruction file and allow-list live here. */
  readonly configHome?: string;
  /** The user's home directory, if any. */
  readonly home?: string;
  readonly settings: ContextSettings;
  readonly facts: () => TemplateFacts;
  readonly diagnose: (diagnostic: Diagnostic) => void;
};

/**
 * Text for the conversation, and the sources it made visible (or named, `path_only`). `text` is "" when there is nothing
 * to say; it neither begins nor ends with a blank line: the caller puts one between it and its neighbour.
 */
export type Delivery = { readonly text: string; readonly sources: readonly SourceInfo[] };

export type Touched = { readonly path: string; readonly kind: string; readonly completeHash?: string };

/** `path` is absolute; `fresh` is false where nothing changed; `missing`: there is nothing of that name now. */
export type PinAnswer =
  | { readonly ok: true; readonly message: string; readonly path: string; readonly fresh: boolean; readonly missing?: boolean }
  | { readonly ok: false; readonly message: string };

export type PinnedPath = { readonly path: string /** As a person wrote it. */; readonly typed: string };

export type DropAnswer =
  | { readonly ok: true; readonly message: string; readonly source: SourceInfo }
  | { readonly ok: false; readonly message: string };

/** What a person decided in an earlier run. Pins: relative to the root. Drops: real paths. */
export type Decisions = { readonly pins: readonly string[]; readonly drops: readonly Drop[] };

/** An instruction file as a log names it. A log is no authority: only what discovery finds in `scope` is read for it. */
export type RecordedFile = {
  readonly path: string;
  readonly contentHash: string;
  /** Directory it governed, relative to the root (`.`); absolute or `~` for files outside. */
  readonly scope: string;
  readonly origin: string;
};
export interface ContextEngine {
  /** C3, C9.2: the chain as `<project_context>` for the first message. Also starts the background index (never awaited here). */
  start(): Promise<Delivery>;
  /**
   * C4, C9.3, C9.5, C10: called at each turn boundary before the user message is built: changes, mentions, pins.
   * The text goes at the head of that user message.
   */
  turn(prompt: string): Promise<Delivery>;
  /**
   * C4, C9.4: called once after each tool batch result is capped; text goes at the end of that call's result.
   * `batch`: what the other calls of the same batch touched; a file one of them read whole is not sent beside it.
   */
  touched(paths: readonly Touched[], batch?: readonly Touched[]): Promise<Delivery>;
  /**
   * C4: what governs the path applies in every later turn; a file's own text is delivered too (as it is on disk, again when it
   * changed) unless only the `scope` is asked for: then files that nothing but a pin brings stay candidates. Paths as a person wrote
   * them.
   */
  pin(path: string, what?: "text" | "scope"): Promise<PinAnswer>;
  unpin(path: string): PinAnswer;
  pins(): readonly PinnedPath[];
  /**
   * An instruction or pinned file (or the instruction file of a directory) is not delivered until its content changes; at the
   * next turn the model is told that what it holds of it no longer applies.
   */
  drop(path: string): Promise<DropAnswer>;
  /** Lifts one drop, or all; answers the real paths. */
  resetDrops(path?: string): Promise<readonly string[]>;
  drops(): readonly Drop[];
  /** Pins and drops of an earlier run; before `start`. */
  restore(decisions: Decisions): Promise<void>;
  /**
   * These texts have left the conversation without a compaction: they may be delivered again. Those of nested files among them
   * that the model has not seen (`unseen`) are, now.
   */
  lost(sources: readonly Drop[], unseen?: readonly Drop[]): Promise<Delivery>;
  /** C3: `/cd`. */
  changeDirectory(cwd: string): void;
  /** C10: what the conversation of an earlier run held, compared with disk at the next `turn`; the last delivered last. */
  resumed(sources: readonly RecordedFile[]): void;
  /** C11. `retained`: sources whose complete current text the kept tail holds. Returns what to re-deliver. */
  compacted(retained: readonly { readonly path: string; readonly contentHash: string }[]): Promise<Delivery>;
  /** Waits for the background index. */
  indexed(): Promise<void>;
  /** The ledger now: every known source and its state. `contentHash` is "" where the file could not be read. */
  sources(): readonly SourceInfo[];
  /** Stops the index. */
  close(): void;
}
