/**
 * Front matters are read at every start, trusted or not. What a pattern reads in the square of a text's length, a repository
 * can make last for minutes, deaf to Ctrl-C.
 */
import { expect, test } from "bun:test";
import { formatSkill } from "../../src/skills/format.ts";
import { parseSkill } from "../../src/skills/front-matter.ts";
import type { Skill } from "../../src/skills/skill.ts";

const head = (more: string): string => `---\nname: x\ndescription: d\n${more}\n---\nbody\n`;

function timed<T>(work: () => T): { readonly value: T; readonly ms: number } {
  const began = performance.now();
  const value = work();
  return { value, ms: performance.now() - began };
}

const merged = `a: &a {${Array.from({ length: 900 }, (_, index) => `k${index}: 1`).join(", ")}}\nb:\n  <<: [${"*a,".repeat(1200)}*a]`;

const doubled = `a: &a [1]\n${Array.from({ length: 40 }, (_, at) => `b${at}: &b${at} [*${at === 0 ? "a" : `b${at - 1}`},*${at === 0 ? "a" : `b${at - 1}`}]`).join("\n")}`;

/** As large as a SKILL.md may be, and as large as a head may be. */
const hostile: Readonly<Record<string, readonly string[]>> = {
  "words before a parenthesis that stays open": [83_000, 5000].map((count) => `allowed-tools: "${"a ,".repeat(count)}("`),
  "one run of separators": [240_000, 16_000].map((count) => `allowed-tools: "a${" ".repeat(count)}b)"`),
  "blanks inside a loose value": [240_000, 16_000].map((count) => `compatibility: a: ${" ".repeat(count)}b: c\nfoo: a: b`),
  "keys nobody knows": [20_000, 2000].map((count) => Array.from({ length: count }, (_, index) => `k${index}: 1`).join("\n")),
  "maps merged a thousand times": [merged],
  "aliases of aliases": [doubled],
};

for (const [what, heads] of Object.entries(hostile)) {
  test(`${what}: read at once, whatever comes of it`, () => {
    for (const text of heads) expect(timed(() => parseSkill(head(text), "x")).ms).toBeLessThan(3000);
  });
}

test("a head that is too large is an error that says so; its faults are counted, not listed without end", () => {
  const large = parseSkill(head(`metadata: {a: "${"x".repeat(17_000)}"}`), "x");
  expect(large).toMatchObject({ head: undefined, faults: [{ severity: "error", what: expect.stringContaining("16384") }] });
  const odd = parseSkill(head(Array.from({ length: 100 }, (_, index) => `k${index}: 1`).join("\n")), "x");
  expect(odd.head?.name).toBe("x");
  expect(odd.faults).toHaveLength(21);
  expect(odd.faults.at(-1)).toMatchObject({ what: "80 more unknown keys from here on; ignored", line: 24 });
});

test("a few aliases are YAML like any other; two hundred heads full of them are refused in no time", () => {
  expect(parseSkill("---\nname: &n x\ndescription: *n\nmetadata:\n  <<: {a: b}\n---\n", "x").head).toMatchObject({
    description: "x",
    metadata: { a: "b" },
  });
  const { value, ms } = timed(() => Array.from({ length: 200 }, () => parseSkill(head(doubled), "x")));
  expect(value[0]).toMatchObject({ head: undefined, faults: [{ what: "the front matter has more than 16 aliases (*name)" }] });
  expect(ms).toBeLessThan(3000);
});

test("words and loose values are read as before", () => {
  const toolsOf = (value: string) => parseSkill(head(`allowed-tools: ${JSON.stringify(value)}`), "x").head?.allowedTools;
  expect(toolsOf(" Bash(git add, git rm *),,Read\t\nWrite ")).toEqual(["Bash(git add, git rm *)", "Read", "Write"]);
  expect(toolsOf("a (b c")).toEqual(["a", "(b", "c"]);
  expect(toolsOf("a b) c")).toEqual(["a b)", "c"]);
  expect(toolsOf(" , ")).toEqual([]);
  const loose = (value: string) => parseSkill(head(`license: ${value}\r\ncompatibility: a: b`), "x").head?.license;
  expect(loose("  see: there \t")).toBe("see: there");
  expect(loose('"quoted: well"')).toBe("quoted: well");
});

test("a skill's text with a long gap is formatted at once", () => {
  const skill = { name: "x", path: "/x/SKILL.md", directory: "/x" } as Skill;
  const body = `a${"\n".repeat(60_000)}b\n\n`;
  const content = { body, truncated: false, contentHash: "h", byteCount: 1, bytes: new Uint8Array(), references: [], notes: [] };
  const { value, ms } = timed(() => formatSkill(skill, content, false));
  expect(value).toContain(`${body.trimEnd()}\n</skill>`);
  expect(ms).toBeLessThan(3000);
});
