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

/** The texts a pattern's argument is compared with: the command line, the path, each patched path. */
function subjects(input: Readonly<Record<string, unknown>>): string[] {
  const { argv, path, patches, url, pattern, query } = input;
  if (Array.isArray(argv)) return [argv.map(String).join(" ")];
  if (Array.isArray(patches)) {
    return patches.map((patch: unknown) =>
      typeof patch === "object" && patch !== null && "path" in patch ? String(patch.path) : "",
    );
  }
  for (const value of [path, url, query, pattern]) if (typeof value === "string") return [value];
  return [JSON.stringify(input)];
}

function matches(pattern: ToolPattern, name: string, input: Readonly<Record<string, unknown>>, every: boolean): boolean {
  if (!wildcard(pattern.name, name)) return false;
  const { argument } = pattern;
  if (argument === undefined) return true;
  const texts = subjects(input);
  const test = (text: string): boolean => wildcard(argument, text);
  return every ? texts.every(test) : texts.some(test);
}

/** Builds the policy of a run. Deny wins over allow; `read-only` leaves reading tools only. */
export function createPolicy(authority: Authority, allow: readonly string[], deny: readonly string[]): ToolPolicy {
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
      const against = denied.find((pattern) => matches(pattern, name, input, false));
      if (against) return `Not allowed here: this call matches --deny-tool ${against.source}.`;
      if (allowed.length === 0 || allowed.some((pattern) => matches(pattern, name, input, true))) return undefined;
      return `Not allowed here: only these calls are: ${allowed.map((pattern) => pattern.source).join(", ")}.`;
    },
  };
}
