/**
 * Runs a program over lines: all ways at once, each set of ways met before remembered as one state, so that a character mostly
 * costs one look into a table. Matching is linear in the line, and stops to be resumed when its slice of work is used up, so
 * nothing a pattern says can hold up the program. Refuses: reading patterns.
 */
import { type Alphabet, NOTHING, UNKNOWN } from "./pattern-alphabet.ts";
import type { Edge } from "./pattern-escapes.ts";
import type { Program } from "./pattern-program.ts";

/** Work left until others should have their turn; shared by the machines of one pattern. About a nanosecond each. */
export type Slice = { left: number };

/** The slice is used up: to be resumed. */
export const MORE = -2;
/** No match. */
export const NONE = -1;

/** What stands before a place. */
type Before = "nothing" | "word" | "other";

type State = {
  readonly ways: readonly number[];
  readonly before: Before;
  /** The character that led here came right after a match. */
  readonly matched: boolean;
};

const NO_STATE: State = { ways: [], before: "nothing", matched: false };

/** Past any of these, the states met so far are forgotten. */
const MAX_STATES = 4096;
const MAX_WAYS = 400_000;
const MAX_CELLS = 1_048_576;
/** What a look into the table costs beside the work of building a state: per way and as such. */
const WAY_COST = 30;
const STATE_COST = 500;

export class Machine {
  readonly #program: Program;
  readonly #alphabet: Alphabet;
  readonly #slice: Slice;
  /** States by number; their row of the table begins at number times columns. Number 0 is none. */
  #states: State[] = [NO_STATE];
  #numbers = new Map<string, number>();
  readonly #firstRows = new Map<Before, number>();
  #ways = 0;
  #columns = 16;
  /** The state each kind of character leads to: its row, or minus its row where the run must look; 0 when it is not known yet. */
  #table = new Int32Array();
  /** Marks the steps that a walk has met. */
  readonly #met: Int32Array;
  readonly #taken: Int32Array;
  #walk = 0;

  #text = "";
  #at = 0;
  #row = 0;
  #found = NONE;
  #isFirstEnough = false;
  #isLast = true;

  constructor(program: Program, alphabet: Alphabet, slice: Slice) {
    this.#program = program;
    this.#alphabet = alphabet;
    this.#slice = slice;
    this.#met = new Int32Array(program.steps.length);
    this.#taken = new Int32Array(program.steps.length);
  }

  /**
   * Where the match ends that begins at `from` or later; read backwards, where the longest one begins that ends at `from`. With
   * `isFirstEnough` any place that tells that there is one. Not `isLast`: the text is the first piece of a longer one.
   */
  begin(text: string, from: number, isFirstEnough: boolean, isLast = true): number {
    this.#isLast = isLast;
    this.#text = text;
    this.#at = from;
    this.#found = NONE;
    this.#isFirstEnough = isFirstEnough;
    const { hasEdges, backwards } = this.#program;
    const outside = hasEdges ? (backwards ? text.codePointAt(from) : codeBefore(text, from)) : undefined;
    const before = outside === undefined ? "nothing" : this.#before(this.#alphabet.kindOf(outside));
    if (this.#columns < this.#alphabet.size()) this.#forget();
    this.#row = this.#firstRows.get(before) ?? this.#firstRow(before);
    return this.resume();
  }

  /** The next piece. */
  goOn(text: string, isLast: boolean): number {
    this.#text = text;
    this.#at = 0;
    this.#isLast = isLast;
    return this.resume();
  }

  #firstRow(before: Before): number {
    const ways: number[] = [];
    this.#walk += 1;
    this.#reach(this.#program.first, ways);
    this.#slice.left -= STATE_COST + ways.length * WAY_COST;
    const row = this.#rowOf({ ways, before, matched: false });
    this.#firstRows.set(before, row);
    return row;
  }

