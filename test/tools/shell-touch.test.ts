import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { openWorkspace } from "../../src/base/workspace.ts";
import { findTouched, mergeTouched, shellScripts } from "../../src/tools/shell-touch.ts";
import { tokenize } from "../../src/tools/shell-words.ts";

const outside = realpathSync(mkdtempSync(join(tmpdir(), "thndrs-touch-")));
const root = join(outside, "ws");
for (const directory of ["a/b/c", "src.v2", "with space", "d", "it's", ".git"])
  mkdirSync(join(root, directory), { recursive: true });
mkdirSync(join(outside, "other"));
writeFileSync(join(root, "a/b/file.ts"), "");
symlinkSync(join(outside, "other"), join(root, "out"));
symlinkSync("a/b", join(root, "link"));
afterAll(() => rmSync(outside, { recursive: true, force: true }));

const workspace = await openWorkspace(root);

/** Touched paths as `kind path`, relative to the root, the starting directory left out. */
async function touched(argv: readonly string[], cwd = "."): Promise<string[]> {
  const found = await findTouched(argv, join(root, cwd), { workspace, env: { HOME: join(root, "d") } });
  expect(found[0]).toEqual({ path: join(root, cwd), kind: "cwd" });
  return found.slice(1).map(({ kind, path }) => `${kind} ${relative(root, path) || "."}`);
}

const script = (text: string): Promise<string[]> => touched(["sh", "-c", text]);

describe("C4 argv words", () => {
  test("words that name existing paths count, others do not", async () => {
    expect(await touched(["cat", "a/b/file.ts", "a/nowhere", "word", "--flag", "src.v2"])).toEqual([
      "argument a/b/file.ts",
      "argument src.v2",
    ]);
  });

  test("words are relative to the command's directory", async () => {
    expect(await touched(["ls", "b", "../d", "d"], "a")).toEqual(["argument a/b", "argument d"]);
  });

  test("the program counts only when written as a path", async () => {
    expect(await touched(["d"])).toEqual([]);
    expect(await touched(["./a/b/file.ts"])).toEqual(["argument a/b/file.ts"]);
  });

  test("values of options, absolute paths, links by their real path", async () => {
    expect(await touched(["tool", "--config=a/b/file.ts", join(root, "d"), "link/file.ts"])).toEqual([
      "argument a/b/file.ts",
      "argument d",
    ]);
  });

  test("nothing outside the workspace counts", async () => {
    expect(await touched(["ls", "..", "../other", "out", "/etc", "a\0b", ""])).toEqual([]);
  });
});

