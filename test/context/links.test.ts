import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { findLinks } from "../../src/context/links.ts";
import { findRegions } from "../../src/context/regions.ts";
import { bench, paths } from "./bench.ts";

const targets = (text: string): string[] => findLinks(text).map((link) => link.target);

test("C7 A05 what is a link, and what is not", () => {
  expect(targets("@a.md\n- @docs/b.md, (@c.md) see @d.txt.\n@.github/e.md")).toEqual([
    "a.md",
    "docs/b.md",
    "c.md",
    "d.txt",
    ".github/e.md",
  ]);
  expect(targets("use @scope/pkg and me@example.com, x@y.md, @Component() and @decorator")).toEqual([]);
  expect(targets("`@a.md` ``@b.md``\n\n```\n@c.md\n```\n\n~~~\n@d.md\n~~~\n")).toEqual([]);
  expect(targets("<!-- @a.md -->\n<!--\n@b.md\n-->\n@c.md")).toEqual(["c.md"]);
  expect(targets("`open\n\n@a.md` and `x` @b.md")).toEqual(["a.md", "b.md"]);
  expect(targets("@my\\ notes.md")).toEqual(["my notes.md"]);
  expect(findLinks("a\n\n@x.md\nb @y.md")).toEqual([
    { target: "x.md", line: 3 },
    { target: "y.md", line: 4 },
  ]);
});

test("C7 linked files come right after the file that links them, relative to its directory, each once", async () => {
  await using b = await bench({
    "repo/AGENTS.md": "ROOT\n@docs/one.md\n@docs/one.md\n@.cursor/rules.md\n@pkg/AGENTS.md\n",
    "repo/docs/one.md": "ONE @two.md",
    "repo/docs/two.md": "TWO @one.md @../AGENTS.md",
    "repo/.cursor/rules.md": "DOTTED",
    "repo/pkg/AGENTS.md": "PKG",
    "repo/pkg/x.ts": "",
  });
  const delivery = await b.engine.start();
  expect(paths(b, delivery)).toEqual([
    "repo/AGENTS.md",
    "repo/docs/one.md",
    "repo/docs/two.md",
    "repo/.cursor/rules.md",
    "repo/pkg/AGENTS.md",
  ]);
  expect(delivery.sources.map((source) => source.origin)).toEqual(["root", "link", "link", "link", "link"]);
  expect((await b.engine.turn("pkg/x.ts")).text).toBe("");
  expect((await b.engine.touched([{ path: b.at("pkg/x.ts"), kind: "read" }])).text).toBe("");
  expect(b.diagnostics).toEqual([]);
});

test("A05 C7 cycles, aliases and depth: each file at most once, five deep, one diagnostic per problem", async () => {
  const files: Record<string, string> = { "repo/AGENTS.md": "@c0.md @gone.md @self.md" };
  for (let at = 0; at < 50; at++) files[`repo/c${at}.md`] = `LINK${at} @c${at + 1}.md @c0.md`;
  await using b = await bench(files);
  symlinkSync("AGENTS.md", b.at("self.md"));
  const delivery = await b.engine.start();
  expect(paths(b, delivery)).toEqual(["repo/AGENTS.md", ...[0, 1, 2, 3, 4].map((at) => `repo/c${at}.md`)]);
  expect(b.codes().sort()).toEqual(["context_link_depth", "context_link_missing"]);
  expect(b.diagnostics.find((found) => found.code === "context_link_missing")).toMatchObject({
    severity: "info",
    line: 1,
    path: b.at("AGENTS.md"),
  });
  await b.engine.turn("again");
  expect(b.codes().length).toBe(2);
});

test("A06 C7 links that lead out are refused with a warning, and nothing of them is sent", async () => {
  await using b = await bench({
    "out.md": "SECRET",
    secret: "SECRET",
    "repo/AGENTS.md": "@../out.md\n@../../secret\n@/etc/hostname\n@~/x\n@link.md\n@sub/../ok.md\n@/no/alias",
    "repo/ok.md": "FINE",
  });
  symlinkSync(b.dir.at("out.md"), b.at("link.md"));
  const delivery = await b.engine.start();
  expect(paths(b, delivery)).toEqual(["repo/AGENTS.md", "repo/ok.md"]);
  expect(delivery.text).not.toContain("SECRET");
  expect(b.diagnostics.map(({ code, line, severity }) => `${code} ${line} ${severity}`)).toEqual(
    [1, 2, 3, 4, 5].map((line) => `context_link_refused ${line} warning`),
  );
});