  resume(): number {
    const text = this.#text;
    const { backwards } = this.#program;
    const { units } = this.#alphabet;
    const end = backwards ? 0 : text.length;
    const step = backwards ? -1 : 1;
    const behind = backwards ? 1 : 0;
    while (this.#slice.left > 0) {
      let at = this.#at;
      let row = this.#row;
      const stop = backwards ? Math.max(end, at - this.#slice.left) : Math.min(end, at + this.#slice.left);
      const table = this.#table;
      while (at !== stop) {
        const kind = units[text.charCodeAt(at - behind)] as number;
        const to = table[row + kind] as number;
        if (kind === UNKNOWN || to <= 0) break;
        row = to;
        at += step;
      }
      this.#slice.left -= Math.abs(at - this.#at) + 1;
      this.#at = at;
      this.#row = row;
      if (at === end) {
        if (this.#isLast && this.#stateOf(this.#lead(NOTHING)).matched) this.#found = at;
        return this.#found;
      }
      if (at !== stop && this.#isOver()) return this.#found;
    }
    return MORE;
  }

  /** Takes one character the long way; true when nothing that follows can change the result. */
  #isOver(): boolean {
    const { backwards } = this.#program;
    const code = (backwards ? codeBefore(this.#text, this.#at) : this.#text.codePointAt(this.#at)) ?? 0;
    const kind = this.#kindOf(code);
    const row = this.#lead(kind);
    const state = this.#stateOf(row);
    if (state.matched) this.#found = this.#at;
    const width = code > 0xffff ? 2 : 1;
    this.#at += backwards ? -width : width;
    this.#row = row;
    return state.ways.length === 0 || (state.matched && this.#isFirstEnough);
  }

  #kindOf(code: number): number {
    const known = code < 0x10000 ? this.#alphabet.units[code] : UNKNOWN;
    if (known !== undefined && known !== UNKNOWN) return known;
    this.#slice.left -= this.#alphabet.effort();
    const kind = this.#alphabet.kindOf(code);
    if (kind >= this.#columns) {
      const state = this.#stateOf(this.#row);
      this.#forget();
      this.#row = this.#rowOf(state);
    }
    return kind;
  }

  /** The row of the state that a character of this kind leads to from the current one. */
  #lead(kind: number): number {
    const known = this.#table[this.#row + kind] ?? 0;
    if (known !== 0) return Math.abs(known);
    const from = this.#row;
    const before = this.#states;
    const next = this.#next(this.#stateOf(from), kind);
    this.#slice.left -= STATE_COST + (this.#stateOf(from).ways.length + next.ways.length) * WAY_COST;
    const row = this.#rowOf(next);
    // A row of states that have just been forgotten is somebody else's.
    const isSpecial = next.matched || next.ways.length === 0;
    if (before === this.#states) this.#table[from + kind] = isSpecial ? -row : row;
    return row;
  }

  #next(state: State, kind: number): State {
    this.#walk += 1;
    const ways: number[] = [];
    let matched = false;
    for (const way of state.ways) {
      if (!this.#follow(way, state.before, kind, ways)) continue;
      matched = true;
      // What is less preferred than a match is no longer looked at; backwards, the longest is wanted.
      if (!this.#program.backwards) break;
    }
    return { ways, before: this.#program.hasEdges ? this.#before(kind) : "nothing", matched };
  }

  /** Goes on from a way over a character of this kind; true when there is a match before the character. */
  #follow(way: number, before: Before, kind: number, ways: number[]): boolean {
    const { steps, backwards } = this.#program;
    const open = [way];
    let matched = false;
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const step = steps[at];
      if (step === undefined || this.#met[at] === this.#walk) continue;
      this.#met[at] = this.#walk;
      if (step.kind === "match") {
        matched = true;
        if (!backwards) return true;
      } else if (step.kind === "fork") open.push(step.or, step.to);
      else if (step.kind === "edge") {
        if (this.#holds(step.edge, before, kind)) open.push(step.to);
      } else if (kind !== NOTHING && (step.kind === "any" || this.#alphabet.has(step.set, kind))) this.#reach(step.to, ways);
    }
    return matched;
  }

  /** Adds what can be reached without a character, most preferred first; edges wait for what comes after them. */
  #reach(from: number, ways: number[]): void {
    const { steps } = this.#program;
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const step = steps[at];
      if (step === undefined || this.#taken[at] === this.#walk) continue;
      this.#taken[at] = this.#walk;
      if (step.kind === "fork") open.push(step.or, step.to);
      else ways.push(at);
    }
  }

  #holds(edge: Edge, before: Before, kind: number): boolean {
    if (edge === "start") return before === "nothing";
    if (edge === "end") return kind === NOTHING;
    const left = before === "word";
    const right = this.#alphabet.isWord(kind);
    switch (edge) {
      case "word":
        return left !== right;
      case "not word":
        return left === right;
      case "word start":
        return !left && right;
      case "word end":
        return left && !right;
      case "word start half":
        return !left;
      case "word end half":
        return !right;
    }
  }

  #before(kind: number): Before {
    return this.#alphabet.isWord(kind) ? "word" : "other";
  }

  #stateOf(row: number): State {
    return this.#states[row / this.#columns] ?? NO_STATE;
  }

  #rowOf(state: State): number {
    const key = `${state.before}${state.matched}${String.fromCharCode(...state.ways)}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known * this.#columns;
    const isFull = this.#states.length >= MAX_STATES || (this.#states.length + 1) * this.#columns > MAX_CELLS;
    if (isFull || this.#ways + state.ways.length > MAX_WAYS) this.#forget();
    const number = this.#states.push(state) - 1;
    this.#numbers.set(key, number);
    this.#ways += state.ways.length;
    const needed = this.#states.length * this.#columns;
    if (needed > this.#table.length) {
      const larger = new Int32Array(needed * 2);
      larger.set(this.#table);
      this.#table = larger;
    }
    return number * this.#columns;
  }

  #forget(): void {
    while (this.#columns < this.#alphabet.size()) this.#columns *= 2;
    this.#states = [NO_STATE];
    this.#numbers = new Map();
    this.#firstRows.clear();
    this.#ways = 0;
    this.#table = new Int32Array(this.#columns * 16);
  }
}

/** The character that ends at `at`; undefined at the beginning. */
function codeBefore(text: string, at: number): number | undefined {
  const unit = text.charCodeAt(at - 1);
  if (Number.isNaN(unit)) return undefined;
  const isPair = unit >= 0xdc00 && unit < 0xe000 && at > 1;
  const whole = isPair ? text.codePointAt(at - 2) : undefined;
  return whole !== undefined && whole > 0xffff ? whole : unit;
}
