/**
 * A pattern's tree as steps of a machine that walks all ways at once (Thompson), so matching takes no longer than steps times
 * characters whatever the pattern. Refuses: running it (pattern-machine.ts), patterns of too many steps.
 */
import { PatternProblem } from "./pattern-cursor.ts";
import type { Edge } from "./pattern-escapes.ts";
import type { CharSet } from "./pattern-sets.ts";
import type { Node } from "./pattern-syntax.ts";

/** A step goes on to `to`; a fork to `to` first and then to `or`. */
export type Step =
  | { readonly kind: "set"; readonly set: number; readonly to: number }
  /** Any character, also one that no set holds. */
  | { readonly kind: "any"; readonly to: number }
  | { readonly kind: "edge"; readonly edge: Edge; readonly to: number }
  | { readonly kind: "fork"; to: number; or: number }
  | { readonly kind: "match" };

export type Program = {
  readonly steps: readonly Step[];
  readonly first: number;
  /** Read from the end of a match towards its beginning. */
  readonly backwards: boolean;
  readonly hasEdges: boolean;
};

/** Numbers the sets of a pattern. */
export type SetNumbers = (set: CharSet) => number;

/** Below 2^16, which the machine's keys rely on. */
const MAX_STEPS = 20_000;

const MIRRORED: Readonly<Record<Edge, Edge>> = {
  start: "end",
  end: "start",
  word: "word",
  "not word": "not word",
  "word start": "word end",
  "word end": "word start",
  "word start half": "word end half",
  "word end half": "word start half",
};

/** Finds the first match anywhere in a line. Throws a PatternProblem. */
export function compileForwards(node: Node, numberOf: SetNumbers): Program {
  const builder = new Builder(numberOf, false);
  const body = builder.add(node, builder.push({ kind: "match" }));
  // Beginning one character later is what every other way is preferred to.
  const fork = { kind: "fork" as const, to: body, or: 0 };
  const first = builder.push(fork);
  fork.or = builder.push({ kind: "any", to: first });
  return builder.finish(first);
}

/** Finds where matches begin that end at a known place. Throws a PatternProblem. */
export function compileBackwards(node: Node, numberOf: SetNumbers): Program {
  const builder = new Builder(numberOf, true);
  return builder.finish(builder.add(node, builder.push({ kind: "match" })));
}

class Builder {
  readonly #steps: Step[] = [];
  readonly #numberOf: SetNumbers;
  readonly #backwards: boolean;
  #work = 0;

  constructor(numberOf: SetNumbers, backwards: boolean) {
    this.#numberOf = numberOf;
    this.#backwards = backwards;
  }

  push(step: Step): number {
    return this.#steps.push(step) - 1;
  }

  finish(first: number): Program {
    const steps = this.#steps;
    return { steps, first, backwards: this.#backwards, hasEdges: steps.some((step) => step.kind === "edge") };
  }

  /** Adds what matches `node` and then goes on to `next`; where it begins. */
  add(node: Node, next: number): number {
    // Counted by calls, since repeating what adds no step would take its time too.
    this.#work += 1;
    if (this.#work > MAX_STEPS) {
      throw new PatternProblem(`the regex is too large: with its repetition counts over ${MAX_STEPS} steps`);
    }
    switch (node.kind) {
      case "set":
        return this.push({ kind: "set", set: this.#numberOf(node.set), to: next });
      case "edge":
        return this.push({ kind: "edge", edge: this.#backwards ? MIRRORED[node.edge] : node.edge, to: next });
      case "sequence": {
        // Built from its end.
        const parts = this.#backwards ? node.parts : node.parts.toReversed();
        return parts.reduce((after, part) => this.add(part, after), next);
      }
      case "choice": {
        const [last, ...others] = node.parts.map((part) => this.add(part, next)).reverse();
        return others.reduce((or, to) => this.push({ kind: "fork", to, or }), last ?? next);
      }
      case "repeat":
        return this.#repeat(node, next);
    }
  }

  #repeat(node: Extract<Node, { kind: "repeat" }>, next: number): number {
    const { part, min, max, greedy } = node;
    const isEndless = max === Number.POSITIVE_INFINITY;
    let entry = next;
    if (isEndless) {
      const fork = { kind: "fork" as const, to: 0, or: 0 };
      const at = this.push(fork);
      const body = this.add(part, at);
      [fork.to, fork.or] = greedy ? [body, next] : [next, body];
      entry = min === 0 ? at : body;
    }
    for (let count = min; !isEndless && count < max; count++) {
      const body = this.add(part, entry);
      entry = this.push({ kind: "fork", to: greedy ? body : next, or: greedy ? next : body });
    }
    for (let count = isEndless ? 1 : 0; count < min; count++) entry = this.add(part, entry);
    return entry;
  }
}
