/**
 * XXH64 of bytes that come in pieces: what `contentHash` says of all of them, without holding them. In JavaScript, because the
 * runtime's own takes whole inputs only; twenty times slower than that, so what is whole goes to `contentHash`. Refuses: seeds.
 */

const STRIPE = 32;
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;

/** The two primes of the inner loop in halves of 16 bits: products of a half and a word are exact in a double. */
const P1_HIGH = 0x9e3779b1;
const P1_LOW = [0xca87, 0x85eb] as const;
const P2_HIGH = 0xc2b2ae3d;
const P2_LOW = [0xeb4f, 0x27d4] as const;

export class HashStream {
  /** Four lanes of 64 bits, each as low and high word. */
  readonly #lanes = new Uint32Array(8);
  readonly #rest = new Uint8Array(STRIPE);
  #held = 0;
  #length = 0;

  constructor() {
    for (const [lane, start] of [P1 + P2, P2, 0n, -P1].entries()) {
      this.#lanes[lane * 2] = Number(BigInt.asUintN(32, start));
      this.#lanes[lane * 2 + 1] = Number(BigInt.asUintN(32, start >> 32n));
    }
  }

  push(chunk: Uint8Array): void {
    this.#length += chunk.length;
    let from = 0;
    if (this.#held > 0) {
      from = Math.min(STRIPE - this.#held, chunk.length);
      this.#rest.set(chunk.subarray(0, from), this.#held);
      this.#held += from;
      if (this.#held < STRIPE) return;
      mix(this.#lanes, this.#rest);
    }
    const whole = from + Math.floor((chunk.length - from) / STRIPE) * STRIPE;
    mix(this.#lanes, chunk.subarray(from, whole));
    this.#rest.set(chunk.subarray(whole));
    this.#held = chunk.length - whole;
  }

  /** In the form of `contentHash`. */
  finish(): string {
    const lanes = [0, 1, 2, 3].map(
      (lane) => BigInt(this.#lanes[lane * 2 + 1] ?? 0) * 2n ** 32n + BigInt(this.#lanes[lane * 2] ?? 0),
    );
    let hash = P5;
    if (this.#length >= STRIPE) {
      hash = lanes.reduce((sum, lane, index) => sum + rotate(lane, [1n, 7n, 12n, 18n][index] ?? 0n), 0n);
      for (const lane of lanes) hash = (low(hash) ^ round(0n, lane)) * P1 + P4;
    }
    hash = low(hash + BigInt(this.#length));
    const view = new DataView(this.#rest.buffer, 0, this.#held);
    let at = 0;
    for (; at + 8 <= this.#held; at += 8) hash = low(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * P1 + P4);
    if (at + 4 <= this.#held) {
      hash = low(rotate(hash ^ low(BigInt(view.getUint32(at, true)) * P1), 23n) * P2 + P3);
      at += 4;
    }
    for (; at < this.#held; at++) hash = low(rotate(hash ^ low(BigInt(view.getUint8(at)) * P5), 11n) * P1);
    hash = low((hash ^ (hash >> 33n)) * P2);
    hash = low((hash ^ (hash >> 29n)) * P3);
    hash ^= hash >> 32n;
    return `xxh64:${hash.toString(16).padStart(16, "0")}`;
  }
}

const low = (value: bigint): bigint => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint): bigint => low((value << bits) | (low(value) >> (64n - bits)));
const round = (lane: bigint, input: bigint): bigint => low(rotate(low(lane + input * P2), 31n) * P1);

/** Takes whole stripes into the lanes: `lane = rotate(lane + word * P2, 31) * P1`, in 32-bit words because bigints are far slower. */
function mix(lanes: Uint32Array, bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let lane = 0; lane < 4; lane++) {
    let high = lanes[lane * 2 + 1] ?? 0;
    let small = lanes[lane * 2] ?? 0;
    for (let at = lane * 8; at < bytes.length; at += STRIPE) {
      const word = view.getUint32(at, true);
      let first = word * P2_LOW[0];
      let second = word * P2_LOW[1] + Math.floor(first / 65_536);
      const productLow = (((second & 0xffff) << 16) | (first & 0xffff)) >>> 0;
      const productHigh =
        (Math.floor(second / 65_536) + Math.imul(word, P2_HIGH) + Math.imul(view.getUint32(at + 4, true), P2_WORD)) | 0;
      const sum = small + productLow;
      high = (high + productHigh + (sum > 0xffffffff ? 1 : 0)) | 0;
      small = sum >>> 0;
      const turned = ((small << 31) | (high >>> 1)) >>> 0;
      const turnedHigh = (high << 31) | (small >>> 1);
      first = turned * P1_LOW[0];
      second = turned * P1_LOW[1] + Math.floor(first / 65_536);
      small = (((second & 0xffff) << 16) | (first & 0xffff)) >>> 0;
      high = (Math.floor(second / 65_536) + Math.imul(turned, P1_HIGH) + Math.imul(turnedHigh, P1_WORD)) | 0;
    }
    lanes[lane * 2 + 1] = high >>> 0;
    lanes[lane * 2] = small;
  }
}

const P1_WORD = 0x85ebca87;
const P2_WORD = 0x27d4eb4f;
