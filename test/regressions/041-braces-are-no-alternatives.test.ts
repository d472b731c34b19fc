/**
 * `*.{log,tmp}` in a .gitignore is a name with braces to git, two endings to fd and rg: with them installed other files were
 * listed and searched than without. So for names in brackets, for a tab at the end of a rule, for a brace nobody closed.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ListEngine, listFiles } from "../../src/tools/listing.ts";
import { comparePaths } from "../../src/tools/path-order.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { freshWorkspace, installed, pathOf, searching } from "../tools/search-place.ts";

// A busy machine is slower than the default allows.
setDefaultTimeout(30_000);

let place: TempDir;
beforeAll(async () => {
  place = await tempDir();
});
afterAll(() => place.remove());

const NAMES = [
  "a.log",
  "b.tmp",
  "c.ts",
  "build",
  "1a.txt",
  "b.txt",
  "é.txt",
  "foo}",
  "a.{log,tmp}",
  "acb",
  "sub/x.log",
  "sub/c.ts",
];

async function workspaceWith(rules: Readonly<Record<string, string>>): Promise<string> {
  const root = await freshWorkspace(place, Object.fromEntries(NAMES.map((name) => [name, "needle\n"])));
  spawnSync("git", ["init", "-q", root]);
  for (const [path, text] of Object.entries(rules)) writeFileSync(join(root, path), text);
  return root;
}

function keptByGit(root: string, below = ""): string[] {
  const argv = ["-C", root, "ls-files", "-z", "--others", "--exclude-standard", "--", `./${below}`];
  const paths = spawnSync("git", argv, { encoding: "utf8" }).stdout.split("\0");
  return paths.filter((path) => path !== "" && !path.endsWith("ignore")).sort(comparePaths);
}

test.each([["*.{log,tmp}"], ["build\t"], ["[[:digit:]]*.txt"], ["foo}"], ["?.txt"], ["a[!b]*"], ["[\\d]uild\n*.log"]])(
  "%j is what it is to git, for every engine",
  async (rule) => {
    const root = await workspaceWith({ ".gitignore": `${rule}\n` });
    const expected = keptByGit(root);
    for (const engine of ["fd", "rg", "find", "built-in"] as const satisfies readonly ListEngine[]) {
      const paths: string[] = [];
      const request = { root, base: "", includeHidden: false, includeIgnored: false, signal: new AbortController().signal };
      await listFiles(installed, [engine], request, (more) => paths.push(...more));
      expect({ engine, paths: paths.sort(comparePaths) }).toEqual({ engine, paths: expected });
    }
  },
);

test("files found by search_text and find_files are git's, with rg and fd or without, wherever the rule stands", async () => {
  const without = pathOf(place.at("bin"), { find: installed.find });
  for (const file of [".gitignore", ".git/info/exclude", "sub/.gitignore", ".ignore"]) {
    const root = await workspaceWith({ [file]: "*.{log,tmp}\n" });
    const path = file.startsWith("sub/") ? "sub" : undefined;
    // git knows no .ignore; the rule means the same there.
    const expected = keptByGit(root, path).filter((name) => name !== "a.{log,tmp}");
    for (const PATH of [process.env.PATH, without]) {
      const { find, search, list } = await searching(root, { PATH });
      const found = await search({ pattern: "needle", path });
      expect(found.text.split("\n").flatMap((line) => /^([^[:]+):1:needle$/.exec(line)?.[1] ?? [])).toEqual(expected);
      for (const listed of [await find({ pattern: "*", path }), await list({ path })]) {
        expect(listed.text.split("\n")).toEqual(expected);
      }
    }
  }
});

test("a rule that all read alike leaves rg and fd at work", async () => {
  const root = await workspaceWith({ ".gitignore": "*.py[cod]\n*.log\n[Bb]uild/\n" });
  const { search } = await searching(root);
  expect((await search({ pattern: "needle" })).text).not.toContain("engine:");
  const request = { root, base: "", includeHidden: false, includeIgnored: false, signal: new AbortController().signal };
  expect((await listFiles(installed, ["fd"], request, () => {})).engine).toBe("fd");
});
