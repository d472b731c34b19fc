/** Frames with members missing, of the wrong type, repeated or reordered: never a throw, always exactly one ending. */
import { expect, test } from "bun:test";
import { wireFrames } from "../support/loopback.ts";
import { collect, encode, memoryFetch, settingsFor, testProvider, WIRES } from "../support/wire/stream.ts";

/** Small deterministic generator (xorshift32): a failing seed can be run again. */
function generator(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const STRANGE: readonly unknown[] = [null, 0, -1, 1e308, "", "x", "\ud800", [], [null], {}, { error: null }, true];

function mutate(value: unknown, next: (below: number) => number): unknown {
  if (next(14) === 0) return STRANGE[next(STRANGE.length)];
  if (Array.isArray(value)) return value.map((item) => mutate(item, next));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (next(20) === 0 ? [] : [[key, mutate(inner, next)]])),
  );
}

function mutateFrame(frame: string, next: (below: number) => number): string {
  const data = /^data: (.*)$/m.exec(frame)?.[1] ?? "";
  if (!data.startsWith("{") || next(3) > 0) return frame;
  return frame.replace(data, () => JSON.stringify(mutate(JSON.parse(data), next)));
}

for (const wire of WIRES) {
  test(`${wire}: 600 mutated streams`, async () => {
    const answer = {
      reasoning: ["hm", "m"],
      text: ["a", "b"],
      calls: [
        { name: "x", arguments: { n: 1 } },
        { name: "y", arguments: {} },
      ],
    };
    for (let seed = 1; seed <= 600; seed += 1) {
      const next = generator(seed);
      const frames = wireFrames(wire, answer).flatMap((frame) => {
        const mutated = mutateFrame(frame, next);
        const fate = next(25);
        return fate === 0 ? [] : fate === 1 ? [mutated, mutated] : [mutated];
      });
      if (next(6) === 0) frames.push(...frames.splice(next(frames.length), 1));
      const said = await collect(
        testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch: memoryFetch({ chunks: encode(frames.join("")) }) }),
      );
      expect([seed, said.endings]).toEqual([seed, 1]);
      expect([seed, said.failure?.class === "internal" ? said.failure.message : ""]).toEqual([seed, ""]);
      expect(said.text.isWellFormed() && said.reasoning.isWellFormed()).toBe(true);
      expect(new Set(said.calls.map((call) => call.id)).size).toBe(said.calls.length);
      for (const call of said.calls) expect(call.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      for (const count of Object.values(said.usage ?? {})) expect(Number.isFinite(count) && count >= 0).toBe(true);
    }
  });
}
