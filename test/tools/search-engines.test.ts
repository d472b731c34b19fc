/** rg and the built-in engine find the same lines in the same tree, for the syntax they share (tools.md search_text). */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { detectEngines } from "../../src/base/engines.ts";
import type { SearchOutcome, SearchRequest } from "../../src/tools/matches.ts";
import { nameGlobs, pathFilter } from "../../src/tools/path-filter.ts";
import { searchBuiltIn } from "../../src/tools/search-builtin.ts";
import { searchWithRg } from "../../src/tools/search-rg.ts";
import { pick, type Random, randomTree, seededRandom } from "../support/random-tree.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

// Many small processes and files: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

const { rg } = detectEngines(process.env.PATH, "/nonexistent");

type Wanted = Partial<SearchRequest> & {
  readonly pattern: string;
  readonly glob?: string;
  readonly extensions?: readonly string[];
};

function requestFor(root: string, wanted: Wanted): SearchRequest {
  const base = wanted.base ?? "";
  return {
    root,
    base,
    baseIsFile: false,
    literal: false,
    ignoreCase: false,
    contextLines: 0,
    includeHidden: false,
    includeIgnored: false,
    accept: pathFilter({ glob: wanted.glob, extensions: wanted.extensions, base }),
    withholds: () => false,
    nameGlobs: nameGlobs(wanted.glob, wanted.extensions),
    limit: 100,
    signal: new AbortController().signal,
    ...wanted,
  };
}

async function withRg(request: SearchRequest): Promise<Extract<SearchOutcome, { ok: true }>> {
  if (rg === undefined) throw new Error("these tests compare with ripgrep: install rg");
  const outcome = await searchWithRg(rg, request);
  if (!outcome?.ok) throw new Error(`rg: ${outcome?.message}`);
  return outcome;
}

async function withoutRg(request: SearchRequest): Promise<Extract<SearchOutcome, { ok: true }>> {
  const outcome = await searchBuiltIn(request);
  if (!outcome.ok) throw new Error(`built-in: ${outcome.message}`);
  return outcome;
}

function comparable(outcome: Extract<SearchOutcome, { ok: true }>) {
  const files = outcome.files.map(({ path, binary, lines }) => ({
    path,
    binary,
    lines: lines.map(({ number, isMatch, text }) => `${number}${isMatch ? ":" : "-"}${text}`),
  }));
  return { files, end: outcome.end };
}

let directory: TempDir;
beforeAll(async () => {
  directory = await tempDir();
});
afterAll(() => directory.remove());

const WORDS = [
  "needle",
  "Needle",
  "foo(bar)",
  "→→ needle",
  "a.b",
  "",
  "  indented",
  "tab\there",
  "x-1_2",
  "日本 needle 語",
  "$1.00",
  "[x]",
  "end;",
];
const ENDS = ["\n", "\n", "\n", "\r\n"];

function content(name: string, random: Random): string | Uint8Array {
  const kind = random();
  const lines = Array.from({ length: Math.floor(random() * 12) }, () => `${pick(random, WORDS)} ${pick(random, WORDS)}`);
  const text = lines.join(pick(random, ENDS)) + (random() < 0.7 ? "\n" : "");
  if (kind < 0.05) return Buffer.concat([Buffer.from("x\0"), Buffer.from(text)]);
  if (kind < 0.1) return Buffer.concat([Buffer.from("caf\xe9 ", "latin1"), Buffer.from(text), Buffer.from([0xff, 0xfe, 0x0a])]);
  if (kind < 0.15) return `\ufeff${text}`;
  if (kind < 0.2) return `${"x".repeat(700)}needle${"é".repeat(900)}\n${text}`;
  if (kind < 0.23) return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
  return `${name}\n${text}`;
}

const PATTERNS: readonly Wanted[] = [
  { pattern: "needle" },
  { pattern: "needle", ignoreCase: true },
  { pattern: "(?i)NEEDLE" },
  { pattern: "foo(bar)", literal: true },
  { pattern: "FOO(BAR)", literal: true, ignoreCase: true },
  { pattern: "^needle" },
  { pattern: "needle$" },
  { pattern: "^$" },
  { pattern: "\\bx-\\d_2\\b" },
  { pattern: "[[:upper:]]eedle|\\[x\\]" },
  { pattern: "a\\.b.*end;" },
  { pattern: "n(?P<rest>ee)dle" },
  { pattern: "日本|→{2}" },
  { pattern: "\\$1\\.00", extensions: ["ts", "md"] },
  { pattern: "needle", glob: "*.ts", contextLines: 2 },
  { pattern: "needle", glob: "src/**", contextLines: 1 },
  { pattern: "needle", includeHidden: true },
  { pattern: "needle", includeIgnored: true },
  { pattern: "e", limit: 7 },
  { pattern: "e", limit: 3, contextLines: 2 },
  { pattern: "[a-z0-9]", limit: 1000 },
];

const SEEDS = Number(process.env.SEEDS ?? 4);

test.each(Array.from({ length: SEEDS }, (_, index) => [index + Number(process.env.FIRST_SEED ?? 1)]))(
  "generated tree %d: rg and the built-in engine agree",
  async (seed) => {
    const random = seededRandom(seed);
    const root = join(directory.path, `tree${seed}`);
    const directories = randomTree(root, random, { repository: seed % 2 === 0, content });
    const bases = seed % 2 === 0 ? [""] : directories.filter((path) => !path.includes(".git")).slice(0, 1);
    for (const base of bases) {
      for (const wanted of PATTERNS) {
        const request = requestFor(root, { ...wanted, base });
        const story = JSON.stringify({ seed, base, ...wanted });
        const expected = await withRg(request);
        const found = await withoutRg(request);
        expect({ story, ...comparable(found) }).toEqual({ story, ...comparable(expected) });
      }
    }
  },
);

test("too many matches to hold: the sorted run gives the same first ones", async () => {
  const root = directory.at("dense");
  for (let index = 0; index < 60; index++) {
    mkdirSync(join(root, `d${index % 7}`), { recursive: true });
    writeFileSync(join(root, `d${index % 7}/f${index}`), "needle\n".repeat(1200));
  }
  const request = requestFor(root, { pattern: "needle", limit: 1000 });
  const outcome = await withRg(request);
  expect(outcome.end).toBe("limit");
  expect(outcome.exact).toBe(false);
  expect(comparable(outcome)).toEqual(comparable(await withoutRg(request)));
  const few = requestFor(root, { pattern: "needle", limit: 1000, glob: "d6/*" });
  expect((await withRg(few)).files.every((file) => file.path.startsWith("d6/"))).toBe(true);
});
