/**
 * RunEvent → session record: the only translation (house rule 2). Everything a person or a model wrote is redacted here.
 * Refuses: deltas (the finished texts are kept), deciding when a log is opened.
 */
import { redactValue } from "../base/redact.ts";
import type { SessionLog } from "../session/log.ts";
import type { SessionRecord, UsageFields } from "../session/records.ts";
import type { Effect, RunEvent } from "../types/event.ts";
import type { Usage } from "../types/message.ts";

export type RecorderOptions = {
  readonly log: SessionLog;
  readonly redact: (text: string) => string;
};

/** Snake-case usage with known fields only. */
export function usageFields(usage: Usage): UsageFields {
  return {
    ...(usage.inputTokens !== undefined && { input_tokens: usage.inputTokens }),
    ...(usage.outputTokens !== undefined && { output_tokens: usage.outputTokens }),
    ...(usage.cacheReadTokens !== undefined && { cache_read_tokens: usage.cacheReadTokens }),
    ...(usage.cacheWriteTokens !== undefined && { cache_write_tokens: usage.cacheWriteTokens }),
    ...(usage.reasoningTokens !== undefined && { reasoning_tokens: usage.reasoningTokens }),
    ...(usage.costUsd !== undefined && { cost_usd: usage.costUsd }),
  };
}

function effectRecord(effect: Effect, turnId: string, callId: string, redact: (text: string) => string): SessionRecord {
  switch (effect.kind) {
    case "file_write":
      return {
        type: "file_write",
        turn_id: turnId,
        call_id: callId,
        op: effect.op,
        path: redact(effect.path),
        ...(effect.beforeHash !== undefined && { before_hash: effect.beforeHash }),
        ...(effect.beforeBytes !== undefined && { before_bytes: effect.beforeBytes }),
        ...(effect.afterHash !== undefined && { after_hash: effect.afterHash }),
        ...(effect.afterBytes !== undefined && { after_bytes: effect.afterBytes }),
        status: effect.status,
      };
    case "shell_exec":
      return {
        type: "shell_exec",
        turn_id: turnId,
        call_id: callId,
        ...(effect.processId !== undefined && { process_id: effect.processId }),
        command: redactValue(effect.command, redact),
        cwd: effect.cwd,
        process_status: effect.processStatus,
        exit_code: effect.exitCode,
        ...(effect.signal !== undefined && { signal: effect.signal }),
        elapsed_ms: effect.elapsedMs,
        kind: effect.processKind,
      };
    case "skill_activated":
      return {
        type: "skill_activated",
        name: effect.name,
        path: effect.path,
        content_hash: effect.contentHash,
        byte_count: effect.byteCount,
        references: effect.references.map((reference) => ({
          path: reference.path,
          content_hash: reference.contentHash,
          byte_count: reference.byteCount,
          truncated: reference.truncated,
        })),
      };
  }
}

type Translation = { readonly redact: (text: string) => string; readonly request: number };

