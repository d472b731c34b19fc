/** `thndrs sessions show ID`: the facts of one session, from all of its records. */
import { EXIT, type ExitCode } from "../base/user-error.ts";
import { describeUsage } from "../session/describe.ts";
import { jsonText } from "../session/json-text.ts";
import type { SessionSummary } from "../session/list.ts";
import { lockHolder } from "../session/lock.ts";
import { modelName } from "../session/model-name.ts";
import { newTally, readRecords, type Tally } from "../session/read.ts";
import type { StoredRecord } from "../session/records.ts";
import { addUsage, usageFields, usageOf } from "../session/totals.ts";
import type { Usage } from "../types/message.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import type { SessionPlace } from "./session-place.ts";
import { sizeText, timeText } from "./table.ts";

type Facts = {
  title: string;
  turns: number;
  requests: number;
  usage: Usage;
  readonly tools: Map<string, number>;
  readonly files: Set<string>;
  commands: number;
  failed: number;
  cancelled: number;
  readonly models: Set<string>;
};

export async function showSession(context: CommandContext, place: SessionPlace, summary: SessionSummary): Promise<ExitCode> {
  const tally = newTally();
  const facts: Facts = {
    title: summary.title,
    turns: 0,
    requests: 0,
    usage: {},
    tools: new Map(),
    files: new Set(),
    commands: 0,
    failed: 0,
    cancelled: 0,
    models: new Set(),
  };
  for await (const batch of readRecords(summary.path, tally, { signal: context.signal })) {
    for (const read of batch) if (read.known) count(read.record, facts);
  }
  const holder = lockHolder(place.dir, summary.id);
  const shown = { ...summary, title: place.redact(facts.title) };
  const files = [...facts.files].map(place.redact);
  const document = {
    session_id: summary.id,
    title: shown.title,
    provider: summary.provider,
    model: summary.model,
    models: [...facts.models],
    workspace: summary.workspace,
    created: summary.created,
    updated: summary.updated,
    bytes: summary.bytes,
    path: summary.path,
    records: tally.records,
    turns: facts.turns,
    requests: facts.requests,
    usage: usageFields(facts.usage),
    tools: Object.fromEntries(facts.tools),
    changed_files: files,
    commands: facts.commands,
    failed: facts.failed,
    cancelled: facts.cancelled,
    skipped: { malformed: tally.malformed, nul_blocks: tally.nulBlocks, oversized: tally.oversized },
    unrecognized: tally.foreign,
    in_use_by: holder === undefined ? null : { pid: holder.pid, host: holder.host, since: holder.since },
  };
  if (context.flags.json) context.output.stdout.line(jsonText(document));
  else
    for (const [name, value] of lines(shown, facts, tally, files, holder?.pid))
      context.output.stdout.line(`${name.padEnd(12)}  ${visible(value)}`);
  return EXIT.ok;
}

function count(record: StoredRecord, facts: Facts): void {
  switch (record.type) {
    case "user":
      facts.turns++;
      break;
    case "usage":
      facts.requests++;
      facts.usage = addUsage(facts.usage, usageOf(record));
      break;
    case "compaction":
      // A summary is a request of its own, as in "thndrs usage".
      if (record.usage === undefined || Object.keys(usageOf(record.usage)).length === 0) break;
      facts.requests++;
      facts.usage = addUsage(facts.usage, usageOf(record.usage));
      break;
    case "prompt_metadata":
      facts.models.add(modelName(record.provider, record.model));
      break;
    case "tool_started":
      facts.tools.set(record.name, (facts.tools.get(record.name) ?? 0) + 1);
      break;
    case "file_write":
      if (record.status === "ok") facts.files.add(record.path);
      break;
    case "shell_exec":
      if (record.process_status !== "running") facts.commands++;
      break;
    case "failed":
      facts.failed++;
      break;
    case "cancelled":
      facts.cancelled++;
      break;
    case "session_renamed":
      facts.title = record.title;
      break;
  }
}

function lines(
  shown: SessionSummary,
  facts: Facts,
  tally: Tally,
  files: readonly string[],
  pid: number | undefined,
): [string, string][] {
  const tools = [...facts.tools].map(([name, times]) => `${name} ${times}`).join(", ");
  const damaged = tally.malformed + tally.nulBlocks + tally.oversized;
  const out: [string, string][] = [
    ["Session", shown.id],
    ["Title", shown.title || "-"],
    ["Model", [...facts.models].join(", ") || modelName(shown.provider, shown.model) || "-"],
    ["Workspace", shown.workspace || "-"],
    ["Started", `${timeText(shown.created)} UTC`],
    ["Last used", `${timeText(shown.updated)} UTC`],
    [
      "Turns",
      `${facts.turns}${facts.failed > 0 ? `, ${facts.failed} failed` : ""}${facts.cancelled > 0 ? `, ${facts.cancelled} cancelled` : ""}`,
    ],
    ["Usage", describeUsage(usageFields(facts.usage))],
    ["Tools", tools || "-"],
    ["Changed", files.join(", ") || "-"],
    ["Log", `${shown.path} (${sizeText(shown.bytes)}, ${tally.records} records)`],
  ];
  if (damaged > 0) out.push(["Skipped", `${damaged} damaged`]);
  if (tally.foreign > 0) out.push(["Unrecognized", String(tally.foreign)]);
  if (pid !== undefined) out.push(["In use", `by process ${pid}`]);
  return out;
}
