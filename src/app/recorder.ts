/**
 * RunEvent → session record: the only translation (house rule 2). Recorded first, shown second: call it before the
 * listeners. Refuses: deltas, diagnostics, retries (they are display), full texts of files and instructions.
 */
import { redactValue } from "../base/redact.ts";
import type { SessionLog } from "../session/log.ts";
import type { SessionMetaRecord, SessionRecord } from "../session/records.ts";
import { cleanTitle } from "../session/title.ts";
import { usageFields } from "../session/totals.ts";
import type { Effect, RunEvent } from "../types/event.ts";

export type RecorderOptions = {
  /** Undefined for an ephemeral run: nothing is recorded. */
  readonly log: SessionLog | undefined;
  /** base/redact with the credentials of this process. */
  readonly redact: (text: string) => string;
};

/** Returns false when the event's record could not be written; true when it was, or when the event has no record. */
export type Recorder = (event: RunEvent) => boolean;

export function createRecorder({ log, redact }: RecorderOptions): Recorder {
  let request: number | undefined;
  return (event) => {
    if (event.type === "request_started") request = event.request;
    if (log === undefined) return true;
    if (event.type === "turn_finished") {
      log.sync();
      return log.healthy;
    }
    const record = toRecord(event, redact, request);
    if (record === undefined) return true;
    const written = log.append(record);
    // A side effect that cannot be undone is on disk in the log before anybody is told that it happened.
    if (written && isSideEffect(record)) log.sync();
    return written;
  };
}

/** Whether the event belongs in the log at all, or is display only. */
export function hasRecord(event: RunEvent): boolean {
  return toRecord(event, (text) => text, undefined) !== undefined;
}

function isSideEffect(record: SessionRecord): boolean {
  return record.type === "file_write" || record.type === "shell_exec";
}

/** The record of one event; undefined for events that are display only. */
export function toRecord(
  event: RunEvent,
  redact: (text: string) => string,
  request: number | undefined,
): SessionRecord | undefined {
  const numbered = request === undefined ? {} : { request };
  switch (event.type) {
    case "turn_started":
      return { type: "user", turn_id: event.turnId, text: redact(event.text) };
    case "assistant_finished":
      // Calls are recorded by `tool_started`; a response that said nothing has no text to keep.
      if (event.text.trim() === "") return undefined;
      return {
        type: "assistant_finished",
        turn_id: event.turnId,
        text: redact(event.text),
        ...(event.partial === true ? { partial: true } : {}),
        ...numbered,
      };
    case "reasoning_finished":
      if (event.text.trim() === "") return undefined;
      return { type: "reasoning_finished", turn_id: event.turnId, text: redact(event.text), ...numbered };
    case "usage":
      return { type: "usage", turn_id: event.turnId, ...usageFields(event.usage), ...numbered };
    case "tool_started":
      return {
        type: "tool_started",
        turn_id: event.turnId,
        call_id: event.callId,
        name: redact(event.name),
        arguments: redactValue(event.arguments, redact),
        ...(event.mcp === undefined ? {} : { mcp: redactValue(event.mcp, redact) }),
        ...numbered,
      };
    case "tool_finished":
      return {
        type: "tool_finished",
        turn_id: event.turnId,
        call_id: event.callId,
        status: event.status,
        output: redact(event.output),
        truncated: event.truncated,
        elapsed_ms: Math.round(event.elapsedMs),
      };
    case "effect":
      return effectRecord(event.turnId, event.callId, event.effect, redact);
    case "queued":
      return {
        type: "queued_input",
        queue_id: event.queueId,
        kind: event.kind,
        action: event.action,
        text: redact(event.text),
        ...numbered,
      };
    case "cancelled":
      return { type: "cancelled", turn_id: event.turnId, reason: redact(event.reason) };
    case "failed":
      return { type: "failed", turn_id: event.turnId, error: redact(event.error), class: event.failure };
    case "session_renamed":
      return { type: "session_renamed", title: cleanTitle(redact(event.title)) };
    case "context":
    case "context_ledger":
    case "context_item":
    case "prompt_metadata":
    case "compaction":
    case "compaction_review":
      return contextRecord(event, redact);
    case "mcp_config_changed":
    case "acp_session":
    case "acp_permission_request":
    case "acp_permission_outcome":
      return outsideRecord(event, redact);
    case "request_started":
    case "text_delta":
    case "reasoning_delta":
    case "retrying":
    case "diagnostic":
    case "turn_finished":
      return undefined;
    default:
      return unreachable(event);
  }
}

type Only<T extends RunEvent["type"]> = Extract<RunEvent, { readonly type: T }>;