/** The record of an event; undefined for events that are not kept. */
function recordOf(event: RunEvent, { redact, request }: Translation): SessionRecord | undefined {
  switch (event.type) {
    case "turn_started":
      return { type: "user", turn_id: event.turnId, text: redact(event.text) };
    case "context":
      return {
        type: "context",
        ...(event.turnId !== undefined && { turn_id: event.turnId }),
        sources: event.sources.map((source) => ({
          path: source.path,
          scope: source.scope,
          origin: source.origin,
          content_hash: source.contentHash,
          truncated: source.truncated,
          byte_count: source.byteCount,
        })),
      };
    case "context_ledger":
      return {
        type: "context_ledger",
        turn_id: event.turnId,
        items: event.items.map((item) => ({
          id: item.id,
          kind: item.kind,
          ...(item.path !== undefined && { path: item.path }),
          ...(item.scope !== undefined && { scope: item.scope }),
          ...(item.contentHash !== undefined && { content_hash: item.contentHash }),
          byte_count: item.byteCount,
          token_estimate: item.tokenEstimate,
          state: item.state,
          reason: item.reason,
        })),
        available_input: event.availableInput,
        target: event.target,
        auto_compaction_threshold: event.autoCompactionThreshold,
        used: event.used,
        limit_source: event.limitSource,
      };
    case "context_item":
      return {
        type: `context_${event.action}`,
        item: {
          id: event.item.id,
          kind: event.item.kind,
          ...(event.item.path !== undefined && { path: event.item.path }),
          ...(event.item.contentHash !== undefined && { content_hash: event.item.contentHash }),
        },
        reason: event.reason,
      };
    case "prompt_metadata":
      return {
        type: "prompt_metadata",
        turn_id: event.turnId,
        model: event.model,
        provider: event.provider,
        date: event.date,
        cwd: event.cwd,
        prompt_fragments: event.promptFragments,
        tool_names: event.toolNames,
        skill_names: event.skillNames,
        context_sources: event.contextSources,
        system_prompt_hash: event.systemPromptHash,
        tool_catalog_hash: event.toolCatalogHash,
        diagnostics: event.diagnostics.map(redact),
      };
    case "assistant_finished":
      if (event.text === "") return undefined;
      return {
        type: "assistant_finished",
        turn_id: event.turnId,
        text: redact(event.text),
        ...(event.partial && { partial: true }),
        request,
      };
    case "reasoning_finished":
      return { type: "reasoning_finished", turn_id: event.turnId, text: redact(event.text), request };
    case "usage":
      return { type: "usage", turn_id: event.turnId, ...usageFields(event.usage), request };
    case "tool_started":
      return {
        type: "tool_started",
        turn_id: event.turnId,
        call_id: event.callId,
        name: event.name,
        arguments: redactValue(event.arguments, redact),
        ...(event.mcp && { mcp: event.mcp }),
        request,
      };
    case "tool_finished":
      return {
        type: "tool_finished",
        turn_id: event.turnId,
        call_id: event.callId,
        status: event.status,
        output: redact(event.output),
        truncated: event.truncated,
        elapsed_ms: event.elapsedMs,
      };
    case "effect":
      return effectRecord(event.effect, event.turnId, event.callId, redact);
    case "queued":
      return { type: "queued_input", queue_id: event.queueId, kind: event.kind, action: event.action, text: redact(event.text) };
    case "compaction":
      return {
        type: "compaction",
        summary: redact(event.summary),
        covered_start_seq: event.coveredStartSeq,
        covered_end_seq: event.coveredEndSeq,
        source_hashes: event.sourceHashes,
        trigger: event.trigger,
        review: event.review,
        recovery_handle: event.recoveryHandle,
        model: event.model,
        ...(event.usage && { usage: usageFields(event.usage) }),
        before_tokens: event.beforeTokens,
        after_tokens: event.afterTokens,
      };
    case "compaction_review":
      return { type: "compaction_review", recovery_handle: event.recoveryHandle, review: event.review };
    case "mcp_config_changed":
      return {
        type: "mcp_config_changed",
        turn_id: event.turnId,
        previous: event.previous,
        current: event.current,
        diagnostics: event.diagnostics.map(redact),
      };
    case "acp_session":
      return {
        type: "acp_session",
        local_session_id: event.localSessionId,
        agent_name: event.agentName,
        acp_session_id: event.acpSessionId,
        command: redact(event.command),
        protocol_version: event.protocolVersion,
        ...(event.agentInfo && { agent_info: event.agentInfo }),
      };
    case "acp_permission_request":
      return {
        type: "acp_permission_request",
        turn_id: event.turnId,
        tool_call_id: event.toolCallId,
        title: redact(event.title),
        options: event.options,
      };
    case "acp_permission_outcome":
      return {
        type: "acp_permission_outcome",
        turn_id: event.turnId,
        tool_call_id: event.toolCallId,
        outcome: event.outcome,
        ...(event.optionId !== undefined && { option_id: event.optionId }),
      };
    case "session_renamed":
      return { type: "session_renamed", title: redact(event.title) };
    case "cancelled":
      return { type: "cancelled", turn_id: event.turnId, reason: event.reason };
    case "failed":
      return { type: "failed", turn_id: event.turnId, error: redact(event.error), class: event.failure };
    case "request_started":
    case "text_delta":
    case "reasoning_delta":
    case "retrying":
    case "diagnostic":
    case "turn_finished":
      return undefined;
  }
}

/**
 * Returns the function every event goes through before anybody else sees it. Synced at the end of a turn, and before a
 * side effect is reported as done.
 */
export function createRecorder({ log, redact }: RecorderOptions): (event: RunEvent) => void {
  let request = 0;
  return (event) => {
    if (event.type === "request_started") request = event.request;
    const record = recordOf(event, { redact, request });
    if (record) log.append(record);
    if (event.type === "turn_finished" || event.type === "effect") log.sync();
  };
}
