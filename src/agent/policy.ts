/**
 * Which tools exist and which calls may run (security.md 5): authority, allow and deny patterns. Refuses: asking a person.
 */
import { UserError } from "../base/user-error.ts";
import type { Authority } from "../types/settings.ts";
import type { ToolEntry } from "./toolbox.ts";

/** `name`, `name*`, or `name(argument*)`; `*` is any text, `?` one character. */
export type ToolPattern = { readonly source: string; readonly name: string; readonly argument?: string };

export type ToolPolicy = {
  /** Whether the tool is offered at all. */
  offers(entry: ToolEntry): boolean;
  /** Why this call may not run; undefined when it may. */
  refuses(name: string, input: Readonly<Record<string, unknown>>): string | undefined;
};

/** @throws UserError for a pattern that is not `NAME` or `NAME(TEXT)`. */
export function parsePattern(source: string): ToolPattern {
  const match = /^([A-Za-z0-9_*?-]+)(?:\((.*)\))?$/s.exec(source.trim());
  if (!match?.[1])
    throw new UserError(`"${source}" is not a tool pattern; it looks like read_file_range, mcp__* or run_shell(git status*)`);
  return { source, name: match[1], ...(match[2] !== undefined && { argument: match[2] }) };
}

/** Wildcard match over the whole text in linear time for any pattern (greedy with one point of return). */
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

/**
 * Where a path as a model wrote it leads, relative to the workspace with `/` separators: as its words say, and through links
 * where that is another place. Patterns are about places, not about spellings.
 */
export type PlacesOf = (path: string) => readonly string[];

/** What a pattern's argument is compared with: one entry a thing the call is about, each with its spellings by place. */
type Subject = readonly (readonly string[])[];

function subjects(input: Readonly<Record<string, unknown>>, places: PlacesOf): Subject[] {
  const { argv, path, patches, url, pattern, query } = input;
  const found: Subject[] = [];
  const add = (value: unknown): void => {
    if (typeof value === "string") found.push(places(value).map((place) => [place, `./${place}`, `${place}/`]));
  };
  if (Array.isArray(argv)) found.push([[argv.map(String).join(" ")]]);
  if (Array.isArray(patches)) {
    for (const patch of patches) add(typeof patch === "object" && patch !== null && "path" in patch ? patch.path : "");
  }
  add(path);
  if (found.length > 0) return found;
  const text = [url, query, pattern].find((value) => typeof value === "string");
  return [[[typeof text === "string" ? text : JSON.stringify(input)]]];
}

type Call = {
  readonly name: string;
  readonly subjects: readonly Subject[];
  /** Other words for the same command, for patterns that forbid: `/bin/rm x` is `rm x` too. */
  readonly aliases: readonly string[];
};

function aliasesOf({ argv }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(argv)) return [];
  const [program = "", ...rest] = argv.map(String);
  return program.includes("/") ? [[program.slice(program.lastIndexOf("/") + 1), ...rest].join(" ")] : [];
}

const MOST_STRINGS = 10_000;

/** What a server's tool is given may stand anywhere in its input. */
function stringsIn(value: unknown, found: string[] = []): string[] {
  if (found.length >= MOST_STRINGS) return found;
  if (typeof value === "string") found.push(value);
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) stringsIn(inner, found);
  return found;
}

/** A pattern that forbids matches what it meets anywhere; one that allows must cover everything, at every place it leads to. */
function forbids(pattern: ToolPattern, call: Call): boolean {
  const { argument } = pattern;
  if (!wildcard(pattern.name, call.name)) return false;
  return argument === undefined || [...call.subjects.flat(2), ...call.aliases].some((text) => wildcard(argument, text));
}

function allows(pattern: ToolPattern, call: Call): boolean {
  const { argument } = pattern;
  if (!wildcard(pattern.name, call.name)) return false;
  if (argument === undefined) return true;
  return call.subjects.every((subject) => subject.every((spellings) => spellings.some((text) => wildcard(argument, text))));
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
      const aliases = name.startsWith("mcp__") ? stringsIn(input) : aliasesOf(input);
      const call = { name, subjects: subjects(input, places), aliases };
      const against = denied.find((pattern) => forbids(pattern, call));
      if (against) return `Not allowed here: this call matches --deny-tool ${against.source}.`;
      if (allowed.length === 0 || allowed.some((pattern) => allows(pattern, call))) return undefined;
      return `Not allowed here: only these calls are: ${allowed.map((pattern) => pattern.source).join(", ")}.`;
    },
  };
}
