/** search_text: cases S01–S15 and T03, with rg and without. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { MAX_LINE_CHARS, MAX_RESULT_BYTES, MAX_RESULTS } from "../../src/tools/bounds.ts";
import { runningWith } from "../support/processes.ts";
import { type Files, giveTo, initGit, type TempDir, tempDir } from "../support/temp.ts";
import { freshWorkspace, installed, pathOf, searching } from "./search-place.ts";

// Many small processes and files: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

let place: TempDir;
let withoutRg = "";
beforeAll(async () => {
  place = await tempDir();
  withoutRg = pathOf(place.at("bin-find"), { find: installed.find });
});
afterAll(() => place.remove());

const workspace = (files: Files): Promise<string> => freshWorkspace(place, files);

const both = (): [string, Record<string, string | undefined>][] => [
  ["rg", { PATH: process.env.PATH }],
  ["built-in", { PATH: withoutRg }],
];

/** Result lines without the notes in brackets. */
function matches(text: string): string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("[") && !line.startsWith("No matches"));
}

test("S01 a pattern that begins with a dash is a pattern", async () => {
  const root = await workspace({ "p.sh": "#!/bin/sh\ntouch HIT\n", "t.txt": "use --pre=./p.sh\nor -f\n", "-x/y": "-e\n" });
  spawnSync("chmod", ["+x", join(root, "p.sh")]);
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    expect(matches((await search({ pattern: "--pre=./p.sh" })).text)).toEqual(["t.txt:1:use --pre=./p.sh"]);
    expect(matches((await search({ pattern: "-f" })).text)).toEqual(["t.txt:2:or -f"]);
    expect(matches((await search({ pattern: "-e", path: "-x" })).text)).toEqual(["-x/y:1:-e"]);
    expect(matches((await search({ pattern: "--files", literal: true })).text)).toEqual([]);
  }
  expect(existsSync(join(root, "HIT"))).toBe(false);
});

test("S02 an invalid pattern is a failure with the engine's reason", async () => {
  const root = await workspace({ a: "(" });
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    for (const pattern of ["(", "a{999999999}", "a\nb"]) {
      const result = await search({ pattern });
      expect(result.status).toBe("failed");
      expect(result.text).toMatch(/regex|expression|repetition|line break|paren/i);
    }
    expect((await search({ pattern: "(", literal: true })).text).toContain("a:1:(");
  }
  const { search } = await searching(root);
  expect((await search({ pattern: "(" })).text).toContain("unclosed group");
  const lookaround = await search({ pattern: "(?=a)" });
  expect(lookaround.text).toContain("look-ahead");
  expect(lookaround.text).not.toContain("--pcre2");
});

test("S03 no match is success", async () => {
  const root = await workspace({ a: "x" });
  for (const [, env] of both()) {
    const result = await (await searching(root, env)).search({ pattern: "zzz_not_there" });
    expect(result.status).toBe("ok");
    expect(result.text).toContain('No matches for "zzz_not_there"');
    expect(result.text).toContain("hidden and ignored files were not searched");
  }
});

test("S04 unreadable paths are said, with and without matches", async () => {
  const root = await workspace({ ok: "needle\n", no: "needle\n", "locked/x": "needle\n" });
  chmodSync(place.path, 0o755);
  giveTo(root, 65534);
  spawnSync("chmod", ["000", join(root, "no"), join(root, "locked")]);
  for (const path of [process.env.PATH ?? "", withoutRg]) {
    for (const [pattern, first] of [
      ["needle", "ok:1:needle\n"],
      ["absent", "No matches"],
    ] as const) {
      const drop = ["--reuid=65534", "--regid=65534", "--clear-groups"];
      const child = [
        process.execPath,
        join(import.meta.dir, "search-place.ts"),
        root,
        path,
        "search",
        JSON.stringify({ pattern }),
      ];
      const done = spawnSync("setpriv", [...drop, ...child], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: place.path },
      });
      const result = JSON.parse(done.stdout || JSON.stringify({ text: done.stderr }));
      expect(result.status).toBe("ok");
      expect(result.text).toStartWith(first);
      expect(result.text).toMatch(/\[2 paths could not be searched: (no|locked): /);
    }
  }
  spawnSync("chmod", ["755", join(root, "locked")]);
});

test("S06 a 40 MB line costs an excerpt, not memory; other matches are there", async () => {
  const others = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`m${index}`, "needle\n"]));
  const root = await workspace({ ...others, "big.js": `${"é".repeat(20_000_000)}needle;${"y".repeat(5_000_000)}\nneedle 2\n` });
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    const before = process.memoryUsage.rss();
    const { text } = await search({ pattern: "needle" });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
    const lines = matches(text);
    expect(lines).toHaveLength(52);
    expect(lines[0]).toStartWith("big.js:1:…é");
    expect(lines[0]).toContain("éneedle;y");
    expect(lines[0]).toMatch(/\[excerpt of a line of over .*\]$/);
    expect(lines[0]?.length).toBeLessThanOrEqual("big.js:1:".length + MAX_LINE_CHARS);
    expect(lines[1]).toBe("big.js:2:needle 2");
  }
}, 30_000);

