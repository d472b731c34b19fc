/**
 * Everything a run can say, as one closed union. The recorder turns events into session records, ui/ turns them into
 * text; both match exhaustively. Refuses: behaviour.
 */
import type { ToolCall, Usage } from "./message.ts";

/** `file_write` audit data. `path` is relative to the workspace root; hashes are `xxh64:` + 16 hex digits. */
export type FileWrite = {
  readonly kind: "file_write";
  readonly op: "create" | "replace" | "edit";
  readonly path: string;
  readonly beforeHash?: string;
  readonly beforeBytes?: number;
  readonly afterHash?: string;
  readonly afterBytes?: number;
  readonly status: "ok" | "failed";
};

/** `shell_exec` life-cycle data. A background process has one `running` effect and one terminal effect. */
export type ShellExec = {
  readonly kind: "shell_exec";
  readonly processId?: string;
  readonly command: readonly string[];
  /** Relative to the workspace root, `.` for the root itself. */
  readonly cwd: string;
  readonly processStatus: "running" | "ok" | "failed" | "timeout" | "cancelled";
  readonly exitCode: number | null;
  readonly signal?: string;
  readonly elapsedMs: number;
  readonly processKind: "one-shot" | "background";
};

export type SkillActivated = {
  readonly kind: "skill_activated";
  readonly name: string;
  readonly path: string;
  readonly contentHash: string;
  readonly byteCount: number;
  readonly references: readonly {
    readonly path: string;
    readonly contentHash: string;
    readonly byteCount: number;
    readonly truncated: boolean;
  }[];
};

export type Effect = FileWrite | ShellExec | SkillActivated;

/** Something a person should know that is not the answer. `code` is stable and machine-readable. */
export type Diagnostic = {
  readonly severity: "info" | "warning" | "error";
  readonly code: string;
  readonly message: string;
  /** The file it speaks of, where there is one. */
  readonly path?: string;
  /** 1-based line in `path`. */
  readonly line?: number;
};

/** `pin`: an ordinary file that the user pinned (integrations.md, Compaction). */
export type SourceOrigin = "global" | "ancestor" | "root" | "cwd" | "nested" | "link" | "pin";
export type SourceState = "visible" | "candidate" | "path_only" | "blocked" | "skipped" | "removed" | "dropped";

/** One instruction file as seen by a run (spec context.md, Words). Never carries text. */
export type SourceInfo = {
  readonly path: string;
  readonly scope: string;
  readonly origin: SourceOrigin;
  /** `xxh64:` + 16 hex digits over the raw bytes. */
  readonly contentHash: string;
  readonly byteCount: number;
  readonly truncated: boolean;
  readonly state: SourceState;
  readonly reason: string;
  /** Bytes of its text that the conversation holds; absent where it holds none. */
  readonly heldBytes?: number;
};

/** One entry of the context ledger record (sessions.md `context_ledger`). */
export type LedgerItem = {
  readonly id: string;
  readonly kind: "harness" | "project_instruction" | "pinned_file" | "skill" | "transcript" | "summary" | "tool_archive";
  readonly path?: string;
  readonly scope?: string;
  readonly contentHash?: string;
  readonly byteCount: number;
  readonly tokenEstimate: number;
  readonly state: string;
  readonly reason: string;
};

export type FailureClass =
  | "auth"
  | "quota"
  | "rate_limit"
  | "overloaded"
  | "context_overflow"
  | "invalid_request"
  | "network"
  | "stalled"
  | "truncated"
  | "protocol"
  | "cancelled"
  // The loop's own endings, beside the provider's:
  | "empty_answer"
  | "refusal"
  | "output_limit"
  | "no_progress"
  | "max_turns"
  | "max_cost"
  | "timeout"
  | "policy"
  | "invalid_output"
  | "replay"
  | "internal";

export type TurnStatus = "ok" | "failed" | "cancelled" | "limit" | "policy" | "timeout";

/** How one turn ended. */
export type TurnOutcome = {
  readonly status: TurnStatus;
  /** The final answer ("" when there is none). */
  readonly text: string;
  readonly error?: {
    readonly class: FailureClass;
    readonly message: string;
    /** Of `policy`: what it would have been, had nothing been denied. */
    readonly behind?: FailureClass;
  };
  /** Requests made in this turn. */
  readonly requests: number;
};

export type ToolStatus = "ok" | "failed" | "cancelled";

export type QueueKind = "steering" | "follow-up";
export type QueueAction = "add" | "edit" | "retarget" | "sent" | "cancelled";

