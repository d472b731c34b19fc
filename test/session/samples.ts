/** One valid record of every type, and small builders for hand-made session files. */
import type { RecordType, SessionRecord } from "../../src/session/records.ts";

export const SAMPLES: { readonly [T in RecordType]: SessionRecord & { readonly type: T } } = {
  session_meta: {
    type: "session_meta",
    session_id: "session-20260101-000000-abcd",
    cwd: "/w",
    workspace: "/w",
    title: "a title",
    provider: "openai",
    model: "gpt",
    websearch: "none",
    app_version: "0.1.0",
    config: { files: [{ path: "/c.toml", source: "user", hash: "xxh64:0000000000000001" }], origins: { model: "user" } },
  },
  context: {
    type: "context",
    turn_id: "turn-1",
    sources: [{ path: "/w/AGENTS.md", scope: ".", origin: "root", content_hash: "xxh64:aa", truncated: false, byte_count: 3 }],
  },
  context_ledger: {
    type: "context_ledger",
    turn_id: "turn-1",
    items: [{ id: "ctx_1", kind: "transcript", byte_count: 1, token_estimate: 1, state: "visible", reason: "r" }],
    available_input: 10,
    target: 8,
    auto_compaction_threshold: 9,
    used: 1,
    limit_source: "default",
  },
  context_pin: { type: "context_pin", item: { id: "a", kind: "pinned_file", path: "x" }, reason: "asked" },
  context_drop: { type: "context_drop", item: { id: "a", kind: "pinned_file" }, reason: "asked" },
  context_recovery: { type: "context_recovery", item: { id: "a", kind: "summary", content_hash: "xxh64:1" }, reason: "asked" },
  prompt_metadata: {
    type: "prompt_metadata",
    turn_id: "turn-1",
    model: "gpt",
    provider: "openai",
    date: "2026-01-01",
    cwd: "/w",
    prompt_fragments: ["policy"],
    tool_names: ["run_shell"],
    skill_names: [],
    context_sources: [],
    system_prompt_hash: "xxh64:1",
    tool_catalog_hash: "xxh64:2",
    diagnostics: [],
  },
  compaction: {
    type: "compaction",
    summary: "so far",
    covered_start_seq: 1,
    covered_end_seq: 4,
    source_hashes: [],
    trigger: "manual",
    review: "not_required",
    recovery_handle: "rec-1",
    model: "gpt",
    usage: { input_tokens: 3 },
    before_tokens: 10,
    after_tokens: 2,
  },
  compaction_review: { type: "compaction_review", recovery_handle: "rec-1", review: "approved" },
  user: { type: "user", turn_id: "turn-1", text: "hello" },
  assistant_finished: { type: "assistant_finished", turn_id: "turn-1", text: "hi", request: 1 },
  reasoning_finished: { type: "reasoning_finished", turn_id: "turn-1", text: "hmm", request: 1 },
  usage: { type: "usage", turn_id: "turn-1", input_tokens: 5, output_tokens: 2, cost_usd: 0.01, request: 1 },
  tool_started: { type: "tool_started", turn_id: "turn-1", call_id: "c1", name: "run_shell", arguments: { argv: ["ls"] } },
  tool_finished: {
    type: "tool_finished",
    turn_id: "turn-1",
    call_id: "c1",
    status: "ok",
    output: "a",
    truncated: false,
    elapsed_ms: 3,
  },
  file_write: {
    type: "file_write",
    turn_id: "turn-1",
    call_id: "c1",
    op: "create",
    path: "a.txt",
    after_hash: "xxh64:1",
    after_bytes: 4,
    status: "ok",
  },
  shell_exec: {
    type: "shell_exec",
    turn_id: "turn-1",
    call_id: "c1",
    command: ["ls"],
    cwd: ".",
    process_status: "ok",
    exit_code: 0,
    elapsed_ms: 3,
    kind: "one-shot",
  },
  mcp_config_changed: {
    type: "mcp_config_changed",
    turn_id: "turn-1",
    previous: [],
    current: [{ path: "m", hash: "h" }],
    diagnostics: [],
  },
  skill_activated: {
    type: "skill_activated",
    name: "s",
    path: "/s",
    content_hash: "xxh64:1",
    byte_count: 1,
    references: [{ path: "r", content_hash: "xxh64:2", byte_count: 2, truncated: true }],
  },
  queued_input: { type: "queued_input", queue_id: "q1", kind: "follow-up", action: "add", text: "next" },
  acp_session: {
    type: "acp_session",
    local_session_id: "s",
    agent_name: "a",
    acp_session_id: "x",
    command: "agent",
    protocol_version: 1,
    agent_info: { name: "n", version: "1" },
  },
  acp_permission_request: {
    type: "acp_permission_request",
    turn_id: "turn-1",
    tool_call_id: "c",
    title: "t",
    options: [{ id: "1", name: "Allow", kind: "allow_once" }],
  },
  acp_permission_outcome: {
    type: "acp_permission_outcome",
    turn_id: "turn-1",
    tool_call_id: "c",
    outcome: "selected",
    option_id: "1",
  },
  cancelled: { type: "cancelled", turn_id: "turn-1", reason: "user" },
  failed: { type: "failed", turn_id: "turn-1", error: "boom", class: "network" },
  session_renamed: { type: "session_renamed", title: "new" },
};

/** One stored line without its newline. Any shape is allowed: tests damage files. */
export function line(seq: number, record: object, extra: object = {}): string {
  return JSON.stringify({
    schema_version: 1,
    seq,
    time: `2026-01-01T00:00:00.${String(seq % 1000).padStart(3, "0")}Z`,
    ...record,
    ...extra,
  });
}

/** A whole file from records. */
export function fileOf(records: readonly object[]): string {
  return `${records.map((record, seq) => line(seq, record)).join("\n")}\n`;
}

export const user = (turn: number, text: string) => ({ type: "user", turn_id: `turn-${turn}`, text });
export const said = (turn: number, text: string, extra: object = {}) => ({
  type: "assistant_finished",
  turn_id: `turn-${turn}`,
  text,
  ...extra,
});
export const started = (turn: number, id: string, extra: object = {}) => ({
  type: "tool_started",
  turn_id: `turn-${turn}`,
  call_id: id,
  name: "read",
  arguments: { id },
  ...extra,
});
export const finished = (turn: number, id: string, output = `result ${id}`) => ({
  type: "tool_finished",
  turn_id: `turn-${turn}`,
  call_id: id,
  status: "ok",
  output,
  truncated: false,
  elapsed_ms: 1,
});
