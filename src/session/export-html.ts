/**
 * A session as one self-contained page: no scripts, no outside resources (a content policy forbids both), every stored text
 * escaped. Injection is impossible by construction: text only ever enters through `escapeHtml`.
 */
import { describeRecord } from "./describe.ts";
import type { SessionSummary } from "./list.ts";
import { modelName } from "./model-name.ts";
import type { ReadRecord, StoredRecord } from "./records.ts";

type Clean = (text: string) => string;

const STYLE = `:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin-bottom:.25rem}.facts{opacity:.75;margin:0 0 2rem}
article{border:1px solid var(--line);border-radius:.5rem;margin:.75rem 0;padding:.5rem .9rem}
article.user{background:var(--soft)}article.note{border:0;padding:0 .9rem;margin:.25rem 0;opacity:.8;font-size:.875rem}
header{display:flex;justify-content:space-between;gap:1rem;font-size:.8rem;opacity:.75}
pre{white-space:pre-wrap;font:.875rem/1.45 ui-monospace,monospace;margin:.4rem 0}
summary{cursor:pointer}header span{white-space:nowrap}`;

/** Everything before the first record. `clean` makes what cannot be seen visible; escaping is done here. */
export function htmlStart(session: SessionSummary, clean: Clean): string {
  const title = escapeHtml(clean(session.title === "" ? session.id : session.title));
  const facts = [session.id, modelName(session.provider, session.model), session.workspace, session.created].filter(
    (fact) => fact !== "",
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
<p class="facts">${facts.map((fact) => escapeHtml(clean(fact))).join(" · ")}</p>
`;
}

/** Everything behind the last record. */
export function htmlEnd(skipped: number): string {
  const note =
    skipped === 0 ? "" : `<p class="facts">${skipped} damaged ${skipped === 1 ? "part was" : "parts were"} skipped.</p>\n`;
  return `${note}</body>\n</html>\n`;
}

/** One record as an article. */
export function htmlRecord(read: ReadRecord, clean: Clean): string {
  const text = (raw: string): string => escapeHtml(clean(raw));
  if (!read.known) return article("note", read.record, `unrecognized: ${text(read.record.type)}`, "");
  const record = read.record;
  switch (record.type) {
    case "user":
      return article("user", record, "User", `<pre>${text(record.text)}</pre>`);
    case "assistant_finished":
      return article(
        "assistant",
        record,
        record.partial === true ? "Assistant (cut off)" : "Assistant",
        `<pre>${text(record.text)}</pre>`,
      );
    case "reasoning_finished":
      return article("reasoning", record, "Reasoning", folded("show", `<pre>${text(record.text)}</pre>`));
    case "tool_started":
      return article(
        "tool",
        record,
        `Tool ${text(record.name)}`,
        `<pre>${text(JSON.stringify(record.arguments, null, 2))}</pre>`,
      );
    case "tool_finished":
      return article("tool", record, `Result: ${record.status}`, folded("output", `<pre>${text(record.output)}</pre>`));
    case "compaction":
      return article("assistant", record, "Summary", `<pre>${text(record.summary)}</pre>`);
    default:
      return article("note", record, escapeHtml(record.type), `<span>${text(describeRecord(record))}</span>`);
  }
}

function article(
  kind: string,
  record: StoredRecord | (ReadRecord & { known: false })["record"],
  heading: string,
  body: string,
): string {
  return `<article class="${kind}" id="r${record.seq}"><header><strong>${heading}</strong><span>${record.seq} · ${escapeHtml(record.time)}</span></header>${body}</article>\n`;
}

function folded(label: string, body: string): string {
  return `<details><summary>${label}</summary>${body}</details>`;
}

/** The only way stored text enters the page. */
function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
