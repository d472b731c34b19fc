/** Words that listings and searches share: the byte cap, stops, unreadable places. Refuses: anything tool-specific. */
import { pathText } from "../base/path-quote.ts";
import { groupDigits } from "../base/text.ts";
import { MAX_RESULT_BYTES, SEARCH_TIMEOUT_MS } from "./bounds.ts";

/** Kept free for the notes below the lines. */
const NOTES_BYTES = 1536;

/** Security.md 5: not how many, which would tell what is in them. */
export const CLOSED_NOTE = "[files that the allowed and denied tools of this run close to this tool were left out]";

/** Joins as many lines as the byte cap holds; `kept` is how many. */
export function joinBounded(lines: readonly string[]): { readonly text: string; readonly kept: number } {
  let bytes = 0;
  let kept = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_RESULT_BYTES - NOTES_BYTES) break;
    kept += 1;
  }
  return { text: lines.slice(0, kept).join("\n"), kept };
}

/** Why a search or listing ended early; nothing for one that did not. Limits are said by their owners. */
export function sayStop(end: "complete" | "limit" | "timeout" | "cancelled", hasResults: boolean): string[] {
  if (end === "cancelled") return ["[cancelled: incomplete]"];
  if (end !== "timeout") return [];
  const found = hasResults ? "incomplete" : "nothing found up to then";
  return [`[stopped after ${SEARCH_TIMEOUT_MS / 1000} s: ${found}; narrow path or glob]`];
}

/** S04: a partial result says so, also when it is empty. */
export function sayProblems(
  outcome: { readonly unreadable: number; readonly firstProblem?: string; readonly endedEarly?: string },
  verb: "searched" | "listed",
): string[] {
  if (outcome.endedEarly !== undefined) return [`[incomplete: ${outcome.endedEarly}; repeat the call]`];
  if (outcome.unreadable === 0) return [];
  const first = outcome.firstProblem === undefined ? "" : `: ${pathText(outcome.firstProblem.replace(/^\.\//, ""))}`;
  const more = outcome.unreadable > 1 ? " and others" : "";
  return [`[${groupDigits(outcome.unreadable)} path${outcome.unreadable > 1 ? "s" : ""} could not be ${verb}${first}${more}]`];
}

/** For a `path` that does not exist because it is a pattern. */
export function globHint(path: string | undefined): string {
  return path !== undefined && /[*?{[]/.test(path) ? "path is no pattern: use glob for that. " : "";
}
