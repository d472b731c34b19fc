/** A mail address with an underscore was shown with its beginning twice: `foo_foo_bar@example.com`. */
import { expect, test } from "bun:test";
import { renderBlocks } from "../../src/ui/render-markdown.ts";

function shown(text: string, columns = 400): string {
  const [rendered = ""] = renderBlocks([{ text, continues: false }], { color: true, columns });
  return Bun.stripANSI(rendered);
}

function randomFrom(seed: number): (limit: number) => number {
  let state = seed * 2654435761 + 1;
  return (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
}

const LETTERS = [..."abzQXZ09"];
const PARTS = [...LETTERS, ...LETTERS, ..."____..++--!#$%&'/=?^{}é"];
const HOSTS = ["example.com", "mail.example.org", "a-b.example", "c_d.example.com", "host"];

test("a mail address is shown as it was written, whatever is in it and around it", () => {
  const random = randomFrom(113);
  const pick = (from: readonly string[]): string => from[random(from.length)] ?? "";
  const address = (): string => {
    const inner = Array.from({ length: random(12) }, () => pick(PARTS)).join("");
    return `${pick(LETTERS)}${inner}${random(4) === 0 ? "_" : pick(LETTERS)}@${pick(HOSTS)}`;
  };
  for (let count = 0; count < 4000; count++) {
    const [one, other] = [address(), address()];
    for (const [source, text] of [
      [one, one],
      [`Write to ${one} or to ${other}, soon.`, `Write to ${one} or to ${other}, soon.`],
      [`**${one}**, (${other})`, `${one}, (${other})`],
      [`*as* ${one} \`${other}\``, `as ${one} ${other}`],
      [`- ${one}`, `  • ${one}`],
      [`> ${one}`, `│ ${one}`],
      [`[here](https://a.example/x_y) ${one}`, `here (https://a.example/x_y) ${one}`],
      [`${one} [here](https://a.example/x_y "title")`, undefined],
    ] as const) {
      if (text !== undefined) expect([source, shown(source)]).toEqual([source, text]);
      else expect([source, shown(source).startsWith(one)]).toEqual([source, true]);
    }
  }
});

test.each([
  ["_foo_bar@example.com_ is one", "foo_bar@example.com is one"],
  ["_foo_bar@example.com", "_foo_bar@example.com"],
  ["_a_@example.com", "_a_@example.com"],
  ["'_foo_bar@example.com_'", "'foo_bar@example.com'"],
  ["_@example.com", "_@example.com"],
  [
    "| a |\n| - |\n| _x_|y_z@example.com |",
    [
      "┌─────────────────────┐",
      "│ a                   │",
      "├─────────────────────┤",
      "│ x | y_z@example.com │",
      "└─────────────────────┘",
    ].join("\n"),
  ],
  ["<foo_bar@example.com>", "foo_bar@example.com"],
  ["foo_<foo_bar@example.com>", "foo_foo_bar@example.com"],
  ["&#81; a_b@example.com", "Q a_b@example.com"],
  ["THE QUICK BROWN FOX JUMPS OVER A LAZY DOG: a_b@example.com", "THE QUICK BROWN FOX JUMPS OVER A LAZY DOG: a_b@example.com"],
])("%j is shown as %j", (source, text) => {
  expect(shown(source)).toBe(text);
});

test("where it is wrapped no character comes twice or is lost", () => {
  const text = "Some words, then first_middle_last@mail.example.com and more_of@it.example";
  for (let columns = 8; columns < 80; columns++) expect(shown(text, columns).replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
});

test("a text without addresses, however long, is looked through once", () => {
  const word = "a_".repeat(20_000);
  expect(shown(`${word} at foo_bar@example.com`, 100_000)).toBe(`${word} at foo_bar@example.com`);
});
