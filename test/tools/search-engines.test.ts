/** rg and the built-in engine find the same lines in the same tree, for the syntax they share (tools.md search_text). */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { detectEngines } from "../../src/base/engines.ts";
import type { SearchOutcome, SearchRequest } from "../../src/tools/matches.ts";
import { nameGlobs, pathFilter } from "../../src/tools/path-filter.ts";
import { searchFiles } from "../../src/tools/search.ts";
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
    withholds: () => false,
    accept: pathFilter({ glob: wanted.glob, extensions: wanted.extensions, base }),
    nameGlobs: nameGlobs(wanted.glob, wanted.extensions),
    limit: 100,
    signal: new AbortController().signal,
    ...wanted,
  };
}

async function withRg(request: SearchRequest): Promise<Extract<SearchOutcome, { ok: true }>> {
  if (rg === undefined) throw new Error("these tests compare with ripgrep: install rg");
  const outcome = await searchWithRg(rg, request);
  if (typeof outcome === "string" || !outcome.ok)
    throw new Error(`rg: ${typeof outcome === "string" ? outcome : outcome.message}`);
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

test("what stands before a NUL counts when rg had searched it before it came to the NUL", async () => {
  const lines = (count: number) => "x\n".repeat(count);
  // No line fills rg's buffer: it would read the next file of the same thread in larger pieces.
  const files = {
    "same-read": `match one\nbar\0baz\n`,
    "next-read": `match one\n${lines(40_000)}\0\n`,
    "just-before": `foo\n${lines(40_000)}match\n\0\n`,
    rolled: `match\n${lines(32_000)}${"y".repeat(60_000)}\n${lines(400)}\0`,
    "last-byte": `match\n${"x".repeat(65_536 - 8)}\n\0`,
    "first-byte": `match\n${"x".repeat(65_536 - 7)}\n\0`,
    text: `match\n${lines(40_000)}`,
  };
  await using dir = await tempDir(files);
  const request = requestFor(dir.path, { pattern: "match" });
  const found = comparable(await withRg(request));
  expect(comparable(await withoutRg(request))).toEqual(found);
  expect(found.files.map(({ path }) => path)).toContain("next-read");
});

test("an rg that dies in the middle is broken at once, whatever it goes on to wait for", async () => {
  await using dir = await tempDir({ "x.c": "a;\rb;\rc;\r", "y.c": "hello;\n", "z.c": "plain\n" });
  for (const pattern of ["$", ";?$"]) {
    const request = requestFor(dir.path, { pattern });
    const outcome = rg === undefined ? undefined : await searchFiles(request, rg);
    if (!outcome?.ok) throw new Error("no outcome");
    expect([outcome.end, outcome.unreadable]).toEqual(["complete", 0]);
    expect(outcome.files.map(({ path }) => path)).toEqual(["x.c", "y.c", "z.c"]);
  }
});

test("words of a panic make any rg a broken one; in a file name they do not", async () => {
  await using dir = await tempDir({ "bin/rg": "", "ws/a": "needle\n" });
  const script = (...lines: string[]) => writeFileSync(dir.at("bin/rg"), ["#!/bin/sh", ...lines].join("\n"), { mode: 0o755 });
  chmodSync(dir.at("bin/rg"), 0o755);
  const request = requestFor(dir.at("ws"), { pattern: "needle", timeoutMs: 600_000 });
  script(
    "printf \"thread '<unnamed>' panic\" >&2",
    "printf \"ked at 'no', x.rs:1:2\\nstack backtrace:\\n\" >&2",
    "exec sleep 600",
  );
  expect(await searchFiles(request, dir.at("bin/rg"))).toMatchObject({ engine: "built-in", passedOver: "broken", total: 1 });
  script("echo \"rg: ./thread 'x' panicked at y: Permission denied (os error 13)\" >&2", "exit 2");
  expect(await searchWithRg(dir.at("bin/rg"), request)).toMatchObject({ ok: false });
});
