/** The short cut for words and for code without colours gives what the Markdown renderer gives, or leaves the block to it. */
import { expect, test } from "bun:test";
import { quickMarkdown } from "../../src/ui/quick-markdown.ts";
import { seededRandom } from "../support/random-tree.ts";

const RESET = "\x1b[0m";

/** Without what cannot be seen: colours set or reset twice, the reset and line ends at the end. */
function onceColoured(text: string): string {
  return text.replaceAll(/(\x1b\[[02]m)\1+/g, "$1").replace(/(?:\n|\x1b\[0m)+$/, "");
}

/** Also without spaces at the end of lines: the renderer leaves some before a long word. */
function seen(text: string): string {
  return onceColoured(text.replaceAll(/ +(?=\n|$)/g, ""));
}

type Style = { readonly columns: number; readonly color: boolean };

function rendered(markdown: string, { columns, color }: Style): string {
  return Bun.markdown.ansi(`${markdown}\n`, { columns, colors: color, hyperlinks: false });
}

const WORDS = [
  ...["a", "the", "quick", "brown", "It's", '"quoted"', "(aside)", "e.g.", "1.", "2)", "-", "--", "+", "=", "===", "100%"],
  ...["a/b/c", "well-known", "x=y", "{id}", "é", "naïve", "Straße", "—", "…", "“so”", "don’t", "http", "https:", "www", "Note:"],
  ...["wait...", "?!", "internationalisation", "if(x)", "C++", "#1", "5$", "a^b", "->", "→", "привет", "snake_case", "a__b_c"],
  ...["2.", "10)", "3.14", "12", "5°", "«x»", "x".repeat(90), "y/z".repeat(30)],
];
const WIDE = [
  "日本",
  "語のテキストです。",
  "これは長い文章です。",
  "한국어",
  "，",
  "、",
  "コード",
  "（括弧）",
  "日本語".repeat(30),
];
/** What must be left to the renderer. */
const RISKY = [
  ...["*b*", "_i_", "_x", "x_", "`c`", "[l](u)", "<b>", "&amp;", "\\*", "a|b", "~~s~~", "me@x.org", "https://x.org"],
  ...["www.x.org", "WWW.x.org", "😀", "が", "\t", ""],
];

test("random paragraphs at every width: the renderer's lines", () => {
  const chance = seededRandom(11);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const taken = { narrow: 0, wide: 0 };
  for (let round = 0; round < 30_000; round++) {
    const isWide = random(4) === 0;
    const words = [...WORDS, ...(isWide ? WIDE : []), ...(random(3) === 0 ? RISKY : [])];
    const text = Array.from({ length: 1 + random(30) }, () => words[random(words.length)])
      .join(random(4) === 0 ? "\n" : isWide && random(2) === 0 ? "" : " ")
      .replaceAll(/ (?=the)/g, random(2) === 0 ? " " : "\n");
    const style = { columns: 8 + random(80), color: random(2) === 0 };
    const lines = quickMarkdown({ text, continues: false }, style);
    if (lines === undefined) continue;
    taken[isWide ? "wide" : "narrow"] += 1;
    const wanted = rendered(text, style);
    // The renderer puts a wide character where only one column is left.
    const overflows = isWide && wanted.split("\n").some((line) => Bun.stringWidth(line.trimEnd()) > style.columns);
    if (!overflows) expect({ text, style, lines: seen(lines) }).toEqual({ text, style, lines: seen(wanted) });
    expect(lines.endsWith(RESET)).toBe(style.color);
    expect(lines.split("\n").filter((line) => Bun.stringWidth(line) > style.columns)).toEqual([]);
  }
  expect(taken.narrow).toBeGreaterThan(3000);
  expect(taken.wide).toBeGreaterThan(1000);
});

test("random characters: the renderer's lines", () => {
  const chance = seededRandom(5);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const characters = [..."abc  1.)#>$^_-+=:/'\"w@*`[]!<&~|\\\n日é→"];
  let taken = 0;
  for (let round = 0; round < 60_000; round++) {
    const limit = random(2) === 0 ? 24 : characters.length;
    const text = Array.from({ length: 1 + random(14) }, () => characters[random(limit)]).join("");
    const style = { columns: 8 + random(12), color: true };
    const lines = quickMarkdown({ text, continues: false }, style);
    if (lines === undefined) continue;
    taken += 1;
    expect({ text, style, lines: seen(lines) }).toEqual({ text, style, lines: seen(rendered(text, style)) });
  }
  expect(taken).toBeGreaterThan(2000);
});

test("what may be more than words is not taken", () => {
  const left = [
    ...["# a", "- a", "1. a", "12) a", "> a", "a\n===", "a\n---", "a\n1. b", "    a", "a  \nb", "a \nb", "a  b", "a *b*"],
    ...["see https://x.org", "mail me@x.org", "www.x.org", "| a |", "日本 **x**", "😀", "", " a", "_a_", `${"x".repeat(50)}_y`],
  ];
  expect(left.filter((text) => quickMarkdown({ text, continues: false }, { columns: 20, color: true }) !== undefined)).toEqual(
    [],
  );
});

test("code without colours: the renderer's frame, whole or in parts", () => {
  const chance = seededRandom(3);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const rows = ["a", "  b", "", "`x`", "# h", "| a | b |", "日本", "&amp;", "\\*", "x".repeat(100), "   ", "<b>", "trailing  "];
  const infos = ["", "py", "bash", "c++", "c#", "json", ".env", "shell-session"];
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: 1 + random(4) }, () => rows[random(rows.length)]).join("\n");
    const [info = "", color] = [infos[random(infos.length)], random(2) === 0];
    const style = { columns: 10 + random(60), color };
    const whole = onceColoured(rendered(`\`\`\`${info}\n${text}\n\`\`\``, style)).split("\n");
    for (const [head, tail] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const) {
      // The test below.
      if (text === "" && tail && !head) continue;
      const wanted = onceColoured(whole.slice(head ? 0 : 1, tail ? undefined : -1).join("\n"));
      const shown = quickMarkdown({ text, continues: !head, fence: { info, head, tail } }, style);
      if (color) expect(shown).toEndWith(RESET);
      expect({ text, info, head, tail, shown: onceColoured(shown ?? "not taken") }).toEqual({
        text,
        info,
        head,
        tail,
        shown: wanted,
      });
    }
  }
});

test("of a fence that ends right where it was cut only the frame's end is left", () => {
  const shown = quickMarkdown(
    { text: "", continues: true, fence: { info: "py", head: false, tail: true } },
    { columns: 20, color: true },
  );
  expect(shown).toBe(`\x1b[2m└─${RESET}`);
});

test("code that the renderer colours, and names it would decode, are left to it", () => {
  const infos = ["ts", "TSX", "js", "mjs", "javascript", "jsx title", "&amp;", "a\\b"];
  const fence = (info: string) => ({ text: "const a = 1;", continues: false, fence: { info, head: true, tail: true } });
  expect(infos.filter((info) => quickMarkdown(fence(info), { columns: 40, color: true }) !== undefined)).toEqual([]);
});
