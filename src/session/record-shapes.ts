/**
 * The fields of every record type as data: a glance (quick-check.ts) and the schemas (record-schemas.ts) are made of it.
 * Refuses: judging.
 */
import type { RecordType } from "./records.ts";

export type Kind = "text" | "texts" | "texts by name" | "count" | "number" | "number or null" | "flag" | "object";
/** What a field holds: also one of these words, an object, a list of objects. */
export type Wanted = Kind | { readonly words: readonly string[] } | Shape | { readonly each: Shape };
export type Fields = Readonly<Record<string, Wanted>>;
export type Shape = {
  readonly required: Fields;
  readonly optional: Fields;
  /** Of the required ones. */
  readonly count: number;
};

/** Without a prototype: a record may have a field called `constructor`. */
export function named(fields: Fields): Fields {
  return Object.assign(Object.create(null), fields);
}

function shape(required: Fields, optional: Fields = {}): Shape {
  return { required: named(required), optional: named(optional), count: Object.keys(required).length };
}

const words = (...words: readonly string[]) => ({ words });

const TURN = { turn_id: "text" } as const;
const CALL = { ...TURN, call_id: "text" } as const;
const REQUEST = { request: "count" } as const;
const REVIEW = words("not_required", "pending", "approved", "rejected");
const FILE_HASHES = { each: shape({ path: "text", hash: "text" }) };
const USAGE = {
  input_tokens: "count",
  output_tokens: "count",
  cache_read_tokens: "count",
  cache_write_tokens: "count",
  reasoning_tokens: "count",
  cost_usd: "count",
} as const;
const CONTEXT_ITEM = shape({
  item: shape({ id: "text", kind: "text" }, { path: "text", content_hash: "text" }),
  reason: "text",
});

/** One shape a record type, without the envelope (sessions.md, Records). */
export const SHAPES: { readonly [Type in RecordType]: Shape } = {
  session_meta: shape({
    session_id: "text",
    cwd: "text",
    workspace: "text",
    title: "text",
    provider: "text",
    model: "text",
    websearch: "text",
    app_version: "text",
    config: shape({
      files: { each: shape({ path: "text", source: "text", hash: "text" }) },
      origins: "texts by name",
    }),
  }),
  context: shape(
    {
      sources: {
        each: shape({
          path: "text",
          scope: "text",
          origin: "text",
          content_hash: "text",
          truncated: "flag",
          byte_count: "count",
        }),
      },
    },
    TURN,
  ),
  context_ledger: shape({
    ...TURN,
    items: {
      each: shape(
        { id: "text", kind: "text", byte_count: "count", token_estimate: "count", state: "text", reason: "text" },
        { path: "text", scope: "text", content_hash: "text" },
      ),
    },
    available_input: "number",
    target: "number",
    auto_compaction_threshold: "number",
    used: "count",
    limit_source: "text",
  }),
  context_pin: CONTEXT_ITEM,
  context_drop: CONTEXT_ITEM,
  context_recovery: CONTEXT_ITEM,
  prompt_metadata: shape({
    ...TURN,
    model: "text",
    provider: "text",
    date: "text",
    cwd: "text",
    prompt_fragments: "texts",
    tool_names: "texts",
    skill_names: "texts",
    context_sources: "texts",
    system_prompt_hash: "text",
    tool_catalog_hash: "text",
    diagnostics: "texts",
  }),
  compaction: shape(
    {
      summary: "text",
      covered_start_seq: "count",
      covered_end_seq: "count",
      source_hashes: "texts",
      trigger: words("manual", "automatic"),
      review: REVIEW,
      recovery_handle: "text",
      model: "text",
      before_tokens: "count",
      after_tokens: "count",
    },
    { usage: shape({}, USAGE) },
  ),
  compaction_review: shape({ recovery_handle: "text", review: REVIEW }),
  user: shape({ ...TURN, text: "text" }),
  assistant_finished: shape({ ...TURN, text: "text" }, { partial: "flag", ...REQUEST }),
  reasoning_finished: shape({ ...TURN, text: "text" }, REQUEST),
  usage: shape(TURN, { ...USAGE, ...REQUEST }),
  tool_started: shape(
    { ...CALL, name: "text", arguments: "object" },
    { mcp: shape({ server: "text", tool: "text" }), ...REQUEST },
  ),
  tool_finished: shape({
    ...CALL,
    status: words("ok", "failed", "cancelled"),
    output: "text",
    truncated: "flag",
    elapsed_ms: "count",
  }),
  file_write: shape(
    { ...CALL, op: words("create", "replace", "edit"), path: "text", status: words("ok", "failed") },
    { before_hash: "text", before_bytes: "count", after_hash: "text", after_bytes: "count" },
  ),
  shell_exec: shape(
    {
      ...CALL,
      command: "texts",
      cwd: "text",
      process_status: words("running", "ok", "failed", "timeout", "cancelled"),
      exit_code: "number or null",
      elapsed_ms: "count",
      kind: words("one-shot", "background"),
    },
    { process_id: "text", signal: "text" },
  ),
  mcp_config_changed: shape({ ...TURN, previous: FILE_HASHES, current: FILE_HASHES, diagnostics: "texts" }),
  skill_activated: shape({
    name: "text",
    path: "text",
    content_hash: "text",
    byte_count: "count",
    references: { each: shape({ path: "text", content_hash: "text", byte_count: "count", truncated: "flag" }) },
  }),
  queued_input: shape(
    {
      queue_id: "text",
      kind: words("steering", "follow-up"),
      action: words("add", "edit", "retarget", "sent", "cancelled"),
      text: "text",
    },
    REQUEST,
  ),
  acp_session: shape(
    { local_session_id: "text", agent_name: "text", acp_session_id: "text", command: "text", protocol_version: "number" },
    { agent_info: shape({ name: "text", version: "text" }) },
  ),
  acp_permission_request: shape({
    ...TURN,
    tool_call_id: "text",
    title: "text",
    options: { each: shape({ id: "text", name: "text", kind: "text" }) },
  }),
  acp_permission_outcome: shape(
    { ...TURN, tool_call_id: "text", outcome: words("selected", "cancelled") },
    { option_id: "text" },
  ),
  cancelled: shape({ ...TURN, reason: "text" }),
  failed: shape({ ...TURN, error: "text", class: "text" }),
  session_renamed: shape({ title: "text" }),
};
