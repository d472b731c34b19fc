/** Streamed Markdown: blocks end where they should, however the text is cut; nothing rendered drives the terminal (T01). */
import { expect, test } from "bun:test";
import { type Block, createBlockSplitter } from "../../src/ui/markdown-blocks.ts";
import { type RenderStyle, renderBlocks } from "../../src/ui/render-markdown.ts";
import { createStreamSanitizer } from "../../src/ui/sanitize-stream.ts";
import { seededRandom } from "../support/random-tree.ts";

function split(...pieces: string[]): Block[] {
  const splitter = createBlockSplitter();
  return [...pieces.flatMap((piece) => [...splitter.push(piece)]), ...splitter.end()];
}

const linesOf = (blocks: readonly Block[], style: RenderStyle): string[] =>
  renderBlocks(blocks, style).flatMap((text) => text.split("\n"));

const texts = (blocks: readonly Block[]): string[] => blocks.map((block) => block.text);

const SAMPLE = `# Title
Intro **bold**
goes on.

- one

  still one
- two
  \`\`\`ts
  a

  b
  \`\`\`

| a | b |
|---|---|
| 1 | 2 |

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`
After.
~~~
x
~~~
1. n
2. m

End`;

test("blocks of every kind", () => {
  expect(texts(split(SAMPLE))).toEqual([
    "# Title",
    "Intro **bold**\ngoes on.",
    "- one\n\n  still one\n- two\n  ```ts\n  a\n\n  b\n  ```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "const a = 1;\n\nconst b = 2;",
    "After.",
    "x",
    "1. n\n2. m",
    "End",
  ]);
});

test("the cuts of a stream do not matter", () => {
  const whole = split(SAMPLE);
  for (let size = 1; size < 60; size++) {
    const pieces = SAMPLE.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
    expect(split(...pieces)).toEqual(whole);
  }
});

test("a paragraph is settled when its blank line is there, a fence when it closes", () => {
  const splitter = createBlockSplitter();
  expect(splitter.push("one\ntwo")).toEqual([]);
  expect(splitter.open()?.text).toBe("one\ntwo");
  expect(texts(splitter.push("\n\n"))).toEqual(["one\ntwo"]);
  expect(splitter.open()).toBeUndefined();
  splitter.push("```js\na\n\nb");
  expect(splitter.open()?.fence).toEqual({ info: "js", head: true, tail: false });
  expect(texts(splitter.push("\n```\n"))).toEqual(["a\n\nb"]);
});

test("blocks without an end are cut: nothing grows without bound, nothing is lost", () => {
  for (const text of [
    "word ".repeat(20_000),
    `\`\`\`\n${"line of code\n".repeat(3000)}`,
    "row\n".repeat(20_000),
    "🌲".repeat(30_000),
  ]) {
    const splitter = createBlockSplitter();
    const blocks: Block[] = [];
    for (let at = 0; at < text.length; at += 50) {
      blocks.push(...splitter.push(text.slice(at, at + 50)));
      expect(splitter.open()?.text.length ?? 0).toBeLessThan(9000);
    }
    blocks.push(...splitter.end());
    const joined = blocks
      .map((block) => block.text)
      .join("")
      .replaceAll("\n", "");
    expect(joined).toBe(text.replace("```", "").replaceAll("\n", ""));
    expect(joined.isWellFormed()).toBe(true);
  }
});

test.each([0, 1, 39, 40, 41, 80, 100])("parts of one fence of %d lines have one frame", (count) => {
  const blocks = split(`\`\`\`\n${"x\n".repeat(count)}\`\`\`\n`);
  const lines = linesOf(blocks, { color: false, columns: 40 });
  expect(lines.filter((line) => line.startsWith("+-"))).toHaveLength(2);
  expect(lines.slice(1, -1)).toEqual(count === 0 ? ["| "] : Array.from({ length: count }, () => "| x"));
});

test("a fence that is cut inside its list: two frames, each closed", () => {
  const text = `- one\n  \`\`\`ts\n${"  a line of code\n".repeat(600)}  \`\`\`\n- two`;
  const lines = linesOf(split(text), { color: false, columns: 40 }).map((line) => line.trim());
  expect(lines.filter((line) => line === "| a line of code")).toHaveLength(600);
  expect(lines.filter((line) => line.startsWith("+-"))).toEqual(["+- ts", "+-", "+- ts", "+-"]);
});

