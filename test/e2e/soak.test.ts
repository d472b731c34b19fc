/** Short parts of the soak (`bun run soak` plays 500 turns): a small window, kills around compactions, logs cut anywhere. */
import { expect, test } from "bun:test";
import { crashCompactions } from "../../scripts/soak/compaction-crash.ts";
import { mixture, WINDOW, windowRun } from "../../scripts/soak/window.ts";
import { tempDir } from "../support/temp.ts";

test("a long turn in a small window: never over it, nothing protected is lost; its log cut anywhere is one conversation", async () => {
  let log = "";
  const run = await windowRun("loop", { turns: 60, wire: "chat", window: WINDOW }, (text) => {
    log = text;
  });
  expect(run.problems).toEqual([]);
  expect(run.turns).toBe(60);
  expect(run.compactions).toBeGreaterThan(2);

  await using dir = await tempDir();
  const path = dir.at("session-20260101-000000-aaaa.jsonl");
  const lines = log.trimEnd().split("\n");
  const first = lines.findIndex((line) => line.includes('"type":"compaction"'));
  // Every end a kill can leave around the compactions: between two records, and in the middle of one.
  for (const [at, line] of lines.entries()) {
    if (at < first - 3 || !/"type":"(?:compaction|context|usage|assistant_finished)"/.test(line)) continue;
    const head = lines
      .slice(0, at)
      .map((one) => `${one}\n`)
      .join("");
    for (const tail of ["", line.slice(0, line.length >> 1), line]) {
      await Bun.write(path, head + tail);
      expect(await mixture(path)).toEqual([]);
    }
  }
}, 60_000);

test("the same in many processes: each goes on where the last one stopped, through any number of compactions", async () => {
  const run = await windowRun("resumed", { turns: 27, wire: "anthropic", window: WINDOW, perRun: 3 });
  expect(run.problems).toEqual([]);
  expect(run.compactions).toBeGreaterThan(2);
}, 60_000);

test("killed around a compaction: the conversation is the one before or the one after, never a mixture", async () => {
  const report = await crashCompactions({ kills: 4, seed: 5, wire: "responses" });
  expect(report.problems).toEqual([]);
  expect(report.kills.size).toBe(4);
}, 60_000);
