/**
 * Patterns for the search without rg: rg's own syntax, matched line by line in linear time. Not by JavaScript's regular
 * expressions, whose syntax differs silently and which nothing can interrupt, not even the end of their thread.
 * Refuses: what rg refuses, and what only rg can do; the message names it.
 */
import { once } from "../base/once.ts";
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

/** Of a line too long to be held; its pieces come one after the other. */
export type Piece = { readonly isFirst: boolean; readonly isLast: boolean };

export type LineMatcher = {
  /** With `piece`: the first match that ends in it, at about its place. */
  find(line: string, piece?: Piece): Answer;
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
  let before = "";
  return {
    find(line, piece) {
      const from = piece === undefined || piece.isFirst ? "" : before;
      const start = (from + line).indexOf(text) - from.length;
      // The beginning of a match may be in the piece before.
      if (piece !== undefined) before = text.length > 1 ? (from + line).slice(1 - text.length) : "";
      return start < -from.length ? undefined : { start: Math.max(0, start), end: start + text.length };
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
  // Only a long line asks for it; its sets are those of the first.
  const backwards = once(() => new Machine(compileBackwards(node, alphabet.numberOf), alphabet, slice));
  let text = "";
  let end: number | undefined;
  let isShort = false;
  const answer = (at: number): Answer => {
    if (at === MORE) return "unfinished";
    if (end !== undefined) return { start: at === NONE ? end : at, end };
    if (at === NONE) return undefined;
    if (isShort) return SOMEWHERE;
    end = at;
    return answer(backwards().begin(text, at, false));
  };
  return {
    find(line, piece) {
      if (piece === undefined && holds !== undefined && !holds(line)) return undefined;
      text = line;
      end = undefined;
      isShort = piece === undefined && line.length <= MAX_LINE_CHARS;
      if (piece !== undefined && !piece.isFirst) return answer(forwards.goOn(line, piece.isLast));
      return answer(forwards.begin(line, 0, isShort || piece !== undefined, piece?.isLast));
    },
    resume() {
      slice.left = SLICE;
      return answer((end === undefined ? forwards : backwards()).resume());
    },
  };
}