test("S06 a long record of many submatches, and long context lines", async () => {
  const root = await workspace({ f: `${"a".repeat(60_000)}\n${"b".repeat(200_000)}\nx\n` });
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    expect(matches((await search({ pattern: "a" })).text)[0]).toStartWith("f:1:aaaa");
    const context = matches((await search({ pattern: "x", context_lines: 1 })).text);
    expect(context[0]).toMatch(/^f-2-b+…? \[excerpt of a line of .*\]$|^f-2-b+… \[excerpt/);
    expect(context[1]).toBe("f:3:x");
    const whole = matches((await search({ pattern: "^b+$" })).text);
    expect(whole[0]).toStartWith("f:2:bbb");
  }
});

test("S07 a binary file is a line that says so, or nothing", async () => {
  const late = Buffer.concat([Buffer.from("needle\n".repeat(3)), Buffer.alloc(300_000, "x\n"), Buffer.from([0, 0])]);
  const root = await workspace({ "b.bin": "x\0needle\n", t: "needle\n", "late.bin": late });
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    expect(matches((await search({ pattern: "needle" })).text)).toEqual(["late.bin: binary file matches", "t:1:needle"]);
    expect(matches((await search({ pattern: "needle", path: "b.bin" })).text)).toEqual(["b.bin: binary file matches"]);
  }
});

test("S08 the user's configuration does not leak in", async () => {
  const root = await workspace({
    ".git/HEAD": "",
    ".hid/x": "needle\n",
    "a.txt": "needle\nneedle\n",
    "home/.config/git/ignore": "a.txt\n",
    "home/rc": "--hidden\n--no-ignore\n--max-count=1\n",
  });
  const home = join(root, "home");
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    RIPGREP_CONFIG_PATH: join(home, "rc"),
  };
  const { search } = await searching(root, env);
  expect(matches((await search({ pattern: "needle" })).text)).toEqual(["a.txt:1:needle", "a.txt:2:needle"]);
});

test("S09 without rg the built-in engine searches and says so", async () => {
  const root = await workspace({ "src/a.ts": "one x\n", b: "no\n" });
  const { search, find } = await searching(root, { PATH: "/nonexistent" });
  const result = await search({ pattern: "x" });
  expect(result.status).toBe("ok");
  expect(result.text).toStartWith("src/a.ts:1:one x\n[engine: built-in");
  expect((await find({ pattern: "*.ts" })).text).toBe("src/a.ts");
  expect((await (await searching(root)).search({ pattern: "x" })).text).toBe("src/a.ts:1:one x");
});

test("S12 an ignored file or directory named by path is searched", async () => {
  const root = await workspace({
    ".git/HEAD": "",
    ".gitignore": "dist/\n",
    "dist/app.js": "needle\n",
    "dist/sub/x.js": "needle\n",
  });
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    expect(matches((await search({ pattern: "needle" })).text)).toEqual([]);
    expect(matches((await search({ pattern: "needle", include_ignored: true })).text)).toHaveLength(2);
    expect(matches((await search({ pattern: "needle", path: "dist/app.js" })).text)).toEqual(["dist/app.js:1:needle"]);
    expect(matches((await search({ pattern: "needle", path: "dist" })).text)).toHaveLength(2);
  }
});

test("S13 an excerpt covers the match, though offsets are bytes", async () => {
  const root = await workspace({ w: "→→ needle\n", long: `${"→".repeat(900)}needle${"😀".repeat(900)}\n` });
  for (const [, env] of both()) {
    const { text } = await (await searching(root, env)).search({ pattern: "needle" });
    const [long = "", short] = matches(text);
    expect(short).toBe("w:1:→→ needle");
    expect(long).toMatch(/^long:1:…→+needle(?:😀)+… \[excerpt of a line of 2,706 characters\]$/u);
    expect(long.isWellFormed()).toBe(true);
  }
});

test("S14 caps stop the child: five million matches return fast", async () => {
  const root = await workspace({ y: Buffer.alloc(35_000_000, "needle\n"), z: "needle\n" });
  for (const [, env] of both()) {
    const { search } = await searching(root, env);
    const began = performance.now();
    const mark = `stopped${process.pid}`;
    const result = await search({ pattern: `needle|${mark}` });
    expect(performance.now() - began).toBeLessThan(4000);
    expect(result.truncated).toBe(true);
    expect(matches(result.text)).toHaveLength(MAX_RESULTS);
    expect(result.text).toContain(
      "[first 100 matches shown, there are more: limit reached; raise limit (at most 1000) or narrow",
    );
    expect(runningWith(mark)).toEqual([]);
  }
  const { search } = await searching(root);
  expect((await search({ pattern: "needle", limit: 3 })).text).toContain("[first 3 matches shown, there are more");
  expect(matches((await search({ pattern: "needle", limit: 5000 })).text)).toHaveLength(1000);
});

