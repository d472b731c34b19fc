/** Commands that change the session: /new, /resume, /name, /model, /reasoning, /export, /cd. Only between turns. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { extname, resolve } from "node:path";
import { UserError } from "../base/user-error.ts";
import { type ExportFormat, exportSession as project } from "../session/export.ts";
import { ownerOf } from "../session/ids.ts";
import { findSession, listSessions, type SessionSummary, summarize } from "../session/list.ts";
import { newTally } from "../session/read.ts";
import { cleanTitle } from "../session/title.ts";
import type { Repl } from "./repl.ts";
import { sanitize, visible } from "./sanitize.ts";

export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;

/** Sessions offered by the picker: the newest ones. */
const MAX_LISTED = 200;

/** `/new`. */
export function newSession(repl: Repl): Promise<void> {
  return repl.hold(openNew(repl));
}

async function openNew(repl: Repl): Promise<void> {
  await repl.open({});
  repl.say([`new session ${visible(repl.runtime.sessionId)}`]);
}

/** Ids of the sessions kept here, newest first. */
export function sessionIds(repl: Repl): readonly string[] {
  const dir = repl.controls.sessionDir;
  return dir === undefined ? [] : listSessions(dir).map((session) => session.id);
}

function label(session: SessionSummary): string {
  return session.title === "" ? session.id : session.title;
}

/** `/resume [ID]`: a list where no id (or the beginning of one) is given. Throws UserError for an unknown one. */
export async function resume(repl: Repl, words: readonly string[]): Promise<void> {
  // From the first moment: what is sent before the list is there is for the session that is chosen.
  await repl.hold(resumeChosen(repl, words));
}

/** False when there is none to go on with. Who gives up the list stays in this one, and what was sent with it. */
async function resumeChosen(repl: Repl, words: readonly string[]): Promise<boolean> {
  const dir = repl.controls.sessionDir;
  if (dir === undefined) throw new UserError("sessions are not kept here (--ephemeral)");
  const owner = ownerOf(dir, repl.runtime.workspace);
  let wanted = words[0];
  if (wanted === undefined) {
    const others = listSessions(dir).filter(
      ({ id, workspace }) => id !== repl.runtime.sessionId && (owner.alone || workspace === owner.root),
    );
    if (others.length === 0) {
      repl.say(["there is no earlier session here"]);
      return false;
    }
    wanted = await repl.pick({
      message: "Go on with which session?",
      choices: others.slice(0, MAX_LISTED).map((found) => ({
        value: found.id,
        label: label(found),
        hint: `${found.updated.slice(0, 16).replace("T", " ")} ${found.model}`,
      })),
    });
    if (wanted === undefined) return true;
  }
  const id = findSession(dir, wanted, owner);
  if (id === repl.runtime.sessionId) {
    repl.say(["that is this session"]);
    return true;
  }
  await repl.open({ resume: id });
  return true;
}

/** `/name TITLE`. */
export function nameSession(repl: Repl, _: readonly string[], rest: string): void {
  const title = cleanTitle(rest);
  if (title === "") repl.error("usage: /name TITLE");
  else if (repl.runtime.sessionPath === undefined) repl.error("this session is not kept (--ephemeral)");
  else if (repl.controls.retitle(title)) repl.say([`named "${visible(title)}"`]);
  else repl.error("the session begins with your first message: name it then");
}

/** `/model [PROVIDER/ID]`: without a name, what the endpoints serve is asked for and listed. Throws UserError when it cannot be used. */
export async function chooseModel(repl: Repl, words: readonly string[]): Promise<void> {
  // What is sent meanwhile is for the model that was asked for.
  await repl.hold(useChosen(repl, words));
}

/** False when it was cancelled. Who gives up the list stays with this model, and what was sent with it. */
async function useChosen(repl: Repl, [name, ...more]: readonly string[]): Promise<boolean> {
  if (more.length > 0) throw new UserError("usage: /model PROVIDER/ID");
  const label = name === undefined ? "asking for models" : "opening the model";
  return repl.busy(label, async (signal) => {
    const chosen = name ?? (await pickModel(repl, signal));
    if (chosen !== undefined) await repl.controls.useModel(chosen, signal);
    if (chosen !== undefined && !signal.aborted) repl.say([`model ${visible(repl.runtime.model)}`]);
    return !signal.aborted;
  });
}

