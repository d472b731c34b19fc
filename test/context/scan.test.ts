import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { removeInvisible } from "../../src/context/invisible.ts";
import { scanText } from "../../src/context/scan.ts";

type Place = { readonly kind: string; readonly line: number };
type Attack = {
  readonly name: string;
  readonly text: string;
  readonly repeat?: readonly [number, string];
  readonly block: readonly Place[];
  readonly warn?: readonly Place[];
  readonly invisible?: number;
};

const fixtures = join(import.meta.dir, "..", "fixtures", "context");
const attacks: Attack[] = await Bun.file(join(fixtures, "scan", "attacks.json")).json();

for (const attack of attacks) {
  test(`C12 attack: ${attack.name}`, () => {
    const before = attack.repeat ? attack.repeat[1].repeat(attack.repeat[0]) : "";
    const { findings, invisible } = scanText(before + attack.text);
    const places = (inCode: boolean) =>
      findings.filter((found) => found.inCode === inCode).map(({ kind, line }) => ({ kind, line }));
    expect<Place[]>(places(false)).toEqual([...attack.block]);
    if (attack.warn) expect<Place[]>(places(true)).toEqual([...attack.warn]);
    expect(invisible.count).toBe(attack.invisible ?? 0);
  });
}

const ordinary = readdirSync(join(fixtures, "ordinary")).sort();

test("C12 there are thirty ordinary instruction files", () => {
  expect(ordinary.length).toBeGreaterThanOrEqual(30);
});

for (const name of ordinary) {
  test(`C12 ordinary file is not blocked: ${name}`, async () => {
    const text = await Bun.file(join(fixtures, "ordinary", name)).text();
    const scan = scanText(text);
    expect(scan.findings.filter((found) => !found.inCode)).toEqual([]);
    expect(scan.text).toBe(text);
    expect(scan.invisible.count).toBe(0);
  });
}

test("C12 joiners inside emoji, flags, keycaps and Persian stay", () => {
  const kept = "👨‍👩‍👧‍👦 ❤️‍🔥 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ 👍🏽 🧑🏿‍💻 می‌خواهم क्‍ष";
  expect(removeInvisible(kept)).toEqual({ text: kept, removed: 0, line: 0 });
});

test("C12 every listed character is removed and counted, with the line of the first", () => {
  const bad = [
    0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064,
  ];
  bad.push(0x2066, 0x2067, 0x2068, 0x2069, 0xfeff, 0xe0000, 0xe0001, 0xe0041, 0xe007f);
  for (const code of bad) {
    const text = `one\ntwo${String.fromCodePoint(code)}words`;
    expect(removeInvisible(text)).toEqual({ text: "one\ntwowords", removed: 1, line: 2 });
  }
  expect(removeInvisible(`a${"\ufe01".repeat(50)}b`).removed).toBe(49);
});

test("C12 the scan is linear on hostile texts", () => {
  const size = 256 * 1024;
  const hostile = [
    "ignore ",
    "ignore all ",
    "never tell ",
    "`",
    "``` ",
    "`a``b```c",
    "<!--",
    "<!-- -->",
    "<div style=",
    "curl ",
    "curl $",
    "cat .",
    "> ",
    "\n",
    " \n",
    "~~~\n",
    "system ",
    "\u200b",
    "\u200d👍",
    "system: ",
    "😀",
    "print a b c d e f g h ",
  ];
  for (const unit of hostile) {
    const text = unit.repeat(Math.ceil(size / unit.length));
    const started = performance.now();
    scanText(text);
    const elapsed = performance.now() - started;
    expect({ unit, fast: elapsed < 1500 }).toEqual({ unit, fast: true });
  }
}, 30_000);
