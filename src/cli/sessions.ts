/**
 * `thndrs sessions …`: look at, export and tidy the sessions of a workspace. On a terminal aligned tables, in a pipe plain
 * lines, with `--json` one JSON document. Refuses: replaying anything.
 */
import { resolve } from "node:path";
import { writeOwnFile } from "../base/files.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { type ExportFormat, exportSession } from "../session/export.ts";
import { leadsToLog } from "../session/ids.ts";
import { jsonText } from "../session/json-text.ts";
import { findSession, listSessions, type SessionSummary, summarize } from "../session/list.ts";
import { openSessionLog } from "../session/log.ts";
import { modelName } from "../session/model-name.ts";
import { describeSkipped, newTally } from "../session/read.ts";
import { type SearchHit, searchSession } from "../session/search.ts";
import { cleanTitle } from "../session/title.ts";
import { sanitize, visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { openSessionPlace, type SessionPlace } from "./session-place.ts";
import { pruneSessions, removeSessions } from "./session-removal.ts";
import { showSession } from "./session-show.ts";
import { renderTable, sizeText, timeText } from "./table.ts";

type Verb = (context: CommandContext, place: SessionPlace, words: readonly string[]) => Promise<ExitCode>;

const VERBS: Readonly<Record<string, Verb>> = {
  list,
  latest,
  show,
  inspect,
  export: exportVerb,
  rename,
  search,
  delete: removeSessions,
  prune: pruneSessions,
};

/** Runs `sessions VERB …` (`list` when there is no verb). */
export async function runSessions(context: CommandContext): Promise<ExitCode> {
  const [name = "list", ...words] = context.words;
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb === undefined)
    throw new UserError(`unknown command "thndrs sessions ${name}"; it is one of: ${Object.keys(VERBS).join(", ")}`);
  return verb(context, await openSessionPlace(context), words);
}

function oneWord(words: readonly string[], usage: string): string {
  const [word, ...more] = words;
  if (word === undefined || more.length > 0) throw new UserError(`usage: thndrs ${usage}`);
  return word;
}

function noWords(words: readonly string[], usage: string): void {
  if (words.length > 0) throw new UserError(`usage: thndrs ${usage}`);
}

function openSummary(place: SessionPlace, wanted: string): SessionSummary {
  const id = findSession(place.dir, wanted, place.owner);
  const summary = summarize(place.dir, id);
  if (summary === undefined) throw new UserError(`No such session: ${JSON.stringify(wanted)}`);
  return redacted(summary, place);
}

function redacted(summary: SessionSummary, place: SessionPlace): SessionSummary {
  return { ...summary, title: place.redact(summary.title) };
}

function summaryJson(summary: SessionSummary): Record<string, unknown> {
  const { id, path, title, provider, model, workspace, created, updated, bytes } = summary;
  return { session_id: id, title, provider, model, workspace, created, updated, bytes, path };
}

async function list(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  noWords(words, "sessions list [--limit N] [--json]");
  const { stdout, stderr } = context.output;
  const sessions = listSessions(place.dir)
    .slice(0, context.flags.limit ?? Number.POSITIVE_INFINITY)
    .map((summary) => redacted(summary, place));
  if (context.flags.json) {
    stdout.line(jsonText(sessions.map(summaryJson)));
    return EXIT.ok;
  }
  if (sessions.length === 0) stderr.line(`thndrs: no sessions in ${visible(place.dir)}`);
  const rows = sessions.map((one) => [
    one.id,
    timeText(one.updated),
    sizeText(one.bytes),
    modelName(one.provider, one.model) || "-",
    one.title || "-",
  ]);
  const options = { aligned: stdout.isTerminal, columns: stdout.columns };
  if (rows.length > 0)
    for (const line of renderTable(["ID", "LAST USED (UTC)", "SIZE", "MODEL", "TITLE"], rows, options)) stdout.line(line);
  return EXIT.ok;
}

async function latest(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  noWords(words, "sessions latest [--json]");
  const summary = openSummary(place, "latest");
  context.output.stdout.line(context.flags.json ? jsonText(summaryJson(summary)) : summary.id);
  return EXIT.ok;
}

async function show(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  const summary = openSummary(place, oneWord(words, "sessions show ID [--json]"));
  return showSession(context, place, summary);
}