test("S15 a nested worktree in a hidden directory does not multiply results", async () => {
  const root = await workspace({ "needle.txt": "needle\n" });
  initGit(root);
  spawnSync("git", ["worktree", "add", "-q", ".wt/a"], { cwd: root, env: { PATH: process.env.PATH, HOME: root } });
  expect(existsSync(join(root, ".wt/a/needle.txt"))).toBe(true);
  for (const [, env] of both()) {
    const { search, find } = await searching(root, env);
    expect(matches((await search({ pattern: "needle" })).text)).toEqual(["needle.txt:1:needle"]);
    expect((await find({ pattern: "needle" })).text).toBe("needle.txt");
    // .git is never searched, hidden files or not.
    expect((await search({ pattern: "needle|HEAD", include_hidden: true })).text).not.toContain(".git/");
  }
});

test("T03 an odd file name is one escaped line and goes back in as JSON", async () => {
  const name = "x\x1b[31my\nz\u202e.ts";
  const root = await workspace({ [name]: "needle\n", '"q"': "needle\n" });
  for (const [, env] of both()) {
    const { search, find } = await searching(root, env);
    const [quote = "", odd = ""] = matches((await search({ pattern: "needle" })).text);
    expect(odd).toBe(String.raw`"x\u001b[31my\nz\u202e.ts":1:needle`);
    expect(quote).toBe(String.raw`"\"q\"":1:needle`);
    expect(JSON.parse(odd.slice(0, odd.lastIndexOf('"') + 1))).toBe(name);
    expect((await find({ pattern: "*" })).text.split("\n")).toHaveLength(2);
    expect(matches((await search({ pattern: "needle", path: name })).text)).toEqual([odd]);
  }
});

describe("form", () => {
  test("context lines, groups and their separators; sorted by path", async () => {
    const lines = Array.from({ length: 12 }, (_, index) => (index === 3 || index === 9 ? `hit ${index}` : `l${index}`)).join(
      "\n",
    );
    const root = await workspace({ "b.ts": lines, "a/c.ts": "hit\n", "a.ts": "hit\r\nnext\r\n" });
    for (const [, env] of both()) {
      const { text } = await (await searching(root, env)).search({ pattern: "hit", context_lines: 1 });
      expect(text.split("\n").slice(0, 12)).toEqual([
        "a/c.ts:1:hit",
        "--",
        "a.ts:1:hit",
        "a.ts-2-next",
        "--",
        "b.ts-3-l2",
        "b.ts:4:hit 3",
        "b.ts-5-l4",
        "--",
        "b.ts-9-l8",
        "b.ts:10:hit 9",
        "b.ts-11-l10",
      ]);
    }
  });

  test("the limit counts matches, not context lines", async () => {
    const root = await workspace({ a: "x\nhit\nx\nhit\nx\nhit\n" });
    for (const [, env] of both()) {
      const result = await (await searching(root, env)).search({ pattern: "hit", context_lines: 1, limit: 2 });
      expect(matches(result.text)).toEqual(["a-1-x", "a:2:hit", "a-3-x", "a:4:hit", "a-5-x"]);
      expect(result.truncated).toBe(true);
    }
  });

  test("the byte cap is said, with how many matches it left", async () => {
    const root = await workspace({ a: `hit ${"→".repeat(490)}\n`.repeat(200) });
    for (const [, env] of both()) {
      const result = await (await searching(root, env)).search({ pattern: "hit", limit: 150 });
      expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
      expect(result.truncated).toBe(true);
      expect(result.text).toMatch(/\[cut at 64 KiB: \d+ of 150 matches; narrow path or glob, or lower context_lines\]/);
    }
  });

  test("line numbers count newlines only, as read_file_range does", async () => {
    const root = await workspace({ a: "one\u2028two\rthree\nfour\u0085five\r\nneedle\n" });
    for (const [, env] of both()) {
      const { search } = await searching(root, env);
      expect(matches((await search({ pattern: "^needle$" })).text)).toEqual(["a:3:needle"]);
      expect((await search({ pattern: "five" })).text).toStartWith("a:2:four\u0085five");
    }
  });

  test("an ignored file is not searched because a glob or extension names it", async () => {
    const root = await workspace({
      ".git/HEAD": "",
      ".gitignore": "*.gen.ts\n",
      "a.gen.ts": "needle",
      "b.ts": "needle",
      ".c.ts": "needle",
    });
    for (const [, env] of both()) {
      const { search } = await searching(root, env);
      for (const filter of [{ glob: "*.ts" }, { extensions: ["ts"] }, { glob: "**/*.ts" }, { glob: "!*.js" }]) {
        expect(matches((await search({ pattern: "needle", ...filter })).text)).toEqual(["b.ts:1:needle"]);
      }
    }
  });

  test("paths outside, missing paths and special files are failures", async () => {
    const root = await workspace({ a: "x" });
    spawnSync("mkfifo", [join(root, "pipe")]);
    const { search } = await searching(root);
    for (const path of ["..", "/etc", "gone", "pipe", "~/x"])
      expect((await search({ pattern: "x", path })).status).toBe("failed");
    expect(matches((await search({ pattern: "x", path: "" })).text)).toEqual(["a:1:x"]);
    const inside = await search({ pattern: "x", path: "a" });
    expect(inside.touched).toEqual([{ path: join(root, "a"), kind: "search" }]);
  });

  test("an aborted call is cancelled and leaves no process", async () => {
    const root = await workspace({ a: "x" });
    for (const [, env] of both()) {
      const { search } = await searching(root, env, AbortSignal.abort());
      expect((await search({ pattern: `x|aborted${process.pid}` })).status).toBe("cancelled");
    }
    expect(runningWith(`aborted${process.pid}`)).toEqual([]);
  });

  test("a program the workspace brought along is not run", async () => {
    const root = await workspace({ "node_modules/.bin/rg": "#!/bin/sh\ntouch HIT\n", a: "x\n" });
    spawnSync("chmod", ["+x", join(root, "node_modules/.bin/rg")]);
    const { search } = await searching(root, { PATH: join(root, "node_modules/.bin") });
    expect((await search({ pattern: "x" })).text).toContain("[engine: built-in");
    expect(existsSync(join(root, "HIT"))).toBe(false);
  });
});

