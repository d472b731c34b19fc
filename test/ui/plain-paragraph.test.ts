/** The short cut for plain paragraphs gives the lines the Markdown renderer gives, or leaves them to it. */
import { expect, test } from "bun:test";
import { plainParagraph } from "../../src/ui/plain-paragraph.ts";
import { seededRandom } from "../support/random-tree.ts";

const RESET = "\x1b[0m";

function rendered(text: string, columns: number): string {
  return Bun.markdown.ansi(`${text}\n`, { columns, colors: true, hyperlinks: false }).replace(/\n$/, "").replace(RESET, "");
}

test("random paragraphs at every width: the renderer's lines", () => {
  const chance = seededRandom(11);
  const random = (limit: number): number => Math.floor(chance() * limit);
  const words = [
    "a",
    "the",
    "quick",
    "brown",
    "It's",
    '"quoted"',
    "(aside)",
    "e.g.",
    "1.",
    "2)",
    "-",
    "--",
    "+",
    "=",
    "===",
    "100%",
    "a/b/c",
    "well-known",
    "x=y",
    "{id}",
    "é",
    "naïve",
    "Straße",
    "—",
    "…",
    "“so”",
    "don’t",
    "http",
    "https:",
    "www",
    "Note:",
    "wait...",
    "?!",
    "internationalisation",
    "if(x)",
    "C++",
    // What must be left to the renderer.
    "*b*",
    "_i_",
    "`c`",
    "[l](u)",
    "<b>",
    "&amp;",
    "\\*",
    "a|b",
    "~~s~~",
    "#1",
    "me@x.org",
    "https://x.org",
    "www.x.org",
    "WWW.x.org",
    "日本",
    "😀",
    "$x$",
    "\t",
    "",
  ];
  let taken = 0;
  for (let round = 0; round < 20_000; round++) {
    const risky = random(3) === 0 ? words.length : words.indexOf("*b*");
    const text = Array.from({ length: 1 + random(30) }, () => words[random(risky)])
      .join(random(4) === 0 ? "\n" : " ")
      .replaceAll(/ (?=the)/g, random(2) === 0 ? " " : "\n");
    const columns = 8 + random(80);
    const lines = plainParagraph(text, columns);
    if (lines === undefined) continue;
    taken += 1;
    expect({ text, columns, lines }).toEqual({ text, columns, lines: rendered(text, columns) });
  }
  expect(taken).toBeGreaterThan(3000);
});

test("what may be more than words is not taken", () => {
  const left = [
    "# a",
    "- a",
    "1. a",
    "> a",
    "a\n===",
    "a\n---",
    "    a",
    "a  \nb",
    "a  b",
    "a *b*",
    "see https://x.org",
    "mail me@x.org",
    "| a |",
    "日本",
    "",
    " a",
    "a ",
    "x".repeat(50),
  ];
  expect(left.filter((text) => plainParagraph(text, 20) !== undefined)).toEqual([]);
});
