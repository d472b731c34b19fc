/**
 * Which tools exist and which calls may run (security.md 5): authority, allow and deny patterns. Refuses: asking a person.
 */
import { UserError } from "../base/user-error.ts";
import type { Authority } from "../types/settings.ts";
import { aliasesOf, commandPattern, type PlacesOf, type Subject, spellings, subjectsOf } from "./call-subjects.ts";
import type { ToolEntry } from "./toolbox.ts";

/** `name`, `name*`, or `name(argument*)`; `*` is any text, `?` one character. */
export type ToolPattern = { readonly source: string; readonly name: string; readonly argument?: string };

export type ToolPolicy = {
  /** Whether the tool is offered at all. */
  offers(entry: ToolEntry): boolean;
  /** Why this call may not run; undefined when it may. */
  refuses(name: string, input: Readonly<Record<string, unknown>>): string | undefined;
  /** Which files (relative to the workspace) a search with this tool passes over, though it may look where they are. */
  hides(name: string): ((path: string) => boolean) | undefined;
};

/** @throws UserError for a pattern that is not `NAME` or `NAME(TEXT)`. */
export function parsePattern(source: string): ToolPattern {
  const match = /^([A-Za-z0-9_*?-]+)(?:\((.*)\))?$/s.exec(source.trim());
  if (!match?.[1])
    throw new UserError(`"${source}" is not a tool pattern; it looks like read_file_range, mcp__* or run_shell(git status*)`);
  return { source, name: match[1], ...(match[2] !== undefined && { argument: match[2] }) };
}

/** Wildcard match over the whole text in at most pattern × text steps (greedy with one point of return). */
export function wildcard(pattern: string, text: string): boolean {
  let at = 0;
  let index = 0;
  let star = -1;
  let mark = 0;
  while (index < text.length) {
    const wanted = pattern[at];
    if (wanted === "*") {
      star = at++;
      mark = index;
    } else if (wanted === "?" || (wanted !== undefined && wanted === text[index])) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++mark;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

type Call = { readonly name: string; readonly subjects: readonly Subject[]; readonly aliases: readonly string[] };

/** A pattern that forbids matches what it meets anywhere; one that allows must cover everything, at every place it leads to. */
function forbids(pattern: ToolPattern, call: Call): boolean {
  const { argument } = pattern;
  if (!wildcard(pattern.name, call.name)) return false;
  return argument === undefined || [...call.subjects.flat(2), ...call.aliases].some((text) => wildcard(argument, text));
}

function allows(pattern: ToolPattern, call: Call): boolean {
  const { argument } = pattern;
  if (!wildcard(pattern.name, call.name)) return false;
  if (argument === undefined || ANYTHING.test(argument)) return true;
  const wanted = call.name === "run_shell" ? commandPattern(argument) : argument;
  return call.subjects.every((subject) => subject.every((texts) => texts.some((text) => wildcard(wanted, text))));
}

const ANYTHING = /^\*+$/;

/** A place and the directories it lies in, the root included. */
function upwards(place: string): string[] {
  const above = [...place.matchAll(/\//g)].map((slash) => place.slice(0, slash.index));
  return [place, ...above, "."];
}

/** Whether a file that a search meets is one that patterns with an argument close to this tool. */
function hidesFiles(name: string, allowed: readonly ToolPattern[], denied: readonly ToolPattern[]) {
  const meets = (patterns: readonly ToolPattern[]) => patterns.filter((pattern) => wildcard(pattern.name, name));
  const open = meets(allowed);
  const closed = meets(denied);
  const narrowed = open.length > 0 && open.every(({ argument }) => argument !== undefined);
  if (!narrowed && closed.length === 0) return undefined;
  const match = (patterns: readonly ToolPattern[], places: readonly string[]): boolean =>
    places.some((place) =>
      spellings(place).some((text) => patterns.some(({ argument }) => argument !== undefined && wildcard(argument, text))),
    );
  return (path: string): boolean => {
    const places = upwards(path);
    return match(closed, places.slice(0, -1)) || (narrowed && !match(open, places));
  };
}

/** Builds the policy of a run. Deny wins over allow; `read-only` leaves reading tools only. */
export function createPolicy(
  authority: Authority,
  allow: readonly string[],
  deny: readonly string[],
  places: PlacesOf = (path) => [path],
): ToolPolicy {
  const allowed = allow.map(parsePattern);
  const denied = deny.map(parsePattern);
  return {
    offers(entry) {
      if (authority === "read-only" && entry.effect !== "read") return false;
      const { name } = entry.spec;
      if (denied.some((pattern) => pattern.argument === undefined && wildcard(pattern.name, name))) return false;
      return allowed.length === 0 || allowed.some((pattern) => wildcard(pattern.name, name));
    },
    refuses(name, input) {
      if (denied.length === 0 && allowed.length === 0) return undefined;
      const call = { name, subjects: subjectsOf(name, input, places), aliases: aliasesOf(name, input, places) };
      const against = denied.find((pattern) => forbids(pattern, call));
      if (against) return `Not allowed here: this call matches --deny-tool ${against.source}.`;
      if (allowed.length === 0 || allowed.some((pattern) => allows(pattern, call))) return undefined;
      return `Not allowed here: only these calls are: ${allowed.map((pattern) => pattern.source).join(", ")}.`;
    },
    hides: (name) => hidesFiles(name, allowed, denied),
  };
}