describe("C4 scripts", () => {
  test("hops follow each other", async () => {
    expect(await script("cd a && cd b; ls && cd c")).toEqual(["cwd a", "cwd a/b", "cwd a/b/c"]);
    expect(await script("cd a/b\ncd ../../d\npwd")).toEqual(["cwd a/b", "cwd d"]);
  });

  test("pushd, popd and cd - go back", async () => {
    expect(await script("pushd a; pushd b; popd; cd b/c")).toEqual(["cwd a", "cwd a/b", "cwd a/b/c"]);
    expect(await script("cd a; cd ../d; cd -; cd b")).toEqual(["cwd a", "cwd d", "cwd a/b"]);
  });

  test("a subshell's hop ends with it", async () => {
    expect(await script("(cd a && cd b); cd d")).toEqual(["cwd a", "cwd a/b", "cwd d"]);
    expect(await script('x="$(cd a && pwd)"; y=`cd d; pwd`; cd src.v2')).toEqual(["cwd a", "cwd d", "cwd src.v2"]);
  });

  test("quotes and escapes", async () => {
    expect(await script("cd 'with space' && cd \"../it's\"; cd ../with\\ space")).toEqual(["cwd with space", "cwd it's"]);
    expect(await script("echo 'cd a'; echo \"x; cd d\"; echo cd a")).toEqual([]);
  });

  test("home and working directory variables are followed, others make the place unknown", async () => {
    expect(await script("cd; cd ../a")).toEqual(["cwd d", "cwd a"]);
    expect(await script('cd ~/../a; cd "$HOME"; cd "$OLDPWD/b"; cd $PWD/c')).toEqual(["cwd a", "cwd d", "cwd a/b", "cwd a/b/c"]);
    expect(await script('cd "$DIR"; cd a; cd a/*')).toEqual([]);
    expect(await script(`cd "$DIR"; cd ${root}/a; cd b`)).toEqual(["cwd a", "cwd a/b"]);
    expect(await script("cd '~'; cd '$HOME'")).toEqual([]);
  });

  test("a hop that fails is no hop", async () => {
    expect(await script("cd nowhere; cd a")).toEqual(["cwd a"]);
    expect(await script("cd nowhere && cd a; cd d")).toEqual(["cwd d"]);
    expect(await script("cd a || cd d; cd b")).toEqual(["cwd a", "cwd a/b"]);
    expect(await script("cd nowhere || cd d")).toEqual(["cwd d"]);
    expect(await script("cd a/b/file.ts; cd a")).toEqual(["cwd a"]);
  });

  test("the way may lead outside and back; outside does not count", async () => {
    expect(await script("cd .. && cd other && cd ../ws/a")).toEqual(["cwd a"]);
    expect(await script("cd out; cd /etc")).toEqual([]);
  });

  test("prefixes, options, redirections, keywords", async () => {
    expect(await script("if cd -P a 2>/dev/null; then cd -- b; fi")).toEqual(["cwd a", "cwd a/b"]);
    expect(await script("X=1 command cd a >log && builtin cd b")).toEqual(["cwd a", "cwd a/b"]);
    expect(await script("for f in x y; do cd a; done; { cd b; }")).toEqual(["cwd a", "cwd a/b"]);
  });

  test("comments and here-documents hold no commands", async () => {
    expect(await script("# cd a\necho x # cd d\ncat <<EOF\ncd a\nEOF\ncat <<-'E'\n\tcd d\n\tE\ncd src.v2")).toEqual([
      "cwd src.v2",
    ]);
  });

  test("shells are found behind wrappers and in clustered options", async () => {
    expect(await touched(["bash", "-lc", "cd a"])).toEqual(["cwd a"]);
    expect(await touched(["/usr/bin/env", "X=1", "zsh", "-e", "-o", "pipefail", "-c", "cd a"])).toEqual(["cwd a"]);
    expect(await touched(["timeout", "5", "dash", "-c", "sh -c 'cd a; cd b'; cd d"])).toEqual(["cwd a", "cwd a/b", "cwd d"]);
    expect(await touched(["bash", "-x", "script.sh", "-c", "cd a"])).toEqual([]);
    expect(await touched(["python3", "-c", "cd a"])).toEqual([]);
    expect(shellScripts(["bash", "-c", "-l", "x y"])).toEqual(["x y"]);
    expect(shellScripts(["sh", "-ec", "--", "z"])).toEqual(["z"]);
    expect(shellScripts(["sh"])).toEqual([]);
  });

  test("broken and endless scripts end", async () => {
    for (const broken of ["cd 'a", 'cd "a', "cd $(", "cd `", "cd ${", "((((", "))))", "<<", "cd a\\", "\\", "$", "cat <<E\nx"]) {
      await script(broken);
    }
    const deep = `${"$(".repeat(2000)}cd a${")".repeat(2000)}`;
    expect(await script(`echo ${deep}`)).toEqual([]);
    const began = performance.now();
    tokenize("cd a && ".repeat(8000));
    tokenize("$(".repeat(30_000));
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

test("merging keeps each path and kind once", () => {
  const one = { path: "/x", kind: "cwd" } as const;
  const other = { path: "/x", kind: "argument" } as const;
  expect(mergeTouched([one, other], [other, one])).toEqual([one, other]);
});
