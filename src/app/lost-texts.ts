/**
 * Which instruction texts a conversation no longer holds word for word after old tool results gave way: they came at the end
 * of such a result (C9.4), or were read by the model. Refuses: deciding what is sent again.
 */
import { join } from "node:path";
import { sourcesIn } from "../context/format.ts";
import type { Message } from "../types/message.ts";

export type HeldText = { readonly path: string; readonly contentHash: string };

/** `path (lines 1-N of N, HASH)`: the head of a whole file's reading. */
const COMPLETE_READ = /^(.+) \(lines 1-(\d+) of \2, (xxh64:[0-9a-f]{16})\)/;

/** What read.ts says below a reading that shows less than the file; lines of the file begin with their number. */
const CUT = /\n\[(?:line \d+ \(|cut by |not valid UTF-8)/;

/** Files whose complete reading these messages hold; one that was shortened since is none. */
function completeReads(messages: readonly Message[], workspace: string): HeldText[] {
  return messages.flatMap((message) => {
    if (message.role !== "tool" || message.name !== "read_file_range") return [];
    const [, path, lines, contentHash] = COMPLETE_READ.exec(message.text) ?? [];
    if (path === undefined || contentHash === undefined) return [];
    return hasLines(message.text, Number(lines)) && !CUT.test(message.text) ? [{ path: join(workspace, path), contentHash }] : [];
  });
}

/** Files whose current text these messages hold whole: read by the model, or delivered beside a tool result or a prompt. */
export function wholeTexts(messages: readonly Message[], workspace: string): HeldText[] {
  const delivered = messages.flatMap(({ text }) => sourcesIn(text).filter(({ truncated }) => !truncated));
  return [...completeReads(messages, workspace), ...delivered.map(({ path, contentHash }) => ({ path, contentHash }))];
}

/** Whether a text has at least `wanted` lines below its first. */
function hasLines(text: string, wanted: number): boolean {
  let at = text.indexOf("\n");
  for (let line = 1; line < wanted && at !== -1; line++) at = text.indexOf("\n", at + 1);
  return at !== -1;
}

/** Texts of `before` that no message of `after` holds whole. */
export function lostTexts(before: readonly Message[], after: readonly Message[], workspace: string): HeldText[] {
  const kept = new Set(after);
  const changed = before.filter((message) => message.role === "tool" && !kept.has(message));
  if (changed.length === 0) return [];
  const old = new Set(before);
  const whole = after.filter((message) => old.has(message) || message.role === "user");
  const stillRead = new Set(completeReads(whole, workspace).map(({ path, contentHash }) => `${path}\0${contentHash}`));
  const delivered = changed.flatMap(({ text }) => sourcesIn(text));
  const read = completeReads(changed, workspace).filter(({ path, contentHash }) => !stillRead.has(`${path}\0${contentHash}`));
  const gone = delivered.filter(({ element }) => !after.some((message) => message.text.includes(element)));
  return [...gone.map(({ path, contentHash }) => ({ path, contentHash })), ...read];
}
