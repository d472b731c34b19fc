/** What a glob means: names with brackets in them, and advice where it was probably meant otherwise. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { globAdvice } from "../../src/tools/glob-advice.ts";
import { pathFilter } from "../../src/tools/path-filter.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { freshWorkspace, installed, pathOf, searching } from "./search-place.ts";

let place: TempDir;
beforeAll(async () => {
  place = await tempDir();
});
afterAll(() => place.remove());

test.each([
  ["app/[slug]/*.tsx", ["app/[slug]/page.tsx", "app/s/page.tsx"], ["app/x/page.tsx", "app/[slug]/x/page.tsx"]],
  ["**/[slug]/**", ["app/[slug]/page.tsx", "[slug]/a"], ["app/slug/a"]],
  ["app/[...slug]/*", ["app/[...slug]/a", "app/s/a"], ["app/...slug/a"]],
  ["app/[[...slug]]/*", ["app/[[...slug]]/a"], ["app/[...slug]/a"]],
  ["api/{id}/*.json", ["api/{id}/a.json", "api/id/a.json"], ["api/x/a.json"]],
  ["[id].*", ["a/[id].ts", "a/i.ts"], ["a/id.ts"]],
  ["**/*[id]*.{ts,tsx}", ["a/x[id]y.tsx", "a/i.ts"], ["a/b.ts", "a/[id].md"]],
  ["{[id],b}/x", ["[id]/x", "i/x", "b/x"], ["a/x"]],
  ["app/\\[id\\]/*", ["app/[id]/a"], ["app/i/a"]],
  ["[!a]/*", ["b/x", "[!a]/x"], ["a/x"]],
  ["!**/[id]/**", ["a/b"], ["a/[id]/b", "a/i/b"]],
  ["[a-c]x", ["ax", "cx", "[a-c]x"], ["dx", "-x"]],
  ["[]a]x", ["ax"], ["bx"]],
  ["[abc", ["x/[abc"], ["a"]],
  ["src/part{1..3}.ts", ["src/part2.ts", "src/part{1..3}.ts"], ["src/part4.ts", "src/part1..3.ts"]],
  ["{a..c}.ts", ["b.ts"], ["d.ts"]],
  ["[\\]]x.ts", ["]x.ts"], ["x.ts"]],
  ["{{cookiecutter.name}}/**", ["{{cookiecutter.name}}/a.ts"], ["x/a.ts"]],
])("%s", (glob, yes, no) => {
  const accepts = pathFilter({ glob, base: "" });
  expect({ yes: yes.filter(accepts), no: no.filter(accepts) }).toEqual({ yes, no: [] });
});

test("every engine finds what lies in a directory called [slug]", async () => {
  const root = await freshWorkspace(place, {
    "app/[slug]/page.tsx": "needle\n",
    "app/{x}/page.tsx": "needle\n",
    ".git/HEAD": "",
  });
  for (const name of ["fd", "rg", "find", "none"] as const) {
    const programs = name === "none" ? {} : { [name]: installed[name] };
    const { find, list, search } = await searching(root, { PATH: pathOf(place.at(`only-${name}`), programs) });
    for (const at of ["[slug]", "{x}"]) {
      const glob = `app/${at}/*.tsx`;
      const texts = [await find({ pattern: glob }), await find({ pattern: `**/${at}/**` }), await list({ glob })];
      expect({ name, texts: texts.map(({ text }) => text) }).toEqual({ name, texts: texts.map(() => `app/${at}/page.tsx`) });
      expect((await search({ pattern: "needle", glob })).text).toStartWith(`app/${at}/page.tsx:1:needle`);
    }
  }
});

test.each([
  ["*.ts,*.tsx", "several are written {*.ts,*.tsx}"],
  ["*.tsx|*.cc", "several are written {*.tsx,*.cc}"],
  ["page\\.tsx", 'perhaps "page.tsx"'],
  ["^src/a.ts$", 'perhaps "src/a.ts"'],
  ["*.{ts,tsx", "the { in"],
  ["a[b/c", "the [ in"],
  ["app/*", '"app/**" goes further down'],
])("advice on %s", (glob, words) => {
  expect(globAdvice([undefined, glob])).toEqual([expect.stringContaining(words)]);
});

test.each(["*.ts", "src/**/*.{ts,tsx}", "app/[[...slug]]/page.tsx", "{a,{b,c}}/x", "[abc]*.ts", "src/app", "x,".repeat(1000)])(
  "no advice on %s",
  (glob) => {
    expect(globAdvice([glob])).toEqual([]);
  },
);

test("advice stands where nothing was found, and only there", async () => {
  const root = await freshWorkspace(place, { "app/a/x.ts": "needle\n" });
  const { find, search } = await searching(root);
  expect((await find({ pattern: "app/*" })).text).toMatch(/^No files found.*\n\[\* stands for names in one directory/);
  expect((await find({ pattern: "*", glob: "*.ts,*.md" })).text).toEndWith("written {*.ts,*.md}]");
  expect((await search({ pattern: "needle", glob: "*.ts,*.md" })).text).toContain("written {*.ts,*.md}]");
  expect((await search({ pattern: "needle", glob: "app/a/*" })).text).toBe("app/a/x.ts:1:needle");
});

test.each([[process.env.PATH], ["/nonexistent"]])("a pattern over two lines gets advice that works (PATH %s)", async (PATH) => {
  const root = await freshWorkspace(place, { "a.ts": "const x = 1;\nconst y\n" });
  const { search } = await searching(root, { PATH });
  const { text } = await search({ pattern: "const x = 1;\\nconst y" });
  expect(text).toEndWith("\nA match lies within one line: search for one of its lines.");
  expect((await search({ pattern: "a(\\\\n" })).text).toEndWith("set literal: true.");
});