async function pickModel(repl: Repl, signal: AbortSignal): Promise<string | undefined> {
  const models = await repl.listModels(signal);
  if (signal.aborted) return undefined;
  if (models.length === 0) {
    repl.say([`model ${visible(repl.runtime.model)}; no endpoint lists others. /model PROVIDER/ID names one`]);
    return undefined;
  }
  return repl.pick({
    message: "Which model?",
    choices: models.map((model) => ({ value: model, label: model })),
    initial: repl.runtime.model,
    signal,
  });
}

/** `/reasoning [LEVEL]`. */
export async function chooseReasoning(repl: Repl, words: readonly string[]): Promise<void> {
  const [word] = words;
  const use = (level: (typeof EFFORTS)[number] | undefined): void => {
    if (level === undefined) return;
    repl.controls.setReasoningEffort(level);
    repl.say([`reasoning ${level}`]);
  };
  if (word !== undefined) {
    const level = EFFORTS.find((effort) => effort === word);
    if (level) use(level);
    else repl.error(`there is no level "${visible(word)}": ${EFFORTS.join(", ")}`);
    return;
  }
  const question = {
    message: "How much should the model think?",
    choices: EFFORTS.map((effort) => ({ value: effort, label: effort })),
    initial: repl.controls.reasoningEffort ?? "medium",
  };
  await repl.busy("choosing", async (signal) => use(await repl.pick({ ...question, signal })));
}

/** A path as a shell would read it: `~` at its start is the user's home. */
function atHome(repl: Repl, path: string): string {
  const { home } = repl;
  return home === undefined ? path : path.replace(/^~(?=\/|$)/, () => home);
}

const FORMATS: Readonly<Record<string, ExportFormat>> = {
  ".md": "markdown",
  ".markdown": "markdown",
  ".html": "html",
  ".htm": "html",
  ".json": "json",
  ".jsonl": "jsonl",
  ".txt": "text",
};

/** `/export [FILE]`: the format follows from the name; nothing is replaced. Throws UserError when it cannot be written. */
export async function exportSession(repl: Repl, _: readonly string[], rest: string): Promise<void> {
  const { sessionDir, cwd } = repl.controls;
  const { sessionId } = repl.runtime;
  const summary = sessionDir === undefined ? undefined : summarize(sessionDir, sessionId);
  if (!summary) {
    repl.error("there is nothing to export yet");
    return;
  }
  const path = resolve(cwd, rest === "" ? `${sessionId}.md` : atHome(repl, rest));
  const format = FORMATS[extname(path).toLowerCase()];
  if (!format) {
    repl.error(`what should ${visible(path)} be? Its name ends in .md, .html, .json, .jsonl or .txt`);
    return;
  }
  if (existsSync(path)) {
    repl.error(`${visible(path)} already exists`);
    return;
  }
  const parts: string[] = [];
  const options = { format, redact: repl.redact, cleanBlock: sanitize, cleanLine: visible, tally: newTally() };
  for await (const part of project(summary, options)) parts.push(part);
  await repl.writer(path)(parts.join(""));
  repl.say([`written: ${visible(path)}`]);
}

function directoryAt(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** `/cd [DIR]`: a new session there; without a directory, in the home. Throws UserError when it cannot be opened. */
export function changeDirectory(repl: Repl, _: readonly string[], rest: string): Promise<void> {
  return repl.hold(openIn(repl, rest));
}

async function openIn(repl: Repl, rest: string): Promise<void> {
  const cwd = directoryAt(resolve(repl.controls.cwd, atHome(repl, rest === "" ? "~" : rest)));
  if (cwd === undefined) throw new UserError(`there is no directory ${visible(rest)}`);
  await repl.open({ cwd });
  repl.say([`new session in ${visible(cwd)}`]);
}
