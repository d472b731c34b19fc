/**
 * Sorts the characters that come into kinds: those of one kind are in the same sets of a pattern, so that a table of few columns
 * serves for all of Unicode. Refuses: knowing what the sets are for.
 */
import { type CharSet, PERL_CLASSES, unicodeSet } from "./pattern-sets.ts";

/** The kind of a character that has not come yet, and of the place after the last one. */
export const UNKNOWN = 0;
export const NOTHING = 1;

/** One character stands for all of its kind. Which sets they are in is asked of it: a list for each kind could fill the memory. */
type Kind = { readonly isWord: boolean; readonly code: number };

export class Alphabet {
  readonly #sets: CharSet[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #kinds: Kind[] = [NO_KIND, NO_KIND];
  readonly #bySignature = new Map<bigint, number>();
  readonly #beyond = new Map<number, number>();
  readonly #word = unicodeSet(PERL_CLASSES.w ?? "", false);
  /** Kind of each UTF-16 unit that is a character by itself; UNKNOWN also for halves of one. */
  readonly units = new Uint16Array(65_536);

  /** All sets must have their number before the first character is asked about. */
  numberOf = (set: CharSet): number => {
    const known = this.#numbers.get(set.key);
    if (known !== undefined) return known;
    this.#numbers.set(set.key, this.#sets.length);
    return this.#sets.push(set) - 1;
  };

  /** How many kinds there are by now. */
  size(): number {
    return this.#kinds.length;
  }

  /** About how many steps it takes to sort a character. */
  effort(): number {
    return this.#sets.length;
  }

  kindOf(code: number): number {
    const isUnit = code < 0x10000;
    const known = isUnit ? this.units[code] : this.#beyond.get(code);
    if (known !== undefined && known !== UNKNOWN) return known;
    const isWord = this.#word.has(code);
    const members = Uint32Array.from(this.#sets.keys().filter((number) => this.#isIn(number, code)));
    const signature = Bun.hash.xxHash64(members, isWord ? 1n : 0n);
    const found = this.#bySignature.get(signature) ?? this.#kinds.push({ isWord, code }) - 1;
    this.#bySignature.set(signature, found);
    const isHalf = code >= 0xd800 && code <= 0xdfff;
    if (!isUnit || isHalf) this.#beyond.set(code, found);
    else this.units[code] = found;
    return found;
  }

  /** rg takes line ends out of every class of a pattern; a lone CR is all that can come. */
  #isIn(set: number, code: number): boolean {
    return code >= 0 && code !== 10 && code !== 13 && this.#sets[set]?.has(code) === true;
  }

  has(set: number, kind: number): boolean {
    return this.#isIn(set, this.#kinds[kind]?.code ?? NO_CODE);
  }

  isWord(kind: number): boolean {
    return this.#kinds[kind]?.isWord === true;
  }
}

/** No character, in no set. */
const NO_CODE = -1;
const NO_KIND: Kind = { isWord: false, code: NO_CODE };