test("the rest of a line that was cut is text, whatever it begins with; so is an answer behind it", () => {
  const line = `${"y ".repeat(4095)}yy `;
  for (const rest of ["# no heading", "- no item", "```", ""]) {
    expect(texts(split(`${line}${rest}\nmore`))).toEqual([line, `${rest === "" ? "" : `${rest}\n`}more`]);
  }
  const splitter = createBlockSplitter();
  expect(texts([...splitter.push(line), ...splitter.end()])).toEqual([line]);
  expect(texts(splitter.push("# heading\n"))).toEqual(["# heading"]);
});

test("a table fits the width", () => {
  const table = "| name | text |\n|---|---|\n| one | a long text that does not fit into the width of a narrow terminal |";
  for (const columns of [20, 40, 79]) {
    const lines = linesOf(split(table), { color: true, columns });
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
  }
});

const FORBIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/;

test("T01 escapes written as character references stay text", () => {
  for (const text of [
    "&#27;[2J &#x1b;]0;t&#7; &#155;31m",
    "# &#27;c",
    "| &#27;[2J |\n|---|\n| &#x07; |",
    "- &#8;\n> &#13;x",
    "[&#27;](http://x/&#27;)",
  ]) {
    for (const color of [true, false]) {
      for (const line of linesOf([{ text, continues: false }], { color, columns: 40 })) {
        expect(line.replace(/\x1b\[[0-9;]*m/g, "")).not.toMatch(FORBIDDEN);
        if (!color) expect(line).not.toMatch(FORBIDDEN);
      }
    }
  }
});

test("references are text in a fence, and none becomes a tab elsewhere", () => {
  const style = { color: false, columns: 40 };
  expect(linesOf(split("```html\n&#13;&#27;&Tab;\n```\n"), style)[1]).toBe("| &#13;&#27;&Tab;");
  expect(linesOf(split("a&Tab;b&#9;c"), style)).toEqual(["a b c"]);
});

test("T01 random bytes in random pieces: no control byte but our own colours ever comes out", () => {
  let seed = 3;
  const random = (limit: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return (seed >> 8) % limit;
  };
  const alphabet = [
    "\x1b",
    "[2J",
    "]52;c;aGk=",
    "\x07",
    "\r",
    "\n",
    "\b",
    "\x9b",
    "\u2028",
    "&#27;",
    "&#x9b;",
    "`",
    "```",
    "|",
    "a ",
    "é",
    "🌲",
    "\ud83c",
    "\udf32",
    "# ",
    "- ",
    "\n\n",
    "*",
    "<b>",
    "\x00",
  ];
  for (let round = 0; round < 1500; round++) {
    const sanitizer = createStreamSanitizer();
    const splitter = createBlockSplitter();
    const blocks: Block[] = [];
    let raw = "";
    for (let piece = 0; piece < 12; piece++) {
      let text = "";
      for (let count = random(4); count >= 0; count--) text += alphabet[random(alphabet.length)];
      raw += text;
      const clean = sanitizer.push(text);
      expect(clean).not.toMatch(FORBIDDEN);
      blocks.push(...splitter.push(clean));
    }
    blocks.push(...splitter.push(sanitizer.end()), ...splitter.end());
    for (const line of linesOf(blocks, { color: true, columns: 30 })) {
      expect(line.replace(/\x1b\[[0-9;]*m/g, "")).not.toMatch(FORBIDDEN);
    }
    expect(raw.length).toBeGreaterThan(0);
  }
});

test("a line end cut between two pieces is one line end", () => {
  const sanitizer = createStreamSanitizer();
  expect([
    sanitizer.push("a\r"),
    sanitizer.push("\nb\r"),
    sanitizer.push("c\ud83c"),
    sanitizer.push("\udf32\r"),
    sanitizer.end(),
  ]).toEqual(["a", "\nb", "␍c", "🌲", "␍"]);
});

test("blocks are the same however the text is cut: whole, by lines, by characters", () => {
  const chance = seededRandom(7);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const lines = [
    "plain words here",
    "and more",
    "",
    "",
    "# heading",
    "- item",
    "  under it",
    "1. one",
    "```ts",
    "```",
    "| a | b |",
    "> quote",
    "   ",
    "é accents",
    "日本",
    "***",
    "(in brackets)",
    "    code",
    "~~~",
    "````",
    "``` a",
    "#tag",
    "  # indented heading",
    "\t",
    "a\t#b",
    "-",
    "* * *",
    "12) twelve",
    "",
    "1. `code` one",
    "   ```sh",
    "   ```",
    "      ```",
    "\t```",
    "left of its fence",
    "- - -",
    "  ## deep heading",
    "~~~ a`b",
    "[1]: https://example.org",
    "x".repeat(9000),
    `- ${"many words in a line ".repeat(450)}`,
    `# ${"y ".repeat(4095)}`,
  ];
  const longOnes = 3;
  const blocksOf = (pieces: readonly string[]): Block[] => {
    const splitter = createBlockSplitter();
    return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
  };
  for (let round = 0; round < 3000; round++) {
    let text = "";
    for (let count = 1 + random(14); count > 0; count--)
      text += `${lines[random(lines.length - (random(20) === 0 ? 0 : longOnes))]}\n`;
    // Now and then a paragraph longer than a block may be.
    if (random(10) === 0)
      text += `${"plain words, quite a few of them\n".repeat(200 + random(400))}${random(2) === 0 ? "\n" : ""}# end\n`;
    if (random(3) === 0) text = text.slice(0, -1);
    const whole = blocksOf([text]);
    expect({ text, blocks: blocksOf(text.split(/(?<=\n)/)) }).toEqual({ text, blocks: whole });
    if (text.length < 2000 || random(8) === 0) expect({ text, blocks: blocksOf([...text]) }).toEqual({ text, blocks: whole });
    const sizes = Array.from({ length: 40 }, () => random(random(4) === 0 ? 9000 : 30));
    const pieces = sizes.map((size, at) => {
      const from = sizes.slice(0, at).reduce((sum, other) => sum + other, 0);
      return text.slice(from, from + size);
    });
    pieces.push(text.slice(pieces.join("").length));
    expect({ text, blocks: blocksOf(pieces) }).toEqual({ text, blocks: whole });
  }
});

test("a long run of blocks without a blank line is linear", () => {
  const began = performance.now();
  const splitter = createBlockSplitter();
  const blocks = splitter.push("# a\n".repeat(200_000));
  expect(blocks.length).toBe(200_000);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test("blocks that settle together are rendered as each would be by itself", () => {
  const chance = seededRandom(23);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const pieces = [
    "# A heading",
    "#### Deep `code` heading",
    "Some **bold** and *slanted* words with `code`, long enough to be wrapped where the terminal is narrow.",
    "A [link](https://example.org/a) and https://example.org too.",
    "- one\n- two **bold**\n  - deeper\n- three",
    "- loose\n\n- items",
    "1. one\n2. two\n\n   still two",
    "* * *",
    "---",
    "> quoted\n> words",
    "> # quoted heading\n> - item",
    "| a | b |\n|---|--:|\n| 1 | `2` |",
    "    indented code",
    "Setext\n===",
    "plain words, nothing else",
    "日本語 **太字** 🌲",
    "- [ ] open\n- [x] done",
    "unclosed **bold and `code",
    "a line\\",
    "trailing *",
    "~~gone~~ $x$ &amp; &#27;[2J",
    "![image](https://example.org/i.png)",
    // What could reach into the blocks behind it.
    "<!-- a comment",
    "<div>\nhtml",
    "<pre>",
    "[ref]: https://example.org",
    "[ref] is [it][ref]",
    "[^1]: note",
    "see[^1]",
    "~~~ a`b",
    "thndrs~seam",
    "- item\n  ```\n  open fence",
    "- a",
    "",
  ];
  const fences = ["const a = 1;", "a <b>", "", "```\ninner", "x\n\ny", "thndrs~seam", "# no heading", "日本"];
  const infos = ["", "ts", "py", "diff", "sh x=1", "unknown"];
  for (let round = 0; round < 4000; round++) {
    const blocks = Array.from({ length: 1 + random(8) }, (): Block => {
      if (random(4) > 0) return { text: pieces[random(pieces.length)] ?? "", continues: random(9) === 0 };
      const whole = random(4) > 0;
      const fence = { info: infos[random(infos.length)] ?? "", head: whole || random(2) === 0, tail: whole || random(2) === 0 };
      return { text: fences[random(fences.length)] ?? "", continues: false, fence };
    });
    const style = { color: random(2) === 0, columns: 8 + random(80) };
    const alone = blocks.map((block) => renderBlocks([block], style)[0]);
    expect({ blocks, style, texts: renderBlocks(blocks, style) }).toEqual({ blocks, style, texts: alone as string[] });
  }
});