function contextRecord(
  event: Only<"context" | "context_ledger" | "context_item" | "prompt_metadata" | "compaction" | "compaction_review">,
  redact: (text: string) => string,
): SessionRecord {
  switch (event.type) {
    case "context":
      return {
        type: "context",
        ...(event.turnId === undefined ? {} : { turn_id: event.turnId }),
        sources: event.sources.map((source) => ({
          path: redact(source.path),
          scope: redact(source.scope),
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
          ...(item.path === undefined ? {} : { path: redact(item.path) }),
          ...(item.scope === undefined ? {} : { scope: redact(item.scope) }),
          ...(item.contentHash === undefined ? {} : { content_hash: item.contentHash }),
          byte_count: item.byteCount,
          token_estimate: item.tokenEstimate,
          state: item.state,
          reason: redact(item.reason),
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
          ...(event.item.path === undefined ? {} : { path: redact(event.item.path) }),
          ...(event.item.contentHash === undefined ? {} : { content_hash: event.item.contentHash }),
        },
        reason: redact(event.reason),
      };
    case "prompt_metadata":
      return {
        type: "prompt_metadata",
        turn_id: event.turnId,
        model: modelId(event.provider, event.model),
        provider: event.provider,
        date: event.date,
        cwd: redact(event.cwd),
        prompt_fragments: event.promptFragments,
        tool_names: event.toolNames.map(redact),
        skill_names: event.skillNames.map(redact),
        context_sources: event.contextSources.map(redact),
        system_prompt_hash: event.systemPromptHash,
        tool_catalog_hash: event.toolCatalogHash,
        diagnostics: event.diagnostics.map(redact),
      };
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
        ...(event.usage === undefined ? {} : { usage: usageFields(event.usage) }),
        before_tokens: event.beforeTokens,
        after_tokens: event.afterTokens,
      };
    case "compaction_review":
      return { type: "compaction_review", recovery_handle: event.recoveryHandle, review: event.review };
  }
}

function effectRecord(turnId: string, callId: string, effect: Effect, redact: (text: string) => string): SessionRecord {
  switch (effect.kind) {
    case "file_write":
      return {
        type: "file_write",
        turn_id: turnId,
        call_id: callId,
        op: effect.op,
        path: redact(effect.path),
        ...(effect.beforeHash === undefined ? {} : { before_hash: effect.beforeHash }),
        ...(effect.beforeBytes === undefined ? {} : { before_bytes: effect.beforeBytes }),
        ...(effect.afterHash === undefined ? {} : { after_hash: effect.afterHash }),
        ...(effect.afterBytes === undefined ? {} : { after_bytes: effect.afterBytes }),
        status: effect.status,
      };
    case "shell_exec":
      return {
        type: "shell_exec",
        turn_id: turnId,
        call_id: callId,
        ...(effect.processId === undefined ? {} : { process_id: effect.processId }),
        command: redactValue(effect.command, redact),
        cwd: redact(effect.cwd),
        process_status: effect.processStatus,
        exit_code: effect.exitCode,
        ...(effect.signal === undefined ? {} : { signal: effect.signal }),
        elapsed_ms: Math.round(effect.elapsedMs),
        kind: effect.processKind,
      };
    case "skill_activated":
      return {
        type: "skill_activated",
        name: redact(effect.name),
        path: redact(effect.path),
        content_hash: effect.contentHash,
        byte_count: effect.byteCount,
        references: effect.references.map((reference) => ({
          path: redact(reference.path),
          content_hash: reference.contentHash,
          byte_count: reference.byteCount,
          truncated: reference.truncated,
        })),
      };
  }
}

function outsideRecord(
  event: Only<"mcp_config_changed" | "acp_session" | "acp_permission_request" | "acp_permission_outcome">,
  redact: (text: string) => string,
): SessionRecord {
  switch (event.type) {
    case "mcp_config_changed":
      return {
        type: "mcp_config_changed",
        turn_id: event.turnId,
        previous: event.previous.map((file) => ({ path: redact(file.path), hash: file.hash })),
        current: event.current.map((file) => ({ path: redact(file.path), hash: file.hash })),
        diagnostics: event.diagnostics.map(redact),
      };
    case "acp_session":
      return {
        type: "acp_session",
        local_session_id: event.localSessionId,
        agent_name: redact(event.agentName),
        acp_session_id: event.acpSessionId,
        command: redact(event.command),
        protocol_version: event.protocolVersion,
        ...(event.agentInfo === undefined ? {} : { agent_info: redactValue(event.agentInfo, redact) }),
      };
    case "acp_permission_request":
      return {
        type: "acp_permission_request",
        turn_id: event.turnId,
        tool_call_id: event.toolCallId,
        title: redact(event.title),
        options: event.options.map(({ id, name, kind }) => ({ id, name: redact(name), kind })),
      };
    case "acp_permission_outcome":
      return {
        type: "acp_permission_outcome",
        turn_id: event.turnId,
        tool_call_id: event.toolCallId,
        outcome: event.outcome,
        ...(event.optionId === undefined ? {} : { option_id: event.optionId }),
      };
  }
}

/** The provider's own id of a model that the run calls `provider/id`: records hold the two apart (sessions.md, Records). */
function modelId(provider: string, name: string): string {
  return name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name;
}

function unreachable(event: never): never {
  throw new Error(`event without a translation: ${JSON.stringify(event)}`);
}

export type SessionFacts = {
  readonly sessionId: string;
  readonly cwd: string;
  readonly workspace: string;
  /** The first prompt; its first line becomes the title. "" when there is none yet. */
  readonly prompt: string;
  readonly provider: string;
  /** `provider/id` or the id alone; the id is recorded. */
  readonly model: string;
  readonly websearch: string;
  readonly appVersion: string;
  readonly files: readonly { readonly path: string; readonly source: string; readonly hash: string }[];
  readonly origins: Readonly<Record<string, string>>;
  readonly redact: (text: string) => string;
};

/** The first record of a session. */
export function sessionMeta(facts: SessionFacts): SessionMetaRecord {
  return {
    type: "session_meta",
    session_id: facts.sessionId,
    cwd: facts.redact(facts.cwd),
    workspace: facts.redact(facts.workspace),
    title: cleanTitle(facts.redact(facts.prompt)),
    provider: facts.provider,
    model: modelId(facts.provider, facts.model),
    websearch: facts.websearch,
    app_version: facts.appVersion,
    config: {
      files: facts.files.map(({ path, source, hash }) => ({ path: facts.redact(path), source, hash })),
      origins: { ...facts.origins },
    },
  };
}
