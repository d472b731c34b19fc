/**
 * The instruction engine's face (context.md C1–C15): chain, mentions, pins, tool touches, changes, compaction, one ledger.
 * No path leads from here to config/, tools/ or provider/ (house rule 7).
 */
import type { Diagnostic, SourceInfo } from "../types/event.ts";
import type { ContextSettings } from "../types/settings.ts";

/** Values for templates (C8). */
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
  /** Absolute path of rg or fd for the background index; undefined uses the in-process walker. */
  readonly indexer?: { readonly kind: "rg" | "fd"; readonly path: string };
  readonly diagnose: (diagnostic: Diagnostic) => void;
};

/** Text for the conversation, and the sources it made visible. `text` is "" when there is nothing to say. */
export type Delivery = { readonly text: string; readonly sources: readonly SourceInfo[] };

export interface ContextEngine {
  /** C3, C9.2: the chain as `<project_context>` for the first message. Also starts the background index (never awaited here). */
  start(): Promise<Delivery>;
  /**
   * C4, C9.3, C9.5, C10: called at each turn boundary before the user message is built: changes, mentions, pins.
   * The text goes at the head of that user message.
   */
  turn(prompt: string): Promise<Delivery>;
  /** C4, C9.4: called once after each tool batch result is capped; text goes at the end of that call's result. */
  touched(paths: readonly { readonly path: string; readonly kind: string; readonly completeHash?: string }[]): Promise<Delivery>;
  /** C4: pins govern every later turn. Paths as a person wrote them. */
  pin(path: string): Promise<{ readonly ok: boolean; readonly message: string }>;
  unpin(path: string): { readonly ok: boolean; readonly message: string };
  /** C3: `/cd`. */
  changeDirectory(cwd: string): void;
  /** C10: hashes recorded by an earlier run, compared with disk at the next `turn`. */
  resumed(sources: readonly { readonly path: string; readonly contentHash: string }[]): void;
  /** C11. `retained`: sources whose complete current text the kept tail holds. Returns what to re-deliver. */
  compacted(retained: readonly { readonly path: string; readonly contentHash: string }[]): Promise<Delivery>;
  /** Waits for the background index. */
  indexed(): Promise<void>;
  /** The ledger now: every known source and its state. */
  sources(): readonly SourceInfo[];
  /** Stops the index's child process, if any. */
  close(): void;
}