test("C7 a global file's links stay in the global directory; a linked binary or huge file is not text", async () => {
  await using b = await bench({
    "config/AGENTS.md": "GLOBAL @more.md @../repo/x.md",
    "config/more.md": "MORE",
    "repo/x.md": "X",
    "repo/AGENTS.md": "@bad.md @big.txt",
    "repo/bad.md": new Uint8Array([0xff, 0x00]),
    "repo/big.txt": "y".repeat(1_100_000),
  });
  const delivery = await b.engine.start();
  expect(paths(b, delivery)).toEqual(["config/AGENTS.md", "config/more.md", "repo/AGENTS.md", "repo/big.txt"]);
  expect(delivery.sources.at(-1)?.state).toBe("path_only");
  expect(b.codes()).toEqual(["context_link_refused", "context_link_refused"]);
});

test("C7 C10 a changed link is delivered again, a dropped one is taken back", async () => {
  await using b = await bench({ "repo/AGENTS.md": "ROOT @a.md @b.md", "repo/a.md": "A1", "repo/b.md": "B1" });
  await b.engine.start();
  await b.dir.write({ "repo/a.md": "A2" });
  const changed = await b.engine.turn("");
  expect(paths(b, changed)).toEqual(["repo/a.md"]);
  expect(changed.text).toContain("A2");
  await b.dir.write({ "repo/AGENTS.md": "ROOT @a.md" });
  const dropped = await b.engine.turn("");
  expect(paths(b, dropped)).toEqual(["repo/AGENTS.md"]);
  expect(dropped.text).toMatch(/b\.md".*status="removed"/);
  expect(dropped.text).not.toContain("A2");
  expect((await b.engine.turn("")).text).toBe("");
});

test("C7 C4 a nested file that a link delivered and then dropped stands for its own directory again", async () => {
  await using b = await bench({ "repo/AGENTS.md": "ROOT @p/AGENTS.md", "repo/p/AGENTS.md": "P", "repo/p/x": "" });
  await b.engine.start();
  await b.dir.write({ "repo/AGENTS.md": "ROOT" });
  expect((await b.engine.turn("")).text).toMatch(/p\/AGENTS\.md".*status="removed"/);
  const named = await b.engine.turn("p/x");
  expect(named.sources).toMatchObject([{ path: b.at("p/AGENTS.md"), scope: "p", origin: "nested" }]);
  await b.dir.write({ "repo/AGENTS.md": "ROOT again" });
  expect((await b.engine.turn("")).sources.map((source) => source.scope)).toEqual(["."]);
});

test("C7 C12 finding code, comments and links is linear", () => {
  const units = ["```\n", "~~~\n", "~~~\na `b` ", "x<!-- ", "<!-- -->\n```\n", "`` ` ", "@", "@a.md ", "@a......"];
  for (const unit of units) {
    const text = unit.repeat((512 * 1024) / unit.length);
    const started = performance.now();
    findRegions(text);
    findLinks(text);
    expect({ unit, quick: performance.now() - started < 2000 }).toEqual({ unit, quick: true });
  }
}, 30_000);

test("C7 C12 fences, spans and comments nest the way Markdown reads them", () => {
  const kinds = (text: string): string[] => findRegions(text).map(({ kind, start, end }) => `${kind}:${text.slice(start, end)}`);
  expect(kinds("a `b` ``c ` d`` e")).toEqual(["span:`b`", "span:``c ` d``"]);
  expect(kinds("```\nx\n````\ny")).toEqual(["fence:```\nx\n````"]);
  expect(kinds("````\n```\n````\n`z`")).toEqual(["fence:````\n```\n````", "span:`z`"]);
  expect(kinds("<!--\n```\n-->\n`a`")).toEqual(["comment:<!--\n```\n-->", "span:`a`"]);
  expect(kinds("```\n<!--\n```\n`a`")).toEqual(["fence:```\n<!--\n```", "span:`a`"]);
  expect(kinds("x <!-- open\n`a`")).toEqual(["span:`a`"]);
  expect(kinds("<!-- open\n`a`")).toEqual(["comment:<!-- open\n`a`"]);
  expect(kinds("- ~~~\n  x\n  ~~~\n> ```\n> y")).toEqual(["fence:- ~~~\n  x\n  ~~~", "fence:> ```\n> y"]);
  expect(kinds("`open\n\nclosed` `a`")).toEqual(["span:` `"]);
});
