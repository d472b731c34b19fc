/** All engines list the same files for the same tree (tools.md, S10): generated trees, every option. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { detectEngines } from "../../src/base/engines.ts";
import { type ListEngine, type ListRequest, listFiles } from "../../src/tools/listing.ts";
import { type PathFilterInput, pathFilter } from "../../src/tools/path-filter.ts";
import { comparePaths } from "../../src/tools/path-order.ts";
import { randomTree, seededRandom } from "../support/random-tree.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { pathOf, searching } from "./search-place.ts";

// Many small processes and files: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

const ENGINES: readonly ListEngine[] = ["fd", "rg", "find"];
const installed = detectEngines(process.env.PATH, "/nonexistent");

async function listWith(
  engine: ListEngine,
  request: Omit<ListRequest, "signal">,
): Promise<{ used: ListEngine; paths: string[] }> {
  const paths: string[] = [];
  const accept = pathFilter(request.hint ?? { base: request.base });
  const outcome = await listFiles(installed, [engine], { ...request, signal: new AbortController().signal }, (more) =>
    paths.push(...more.filter(accept)),
  );
  expect(outcome.end).toBe("complete");
  return { used: outcome.engine, paths: paths.sort(comparePaths) };
}

async function expectSame(request: Omit<ListRequest, "signal">, story: string, engines = ENGINES): Promise<void> {
  const expected = await listWith("built-in", request);
  const sorted = [...expected.paths].sort(comparePaths);
  expect({ story, paths: expected.paths }).toEqual({ story, paths: sorted });
  for (const engine of engines) {
    const got = await listWith(engine, request);
    // Without a repository an old fd steps aside; everywhere else the engine asked for must be the one that answered.
    if (existsSync(join(request.root, ".git")) && installed[engine as "fd"] !== undefined) expect(got.used).toBe(engine);
    expect({ story, engine, paths: got.paths }).toEqual({ story, engine, paths: expected.paths });
  }
}

let directory: TempDir;
beforeAll(async () => {
  directory = await tempDir();
});
afterAll(() => directory.remove());

const SEEDS = Number(process.env.SEEDS ?? 4);

test.each(Array.from({ length: SEEDS }, (_, index) => [index + Number(process.env.FIRST_SEED ?? 1)]))(
  "generated tree %d: fd, rg, find and the built-in walk agree",
  async (seed) => {
    const random = seededRandom(seed);
    const root = join(directory.path, `tree${seed}`);
    const directories = randomTree(root, random, { repository: seed % 3 !== 0 });
    const bases = ["", ...directories.filter((path) => !path.includes(".git")).slice(0, 1)];
    for (const base of bases) {
      for (const [includeHidden, includeIgnored] of [
        [false, false],
        [true, false],
        [false, true],
        [true, true],
      ] as const) {
        const maxDepth = random() < 0.3 ? 1 + Math.floor(random() * 3) : undefined;
        const request = { root, base, includeHidden, includeIgnored, maxDepth };
        await expectSame(request, JSON.stringify({ seed, ...request }));
      }
    }
  },
);

function files(root: string, contents: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

test("what fd is told to leave out never changes the list", async () => {
  const root = directory.at("hints");
  files(root, {
    ".git/HEAD": "",
    "src/App.test.ts": "",
    "src/app.TS": "",
    "src/a-b/UPPER.md": "",
    "src/x.d.ts": "",
    "src/hints/y.tar.gz": "",
    "-x/-y.ts": "",
    "[id].tsx": "",
    "a b/c d.ts": "",
    "é/ü.ts": "",
    ".ts": "",
  });
  writeFileSync(Buffer.from(`${root}/src/caf\xe9.txt`, "latin1"), "");
  const inputs: Omit<PathFilterInput, "base">[] = [
    { pattern: "*.ts" },
    { pattern: "*.test.ts" },
    { pattern: "src/**/*.ts" },
    { pattern: "**/*.md" },
    { pattern: "app" },
    { pattern: "App" },
    { pattern: "src/a" },
    { pattern: "hints" },
    { pattern: "-x" },
    { pattern: "-delete" },
    { pattern: "[id].tsx" },
    { pattern: "*.{ts,md}" },
    { pattern: "ü" },
    { pattern: "c d" },
    { pattern: "" },
    { pattern: "./src/x" },
    { pattern: "a", extensions: ["ts", ".md"] },
    { extensions: ["gz", "tar.gz"] },
    { extensions: ["D.TS"] },
    { pattern: "", extensions: ["ts"] },
    { pattern: "ü", extensions: ["ts", "md"] },
    { pattern: "c d", glob: "*.ts" },
    { pattern: "*.t*", extensions: ["ts", "gz"] },
    { pattern: "src/**", extensions: ["ts"] },
    { pattern: "src/**" },
    { glob: "src/**", extensions: ["t s"] },
    { glob: "*.ts" },
    { glob: "!*.ts" },
    { pattern: "*s*", glob: "src/**" },
    { pattern: "*", extensions: ["txt"] },
    { pattern: "caf", extensions: ["txt", "ts"] },
    { pattern: "*.txt" },
  ];
  for (const [index, input] of inputs.entries()) {
    for (const base of ["", "src"]) {
      const request = { root, base, includeHidden: index % 2 === 0, includeIgnored: false, hint: { ...input, base } };
      await expectSame(request, JSON.stringify(request), ["fd"]);
    }
  }
});

