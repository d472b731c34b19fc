/** The patterns of the search without rg mean what they mean to rg, from the same places on, or are refused (S09). */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { MAX_LINE_CHARS } from "../../src/tools/bounds.ts";
import { compilePattern, type LineMatcher, type Place } from "../../src/tools/pattern.ts";
import { seededRandom } from "../support/random-tree.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { randomLines, randomPattern } from "./random-pattern.ts";
import { installed } from "./search-place.ts";

// Many small processes: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

let directory: TempDir;
beforeAll(async () => {
  directory = await tempDir();
});
afterAll(() => directory.remove());

/** Where a match begins is known of long lines. Where it ends, versions of rg differ in repetitions of nothing. */
type Matches = ReadonlyMap<number, number | "somewhere">;

/** Line numbers and beginnings of first matches; a text says why the pattern is refused. */
function ours(pattern: string, ignoreCase: boolean, lines: readonly string[]): Matches | string {
  const compiled = compilePattern(pattern, false, ignoreCase);
  if (!compiled.ok) return compiled.message;
  const found = new Map<number, number | "somewhere">();
  for (const [index, line] of lines.entries()) {
    const place = placeIn(compiled.matcher, line);
    if (place !== undefined) found.set(index + 1, line.length > MAX_LINE_CHARS ? place.start : "somewhere");
  }
  return found;
}

function placeIn(matcher: LineMatcher, line: string): Place | undefined {
  let answer = matcher.find(line);
  while (answer === "unfinished") answer = matcher.resume();
  return answer;
}

