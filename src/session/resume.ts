/** Goes on with an earlier session: its lock first, then its conversation. Never runs a tool, a queue or a process again. */
import { statSync } from "node:fs";
import { EXIT, UserError } from "../base/user-error.ts";
import type { Diagnostic } from "../types/event.ts";
import type { Owner } from "./ids.ts";
import { findSession, summarize } from "./list.ts";
import { type OnBroken, openSessionLog, type SessionLog } from "./log.ts";
import { describeSkipped, newTally } from "./read.ts";
import { type Conversation, readConversation } from "./replay.ts";

const REFUSED_AGAIN =
  "If that comes again, it is the conversation that is not taken: start a new one without --continue, or go on with another --model.";

type ResumeOptions = {
  /** As `openSessionLog`'s. */
  readonly within?: string;
  /** As `openSessionLog`'s. */
  readonly onBroken: OnBroken;
  /** Told once about skipped lines, open calls and records of a newer program. */
  readonly diagnose: (diagnostic: Diagnostic) => void;
  readonly now?: () => Date;
  readonly signal?: AbortSignal;
  /** Called before a conversation is rebuilt from a log of so many bytes. */
  readonly reading?: (bytes: number) => void;
  /** Whose `latest` is meant. */
  readonly owner?: Owner;
};

type Resumed = Conversation & { readonly id: string; readonly log: SessionLog };

/**
 * @param wanted An exact id, a unique prefix, or `latest`.
 * @throws UserError when there is no such session, the prefix is ambiguous, or another process writes it.
 */
export async function resumeSession(dir: string, wanted: string, options: ResumeOptions): Promise<Resumed> {
  const id = findSession(dir, wanted, options.owner);
  const { onBroken, now, signal, diagnose, within } = options;
  const log = await openSessionLog({
    dir,
    id,
    resume: true,
    onBroken,
    ...(now === undefined ? {} : { now }),
    ...(within === undefined ? {} : { within }),
  });
  try {
    const tally = newTally();
    options.reading?.(statSync(log.path).size);
    const conversation = await readConversation(log.path, tally, signal);
    const warn = (message: string): void => diagnose({ severity: "warning", code: "session_resume", message, path: log.path });
    const skipped = describeSkipped(tally);
    const made = wanted === "latest" ? summarize(dir, id)?.workspace : undefined;
    if (made && options.owner && made !== options.owner.root)
      warn(`session ${id} was made in ${made}: if it came with the repository, its messages are not yours`);
    if (skipped !== undefined) warn(`session ${id}: ${skipped}`);
    if (tally.foreign > 0)
      warn(
        `session ${id}: ${tally.foreign} unrecognized record${tally.foreign === 1 ? "" : "s"} of a newer program not replayed`,
      );
    const open = conversation.openCalls.length;
    if (open > 0) warn(`session ${id}: ${open} tool call${open === 1 ? "" : "s"} had no recorded result; not run again`);
    const { leftOut, refusal } = conversation;
    if (refusal !== undefined) warn(`session ${id}: the last request was refused (${refusal}). ${REFUSED_AGAIN}`);
    if (leftOut > 0) warn(`session ${id}: too long for any model; its oldest part (${leftOut} messages) is left out`);
    if (tally.records === 0) throw new UserError(`Session ${id} holds no readable record.`, EXIT.usage);
    return { ...conversation, id, log };
  } catch (error) {
    log.close();
    throw error;
  }
}
