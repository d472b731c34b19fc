/**
 * Patterns for the search without rg: rg's own syntax, matched line by line in linear time. Not by JavaScript's regular
 * expressions, whose syntax differs silently and which nothing can interrupt, not even the end of their thread.
 * Refuses: what rg refuses, and what only rg can do; the message names it.
 */
import { MAX_LINE_CHARS } from "./bounds.ts";
import { Alphabet } from "./pattern-alphabet.ts";
import { PatternProblem } from "./pattern-cursor.ts";
import { Machine, MORE, NONE, type Slice } from "./pattern-machine.ts";
import { type Holds, needlesOf } from "./pattern-needles.ts";
import { compileBackwards, compileForwards } from "./pattern-program.ts";
import { type Node, parseLiteral, parsePattern } from "./pattern-syntax.ts";

/** The first match in a line as UTF-16 offsets, exact in lines longer than MAX_LINE_CHARS: shorter ones are shown whole. */
export type Place = { readonly start: number; readonly end: number };

/** `unfinished`: the slice of work is used up, others should have their turn before `resume`. */
type Answer = Place | "unfinished" | undefined;

export type LineMatcher = {
  find(line: string): Answer;
  /** Goes on with the line that was begun. */
  resume(): Answer;
};

export type CompiledPattern =
  /** `holds` is false only of text without a match. */
  { readonly ok: true; readonly matcher: LineMatcher; readonly holds?: Holds } | { readonly ok: false; readonly message: string };

/** Some milliseconds. */
const SLICE = 1_000_000;

/** `message` says what of the pattern cannot be served here. */
export function compilePattern(pattern: string, literal: boolean, ignoreCase: boolean): CompiledPattern {
  if (literal && !ignoreCase) return { ok: true, matcher: textMatcher(pattern), holds: (text) => text.includes(pattern) };
  try {
    const node = literal ? parseLiteral(pattern, ignoreCase) : parsePattern(pattern, ignoreCase);
    const holds = needlesOf(node);
    return { ok: true, matcher: nodeMatcher(node, holds), ...(holds === undefined ? {} : { holds }) };
  } catch (problem) {
    if (problem instanceof PatternProblem) return { ok: false, message: problem.message };
    throw problem;
  }
}

function textMatcher(text: string): LineMatcher {
  return {
    find(line) {
      const start = line.indexOf(text);
      return start < 0 ? undefined : { start, end: start + text.length };
    },
    resume: () => undefined,
  };
}

const SOMEWHERE: Place = { start: 0, end: 0 };

/** A first run tells where the match ends, a second one, backwards from there, where it begins. */
function nodeMatcher(node: Node, holds: Holds | undefined): LineMatcher {
  const alphabet = new Alphabet();
  const slice: Slice = { left: SLICE };
  const forwards = new Machine(compileForwards(node, alphabet.numberOf), alphabet, slice);
  const backwards = new Machine(compileBackwards(node, alphabet.numberOf), alphabet, slice);
  let text = "";
  let end: number | undefined;
  const answer = (at: number): Answer => {
    if (at === MORE) return "unfinished";
    if (end !== undefined) return { start: at === NONE ? end : at, end };
    if (at === NONE) return undefined;
    if (text.length <= MAX_LINE_CHARS) return SOMEWHERE;
    end = at;
    return answer(backwards.begin(text, at, false));
  };
  return {
    find(line) {
      if (holds !== undefined && !holds(line)) return undefined;
      text = line;
      end = undefined;
      return answer(forwards.begin(line, 0, line.length <= MAX_LINE_CHARS));
    },
    resume() {
      slice.left = SLICE;
      return answer((end === undefined ? forwards : backwards).resume());
    },
  };
}
