/**
 * RunEvents and results as machine output (cli.md, `json` and `stream-json`): one translation for both, snake_case,
 * `version: 1`. Refuses: writing.
 */
import type { Effect, RunEvent, TurnOutcome } from "../types/event.ts";
import type { Usage } from "../types/message.ts";

export const OUTPUT_VERSION = 1;

export type JsonObject = Record<string, unknown>;

/** The one result object of a run; status, error and exit code agree always. */
export type RunResult = {
  readonly version: typeof OUTPUT_VERSION;
  readonly status: TurnOutcome["status"] | "usage" | "internal";
  readonly exit_code: number;
  readonly session_id: string | null;
  readonly model: string | null;
  readonly turns: number;
  readonly text: string;
  readonly usage: JsonObject | null;
  readonly cost_usd: number | null;
  readonly duration_ms: number;
  readonly changed_files: readonly string[];
  readonly error?: { readonly class: string; readonly message: string };
};

/** Known fields only; null when nothing is known. */
export function usageJson(usage: Usage): JsonObject | null {
  const fields: JsonObject = {};
  if (usage.inputTokens !== undefined) fields.input_tokens = usage.inputTokens;
  if (usage.outputTokens !== undefined) fields.output_tokens = usage.outputTokens;
  if (usage.cacheReadTokens !== undefined) fields.cache_read_tokens = usage.cacheReadTokens;
  if (usage.cacheWriteTokens !== undefined) fields.cache_write_tokens = usage.cacheWriteTokens;
  if (usage.reasoningTokens !== undefined) fields.reasoning_tokens = usage.reasoningTokens;
  return Object.keys(fields).length === 0 ? null : fields;
}

function effectJson(effect: Effect, callId: string): JsonObject | undefined {
  switch (effect.kind) {
    case "file_write":
      return {
        type: "file_write",
        call_id: callId,
        op: effect.op,
        path: effect.path,
        before_hash: effect.beforeHash,
        before_bytes: effect.beforeBytes,
        after_hash: effect.afterHash,
        after_bytes: effect.afterBytes,
        status: effect.status,
      };
    case "shell_exec":
      return {
        type: "shell_exec",
        call_id: callId,
        process_id: effect.processId,
        command: effect.command,
        cwd: effect.cwd,
        process_status: effect.processStatus,
        exit_code: effect.exitCode,
        signal: effect.signal,
        elapsed_ms: effect.elapsedMs,
        kind: effect.processKind,
      };
    case "skill_activated":
      return {
        type: "diagnostic",
        severity: "info",
        code: "skill_activated",
        message: `skill ${effect.name}`,
        path: effect.path,
      };
  }
}

function body(event: RunEvent): JsonObject | undefined {
  switch (event.type) {
    case "text_delta":
    case "reasoning_delta":
      return { type: event.type, text: event.text };
    case "tool_started":
      return { type: "tool_started", call_id: event.callId, name: event.name, arguments: event.arguments };
    case "tool_finished":
      return {
        type: "tool_finished",
        call_id: event.callId,
        name: event.name,
        status: event.status,
        output: event.output,
        truncated: event.truncated,
        elapsed_ms: event.elapsedMs,
      };
    case "effect":
      return effectJson(event.effect, event.callId);
    case "context":
      return {
        type: "context",
        sources: event.sources.map((source) => ({
          path: source.path,
          scope: source.scope,
          origin: source.origin,
          content_hash: source.contentHash,
          truncated: source.truncated,
          byte_count: source.byteCount,
          state: source.state,
        })),
      };
    case "usage":
      return {
        type: "usage",
        ...usageJson(event.usage),
        ...(event.usage.costUsd !== undefined && { cost_usd: event.usage.costUsd }),
      };
    case "retrying":
      return {
        type: "retrying",
        attempt: event.attempt,
        max_attempts: event.maxAttempts,
        delay_ms: event.delayMs,
        class: event.failure,
        message: event.message,
        ...(event.summary && { summary: true }),
      };
    case "diagnostic":
      return { type: "diagnostic", ...event.diagnostic };
    case "queued":
      return { type: "queued", queue_id: event.queueId, kind: event.kind, action: event.action, text: event.text };
    case "turn_started":
    case "context_ledger":
    case "context_item":
    case "prompt_metadata":
    case "request_started":
    case "assistant_finished":
    case "reasoning_finished":
    case "compaction":
    case "compaction_review":
    case "mcp_config_changed":
    case "acp_session":
    case "acp_permission_request":
    case "acp_permission_outcome":
    case "session_renamed":
    case "cancelled":
    case "failed":
    case "turn_finished":
      return undefined;
  }
}

/** One line of `stream-json`, without its newline; undefined for events that are not part of the format. */
export function eventLine(event: RunEvent): string | undefined {
  const fields = body(event);
  return fields && jsonLine({ version: OUTPUT_VERSION, ...fields });
}

/** JSON on one line, safe for readers that split at U+2028 and U+2029, well-formed always. */
export function jsonLine(value: object): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
