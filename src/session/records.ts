/**
 * Session record shapes (sessions.md, Records): the contract of the log, field by field as stored. The zod twins live in
 * record-schemas.ts, which is loaded only by readers. Refuses: reading, writing, translating.
 *
 * `request` (optional, beside the fields of the table) is the number of the model request inside the run. It is what lets a
 * resume group the calls of one response exactly; readers work without it.
 */

/** The version this program writes. */
export const SCHEMA_VERSION = 1;

/** Fields every stored line has. `time` is ISO 8601 UTC with milliseconds; `seq` counts from 0. */
export type Envelope = { readonly schema_version: number; readonly seq: number; readonly time: string };

export type FileHash = { readonly path: string; readonly hash: string };

export type SessionMetaRecord = {
  readonly type: "session_meta";
  readonly session_id: string;
  readonly cwd: string;
  readonly workspace: string;
  readonly title: string;
  readonly provider: string;
  readonly model: string;
  readonly websearch: string;
  readonly app_version: string;
  readonly config: {
    readonly files: readonly { readonly path: string; readonly source: string; readonly hash: string }[];
    readonly origins: Readonly<Record<string, string>>;
  };
};

export type ContextRecord = {
  readonly type: "context";
  readonly turn_id?: string;
  readonly sources: readonly {
    readonly path: string;
    readonly scope: string;
    readonly origin: string;
    readonly content_hash: string;
    readonly truncated: boolean;
    readonly byte_count: number;
  }[];
};

export type ContextLedgerRecord = {
  readonly type: "context_ledger";
  readonly turn_id: string;
  readonly items: readonly {
    readonly id: string;
    readonly kind: string;
    readonly path?: string;
    readonly scope?: string;
    readonly content_hash?: string;
    readonly byte_count: number;
    readonly token_estimate: number;
    readonly state: string;
    readonly reason: string;
  }[];
  readonly available_input: number;
  readonly target: number;
  readonly auto_compaction_threshold: number;
  readonly used: number;
  readonly limit_source: string;
};

export type ContextItemRecord = {
  readonly type: "context_pin" | "context_drop" | "context_recovery";
  readonly item: { readonly id: string; readonly kind: string; readonly path?: string; readonly content_hash?: string };
  readonly reason: string;
};

export type PromptMetadataRecord = {
  readonly type: "prompt_metadata";
  readonly turn_id: string;
  readonly model: string;
  readonly provider: string;
  readonly date: string;
  readonly cwd: string;
  readonly prompt_fragments: readonly string[];
  readonly tool_names: readonly string[];
  readonly skill_names: readonly string[];
  readonly context_sources: readonly string[];
  readonly system_prompt_hash: string;
  readonly tool_catalog_hash: string;
  readonly diagnostics: readonly string[];
};

/** Token counts of one request; a missing field is unknown. */
export type UsageFields = {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly cost_usd?: number;
};

export type ReviewState = "not_required" | "pending" | "approved" | "rejected";

export type CompactionRecord = {
  readonly type: "compaction";
  readonly summary: string;
  readonly covered_start_seq: number;
  readonly covered_end_seq: number;
  readonly source_hashes: readonly string[];
  readonly trigger: "manual" | "automatic";
  readonly review: ReviewState;
  readonly recovery_handle: string;
  readonly model: string;
  readonly usage?: UsageFields;
  readonly before_tokens: number;
  readonly after_tokens: number;
};

export type CompactionReviewRecord = {
  readonly type: "compaction_review";
  readonly recovery_handle: string;
  readonly review: ReviewState;
};

export type UserRecord = { readonly type: "user"; readonly turn_id: string; readonly text: string };

export type AssistantFinishedRecord = {
  readonly type: "assistant_finished";
  readonly turn_id: string;
  readonly text: string;
  /** The response was cut; the text is what there was of it. */
  readonly partial?: boolean;
  readonly request?: number;
};

export type ReasoningFinishedRecord = {
  readonly type: "reasoning_finished";
  readonly turn_id: string;
  readonly text: string;
  readonly request?: number;
};

export type UsageRecord = { readonly type: "usage"; readonly turn_id: string; readonly request?: number } & UsageFields;

export type ToolStartedRecord = {
  readonly type: "tool_started";
  readonly turn_id: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly mcp?: { readonly server: string; readonly tool: string };
  readonly request?: number;
};