async function inspect(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  const wanted = oneWord(words, "sessions inspect ID [--format json|text]");
  return project(context, place, wanted, context.flags.json ? "json" : (context.flags.format ?? "json"));
}

async function exportVerb(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  const wanted = oneWord(words, "sessions export ID [--format jsonl|json|markdown|html] [--output FILE]");
  return project(context, place, wanted, context.flags.json ? "json" : (context.flags.format ?? "jsonl"));
}

async function project(context: CommandContext, place: SessionPlace, wanted: string, format: ExportFormat): Promise<ExitCode> {
  const { output, signal, flags } = context;
  const summary = openSummary(place, wanted);
  const tally = newTally();
  const chunks = exportSession(summary, {
    format,
    redact: place.redact,
    cleanBlock: sanitize,
    cleanLine: visible,
    tally,
    signal,
  });
  if (flags.output !== undefined && flags.output !== "-") await saveChunks(context, flags.output, chunks);
  else {
    for await (const chunk of chunks) {
      if (output.stdout.broken !== undefined) return EXIT.ok;
      output.stdout.write(chunk);
      // Back-pressure: a slow reader must not make the whole file pile up in memory.
      await output.stdout.flush();
    }
  }
  const skipped = describeSkipped(tally);
  if (skipped !== undefined) output.stderr.line(`thndrs: warning: ${summary.id}: ${skipped}`);
  if (tally.foreign > 0)
    output.stderr.line(
      `thndrs: ${summary.id}: ${tally.foreign} unrecognized record${tally.foreign === 1 ? "" : "s"} (kept as stored)`,
    );
  return EXIT.ok;
}

async function* bytesOf(chunks: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield Buffer.from(chunk, "utf8");
}

async function saveChunks(context: CommandContext, target: string, chunks: AsyncIterable<string>): Promise<void> {
  const path = resolve(context.cwd, target);
  if (leadsToLog(path)) throw new UserError(`${path} is the log of a session: choose another file`);
  const written = await writeOwnFile(path, bytesOf(chunks));
  if (!written.ok) throw new UserError(`cannot write ${path}: ${written.message}`, EXIT.failed);
}

async function rename(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  const [wanted, ...rest] = words;
  const title = cleanTitle(place.redact(rest.join(" ")));
  if (wanted === undefined || title === "") throw new UserError("usage: thndrs sessions rename ID TITLE");
  const id = findSession(place.dir, wanted, place.owner);
  let broken: string | undefined;
  const log = await openSessionLog({
    dir: place.dir,
    id,
    resume: true,
    onBroken: (_, why) => {
      broken = why;
    },
  });
  log.append({ type: "session_renamed", title });
  log.close();
  if (broken !== undefined) throw new UserError(`cannot rename ${id}: ${broken}`, EXIT.failed);
  if (context.flags.json) context.output.stdout.line(jsonText({ session_id: id, title }));
  else context.output.stdout.line(`${id}\t${visible(title)}`);
  return EXIT.ok;
}

async function search(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  const text = words.join(" ");
  if (text.trim() === "") throw new UserError("usage: thndrs sessions search TEXT");
  const { stdout } = context.output;
  const limit = context.flags.limit ?? Number.POSITIVE_INFINITY;
  const hits: SearchHit[] = [];
  for (const session of listSessions(place.dir)) {
    if (hits.length >= limit || stdout.broken !== undefined) break;
    const hit = await searchSession(redacted(session, place), text, place.redact, context.signal);
    if (hit !== undefined) hits.push(hit);
  }
  if (context.flags.json) {
    const found = hits.map(({ session, count, seq, type, snippet }) => ({
      ...summaryJson(session),
      matches: count,
      seq,
      type,
      snippet,
    }));
    stdout.line(jsonText(found));
  } else if (hits.length > 0) {
    const rows = hits.map(({ session, count, snippet }) => [session.id, timeText(session.updated), String(count), snippet]);
    const options = { aligned: stdout.isTerminal, columns: stdout.columns };
    for (const line of renderTable(["ID", "LAST USED (UTC)", "MATCHES", "TEXT"], rows, options)) stdout.line(line);
  } else context.output.stderr.line("thndrs: no session holds that text");
  return hits.length > 0 ? EXIT.ok : EXIT.failed;
}
