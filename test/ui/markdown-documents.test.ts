/**
 * Random documents as models write them, their blocks touching with and without blank lines: every word is shown once, code in
 * frames and nothing else in them, every frame closed; and what is shown is what the renderer makes of the whole document.
 */
import { expect, test } from "bun:test";
import type { RunEvent } from "../../src/types/event.ts";
import { createStyle } from "../../src/ui/style.ts";
import { createTranscript } from "../../src/ui/transcript.ts";
import { pick, type Random, seededRandom } from "../support/random-tree.ts";

function shown(pieces: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  const transcript = createTranscript({
    style: createStyle(true),
    color: true,
    // One column stays free.
    columns: () => columns + 1,
    settle: (text) => void lines.push(...text.split("\n")),
    now: () => 0,
  });
  const events: RunEvent[] = pieces.map((text) => ({ type: "text_delta", turnId: "turn-1", text }));
  for (const event of [...events, { type: "turn_finished", turnId: "turn-1" } as const]) transcript.event(event);
  return lines.map((line) => Bun.stripANSI(line));
}

/** A generator of documents. Words of text are `t1x`, words of code `c1x`; no two are the same. */
class Writer {
  readonly #random: Random;
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #word(kind: "t" | "c"): string {
    this.#count += 1;
    return `${kind}${this.#count}x`;
  }

  #words(limit: number): string {
    const marked = [(word: string) => `**${word}**`, (word: string) => `\`${word}\``, (word: string) => `日本 ${word}`];
    return Array.from({ length: 1 + this.#below(limit) }, () => {
      const word = this.#word("t");
      return this.#below(6) === 0 ? pick(this.#random, marked)(word) : word;
    }).join(" ");
  }

  #codeLines(): string[] {
    const forms = ["", "  ", "# ", "- ", "1. ", "| a | ", "> ", "\t", "    "];
    const lines = Array.from({ length: 1 + this.#below(4) }, () => `${pick(this.#random, forms)}${this.#word("c")}`);
    return this.#below(3) === 0 ? [...lines, "", `${this.#word("c")};`] : lines;
  }

  #fence(indent = ""): string[] {
    const mark = pick(this.#random, ["```", "```", "```", "~~~", "````"]);
    const code = this.#codeLines();
    // What closes no fence: too deep, too short, of the other kind, with words behind it.
    if (this.#below(4) === 0)
      code.push(pick(this.#random, ["    ```", "``", mark === "~~~" ? "```" : "~~~", `${mark} ${this.#word("c")}`]));
    const lines = [`${mark}${pick(this.#random, ["", "ts", "bash", "go"])}`, ...code, mark];
    return lines.map((line) => (line === "" ? "" : indent + line));
  }

  #item(marker: string, depth: number): string[] {
    const inside: string[] = [];
    const fenceFirst = this.#below(8) === 0;
    if (this.#below(3) === 0) inside.push(...this.#blank(2), ...this.#fence(" ".repeat(this.#below(3))));
    if (this.#below(4) === 0) inside.push("", this.#words(6));
    if (depth < 2 && this.#below(10) === 0) inside.push("", ...this.#table());
    if (this.#below(12) === 0) inside.push("", `## ${this.#words(2)}`);
    if (depth < 2 && this.#below(3) === 0) inside.push(...this.#blank(3), ...this.#list(depth + 1));
    const indent = " ".repeat(marker.length + 1);
    const indented = inside.map((line) => (line === "" ? "" : indent + line));
    if (!fenceFirst) return [`${marker} ${this.#words(8)}`, ...indented];
    const [head = "", ...rest] = this.#fence().map((line) => (line === "" ? "" : indent + line));
    return [`${marker} ${head.trimStart()}`, ...rest, ...indented];
  }

  #list(depth = 0): string[] {
    const ordered = this.#below(2) === 0;
    const loose = this.#below(3) === 0;
    const bullet = pick(this.#random, ["-", "*"]);
    return Array.from({ length: 1 + this.#below(3) }, (_, index) => [
      ...(index > 0 && loose ? [""] : []),
      ...this.#item(ordered ? `${index + 1}.` : bullet, depth),
    ]).flat();
  }

  #blank(odds: number): string[] {
    return this.#below(odds) === 0 ? [""] : [];
  }

  #table(): string[] {
    const row = (): string => `| ${this.#word("t")} | ${this.#words(2)} |`;
    return [row(), "|---|:-:|", ...Array.from({ length: 1 + this.#below(2) }, row)];
  }

  block(): string[] {
    const paragraph = (): string[] => Array.from({ length: 1 + this.#below(3) }, () => this.#words(12));
    const kinds: (() => string[])[] = [
      paragraph,
      paragraph,
      () => this.#fence(),
      () => this.#fence(" ".repeat(this.#below(4))),
      () => this.#list(),
      () => this.#list(),
      () => [`${"#".repeat(1 + this.#below(4))} ${this.#words(3)}`],
      () => this.#table(),
      () => ["***"],
      () => ["* * *"],
      () => [this.#words(3), "==="],
      () =>
        pick(this.#random, [paragraph, () => this.#fence(), () => this.#list(), () => this.#table()])().map(
          (line) => `> ${line}`,
        ),
      // Below a list it would be text of an item.
      () => ["***", "", ...this.#codeLines().map((line) => (line === "" ? "" : `    ${line.trimStart()}`)), ""],
    ];
    return pick(this.#random, kinds)();
  }

  document(): string {
    const lines: string[] = [];
    for (let count = 1 + this.#below(6); count > 0; count--) {
      lines.push(...this.block(), ...(this.#below(3) === 0 ? [""] : []));
    }
    return `${lines.join("\n")}\n`;
  }
}

const HEAD = /^[\s│]*┌─(?: \S.*)?$/;
const TAIL = /^[\s│]*└─$/;

/** Words of code and of text, where each stands; throws where a frame is not balanced. */
function places(lines: readonly string[]): { readonly framed: string[]; readonly free: string[] } {
  const framed: string[] = [];
  const free: string[] = [];
  let inside = false;
  for (const line of lines) {
    if (HEAD.test(line) || TAIL.test(line)) {
      if (HEAD.test(line) === inside) throw new Error(`a frame that is not balanced: ${line}`);
      inside = !inside;
    } else (inside ? framed : free).push(...(line.match(/[tc]\d+x/g) ?? []));
  }
  if (inside) throw new Error("a frame that is not closed");
  return { framed, free };
}

const without = (lines: readonly string[]): string[] => lines.map((line) => line.trimEnd()).filter((line) => line !== "");

test("every word once, code in frames, frames balanced, and as the whole document is rendered", () => {
  for (let seed = 1; seed <= 1500; seed++) {
    const text = new Writer(seededRandom(seed)).document();
    const words = (kind: string): string[] => text.match(new RegExp(`${kind}\\d+x`, "g")) ?? [];
    for (const columns of [30, 40, 79]) {
      const lines = shown([text], columns);
      let found: ReturnType<typeof places> | string;
      try {
        found = places(lines);
      } catch (error) {
        found = String(error);
      }
      // A table that is shown as a list names its columns in each row.
      if (columns === 30 && typeof found === "object") found = { ...found, free: [...new Set(found.free)].sort() };
      const free = columns === 30 ? words("t").sort() : words("t");
      expect({ text, lines, found }).toEqual({ text, lines, found: { framed: words("c"), free } });
      const isWide = (line: string): boolean => Bun.stringWidth(line) > columns && !line.includes("│ ");
      expect({ text, wide: lines.filter(isWide) }).toEqual({ text, wide: [] });
      if (columns === 30) continue;
      const whole = Bun.stripANSI(Bun.markdown.ansi(text, { columns, colors: true, hyperlinks: false })).split("\n");
      // The renderer wraps no heading.
      if (!whole.some(isWide)) expect({ text, lines: without(lines) }).toEqual({ text, lines: without(whole) });
      if (columns === 40) expect({ text, lines: shown([...text], columns) }).toEqual({ text, lines });
    }
  }
});

/** What models write and the standard reads otherwise: the code is shown as code all the same. */
test.each([
  ["code left of its fence", "1. Do:\n   ```bash\nc1x\n  c2x\n   ```\n2. t1x\n"],
  ["a fence that closes left of where it opened", "1. Do:\n   ```bash\n   c1x\n```\n2. t1x\n"],
  ["a fence too far right in its item", "- t1x\n      ```ts\n      c1x\n      ```\n- t2x\n"],
  ["a fence too far right in a deeper item", "1. t1x\n   - t2x\n         ```ts\n         c1x\n\n         ```\n2. t3x\n"],
  ["an item below a paragraph that does not begin with one", "Steps:\n2. ```ts\n   c1x\n   ```\n3. t1x\n"],
  ["a fence indented like code", "t1x\n    ```ts\n    c1x\n    ```\nt2x\n"],
  ["a list's fence without an end", "Intro:\n1. t1x\n   ```\n   c1x\n"],
])("%s", (_what, text) => {
  for (const columns of [20, 40, 79]) {
    for (const pieces of [[text], [...text]]) {
      const { framed, free } = places(shown(pieces, columns));
      expect([framed, free]).toEqual([text.match(/c\d+x/g) ?? [], text.match(/t\d+x/g) ?? []]);
    }
  }
});
