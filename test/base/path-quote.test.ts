import { expect, test } from "bun:test";
import { pathText, quotePath } from "../../src/base/path-quote.ts";

test("T03 an odd path is a JSON string that gives the path back; every other path is itself", () => {
  for (const plain of ["src/a b.ts", "日本/ß.txt", "it's `x`", "-rf", 'a"b']) expect(pathText(plain)).toBe(plain);
  for (const odd of [
    "a\nb",
    '"quoted"',
    "\u001b[31mred",
    "exe\u202egnp",
    "zero\u200bwidth",
    "soft\u00adhyphen",
    "tag\u{e0041}",
    "line\u2028end",
    "\ud800half",
    "del\u007f\u0085",
  ]) {
    const shown = pathText(odd);
    expect(shown).toMatch(/^"[\x20-\x7e]+"$/);
    expect(JSON.parse(shown)).toBe(odd);
    expect(quotePath(odd)).toBe(`\`${shown}\``);
  }
});

test("T03 a very long path in a sentence loses its middle, never half a character", () => {
  const shown = quotePath("😀".repeat(4000));
  expect([...shown]).toHaveLength(243);
  expect(shown.isWellFormed()).toBe(true);
});
