/**
 * `thndrs context --session ID [--json]`: the context of a recorded session as its log last told it; `thndrs context recover
 * HANDLE --session ID`: the records behind a summary or a trimmed result. Refuses: writing to the log, replaying anything.
 */
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { jsonText } from "../session/json-text.ts";
import { type LastLedger, readLastLedger } from "../session/last-ledger.ts";
import { findSession, summarize } from "../session/list.ts";
import { describeSkipped, newTally } from "../session/read.ts";
import { recoverRange } from "../session/recover.ts";
import { sanitize, visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { openSessionPlace } from "./session-place.ts";
import { renderTable } from "./table.ts";

type Chosen = { readonly id: string; readonly path: string; readonly redact: (text: string) => string };

async function choose(context: CommandContext, wanted: string): Promise<Chosen> {
  const { dir, owner, redact } = await openSessionPlace(context);
  const id = findSession(dir, wanted, owner);
  const summary = summarize(dir, id);
  if (summary === undefined) throw new UserError(`No such session: ${JSON.stringify(wanted)}`);
  return { id, path: summary.path, redact };
}

/** Without a table of items: what the log says besides. */
function decisionLines({ decisions, handles }: LastLedger, redact: (text: string) => string): string[] {
  const some = (label: string, list: readonly string[]): string[] =>
    list.length === 0 ? [] : [visible(redact(`${label}: ${list.join(", ")}`))];
  return [
    ...some("Pinned", decisions.pins),
    ...some(
      "Dropped",
      decisions.drops.map(({ path }) => path),
    ),
    ...some("Recovery handles", handles),
  ];
}

function printLedger(context: CommandContext, { id, redact }: Chosen, last: LastLedger): void {
  const { stdout } = context.output;
  const { ledger } = last;
  if (!ledger) {
    stdout.line(`Session ${id} has no context ledger (no turn got that far, or it was driven by an external agent).`);
    for (const line of decisionLines(last, redact)) stdout.line(line);
    return;
  }
  const { used, available_input, target, auto_compaction_threshold, limit_source, turn_id, time } = ledger;
  stdout.line(visible(`Session ${id}, ${turn_id}, ${time}`));
  stdout.line(
    visible(
      `About ${used} of ${available_input} tokens used; compacted from ${auto_compaction_threshold} on, to ${target} (limits: ${limit_source})`,
    ),
  );
  for (const line of decisionLines(last, redact)) stdout.line(line);
  stdout.line("");
  const rows = ledger.items.map((item) => [
    item.kind,
    item.state,
    String(item.token_estimate),
    redact(item.path ?? item.id),
    redact(item.reason),
  ]);
  const heading = ["KIND", "STATE", "TOKENS", "WHAT", "WHY"];
  for (const line of renderTable(heading, rows, { aligned: stdout.isTerminal, columns: stdout.columns })) stdout.line(line);
}

/**
 * The last recorded ledger of a session, with its pins, drops and recovery handles.
 * @throws UserError when there is no such session
 */
export async function showSessionContext(context: CommandContext, wanted: string): Promise<ExitCode> {
  if (context.words.length > 0) throw new UserError("usage: thndrs context --session ID [--json]");
  const chosen = await choose(context, wanted);
  const tally = newTally();
  const last = await readLastLedger(chosen.path, tally, context.signal);
  const { stdout, stderr } = context.output;
  if (context.flags.json) {
    const { ledger, decisions, handles } = last;
    const drops = decisions.drops.map(({ path, contentHash }) => ({ path, content_hash: contentHash }));
    const document = { version: 1, session_id: chosen.id, ledger: ledger ?? null, pins: decisions.pins, drops, handles };
    stdout.line(chosen.redact(jsonText(document)));
  } else printLedger(context, chosen, last);
  const skipped = describeSkipped(tally);
  if (skipped !== undefined) stderr.line(`thndrs: warning: session ${chosen.id}: ${skipped}`);
  return EXIT.ok;
}

/**
 * `context recover HANDLE --session ID` (the latest session where none is named): at most 64 KiB, redacted. The log stays as
 * it is: the running session records its own recoveries.
 * @throws UserError for an unknown handle or session
 */
export async function recoverFromSession(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  if (words.length === 0) throw new UserError('usage: thndrs context recover "records A-B" [--session ID] [--json]');
  const chosen = await choose(context, context.flags.session ?? "latest");
  const { redact } = chosen;
  const found = await recoverRange(chosen.path, words.join(" "), { redact, signal: context.signal });
  const { stdout } = context.output;
  if (context.flags.json) {
    const { handle, start, end, records, truncated, text } = found;
    stdout.line(
      jsonText({ version: 1, session_id: chosen.id, handle, start_seq: start, end_seq: end, records, truncated, text }),
    );
  } else stdout.write(`${stdout.isTerminal ? sanitize(found.text) : found.text}\n`);
  return EXIT.ok;
}
