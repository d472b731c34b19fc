/** A session as Markdown. Stored text cannot break out of its place: it stands in fences longer than any it contains. */
import { describeRecord } from "./describe.ts";
import type { SessionSummary } from "./list.ts";
import { modelName } from "./model-name.ts";
import type { ReadRecord } from "./records.ts";

type Clean = (text: string) => string;

/** Heading and facts. */
export function markdownStart(session: SessionSummary, clean: Clean): string {
  const title = escapeInline(clean(session.title === "" ? session.id : session.title));
  const lines = [`# ${title}`, "", `- Session: \`${session.id}\``];
  const model = modelName(session.provider, session.model);
  if (model !== "") lines.push(`- Model: ${escapeInline(clean(model))}`);
  if (session.workspace !== "") lines.push(`- Workspace: ${escapeInline(clean(session.workspace))}`);
  if (session.created !== "") lines.push(`- Started: ${escapeInline(clean(session.created))}`);
  return `${lines.join("\n")}\n`;
}

/** Says what was skipped. */
export function markdownEnd(skipped: number): string {
  return skipped === 0 ? "" : `\n---\n\n${skipped} damaged ${skipped === 1 ? "part was" : "parts were"} skipped.\n`;
}

/** One record; "" for those that are accounting. */
export function markdownRecord(read: ReadRecord, cleanBlock: Clean, cleanLine: Clean): string {
  if (!read.known) return `\n> Record ${read.record.seq}: unrecognized type ${code(cleanLine(read.record.type))}\n`;
  const record = read.record;
  switch (record.type) {
    case "user":
      return `\n## User\n\n${fence(cleanBlock(record.text), "text")}`;
    case "assistant_finished":
      return `\n## Assistant${record.partial === true ? " (cut off)" : ""}\n\n${fence(cleanBlock(record.text), "markdown")}`;
    case "reasoning_finished":
      return `\n### Reasoning\n\n${fence(cleanBlock(record.text), "text")}`;
    case "tool_started":
      return `\n### Tool ${code(cleanLine(record.name))}\n\n${fence(cleanBlock(JSON.stringify(record.arguments, null, 2)), "json")}`;
    case "tool_finished":
      return `\nResult (${record.status}, ${record.elapsed_ms} ms${record.truncated ? ", truncated" : ""}):\n\n${fence(cleanBlock(record.output), "text")}`;
    case "compaction":
      return `\n## Summary (${record.trigger}, ${record.review})\n\n${fence(cleanBlock(record.summary), "markdown")}`;
    case "file_write":
    case "shell_exec":
    case "cancelled":
    case "failed":
    case "queued_input":
    case "session_renamed":
      return `\n- **${record.type}**: ${escapeInline(cleanLine(describeRecord(record)))}\n`;
    default:
      return "";
  }
}

/** A fence one backtick longer than the longest run in the text. */
function fence(text: string, language: string): string {
  const well = text.toWellFormed();
  let longest = 0;
  for (const run of well.matchAll(/`+/g)) longest = Math.max(longest, run[0].length);
  const ticks = "`".repeat(Math.max(3, longest + 1));
  return `${ticks}${language}\n${well}${well.endsWith("\n") ? "" : "\n"}${ticks}\n`;
}

function code(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}

function escapeInline(text: string): string {
  return text.toWellFormed().replace(/[\\`*_{}[\]<>#|!~&]/g, (character) => `\\${character}`);
}
