/** The live region at every size: never wider or higher than the terminal, the cursor inside it, on its character. */
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createSegmenter } from "../../src/ui/graphemes.ts";
import { createInputLayout } from "../../src/ui/input-layout.ts";
import { KeptLines } from "../../src/ui/kept-lines.ts";
import { createLiveTerminal } from "../../src/ui/live.ts";
import { composeFrame } from "../../src/ui/live-view.ts";
import type { OutputStream } from "../../src/ui/output.ts";
import { createPlainTerminal } from "../../src/ui/plain-terminal.ts";
import { createStyle } from "../../src/ui/style.ts";
import { createTranscript } from "../../src/ui/transcript.ts";
import { Screen } from "../support/screen.ts";
import { manualClock, streamOf } from "./live-stage.ts";

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

test("20,000 changes in a second are at most 30 frames; settled lines stand once, in order", async () => {
  const screen = new Screen(40, 10);
  const ticking = manualClock();
  let frames = 0;
  const stream = streamOf(screen, () => {
    frames += 1;
  });
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
    if (step % 50 === 0) live.settle(`line ${step}`);
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

test("clearing the screen loses no settled line that was not drawn yet", async () => {
  const screen = new Screen(40, 6);
  const ticking = manualClock();
  const live = createLiveTerminal({
    stream: streamOf(screen),
    view: () => ({ above: [], input: { prompt: "> ", text: "", cursor: 0 }, below: ["status"] }),
    layout: createInputLayout(segmenter),
    reflows: false,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  await ticking.run(40);
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  live.settle(lines.join("\n"));
  live.clear();
  await ticking.run(40);
  expect(screen.scrollback.slice(0, 15)).toEqual(lines.slice(0, 15));
  expect(screen.lines().filter((line) => line !== "")).toEqual([">", "status"]);
});

test("a question stands without a cursor, whatever stood or settled before it; what follows has one again", async () => {
  const screen = new Screen(40, 10);
  const ticking = manualClock();
  let written = "";
  const live = createLiveTerminal({
    stream: streamOf(screen, (text) => {
      written += text;
    }),
    view: () => ({ above: [], input: { prompt: "> ", text: "", cursor: 0 }, below: ["status"] }),
    layout: createInputLayout(segmenter),
    reflows: false,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  const isHidden = () => written.lastIndexOf("\x1b[?25l") > written.lastIndexOf("\x1b[?25h");
  const seen: boolean[] = [];
  const look = async () => {
    await ticking.run(40);
    seen.push(isHidden());
  };
  live.refresh();
  await look();
  for (const before of [() => live.settle("a line"), () => undefined, () => live.restart()]) {
    before();
    live.host(() => ({ lines: ["which one?"], row: 0, column: 0 }));
    await look();
    live.host(undefined);
    await look();
  }
  expect(seen).toEqual([false, true, false, true, false, true, false]);
});

test("L05 a terminal that gets lower and higher again shows one input and one status", async () => {
  const screen = new Screen(40, 14);
  const ticking = manualClock();
  let typed = "";
  const live = createLiveTerminal({
    stream: streamOf(screen),
    view: () => ({
      above: ["a", "b", "c", "d"],
      input: { prompt: "> ", text: typed, cursor: typed.length },
      below: ["status"],
    }),
    layout: createInputLayout(segmenter),
    reflows: false,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  live.settle("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine");
  await ticking.run(40);
  for (const rows of [8, 3, 5, 2, 14]) {
    screen.resize(40, rows);
    typed += "x";
    live.refresh();
    await ticking.run(40);
    const shown = screen.lines().map((line) => line.trimEnd());
    expect(shown.filter((line) => line.startsWith("> "))).toEqual([`> ${typed}`]);
    expect(shown.filter((line) => line === "status")).toHaveLength(rows === 2 ? 0 : 1);
  }
});

test("clearing pushes what stands on the screen into the scrollback, all of it, once, and no empty row with it", async () => {
  for (const count of [0, 1, 5, 9, 30]) {
    const screen = new Screen(40, 10);
    const ticking = manualClock();
    const live = createLiveTerminal({
      stream: streamOf(screen),
      view: () => ({ above: [], input: { prompt: "> ", text: "typed", cursor: 5 }, below: ["status"] }),
      layout: createInputLayout(segmenter),
      reflows: false,
      ...(ticking.clock && { clock: ticking.clock }),
    });
    const lines = Array.from({ length: count }, (_, index) => `line ${index}`);
    if (count > 0) live.settle(lines.join("\n"));
    live.refresh();
    await ticking.run(40);
    for (let press = 0; press < 3; press++) {
      live.clear();
      await ticking.run(40);
      expect(screen.text()).toBe("> typed\nstatus");
      expect(screen.scrollback).toEqual(lines);
    }
    expect([screen.row, screen.column]).toEqual([0, 7]);
  }
});

const TABS = Array.from({ length: 12 }, (_, index) => `v${index}`).join("\t");

test.each([
  ["a fence", "```\n", (line: string) => `${line}\n`, "```\n"],
  ["a list", "", (line: string) => `- ${line}\n`, "\n"],
  ["a list's fence", "-\tcode:\n\t```\n", (line: string) => `\t${line}\n`, "\t```\n\n"],
  ["indented code", "", (line: string) => `\t${line}\n`, "\n"],
  ["a quote", "", (line: string) => `> ${line}\n`, "\n"],
  ["references", "", (line: string) => `- ${line.replaceAll("\t", "&Tab;&#9;")}\n`, "\n"],
])("tabs leave no ghost rows while they stream: %s", async (_what, before, lineOf, after) => {
  const screen = new Screen(60, 24);
  const ticking = manualClock();
  const transcript = createTranscript({
    style: createStyle(true),
    color: true,
    columns: () => 60,
    settle: (text) => live.settle(text),
    now: ticking.now,
  });
  const live = createLiveTerminal({
    stream: streamOf(screen),
    view: () => ({
      above: [...transcript.moving("*", 8), "queued\tinput"],
      input: { prompt: "> ", text: "a\tb", cursor: 3 },
      below: ["status\t".repeat(7)],
    }),
    layout: createInputLayout(segmenter),
    reflows: false,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  transcript.prompt(`P0\t${TABS}\tP1`);
  const lines = Array.from({ length: 6 }, (_, index) => lineOf(`L${index}\t${TABS}\tE${index}`));
  for (const text of [before, ...lines, after, "Done.\n\n"].flatMap((part) => [part.slice(0, 9), part.slice(9)])) {
    transcript.event({ type: "text_delta", turnId: "turn-1", text });
    live.refresh();
    await ticking.run(40);
    for (const row of transcript.moving("*", 8)) expect(row).not.toContain("\t");
  }
  const rows = screen.everything();
  for (const word of ["P0", "P1", ...[0, 1, 2, 3, 4, 5].flatMap((index) => [`L${index}`, `E${index}`])]) {
    expect([word, rows.split(new RegExp(`${word}\\b`)).length - 1]).toEqual([word, 1]);
  }
  expect(rows.split("queued").length - 1).toBe(1);
});

test("on a plain terminal nothing is written while it is lent; what settled meanwhile comes afterwards", async () => {
  let written = "";
  const stream: OutputStream = {
    ...streamOf(new Screen(40, 6)),
    write: (part) => {
      written += String(part);
    },
    line: (text) => {
      written += `${text}\n`;
    },
  };
  const live = createPlainTerminal(stream, () => ({ above: [], input: { prompt: "> ", text: "", cursor: 0 }, below: [] }));
  live.settle("before");
  await live.hold();
  live.settle("one");
  live.settle("two");
  expect(written).toBe("before\n");
  live.release();
  expect(written).toBe("before\none\ntwo\n");
  await live.finish();
});

test("a long answer leaves nothing behind: ten times the text, the same memory", async () => {
  const ticking = manualClock();
  let written = 0;
  const stream: OutputStream = {
    ...streamOf(new Screen(80, 24)),
    write: (part) => {
      written += part.length;
    },
  };
  const kept = new KeptLines();
  const transcript = createTranscript({
    style: createStyle(true),
    color: true,
    columns: () => 80,
    settle: (text) => {
      kept.add(text);
      live.settle(text);
    },
    now: ticking.now,
  });
  const live = createLiveTerminal({
    stream,
    view: () => ({ above: transcript.moving("*", 8), input: { prompt: "> ", text: "", cursor: 0 }, below: ["status"] }),
    layout: createInputLayout(segmenter),
    reflows: false,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  const words = "## A heading\n\nSome **bold** words and `code`.\n\n- one\n- two\n\n```ts\nconst a = 1;\n```\n\nplain words\n\n";
  const answer = async (characters: number): Promise<number> => {
    for (let at = 0; at < characters; at += 50) {
      const from = at % words.length;
      transcript.event({ type: "text_delta", turnId: "turn-1", text: (words + words).slice(from, from + 50) });
      live.refresh();
      if (at % 10_000 === 0) await ticking.run(34);
    }
    await ticking.run(100);
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const short = await answer(400_000);
  const long = await answer(4_000_000);
  expect(written).toBeGreaterThan(4_400_000);
  expect(long - short).toBeLessThan(1024 * 1024);
});
