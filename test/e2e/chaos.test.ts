/** A short, seeded part of the chaos run (`bun run soak` plays five hundred tasks). */
import { expect, test } from "bun:test";
import { chaos } from "../../scripts/soak/chaos.ts";

test("chaos: whatever the server does, the run ends as documented and nothing happens twice", async () => {
  const report = await chaos({ tasks: 15, seed: 7, parallel: 4 });
  expect(report.problems).toEqual([]);
  // The run must have met what it is about.
  expect(report.faults).toBeGreaterThan(25);
  expect(report.effects).toBeGreaterThan(15 * 10);
  expect(report.exits.size).toBeGreaterThan(2);
  expect(report.exits.get(0)).toBe(15);
}, 60_000);
