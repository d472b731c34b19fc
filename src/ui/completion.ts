/** Tab: what could be completed at the cursor, and what comes of it. Pure but for the walk of the workspace. */
import { walkFiles } from "../base/walk.ts";

export type CompletionTarget = {
  readonly kind: "command" | "argument" | "path" | "skill";
  /** The part of the text that would be replaced. */
  readonly from: number;
  readonly to: number;
  readonly word: string;
  /** Words before it, where it is an argument: the command first, without its mark. */
  readonly before: readonly string[];
};

/** What stands at the cursor; undefined when nothing there can be completed. */
export function completionTarget(text: string, cursor: number): CompletionTarget | undefined {
  const head = text.slice(0, cursor);
  const path = /(?:^|\s)@((?:[^\s"]|\\ )*)$/.exec(head);
  if (path) {
    const word = path[1] ?? "";
    return { kind: "path", from: cursor - word.length, to: cursor, word, before: [] };
  }
  const skill = /(?:^|\s)\$([a-z0-9-]*)$/.exec(head);
  if (skill) {
    const word = skill[1] ?? "";
    return { kind: "skill", from: cursor - word.length, to: cursor, word, before: [] };
  }
  const command = /^[/:]([a-z-]*)$/.exec(head);
  if (command) return { kind: "command", from: 1, to: cursor, word: command[1] ?? "", before: [] };
  const argument = /^[/:]([a-z-]+)[ \t]+((?:\S+[ \t]+)*)(\S*)$/.exec(head);
  if (!argument) return undefined;
  const word = argument[3] ?? "";
  const before = [argument[1] ?? "", ...(argument[2] ?? "").split(/\s+/).filter((part) => part !== "")];
  return { kind: "argument", from: cursor - word.length, to: cursor, word, before };
}

/** Candidates that fit, best first: those that begin with the word, then those that contain it. */
export function matching(candidates: readonly string[], word: string, limit: number): readonly string[] {
  const wanted = word.toLowerCase();
  const starts: string[] = [];
  const contains: string[] = [];
  for (const candidate of candidates) {
    // A directory whose name is there: what is asked for is what it holds.
    if (candidate === word && candidate.endsWith("/")) continue;
    const low = candidate.toLowerCase();
    if (low.startsWith(wanted)) starts.push(candidate);
    else if (wanted !== "" && low.includes(wanted)) contains.push(candidate);
    if (starts.length >= limit) break;
  }
  return [...starts, ...contains].slice(0, limit);
}

/** The longest text all candidates begin with, if it goes beyond the word. */
export function sharedPrefix(candidates: readonly string[], word: string): string {
  let prefix = candidates[0] ?? "";
  for (const candidate of candidates) {
    let length = 0;
    while (length < prefix.length && prefix[length] === candidate[length]) length++;
    prefix = prefix.slice(0, length);
  }
  return prefix.toLowerCase().startsWith(word.toLowerCase()) && prefix.length >= word.length ? prefix.toWellFormed() : word;
}

const MAX_FILES = 20_000;
const MAX_WALK_MS = 400;

/** Files and directories of the workspace below `base` ("" for all), without hidden and ignored ones; bounded in number and time. */
export async function workspacePaths(root: string, base: string, signal: AbortSignal): Promise<readonly string[]> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(MAX_WALK_MS)]);
  const files: string[] = [];
  const directories = new Set<string>();
  for await (const batch of walkFiles({ root, base, includeHidden: false, includeIgnored: false, signal: limit })) {
    for (const file of batch) {
      files.push(file);
      for (let at = file.lastIndexOf("/"); at > 0; at = file.lastIndexOf("/", at - 1)) {
        const directory = file.slice(0, at + 1);
        if (directories.has(directory)) break;
        directories.add(directory);
      }
    }
    if (files.length >= MAX_FILES) break;
  }
  const depth = (path: string): number => path.split("/").length;
  return [...directories, ...files].sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
}