test("what the policy closes is left out of search and listings, and the result says so", async () => {
  const root = await workspace({ "open/a": "needle\n", "closed/b": "needle\n" });
  const hides = (path: string) => path.startsWith("closed/");
  for (const [, env] of both()) {
    const { search, find, list } = await searching(root, env, undefined, hides);
    const note = "[files that the allowed and denied tools of this run close to this tool were left out]";
    expect((await search({ pattern: "needle" })).text).toStartWith(`open/a:1:needle\n${note}`);
    expect((await search({ pattern: "needle", path: "closed" })).text).toContain("No matches");
    expect((await find({ pattern: "*" })).text).toBe(`open/a\n${note}`);
    expect((await list({})).text).toBe(`open/a\n${note}`);
    expect((await find({ pattern: "closed/b" })).text).toMatch(/^No files found.*\n\[files/);
  }
});

test("files that may hold secrets are searched by their exact path only, and counted where they match", async () => {
  const root = await workspace({
    ".env": "TOKEN=needle\n",
    ".env.example": "TOKEN=needle\n",
    "key.pem": "needle\n",
    "sub/id_rsa": "needle\n",
    "sub/credentials.json": "nothing\n",
    ".git/config": "url = needle\n",
    ".git/refs/x": "needle\n",
    "a.ts": "needle\n",
  });
  for (const [, env] of both()) {
    const { search, find, list } = await searching(root, env);
    const plain = await search({ pattern: "needle" });
    expect(plain.text).toStartWith("a.ts:1:needle\n[2 files that may hold secrets match too and are not shown");
    const hidden = await search({ pattern: "needle", include_hidden: true });
    expect(hidden.text).toStartWith(".env.example:1:TOKEN=needle\na.ts:1:needle\n[3 files that may hold secrets match too");
    const git = await search({ pattern: "needle", path: ".git" });
    expect(matches(git.text)).toEqual([]);
    expect(git.text).toContain("[2 files that may hold secrets match too");
    expect((await search({ pattern: "needle", path: "sub" })).text).toContain(
      "[1 file that may hold secrets matches too and is not",
    );
    expect((await search({ pattern: "TOKEN", glob: "*.pem" })).text).not.toContain("secrets");
    for (const [path, text] of Object.entries({ ".env": "TOKEN=needle", "key.pem": "needle", ".git/config": "url = needle" }))
      expect((await search({ pattern: "needle", path })).text).toStartWith(`${path}:1:${text}`);
    // A name is no secret; what a search looks into is another question.
    expect((await find({ pattern: "*", include_hidden: true })).text).toContain(".env\n.env.example\na.ts\nkey.pem\nsub/");
    const listed = await list({ include_hidden: true });
    expect(listed.text).toBe(
      ".env.example\na.ts\n[4 files that may hold secrets are left out (.git, .env, keys); find_files names them]",
    );
    expect((await list({ path: ".git" })).text).toContain("[2 files that may hold secrets are left out");
  }
});
