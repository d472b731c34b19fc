/**
 * The live region through random drafts, edits and changes of width, on terminals that cut rows off and on those that wrap them
 * anew: what stands there afterwards is what has settled, once, and below it what a fresh draw would show.
 */
import { expect, test } from "bun:test";
import { type Frame, resizedFrame } from "../../src/ui/frame.ts";
import { createSegmenter } from "../../src/ui/graphemes.ts";
import { createInputLayout } from "../../src/ui/input-layout.ts";
import { createLiveTerminal } from "../../src/ui/live.ts";
import { composeFrame, type LiveView } from "../../src/ui/live-view.ts";
import { Screen } from "../support/screen.ts";
import { manualClock, streamOf } from "./live-stage.ts";

const segmenter = createSegmenter();
const ROWS = 60;
/** Words of one to three clusters: wide ones, marks inside and beside their letters, joined emoji, presentation selectors, flags. */
const WORDS = [
  "a",
  "bc ",
  " ",
  "日",
  "本語",
  "각",
  "🌲",
  "👨‍👩‍👧",
  "❤️",
  "☎︎",
  "e\u0301",
  "n\u0303o",
  "ｆｕ",
  "🇩🇪",
  "👍🏽",
  "ไทย",
  "नमस्ते",
  "दुनिया ",
  "दुःख",
  "क्षि",
  "বাংলা",
  "கொ",
  "ကာ",
  "\n",
  "\t",
];

function randomFrom(seed: number): (limit: number) => number {
  let state = seed * 2654435761 + 1;
  return (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
}

function stage(columns: number, reflows: boolean, spacesMarks: boolean) {
  const screen = new Screen(columns, ROWS, { reflows, spacesMarks });
  const layout = createInputLayout(segmenter, spacesMarks);
  const ticking = manualClock();
  const resizes = new Set<() => void>();
  const view = { above: [] as string[], text: "", cursor: 0 };
  const shown = (): LiveView => ({
    above: view.above,
    input: { prompt: "❯ ", text: view.text, cursor: view.cursor },
    below: ["status of this"],
  });
  const live = createLiveTerminal({
    stream: streamOf(screen, undefined, resizes),
    view: shown,
    layout,
    reflows,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  const draw = async (): Promise<void> => {
    live.refresh();
    await ticking.run(40);
  };
  const resize = (to: number): void => {
    screen.resize(to, ROWS);
    for (const listener of resizes) listener();
  };
  return { screen, live, layout, view, shown, draw, resize };
}

const withoutEnd = (lines: readonly string[]): readonly string[] => lines.join("\n").replace(/\s+$/, "").split("\n");

const KINDS = [
  [true, false],
  [true, true],
  [false, false],
  [false, true],
] as const;

for (const [reflows, spacesMarks] of KINDS) {
  const kind = `${reflows ? "wrapped anew" : "cut off"}, ${spacesMarks ? "a cell for a vowel sign" : "a cell for a cluster"}`;
  test(`one prompt, each settled line once, whatever the width becomes: ${kind}`, async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = randomFrom(seed);
      const words = (count: number): string =>
        Array.from({ length: random(count) + 1 }, () => WORDS[random(WORDS.length)]).join("");
      const { screen, live, layout, view, shown, draw, resize } = stage(10 + random(70), reflows, spacesMarks);
      const settled = Array.from({ length: random(2) === 0 ? ROWS : random(ROWS) + 1 }, (_, index) => `line ${index}`);
      live.settle(settled.join("\n"));
      let drawn: Frame | undefined;
      let isPushedOut = false;
      for (let step = 0; step < 25; step++) {
        const clusters = [...segmenter.segment(view.text)];
        const at = clusters[random(clusters.length + 1)]?.index ?? view.text.length;
        const action = random(6);
        if (action <= 1) {
          const more = words(30);
          view.text = view.text.slice(0, at) + more + view.text.slice(at);
          view.cursor = at + more.length;
        } else if (action === 2) {
          const to = clusters[random(clusters.length + 1)]?.index ?? view.text.length;
          view.text = view.text.slice(0, Math.min(at, to)) + view.text.slice(Math.max(at, to));
          view.cursor = Math.min(at, to);
        } else if (action === 3) view.cursor = at;
        else if (action === 4) {
          const line = `s${seed}.${step}`;
          settled.push(line);
          live.settle(line);
          view.above = Array.from({ length: random(3) }, () => words(8).replaceAll("\n", ""));
        } else
          for (let count = random(4); count >= 0; count--) {
            resize(8 + random(72));
            // Rows that were pushed out of the screen cannot be taken back; wrapping pushes out also where rows below are empty.
            const place = drawn && resizedFrame(drawn, screen.columns, reflows, layout.counting);
            const isLost = screen.row === 0 && screen.column === 0 && place?.column !== 0;
            isPushedOut ||= place !== undefined && (place.row > screen.row || isLost);
          }
        if (isPushedOut) break;
        await draw();
        const fresh = new Screen(screen.columns, ROWS, { spacesMarks });
        const frame = composeFrame(shown(), screen.columns, ROWS, createInputLayout(segmenter, spacesMarks));
        drawn = frame;
        fresh.write(frame.lines.join("\r\n"));
        const what = { seed, step, columns: screen.columns };
        expect({ ...what, lines: withoutEnd(screen.logicalLines()) }).toEqual({
          ...what,
          lines: withoutEnd([...settled, ...fresh.lines()]),
        });
        const top = settled.length - screen.scrollback.length;
        if (!reflows) expect([screen.row, screen.column]).toEqual([top + frame.row, frame.column]);
      }
    }
  });
}

test("vowel signs beside their letters: a narrower terminal leaves nothing of the draft behind", async () => {
  const { screen, live, layout, view, shown, draw, resize } = stage(62, true, true);
  live.settle("settled");
  view.text = "नमस्ते दुनिया ".repeat(5).trim();
  view.cursor = view.text.length;
  await draw();
  resize(52);
  await draw();
  const fresh = new Screen(52, ROWS, { spacesMarks: true });
  fresh.write(composeFrame(shown(), 52, ROWS, layout).lines.join("\r\n"));
  expect(screen.everything()).toBe(`settled\n${fresh.text()}`);
});

test("while the size changes nothing is drawn: the terminal may have another one than it told", async () => {
  const screen = new Screen(40, 10, { reflows: true });
  const ticking = manualClock();
  const resizes = new Set<() => void>();
  let writes = 0;
  const live = createLiveTerminal({
    stream: streamOf(screen, () => void writes++, resizes),
    view: () => ({ above: [`tick ${ticking.now()}`], input: { prompt: "> ", text: "", cursor: 0 }, below: ["status"] }),
    layout: createInputLayout(segmenter),
    reflows: true,
    calmMs: 300,
    ...(ticking.clock && { clock: ticking.clock }),
  });
  live.settle("settled");
  await ticking.run(40);
  const before = writes;
  for (let change = 0; change < 20; change++) {
    screen.resize(20 + change, 10);
    for (const listener of resizes) listener();
    for (let tick = 0; tick < 5; tick++) {
      live.refresh();
      await ticking.run(50);
    }
  }
  expect(writes).toBe(before);
  await ticking.run(100);
  expect(screen.text()).toBe(`settled\ntick ${40 + 20 * 250 + 50}\n>\nstatus`);
  // Who takes the terminal meanwhile gets it without what was drawn for the old size.
  screen.resize(8, 10);
  for (const listener of resizes) listener();
  await live.hold();
  expect(screen.everything()).toBe("settled");
});
