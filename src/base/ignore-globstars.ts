/**
 * Ignore rules with several globstars, matched name by name in linear time: as one regular expression they
 * try every way to lay the globstars, which takes minutes in a deep tree. Refuses: other rules, which the matcher does well.
 */
import type { Ignore } from "ignore";

/** What a rule says of a path: true to ignore it, false to keep it after all, undefined for nothing. */
export type GlobstarRule = (path: string, isDirectory: boolean) => boolean | undefined;

/** Those at the end need no search. */
const GLOBSTAR = /(?<=^!?|\/)\*{2,}(?=\/)/g;

export function hasManyGlobstars(rule: string): boolean {
  return (rule.match(GLOBSTAR)?.length ?? 0) > 1;
}

/** `rule` is relative to the root its paths are relative to; `matcherOf` makes the matcher of one name's pattern. */
export function globstarRule(rule: string, matcherOf: (pattern: string) => Ignore): GlobstarRule {
  const negative = rule.startsWith("!");
  const body = rule.replace(/^!?\/?/, "").replace(/(?<!\\) +$/, "");
  const isForDirectories = body.endsWith("/");
  const names = (isForDirectories ? body.slice(0, -1) : body).split("/");
  const matchers = names.map((name) => (/^\*{2,}$/.test(name) ? ANY_DEPTH : matcherOf(`/${name}`)));
  return (path, isDirectory) =>
    (isDirectory || !isForDirectories) && matches(matchers, path.split("/")) ? !negative : undefined;
}

const ANY_DEPTH = undefined;

/** Where a name does not fit, the globstar before it takes one more: only the last one needs to be tried again. */
function matches(matchers: readonly (Ignore | typeof ANY_DEPTH)[], names: readonly string[]): boolean {
  let next = 0;
  let globstar: { readonly at: number; names: number } | undefined;
  for (let index = 0; index < names.length; ) {
    const matcher = matchers[next];
    if (next < matchers.length && matcher === ANY_DEPTH) {
      // At the end it is everything inside, of which there is something.
      if (next === matchers.length - 1) return true;
      globstar = { at: next, names: index };
      next += 1;
    } else if (matcher?.ignores(names[index] ?? "")) {
      next += 1;
      index += 1;
    } else if (globstar !== undefined) {
      globstar.names += 1;
      index = globstar.names;
      next = globstar.at + 1;
    } else return false;
  }
  return next === matchers.length;
}