export type ToolFinishedRecord = {
  readonly type: "tool_finished";
  readonly turn_id: string;
  readonly call_id: string;
  readonly status: "ok" | "failed" | "cancelled";
  readonly output: string;
  readonly truncated: boolean;
  readonly elapsed_ms: number;
};

export type FileWriteRecord = {
  readonly type: "file_write";
  readonly turn_id: string;
  readonly call_id: string;
  readonly op: "create" | "replace" | "edit";
  readonly path: string;
  readonly before_hash?: string;
  readonly before_bytes?: number;
  readonly after_hash?: string;
  readonly after_bytes?: number;
  readonly status: "ok" | "failed";
};

export type ShellExecRecord = {
  readonly type: "shell_exec";
  readonly turn_id: string;
  readonly call_id: string;
  readonly process_id?: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly process_status: "running" | "ok" | "failed" | "timeout" | "cancelled";
  readonly exit_code: number | null;
  readonly signal?: string;
  readonly elapsed_ms: number;
  readonly kind: "one-shot" | "background";
};

export type McpConfigChangedRecord = {
  readonly type: "mcp_config_changed";
  readonly turn_id: string;
  readonly previous: readonly FileHash[];
  readonly current: readonly FileHash[];
  readonly diagnostics: readonly string[];
};

export type SkillActivatedRecord = {
  readonly type: "skill_activated";
  readonly name: string;
  readonly path: string;
  readonly content_hash: string;
  readonly byte_count: number;
  readonly references: readonly {
    readonly path: string;
    readonly content_hash: string;
    readonly byte_count: number;
    readonly truncated: boolean;
  }[];
};

export type QueuedInputRecord = {
  readonly type: "queued_input";
  readonly queue_id: string;
  readonly kind: "steering" | "follow-up";
  readonly action: "add" | "edit" | "retarget" | "sent" | "cancelled";
  readonly text: string;
  readonly request?: number;
};

export type AcpSessionRecord = {
  readonly type: "acp_session";
  readonly local_session_id: string;
  readonly agent_name: string;
  readonly acp_session_id: string;
  readonly command: string;
  readonly protocol_version: number;
  readonly agent_info?: { readonly name: string; readonly version: string };
};

export type AcpPermissionRequestRecord = {
  readonly type: "acp_permission_request";
  readonly turn_id: string;
  readonly tool_call_id: string;
  readonly title: string;
  readonly options: readonly { readonly id: string; readonly name: string; readonly kind: string }[];
};

export type AcpPermissionOutcomeRecord = {
  readonly type: "acp_permission_outcome";
  readonly turn_id: string;
  readonly tool_call_id: string;
  readonly outcome: "selected" | "cancelled";
  readonly option_id?: string;
};

export type CancelledRecord = { readonly type: "cancelled"; readonly turn_id: string; readonly reason: string };

export type FailedRecord = {
  readonly type: "failed";
  readonly turn_id: string;
  readonly error: string;
  readonly class: string;
};

export type SessionRenamedRecord = { readonly type: "session_renamed"; readonly title: string };

/** One record without its envelope: what a writer is given. */
export type SessionRecord =
  | SessionMetaRecord
  | ContextRecord
  | ContextLedgerRecord
  | ContextItemRecord
  | PromptMetadataRecord
  | CompactionRecord
  | CompactionReviewRecord
  | UserRecord
  | AssistantFinishedRecord
  | ReasoningFinishedRecord
  | UsageRecord
  | ToolStartedRecord
  | ToolFinishedRecord
  | FileWriteRecord
  | ShellExecRecord
  | McpConfigChangedRecord
  | SkillActivatedRecord
  | QueuedInputRecord
  | AcpSessionRecord
  | AcpPermissionRequestRecord
  | AcpPermissionOutcomeRecord
  | CancelledRecord
  | FailedRecord
  | SessionRenamedRecord;

export type RecordType = SessionRecord["type"];

/** A known record as read back: extra fields a newer program wrote are still there at run time. */
export type StoredRecord = Envelope & SessionRecord;

/** A line that is whole but not ours to understand: unknown `type` or higher `schema_version`. Exported, never replayed. */
export type ForeignRecord = Envelope & { readonly type: string } & Readonly<Record<string, unknown>>;

/** One valid line of a session file. */
export type ReadRecord =
  | { readonly known: true; readonly record: StoredRecord }
  | { readonly known: false; readonly record: ForeignRecord };
