/**
 * Projects a session file as JSON, JSON Lines, plain text, Markdown or one self-contained HTML page: the valid records in
 * sequence order, redacted, streamed. Never replays a stored action (sessions.md, Inspect and export).
 */
import { redactValue } from "../base/redact.ts";
import { cutChars } from "../base/text.ts";
import { describeRecord } from "./describe.ts";
import { htmlEnd, htmlRecord, htmlStart } from "./export-html.ts";
import { markdownEnd, markdownRecord, markdownStart } from "./export-markdown.ts";
import { jsonText } from "./json-text.ts";
import type { SessionSummary } from "./list.ts";
import { readRecords, skippedCount, type Tally } from "./read.ts";
import type { ReadRecord } from "./records.ts";

export type ExportFormat = "json" | "jsonl" | "text" | "markdown" | "html";

type ExportOptions = {
  readonly format: ExportFormat;
  readonly redact: (text: string) => string;
  /** Makes control characters of a text of several lines visible. */
  readonly cleanBlock: (text: string) => string;
  /** Makes control, bidirectional and invisible characters of one line visible. */
  readonly cleanLine: (text: string) => string;
  readonly tally: Tally;
  readonly signal?: AbortSignal;
};

/** One record's text longer than this is cut in the text view: it is an overview. */
const TEXT_LINE_LIMIT = 400;
/** Bidirectional embeddings, overrides and isolates. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Yields the projection in chunks; write each one out before asking for the next. */
export async function* exportSession(session: SessionSummary, options: ExportOptions): AsyncGenerator<string> {
  const { format, tally, redact, signal } = options;
  yield opening(session, options);
  let first = true;
  for await (const batch of readRecords(session.path, tally, signal === undefined ? {} : { signal })) {
    const parts: string[] = [];
    let held = 0;
    for (const read of batch) {
      const safe = { known: read.known, record: redactValue(read.record, redact) } as ReadRecord;
      const part = projectOne(safe, first, options);
      first = false;
      parts.push(part);
      held += part.length;
      if (held > 1024 * 1024) {
        yield parts.join("");
        parts.length = 0;
        held = 0;
      }
    }
    yield parts.join("");
  }
  yield closing(format, first, tally);
}

function opening(session: SessionSummary, options: ExportOptions): string {
  const shown = { ...session, title: options.redact(session.title) };
  switch (options.format) {
    case "json":
      return `{"version":1,"session_id":${jsonText(session.id)},"records":[`;
    case "markdown":
      return markdownStart(shown, options.cleanLine);
    case "html":
      return htmlStart(shown, options.cleanLine);
    default:
      return "";
  }
}

function projectOne(read: ReadRecord, first: boolean, options: ExportOptions): string {
  switch (options.format) {
    case "json": {
      const marked = read.known ? read.record : { ...read.record, unrecognized: true };
      return `${first ? "\n" : ",\n"}${jsonText(marked)}`;
    }
    case "jsonl":
      return `${jsonText(read.record)}\n`;
    case "text":
      return `${textLine(read, options.cleanLine)}\n`;
    case "markdown":
      return markdownRecord(read, (text) => unturned(options.cleanBlock(text)), options.cleanLine);
    case "html":
      return htmlRecord(read, (text) => unturned(options.cleanBlock(text)));
  }
}

/** Stored text must not turn around what stands beside it: `exe.png` for `gnp.exe`. Scripts written from the right need none of these. */
function unturned(text: string): string {
  return text.replace(TURNING, (found) => `<U+${found.charCodeAt(0).toString(16).toUpperCase()}>`);
}

function closing(format: ExportFormat, empty: boolean, tally: Tally): string {
  const skipped = { malformed: tally.malformed, nul_blocks: tally.nulBlocks, oversized: tally.oversized };
  switch (format) {
    case "json":
      return `${empty ? "" : "\n"}],"skipped":${jsonText(skipped)},"unrecognized":${tally.foreign}}\n`;
    case "markdown":
      return markdownEnd(skippedCount(tally));
    case "html":
      return htmlEnd(skippedCount(tally));
    default:
      return "";
  }
}

function textLine(read: ReadRecord, clean: (text: string) => string): string {
  const { seq, time, type } = read.record;
  const words = read.known ? describeRecord(read.record) : `[unrecognized, schema ${read.record.schema_version}]`;
  const more = words.length > TEXT_LINE_LIMIT ? ` … (${words.length} characters)` : "";
  const line = cutChars(words, TEXT_LINE_LIMIT)
    .toWellFormed()
    .replace(/\s*[\r\n]+\s*/g, " ↵ ");
  return `${String(seq).padStart(5)}  ${clean(time)}  ${clean(type).padEnd(20)}  ${clean(line)}${more}`;
}
