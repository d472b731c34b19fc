/** `thndrs usage`: tokens and cost from the logs, by session, model or day. Unknown stays unknown. Refuses: estimates. */
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { jsonText } from "../session/json-text.ts";
import { findSession, listSessions, type SessionSummary, summarize } from "../session/list.ts";
import { modelName } from "../session/model-name.ts";
import { newTally, readRecords } from "../session/read.ts";
import type { RecordType } from "../session/records.ts";
import { addUsage, usageFields, usageOf } from "../session/totals.ts";
import type { Usage } from "../types/message.ts";
import type { CommandContext } from "./command.ts";
import { openSessionPlace, type SessionPlace } from "./session-place.ts";
import { renderTable } from "./table.ts";

type Group = { requests: number; usage: Usage };
type Key = "session" | "model" | "day";

const COUNTED: ReadonlySet<RecordType> = new Set<RecordType>(["session_meta", "prompt_metadata", "usage", "compaction"]);

/** Runs `usage [--by session|model|day] [--session ID] [--json]`. */
export async function runUsage(context: CommandContext): Promise<ExitCode> {
  if (context.words.length > 0) throw new UserError("usage: thndrs usage [--by session|model|day] [--session ID] [--json]");
  const { stdout } = context.output;
  const { flags } = context;
  const place = await openSessionPlace(context);
  const by = flags.by ?? "session";
  const groups = new Map<string, Group>();
  const total: Group = { requests: 0, usage: {} };
  for (const session of chosen(place, flags.session)) await addSession(session, by, groups, total, context.signal);
  const entries = [...groups].sort(([a], [b]) => (a < b ? 1 : -1));
  if (flags.json) {
    const document = { by, groups: entries.map(([key, group]) => ({ [by]: key, ...groupJson(group) })), total: groupJson(total) };
    stdout.line(jsonText(document));
    return EXIT.ok;
  }
  const rows = [...entries.map(([key, group]) => [key, ...cells(group)]), ["total", ...cells(total)]];
  const heading = [by.toUpperCase(), "REQUESTS", "INPUT", "CACHED", "OUTPUT", "COST"];
  for (const line of renderTable(heading, rows, { aligned: stdout.isTerminal, columns: stdout.columns })) stdout.line(line);
  return EXIT.ok;
}

function chosen({ dir, owner }: SessionPlace, wanted: string | undefined): SessionSummary[] {
  if (wanted === undefined) return listSessions(dir);
  const summary = summarize(dir, findSession(dir, wanted, owner));
  return summary === undefined ? [] : [summary];
}

async function addSession(
  session: SessionSummary,
  by: Key,
  groups: Map<string, Group>,
  total: Group,
  signal: AbortSignal,
): Promise<void> {
  let model = modelName(session.provider, session.model) || "unknown";
  for await (const batch of readRecords(session.path, newTally(), { only: COUNTED, signal })) {
    for (const read of batch) {
      if (!read.known) continue;
      const record = read.record;
      if (record.type === "session_meta" || record.type === "prompt_metadata") {
        model = modelName(record.provider, record.model);
        continue;
      }
      const usage =
        record.type === "usage" ? usageOf(record) : record.type === "compaction" ? usageOf(record.usage ?? {}) : undefined;
      if (usage === undefined || (record.type === "compaction" && Object.keys(usage).length === 0)) continue;
      const key = by === "session" ? session.id : by === "day" ? record.time.slice(0, 10) : model;
      const group = groups.get(key) ?? { requests: 0, usage: {} };
      groups.set(key, group);
      for (const sum of [group, total]) {
        sum.requests++;
        sum.usage = addUsage(sum.usage, usage);
      }
    }
  }
}

function groupJson(group: Group): Record<string, unknown> {
  return { requests: group.requests, ...usageFields(group.usage) };
}

function cells({ requests, usage }: Group): string[] {
  const known = (value: number | undefined): string => (value === undefined ? "-" : String(value));
  const cost = usage.costUsd === undefined ? "-" : `$${usage.costUsd.toFixed(4)}`;
  return [String(requests), known(usage.inputTokens), known(usage.cacheReadTokens), known(usage.outputTokens), cost];
}
