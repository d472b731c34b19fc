/**
 * Zod schemas of every record type, for readers. Loaded only for a record that is not as this program writes it (zod costs
 * start-up time); writers never come here.
 * Objects are loose: fields a newer program added are kept. Refuses: unknown types (classify says "foreign").
 */
import { z } from "zod";
import { glance } from "./quick-check.ts";
import type { ReadRecord, RecordType, StoredRecord } from "./records.ts";

const count = z.number().nonnegative();
const texts = z.array(z.string());
const fileHash = z.looseObject({ path: z.string(), hash: z.string() });
const review = z.enum(["not_required", "pending", "approved", "rejected"]);
const usageFields = {
  input_tokens: count.optional(),
  output_tokens: count.optional(),
  cache_read_tokens: count.optional(),
  cache_write_tokens: count.optional(),
  reasoning_tokens: count.optional(),
  cost_usd: count.optional(),
};
const turn = { turn_id: z.string() };
const call = { turn_id: z.string(), call_id: z.string() };
const request = { request: count.optional() };
const contextItem = z.looseObject({
  item: z.looseObject({ id: z.string(), kind: z.string(), path: z.string().optional(), content_hash: z.string().optional() }),
  reason: z.string(),
});

/** One schema a record type, without the envelope (sessions.md, Records). */
export const recordSchemas: { readonly [T in RecordType]: z.ZodType } = {
  session_meta: z.looseObject({
    session_id: z.string(),
    cwd: z.string(),
    workspace: z.string(),
    title: z.string(),
    provider: z.string(),
    model: z.string(),
    websearch: z.string(),
    app_version: z.string(),
    config: z.looseObject({
      files: z.array(z.looseObject({ path: z.string(), source: z.string(), hash: z.string() })),
      origins: z.record(z.string(), z.string()),
    }),
  }),
  context: z.looseObject({
    turn_id: z.string().optional(),
    sources: z.array(
      z.looseObject({
        path: z.string(),
        scope: z.string(),
        origin: z.string(),
        content_hash: z.string(),
        truncated: z.boolean(),
        byte_count: count,
      }),
    ),
  }),
  context_ledger: z.looseObject({
    ...turn,
    items: z.array(
      z.looseObject({
        id: z.string(),
        kind: z.string(),
        path: z.string().optional(),
        scope: z.string().optional(),
        content_hash: z.string().optional(),
        byte_count: count,
        token_estimate: count,
        state: z.string(),
        reason: z.string(),
      }),
    ),
    available_input: z.number(),
    target: z.number(),
    auto_compaction_threshold: z.number(),
    used: count,
    limit_source: z.string(),
  }),
  context_pin: contextItem,
  context_drop: contextItem,
  context_recovery: contextItem,
  prompt_metadata: z.looseObject({
    ...turn,
    model: z.string(),
    provider: z.string(),
    date: z.string(),
    cwd: z.string(),
    prompt_fragments: texts,
    tool_names: texts,
    skill_names: texts,
    context_sources: texts,
    system_prompt_hash: z.string(),
    tool_catalog_hash: z.string(),
    diagnostics: texts,
  }),
  compaction: z.looseObject({
    summary: z.string(),
    covered_start_seq: count,
    covered_end_seq: count,
    source_hashes: texts,
    trigger: z.enum(["manual", "automatic"]),
    review,
    recovery_handle: z.string(),
    model: z.string(),
    usage: z.looseObject(usageFields).optional(),
    before_tokens: count,
    after_tokens: count,
  }),
  compaction_review: z.looseObject({ recovery_handle: z.string(), review }),
  user: z.looseObject({ ...turn, text: z.string() }),
  assistant_finished: z.looseObject({ ...turn, text: z.string(), partial: z.boolean().optional(), ...request }),
  reasoning_finished: z.looseObject({ ...turn, text: z.string(), ...request }),
  usage: z.looseObject({ ...turn, ...usageFields, ...request }),
  tool_started: z.looseObject({
    ...call,
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    mcp: z.looseObject({ server: z.string(), tool: z.string() }).optional(),
    ...request,
  }),
  tool_finished: z.looseObject({
    ...call,
    status: z.enum(["ok", "failed", "cancelled"]),
    output: z.string(),
    truncated: z.boolean(),
    elapsed_ms: count,
  }),
  file_write: z.looseObject({
    ...call,
    op: z.enum(["create", "replace", "edit"]),
    path: z.string(),
    before_hash: z.string().optional(),
    before_bytes: count.optional(),
    after_hash: z.string().optional(),
    after_bytes: count.optional(),
    status: z.enum(["ok", "failed"]),
  }),
  shell_exec: z.looseObject({
    ...call,
    process_id: z.string().optional(),
    command: texts,
    cwd: z.string(),
    process_status: z.enum(["running", "ok", "failed", "timeout", "cancelled"]),
    exit_code: z.number().nullable(),
    signal: z.string().optional(),
    elapsed_ms: count,
    kind: z.enum(["one-shot", "background"]),
  }),
  mcp_config_changed: z.looseObject({
    ...turn,
    previous: z.array(fileHash),
    current: z.array(fileHash),
    diagnostics: texts,
  }),
  skill_activated: z.looseObject({
    name: z.string(),
    path: z.string(),
    content_hash: z.string(),
    byte_count: count,
    references: z.array(z.looseObject({ path: z.string(), content_hash: z.string(), byte_count: count, truncated: z.boolean() })),
  }),
  queued_input: z.looseObject({
    queue_id: z.string(),
    kind: z.enum(["steering", "follow-up"]),
    action: z.enum(["add", "edit", "retarget", "sent", "cancelled"]),
    text: z.string(),
    ...request,
  }),
  acp_session: z.looseObject({
    local_session_id: z.string(),
    agent_name: z.string(),
    acp_session_id: z.string(),
    command: z.string(),
    protocol_version: z.number(),
    agent_info: z.looseObject({ name: z.string(), version: z.string() }).optional(),
  }),
  acp_permission_request: z.looseObject({
    ...turn,
    tool_call_id: z.string(),
    title: z.string(),
    options: z.array(z.looseObject({ id: z.string(), name: z.string(), kind: z.string() })),
  }),
  acp_permission_outcome: z.looseObject({
    ...turn,
    tool_call_id: z.string(),
    outcome: z.enum(["selected", "cancelled"]),
    option_id: z.string().optional(),
  }),
  cancelled: z.looseObject({ ...turn, reason: z.string() }),
  failed: z.looseObject({ ...turn, error: z.string(), class: z.string() }),
  session_renamed: z.looseObject({ title: z.string() }),
};

/**
 * Judges one parsed JSON value. Undefined: not a record of ours (wrong shape). A known record keeps the very object that was
 * parsed, so nothing is lost on export.
 */
export function classify(value: unknown): ReadRecord | undefined {
  const seen = glance(value);
  if (seen !== "look closer") return seen;
  const record = value as StoredRecord;
  return recordSchemas[record.type].safeParse(record).success ? { known: true, record } : undefined;
}
