/** An address in an answer was shown twice, once as what it says and once as where it leads. */
import { expect, test } from "bun:test";
import { renderBlocks } from "../../src/ui/render-markdown.ts";

const COLUMNS = 40;

function lines(text: string): string[] {
  const [rendered = ""] = renderBlocks([{ text, continues: false }], { color: true, columns: COLUMNS });
  expect(rendered.replace(/\x1b\[[0-9;]*m/g, "")).not.toContain("\x1b");
  return Bun.stripANSI(rendered).split("\n");
}

test.each([
  ["see https://a.example/x?a=1&b=2, or", ["see https://a.example/x?a=1&b=2, or"]],
  ["www.a.example and me@a.example", ["www.a.example and me@a.example"]],
  ["(see <https://a.example>).", ["(see https://a.example)."]],
  ["**https://a.example**", ["https://a.example"]],
  ["[https://a.example](https://a.example)", ["https://a.example"]],
  [`- at https://a.example/${"c".repeat(30)} it`, ["  • at https://a.example/ccccccccccccccc", "    ccccccccccccccc it"]],
  [`> at https://a.example/${"c".repeat(30)} it`, ["│ at https://a.example/ccccccccccccccccc", "│ ccccccccccccc it"]],
  ["`https://a.example` it", ["https://a.example it"]],
  ["https://a.example, **[here](https://b.example/_c_*d*)** it", ["https://a.example, here", "(https://b.example/_c_*d*) it"]],
  ["- [here](https://b.example)\n- https://a.example", ["  • here (https://b.example)", "  • https://a.example"]],
])("%j stands once, in lines that fit", (text, expected) => {
  expect(lines(text)).toEqual(expected);
});

test.each([
  ["[https://a.example](https://b.example)", "https://a.example (https://b.example)"],
  ["[here](https://b.example)", "here (https://b.example)"],
  ["[](https://b.example)", "(https://b.example)"],
  ['[here](https://b.example "title") https://a.example', "here (https://b.example)"],
  ["[here](https://b.example/(c)) https://a.example", "here (https://b.example/(c))"],
  ["\\[no](https://b.example) https://a.example", "[no](https://b.example"],
  ["`[no](https://b.example)` https://a.example", "[no](https://b.example) https"],
  ["[no](https://b.example) [here](https://b.example/%41) www.a.example", "here (https://b.example/"],
  ["https://a.example, [here](https://b.example)", "here (https://b.example)"],
  ["[www.a.example](http://www.a.example.b.example)", "(http://www.a.example.b.example)"],
])("%j tells where it leads", (text, expected) => {
  expect(lines(text).join(" ").replaceAll(/ +/g, " ")).toContain(expected);
});

test("an address with control characters is no way to the terminal", () => {
  for (const text of [
    "https://a.example/&#27;]52;c;eA==&#7;",
    "https://a.example/&#x9d;52;c;eA&#x9c;",
    "<https://a.example/\u009b>",
  ])
    lines(text);
});

function plainLines(text: string): string[] {
  const [rendered = ""] = renderBlocks([{ text, continues: false }], { color: false, columns: COLUMNS });
  return rendered.split("\n");
}

test.each([
  ["see https://a.example/x?a=1&b=2, or", ["see https://a.example/x?a=1&b=2, or"]],
  ["www.a.example and me@a.example", ["www.a.example and me@a.example"]],
  ["(see <https://a.example>).", ["(see https://a.example)."]],
  ["**https://a.example** or _https://a.example/b_", ["https://a.example or https://a.example/b"]],
  ["https://a.example/_b_*c_*", ["https://a.example/_b_*c_*"]],
  ["https://a.example/_b_c__d__", ["https://a.example/_b_c__d__"]],
  ["[https://a.example](https://a.example)", ["https://a.example"]],
  ["- at https://a.example/b it", ["  * at https://a.example/b it"]],
  ["| a |\n| - |\n| https://a.example |", ["+-------------------+", "| a                 |"]],
  ["https://a.example, [here](https://b.example)", ["https://a.example,", "here (https://b.example)"]],
  ["[https://a.example](https://b.example)", ["https://a.example (https://b.example)"]],
  ["https://a.example/?a&amp;b&#60;c", ["https://a.example/?a&b<c"]],
])("without colours: %j", (text, expected) => {
  expect(plainLines(text).slice(0, expected.length)).toEqual(expected);
});

test.each([
  "`https://a.example`",
  "<b>https://a.example</b>",
  "a\\_b",
  "    https://a.example",
  "1. run:\n   ~~~\n   git clone https://a.example/x_y\n   ~~~",
  ">     curl https://a.example/x_y",
  "-     curl https://a.example/x_y",
])("without colours: where an escape would be seen nothing is escaped: %j", (text) =>
  expect(plainLines(text).join("\n")).not.toContain("\\"),
);