function ofRg(pattern: string, ignoreCase: boolean, lines: readonly string[]): Matches | string {
  if (installed.rg === undefined) throw new Error("these tests compare with ripgrep: install rg");
  const file = directory.at("lines.txt");
  writeFileSync(file, `${lines.join("\n")}\n`);
  const flags = ["--json", "--no-config", "--crlf", ignoreCase ? "--ignore-case" : "--case-sensitive"];
  const done = spawnSync(installed.rg, [...flags, "--", pattern, file], { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (done.status === 2) return done.stderr;
  const found = new Map<number, number | "somewhere">();
  for (const record of done.stdout.split("\n").filter((line) => line.startsWith('{"type":"match"'))) {
    const { data } = JSON.parse(record);
    const text = Buffer.from(data.lines.text);
    const isLong = (lines[data.line_number - 1] ?? "").length > MAX_LINE_CHARS;
    const [first] = data.submatches;
    found.set(data.line_number, isLong ? text.toString("utf8", 0, first.start).length : "somewhere");
  }
  return found;
}

function expectSame(pattern: string, ignoreCase: boolean, lines: readonly string[]): void {
  const theirs = ofRg(pattern, ignoreCase, lines);
  const found = ours(pattern, ignoreCase, lines);
  // What an older rg does not know yet is no difference.
  if (typeof theirs === "string" && (typeof found === "string" || theirs.includes("empty character classes"))) return;
  const story = JSON.stringify({ pattern, ignoreCase });
  expect({ story, found: typeof found === "string" ? found : [...found] }).toEqual({
    story,
    found: typeof theirs === "string" ? theirs : [...theirs],
  });
}

const SEEDS = Number(process.env.SEEDS ?? 2);
const PATTERNS = Number(process.env.PATTERNS ?? 60);

test.each(Array.from({ length: SEEDS }, (_, index) => [index + Number(process.env.FIRST_SEED ?? 1)]))(
  "generated patterns %d: the same lines, from the same places on",
  (seed) => {
    const random = seededRandom(seed);
    const lines = randomLines(random, 120);
    for (let count = 0; count < PATTERNS; count++) expectSame(randomPattern(random), random() < 0.25, lines);
  },
);

test("what once meant something else", () => {
  const long = `C:\\Apps ${"x".repeat(600)} q]q café`;
  const lines = [
    "C:\\Apps\\x",
    "D:\\zip\\y",
    "q]q",
    "1A",
    "a-b",
    "café au lait",
    "٣",
    "b",
    "",
    "\\A",
    "a\u0301b",
    long,
    "Straße",
  ];
  const patterns = [
    "C:\\\\Apps",
    "\\\\zip",
    "\\\\\\A",
    "\\\\x\\{41\\}",
    "[[:^alpha:]]A",
    "[]q]q",
    "q[]]q",
    "q[^]a]q",
    "[a[bc]]-",
  ];
  patterns.push(
    "[a-z&&[^b-z]]",
    "[a-z--b]",
    "[a-c~~b-d]",
    "[\\w&&[^\\d]]+é",
    "\\bcafé\\b",
    "\\bcaf\\w\\b\\-?",
    "\\w+é\\b",
    "^\\d$",
  );
  patterns.push(
    "\\w\\b\\w",
    "(?x) c a f é # all of it",
    "(?x)c a\u00a0\u0085",
    "(?x)c a\ufeff",
    "(?s:.)+",
    "\\pL+",
    "\\p{Greek}",
    "\\p{lu}",
    "foo++",
    "(a|b)+",
    "\\a",
    "a||b",
  );
  patterns.push("[--a]", "[a-]", "[^-a]", "[&&a]", "(?i)STRASSE", "(?i)STRAßE", "(?i)É", "(?-i:É)", "[\\n]", "[^\\n]", "[a\\r]");
  for (const pattern of patterns) {
    for (const ignoreCase of [false, true]) expectSame(pattern, ignoreCase, lines);
  }
});

describe("what is not served is refused by name", () => {
  test.each([
    ["(?=foo)", "look-ahead and look-behind, is not supported: (?="],
    ["(?<!foo)", "look-ahead and look-behind, is not supported: (?<!"],
    ["(a)\\1", "backreferences are not supported: \\1"],
    ["\\Qa.b\\E", "unrecognized escape sequence: \\Q"],
    ["\\h", "unrecognized escape sequence: \\h"],
    ["[\\b]", "invalid escape sequence found in character class: \\b"],
    ["(?>a)", "unrecognized flag: ("],
    ["(?y)a", "unrecognized flag: (?y)"],
    ["(?-u)\\w", "needs ripgrep (rg): (?-u)"],
    ["\\p{Klingon}", "Unicode property not found: \\p{Klingon}"],
    ["[\\d-x]", "must be a literal: \\d-x"],
    ["[z-a]", "the start must be <= the end: z-a"],
    ["a{3,2}", "the start must be <= the end: {3,2}"],
    ["foo{", "write \\{"],
    ["a{,2}", "write \\{"],
    ["*a", "repetition operator missing expression: *"],
    ["a|*", "repetition operator missing expression: *"],
    ["(?i)*", "repetition operator missing expression: *"],
    ["(a", "unclosed group: (a"],
    ["a)", "unopened group: )"],
    ["[a", "unclosed character class: [a"],
    ["a\\", "incomplete escape sequence"],
    ["\\x{110000}", "no Unicode character: \\x{110000}"],
    ["a\\nb", "within one line: the literal \\n"],
    ["a\\x0Ab", "within one line: the literal \\x0A"],
    ["a{999999999}", "repetition counts over 20000 steps"],
    ["(){999999999}", "repetition counts over 20000 steps"],
    ["(a{500}){500}", "repetition counts over 20000 steps"],
    [`${"(".repeat(1000)}${")".repeat(1000)}`, "nested more than 250 deep"],
    [`${"[".repeat(1000)}a`, "nested more than 250 deep"],
    [`a${"+".repeat(1000)}`, "nested more than 250 deep"],
    [`[a${"--b".repeat(1000)}]`, "more than 250 operators"],
  ])("%s", (pattern, message) => {
    const compiled = compilePattern(pattern, false, false);
    if (compiled.ok) throw new Error("it was taken");
    expect(compiled.message).toContain(message);
  });
});

function placesOf(pattern: string, lines: readonly string[]): (Place | undefined)[] {
  const compiled = compilePattern(pattern, false, false);
  if (!compiled.ok) throw new Error(compiled.message);
  return lines.map((line) => placeIn(compiled.matcher, line));
}

test("the first way that matches says where a match ends", () => {
  const long = `${"-".repeat(600)}abab;`;
  const ends = {
    "ab|abab": 602,
    "abab|ab": 604,
    "(?:ab)+": 604,
    "(?:ab)+?": 602,
    "a.*?b": 602,
    "a.*b": 604,
    "[ab]{1,3}": 603,
    "(?U)b.*;": 605,
  };
  for (const [pattern, end] of Object.entries(ends)) expect([pattern, placesOf(pattern, [long])[0]?.end]).toEqual([pattern, end]);
});

test("more kinds of characters than a table has columns, and more states than are kept", () => {
  const many = Array.from({ length: 3000 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  const lines = [many.join(""), many.slice(0, 600).join("x")];
  expect(placesOf(many.slice(0, 1500).join("x?"), lines)).toEqual([{ start: 0, end: 1500 }, undefined]);
  const random = seededRandom(7);
  const mixed = Array.from({ length: 30_000 }, () => (random() < 0.5 ? "a" : "b")).join("");
  const place = /a[ab]{14}a[ab]{14}aaaaaaaaa/.exec(mixed);
  const end = (place?.index ?? 0) + (place?.[0].length ?? 0);
  expect(placesOf("[ab]*?a[ab]{14}a[ab]{14}aaaaaaaaa", [mixed])).toEqual([{ start: 0, end }]);
});