test("rules above the root, of nested repositories, of worktrees and of private ignore files", async () => {
  const outer = directory.at("outer");
  files(outer, {
    ".gitignore": "*.one\n",
    ".ignore": "*.two\n",
    "ws/a.one": "",
    "ws/a.two": "",
    "ws/sub/b.one": "",
    "ws/sub/b.two": "",
    "ws/sub/deep/c.two": "",
    "ws/.gitignore": "/sub/gen\n*.log\n!keep.log\n",
    "ws/sub/gen/x": "",
    "ws/sub/x.log": "",
    "ws/sub/keep.log": "",
    "ws/nested/.git/HEAD": "",
    "ws/nested/x.log": "",
    "ws/nested/.gitignore": "y\n",
    "ws/nested/y": "",
    "ws/private/.fdignore": "z\n",
    "ws/private/z": "",
    "ws/build/.gitignore": "*\n!.gitignore\n",
    "ws/build/out": "",
    "common/info/exclude": "*.excluded\n",
    "common/worktrees/w/commondir": "../..\n",
    "common/worktrees/w/HEAD": "ref: refs/heads/x\n",
    "common/HEAD": "ref: refs/heads/x\n",
    "ws/tree/.git": `gitdir: ${outer}/common/worktrees/w\n`,
    "ws/tree/a.excluded": "",
    "ws/tree/a.log": "",
  });
  const root = join(outer, "ws");
  const plain = { root, includeHidden: false, includeIgnored: false };
  const withoutGit = await listWith("built-in", { ...plain, base: "" });
  expect(withoutGit.paths).toEqual([
    "a.one",
    "a.two",
    "nested/x.log",
    "sub/b.one",
    "sub/b.two",
    "sub/deep/c.two",
    "sub/keep.log",
    "tree/a.log",
  ]);
  // Outside a repository an old fd cannot apply .gitignore, and below the root files above it would leak: others serve.
  for (const base of ["", "sub", "sub/deep", "nested", "build", "tree"]) {
    for (const engine of ["fd", "find", "built-in"] as const) {
      const expected = (await listWith("built-in", { ...plain, base })).paths;
      expect({ base, engine, paths: (await listWith(engine, { ...plain, base })).paths }).toEqual({
        base,
        engine,
        paths: expected,
      });
    }
  }
  files(root, { ".git/HEAD": "ref: refs/heads/main\n", ".git/info/exclude": "deep\n" });
  for (const base of ["", "sub", "sub/deep", "nested", "build", "tree"]) {
    const expected = (await listWith("built-in", { ...plain, base })).paths;
    for (const engine of ["fd", "find"] as const) {
      expect({ base, engine, paths: (await listWith(engine, { ...plain, base })).paths }).toEqual({
        base,
        engine,
        paths: expected,
      });
    }
  }
});

test("followed links: inside only, each directory once, loops end", async () => {
  const root = directory.at("links");
  files(root, { "real/a.ts": "", "real/deep/b.ts": "", "z.ts": "" });
  files(directory.at("elsewhere"), { "secret.ts": "" });
  symlinkSync(".", join(root, "loop"));
  symlinkSync("real", join(root, "link"));
  symlinkSync("../real", join(root, "real/back"));
  symlinkSync("z.ts", join(root, "y.ts"));
  symlinkSync("nowhere", join(root, "dangling.ts"));
  symlinkSync(directory.at("elsewhere"), join(root, "out"));
  symlinkSync(directory.at("elsewhere/secret.ts"), join(root, "out.ts"));
  const request = { root, base: "", includeHidden: false, includeIgnored: false };
  await expectSame(request, "not followed");
  const followed = await listWith("fd", { ...request, followSymlinks: true });
  expect(followed.used).toBe("built-in");
  expect(followed.paths).toEqual(["link/a.ts", "link/deep/b.ts", "real/a.ts", "real/deep/b.ts", "y.ts", "z.ts"]);
});

test("list_searchable_files lists what search_text looks into, whichever engines there are", async () => {
  const root = directory.at("searchable");
  const names = ["a.txt", "by-rg.txt", "by-fd.txt", "sub/by-rg.txt", "sub/by-fd.txt", "by-git.txt", "by-both.txt"];
  files(root, {
    ...Object.fromEntries(names.map((name) => [name, "needle\n"])),
    ".git/HEAD": "",
    ".gitignore": "by-git.txt\n",
    ".ignore": "by-both.txt\n",
    ".rgignore": "/by-rg.txt\n",
    ".fdignore": "/by-fd.txt\n",
    "sub/.rgignore": "by-rg.txt\n",
    "sub/.fdignore": "by-fd.txt\n",
  });
  const expected = ["a.txt", "by-fd.txt", "sub/by-fd.txt"];
  for (const engines of [["fd", "rg", "find"], ["rg"], ["fd", "find"], ["find"], []] as const) {
    const programs = Object.fromEntries(engines.map((name) => [name, installed[name]]));
    const { list, search } = await searching(root, { PATH: pathOf(directory.at(`bin-${engines.join("-")}`), programs) });
    const found = (await search({ pattern: "needle" })).text.split("\n").filter((line) => line.endsWith(":1:needle"));
    expect({ engines, found }).toEqual({ engines, found: expected.map((path) => `${path}:1:needle`) });
    expect({ engines, text: (await list({})).text }).toEqual({ engines, text: expected.join("\n") });
    expect((await list({ path: "sub" })).text).toBe("sub/by-fd.txt");
  }
});