export type RunEvent =
  | { readonly type: "turn_started"; readonly turnId: string; readonly text: string }
  | { readonly type: "context"; readonly turnId?: string; readonly sources: readonly SourceInfo[] }
  | {
      readonly type: "context_ledger";
      readonly turnId: string;
      readonly items: readonly LedgerItem[];
      readonly availableInput: number;
      readonly target: number;
      readonly autoCompactionThreshold: number;
      readonly used: number;
      readonly limitSource: string;
    }
  | {
      readonly type: "context_item";
      readonly action: "pin" | "drop" | "recovery";
      readonly item: { readonly id: string; readonly kind: string; readonly path?: string; readonly contentHash?: string };
      readonly reason: string;
    }
  | {
      readonly type: "prompt_metadata";
      readonly turnId: string;
      readonly model: string;
      readonly provider: string;
      /** YYYY-MM-DD */
      readonly date: string;
      readonly cwd: string;
      readonly promptFragments: readonly string[];
      readonly toolNames: readonly string[];
      readonly skillNames: readonly string[];
      readonly contextSources: readonly string[];
      readonly systemPromptHash: string;
      readonly toolCatalogHash: string;
      readonly diagnostics: readonly string[];
    }
  /** A new request of the turn is about to leave (`request` counts from 1 within the run). */
  | { readonly type: "request_started"; readonly turnId: string; readonly request: number }
  | { readonly type: "text_delta"; readonly turnId: string; readonly text: string }
  | { readonly type: "reasoning_delta"; readonly turnId: string; readonly text: string }
  /** One response is complete. `calls` are about to run; `final` says that the turn ends with this text. */
  | {
      readonly type: "assistant_finished";
      readonly turnId: string;
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly final: boolean;
      /** True when the response was cut (failure, cancel): what there was of it is kept and marked. */
      readonly partial?: boolean;
    }
  | { readonly type: "reasoning_finished"; readonly turnId: string; readonly text: string }
  | { readonly type: "usage"; readonly turnId: string; readonly usage: Usage }
  | {
      readonly type: "tool_started";
      readonly turnId: string;
      readonly callId: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      readonly mcp?: { readonly server: string; readonly tool: string };
    }
  | {
      readonly type: "tool_finished";
      readonly turnId: string;
      readonly callId: string;
      readonly name: string;
      readonly status: ToolStatus;
      /** Capped and redacted: safe to log and to show (after sanitising). */
      readonly output: string;
      readonly truncated: boolean;
      readonly elapsedMs: number;
    }
  | { readonly type: "effect"; readonly turnId: string; readonly callId: string; readonly effect: Effect }
  /**
   * The response streamed so far is discarded and asked for again after `delayMs`.
   * Listeners that showed its text mark it as superseded.
   */
  | {
      readonly type: "retrying";
      readonly turnId: string;
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly failure: FailureClass;
      readonly message: string;
      /** True when it was a summary that is asked for again: nothing of it was shown. */
      readonly summary?: true;
    }
  | { readonly type: "diagnostic"; readonly diagnostic: Diagnostic }
  | {
      readonly type: "queued";
      readonly queueId: string;
      readonly kind: QueueKind;
      readonly action: QueueAction;
      readonly text: string;
    }
  | {
      readonly type: "compaction";
      readonly summary: string;
      readonly coveredStartSeq: number;
      readonly coveredEndSeq: number;
      readonly sourceHashes: readonly string[];
      readonly trigger: "manual" | "automatic";
      readonly review: "not_required" | "pending" | "approved" | "rejected";
      readonly recoveryHandle: string;
      readonly model: string;
      readonly usage?: Usage;
      readonly beforeTokens: number;
      readonly afterTokens: number;
    }
  | { readonly type: "compaction_review"; readonly recoveryHandle: string; readonly review: "approved" | "rejected" }
  | {
      readonly type: "mcp_config_changed";
      readonly turnId: string;
      readonly previous: readonly { readonly path: string; readonly hash: string }[];
      readonly current: readonly { readonly path: string; readonly hash: string }[];
      readonly diagnostics: readonly string[];
    }
  | {
      readonly type: "acp_session";
      readonly localSessionId: string;
      readonly agentName: string;
      readonly acpSessionId: string;
      readonly command: string;
      readonly protocolVersion: number;
      readonly agentInfo?: { readonly name: string; readonly version: string };
    }
  | {
      readonly type: "acp_permission_request";
      readonly turnId: string;
      readonly toolCallId: string;
      readonly title: string;
      readonly options: readonly { readonly id: string; readonly name: string; readonly kind: string }[];
    }
  | {
      readonly type: "acp_permission_outcome";
      readonly turnId: string;
      readonly toolCallId: string;
      readonly outcome: "selected" | "cancelled";
      readonly optionId?: string;
    }
  | { readonly type: "session_renamed"; readonly title: string }
  | { readonly type: "cancelled"; readonly turnId: string; readonly reason: string }
  | { readonly type: "failed"; readonly turnId: string; readonly error: string; readonly failure: FailureClass }
  /** The turn is over, whatever its end; nothing more of this turn follows. */
  | { readonly type: "turn_finished"; readonly turnId: string };

export type Emit = (event: RunEvent) => void;
