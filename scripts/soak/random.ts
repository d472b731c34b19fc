/** Seeded chance: the same seed gives the same run again. Refuses: secrets. */

export type Random = {
  /** 0 ≤ x < 1. */
  next(): number;
  /** A whole number, 0 ≤ n < below. */
  below(below: number): number;
  /** True in `share` of the cases. */
  chance(share: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(of: readonly T[]): T;
};

/** Mixes all bits of its state with every number (a Weyl sequence, then two multiply-xor rounds). */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (share) => next() < share,
    pick: <T>(of: readonly T[]): T => of[below(of.length)] as T,
  };
}
