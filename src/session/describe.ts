/** One record as words for a person: used by `inspect --format text`, by exports and by search. Refuses: escaping, layout. */
import { jsonText } from "./json-text.ts";
import { modelName } from "./model-name.ts";
import type { StoredRecord, UsageFields } from "./records.ts";

/** A short account of what the record says, one line where its texts are one line. */
export function describeRecord(record: StoredRecord): string {
  switch (record.type) {
    case "session_meta":
      return `${record.session_id} ${modelName(record.provider, record.model)} in ${record.cwd}${record.title === "" ? "" : `: ${record.title}`}`;
    case "user":
      return record.text;
    case "assistant_finished":
      return record.partial === true ? `${record.text} [cut off]` : record.text;
    case "reasoning_finished":
      return record.text;
    case "usage":
      return describeUsage(record);
    case "tool_started":
      return `${record.name} ${jsonText(record.arguments)} (${record.call_id})`;
    case "tool_finished":
      return `${record.call_id} ${record.status} ${record.elapsed_ms} ms${record.truncated ? " truncated" : ""}: ${record.output}`;
    case "file_write":
      return `${record.op} ${record.path} ${record.status}${describeBytes(record.before_bytes, record.after_bytes)}`;
    case "shell_exec":
      return `${record.command.join(" ")} in ${record.cwd}: ${record.process_status}${record.exit_code === null ? "" : `, exit ${record.exit_code}`}${record.signal === undefined ? "" : `, ${record.signal}`}, ${record.elapsed_ms} ms, ${record.kind}${record.process_id === undefined ? "" : ` ${record.process_id}`}`;
    case "compaction":
      return `${record.trigger}, ${record.review}, records ${record.covered_start_seq} to ${record.covered_end_seq}, ${record.before_tokens} to ${record.after_tokens} tokens: ${record.summary}`;
    case "compaction_review":
      return `${record.recovery_handle} ${record.review}`;
    case "queued_input":
      return `${record.kind} ${record.action}: ${record.text}`;
    case "cancelled":
      return record.reason;
    case "failed":
      return `${record.class}: ${record.error}`;
    case "session_renamed":
      return record.title;
    default:
      return describeEvidence(record);
  }
}

function describeEvidence(record: StoredRecord): string {
  switch (record.type) {
    case "context":
      return record.sources.length === 0
        ? "(no sources)"
        : record.sources.map((source) => `${source.path} (${source.origin}, ${source.byte_count} bytes)`).join(", ");
    case "context_ledger":
      return `${record.items.length} items, ${record.used} of ${record.available_input} tokens (${record.limit_source})`;
    case "context_pin":
    case "context_drop":
    case "context_recovery":
      return `${record.item.path ?? record.item.id}: ${record.reason}`;
    case "prompt_metadata":
      return `${modelName(record.provider, record.model)}, ${record.tool_names.length} tools, system ${record.system_prompt_hash}`;
    case "mcp_config_changed":
      return record.current.map((file) => `${file.path} ${file.hash}`).join(", ");
    case "skill_activated":
      return `${record.name} (${record.path})`;
    case "acp_session":
      return `${record.agent_name} ${record.acp_session_id}: ${record.command}`;
    case "acp_permission_request":
      return `${record.title} [${record.options.map((option) => option.name).join(" | ")}]`;
    case "acp_permission_outcome":
      return `${record.outcome}${record.option_id === undefined ? "" : ` ${record.option_id}`}`;
    default:
      return "";
  }
}

/** `1200 in (1000 cached), 34 out, $0.0123`; unknown fields are left out, none at all says so. */
export function describeUsage(usage: UsageFields): string {
  const parts: string[] = [];
  const cached = usage.cache_read_tokens === undefined ? "" : ` (${usage.cache_read_tokens} cached)`;
  if (usage.input_tokens !== undefined) parts.push(`${usage.input_tokens} in${cached}`);
  if (usage.output_tokens !== undefined) parts.push(`${usage.output_tokens} out`);
  if (usage.reasoning_tokens !== undefined) parts.push(`${usage.reasoning_tokens} reasoning`);
  if (usage.cost_usd !== undefined) parts.push(`$${usage.cost_usd.toFixed(4)}`);
  return parts.length === 0 ? "unknown" : parts.join(", ");
}

function describeBytes(before: number | undefined, after: number | undefined): string {
  if (before === undefined && after === undefined) return "";
  return ` (${before ?? 0} to ${after ?? 0} bytes)`;
}
