/**
 * `thndrs sessions delete|prune`: takes session logs away for good, after a question where somebody can answer it. Refuses:
 * sessions that are in use, files that are no session logs.
 */
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { jsonText } from "../session/json-text.ts";
import { findSession, listSessions, summarize } from "../session/list.ts";
import { sweepLocks } from "../session/lock.ts";
import { deleteSession, selectForPrune } from "../session/remove.ts";
import { visible } from "../ui/sanitize.ts";
import { stdinKind } from "../ui/stdin.ts";
import type { CommandContext } from "./command.ts";
import { askYes } from "./confirm.ts";
import type { SessionPlace } from "./session-place.ts";
import { timeText } from "./table.ts";

const MAX_SHOWN = 20;

/** `sessions delete ID…`. */
export async function removeSessions(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  if (words.length === 0) throw new UserError("usage: thndrs sessions delete ID…");
  // All names are checked before the first file goes.
  const ids = [...new Set(words.map((word) => findSession(place.dir, word, place.owner)))];
  return removeAll(context, place, ids);
}

/** `sessions prune`: this workspace's, by age or number. */
export async function pruneSessions(context: CommandContext, place: SessionPlace, words: readonly string[]): Promise<ExitCode> {
  const { olderThan, keep } = context.flags;
  if (words.length > 0) throw new UserError("usage: thndrs sessions prune --older-than DURATION and/or --keep N [--dry-run]");
  if (olderThan === undefined && keep === undefined)
    throw new UserError("sessions prune needs --older-than DURATION, --keep N or both");
  const rules = { ...(olderThan === undefined ? {} : { olderThan }), ...(keep === undefined ? {} : { keep }) };
  const all = listSessions(place.dir);
  const own = place.owner.alone ? all : all.filter(({ workspace }) => workspace === place.owner.root);
  if (own.length < all.length)
    context.output.stderr.line(
      `thndrs: ${all.length - own.length} of the ${all.length} sessions in ${visible(place.dir)} are not of this workspace and stay (thndrs sessions delete ID removes one)`,
    );
  const chosen = selectForPrune(own, rules, new Date());
  if (context.flags.dryRun !== true) sweepLocks(place.dir);
  return removeAll(
    context,
    place,
    chosen.map((session) => session.id),
  );
}

/** What goes, and whether it may. Asked only where somebody can answer: a script has said what it wants. */
async function confirm(context: CommandContext, place: SessionPlace, ids: readonly string[]): Promise<"yes" | ExitCode> {
  const { stderr } = context.output;
  if (context.flags.yes || stdinKind() !== "terminal" || !stderr.isTerminal) return "yes";
  for (const id of ids.slice(0, MAX_SHOWN)) {
    const summary = summarize(place.dir, id);
    const title = summary?.title ? `  ${visible(place.redact(summary.title))}` : "";
    stderr.line(`  ${id}${summary ? `  ${timeText(summary.updated)}` : ""}${title}`);
  }
  if (ids.length > MAX_SHOWN) stderr.line(`  … and ${ids.length - MAX_SHOWN} more`);
  return askYes(context, stderr, ids.length === 1 ? "Delete this session?" : `Delete these ${ids.length} sessions?`);
}

async function removeAll(context: CommandContext, place: SessionPlace, ids: readonly string[]): Promise<ExitCode> {
  const { output, flags } = context;
  const word = flags.dryRun || ids.length === 0 ? "yes" : await confirm(context, place, ids);
  if (word !== "yes") {
    output.stderr.line("thndrs: nothing was deleted");
    return word;
  }
  const done: string[] = [];
  const kept: { id: string; reason: string }[] = [];
  for (const id of ids) {
    try {
      if (!flags.dryRun) deleteSession(place.dir, id);
      done.push(id);
    } catch (error) {
      kept.push({ id, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  if (flags.json) output.stdout.line(jsonText({ deleted: done, kept, dry_run: flags.dryRun === true }));
  else for (const id of done) output.stdout.line(`${flags.dryRun ? "would delete" : "deleted"} ${id}`);
  for (const { id, reason } of kept) output.stderr.line(`thndrs: ${id} not deleted: ${visible(reason)}`);
  return kept.length === 0 ? EXIT.ok : EXIT.failed;
}
