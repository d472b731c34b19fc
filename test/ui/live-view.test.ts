/** The live region at every size: never wider or higher than the terminal, the cursor inside it, on its character. */
import { expect, test } from "bun:test";
import { createSegmenter } from "../../src/ui/graphemes.ts";
import { createInputLayout } from "../../src/ui/input-layout.ts";
import { createLiveTerminal } from "../../src/ui/live.ts";
import { composeFrame } from "../../src/ui/live-view.ts";
import type { OutputStream } from "../../src/ui/output.ts";
import { Screen } from "../support/screen.ts";

const segmenter = createSegmenter();

test("every size, every cursor", () => {
  const layout = createInputLayout(segmenter);
  const text = "日本語🌲 some words that are wrapped\n\nsecond line 👨‍👩‍👧 and its end\n".repeat(3);
  const above = ["moving", "\x1b[31mcoloured and long, very long indeed\x1b[0m", "日本語".repeat(20)];
  const below = ["menu", "status that is longer than a narrow terminal"];
  for (const columns of [1, 2, 3, 5, 20, 79, 200]) {
    for (const rows of [1, 2, 3, 5, 24, 60]) {
      for (let cursor = 0; cursor <= text.length; cursor += 7) {
        const at = [...segmenter.segment(text)].find((part) => part.index >= cursor)?.index ?? text.length;
        const frame = composeFrame({ above, input: { prompt: "❯ ", text, cursor: at }, below }, columns, rows, layout);
        expect(frame.lines.length).toBeGreaterThan(0);
        expect(frame.lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
        expect(frame.row).toBeLessThan(frame.lines.length);
        expect(frame.column).toBeLessThanOrEqual(Math.max(2, columns - 1));
        if (columns >= 5) for (const line of frame.lines) expect(Bun.stringWidth(line)).toBeLessThan(columns);
      }
    }
  }
});

type Ticking = {
  readonly now: () => number;
  readonly run: (ms: number) => Promise<void>;
  readonly clock: Parameters<typeof createLiveTerminal>[0]["clock"];
};

/** A clock that goes on only when told. */
function manualClock(): Ticking {
  let time = 0;
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  return {
    now: () => time,
    async run(ms) {
      const end = time + ms;
      for (;;) {
        const [next] = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers = timers.filter((timer) => timer !== next);
        time = Math.max(time, next.at);
        next.action();
        await Promise.resolve();
        await Promise.resolve();
      }
      time = end;
    },
    clock: {
      now: () => time,
      after(ms, action) {
        const timer = { at: time + ms, action };
        timers.push(timer);
        return () => {
          timers = timers.filter((other) => other !== timer);
        };
      },
      sleep: async () => undefined,
    },
  };
}

test("20,000 changes in a second are at most 30 frames; settled lines stand once, in order", async () => {
  const screen = new Screen(40, 10);
  const ticking = manualClock();
  let frames = 0;
  const stream = {
    isTerminal: true,
    color: true,
    columns: 40,
    rows: 10,
    broken: undefined,
    node: process.stdout,
    write(part: string | Uint8Array) {
      frames += 1;
      screen.write(String(part));
    },
    line: () => undefined,
    flush: async () => undefined,
    onBroken: () => undefined,
    onResize: () => () => undefined,
    writeNow: () => undefined,
  } satisfies OutputStream;
  let count = 0;
  const live = createLiveTerminal({
    stream,
    view: () => ({ above: [`seen ${count}`], input: { prompt: "> ", text: "typed", cursor: 5 }, below: ["status"] }),
    layout: createInputLayout(segmenter),
    reflows: false,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  for (let step = 0; step < 1000; step++) {
    for (let change = 0; change < 20; change++) {
      count += 1;
      live.refresh();
    }
    if (step % 50 === 0) live.settle([`line ${step}`]);
    await ticking.run(1);
  }
  await ticking.run(100);
  expect(frames).toBeLessThanOrEqual(33);
  const shown = [...screen.scrollback, ...screen.lines()].filter((line) => line !== "");
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index * 50}`);
  expect(shown).toEqual([...lines, "seen 20000", "> typed", "status"]);
  await live.finish();
  expect(screen.everything().trimEnd().split("\n").at(-1)).toBe("line 950");
});
