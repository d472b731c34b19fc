import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { contentHash } from "../../src/base/hash.ts";
import { replaceRange } from "../../src/tools/edit.ts";
import { readFileRange } from "../../src/tools/read.ts";
import { writePatch } from "../../src/tools/write.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { allNames, type FileTools, fileTools } from "./file-context.ts";

let dir: TempDir;
let tools: FileTools;

beforeEach(async () => {
  dir = await tempDir();
  tools = await fileTools(dir.path);
});
afterEach(() => dir.remove());

const edit = (path: string, old_string: string, new_string: string, expected_before_hash?: string) =>
  tools.run(replaceRange, {
    path,
    old_string,
    new_string,
    ...(expected_before_hash === undefined ? {} : { expected_before_hash }),
  });
const put = (path: string, content: string | Uint8Array) => writeFileSync(dir.at(path), content);
const bytes = (path: string) => readFileSync(dir.at(path));
const text = (path: string) => readFileSync(dir.at(path), "latin1");

describe("exact bytes", () => {
  test("E01 CRLF file, model sends LF: converted, and said", async () => {
    put("f.py", "a = 1\r\nb = 2\r\nc = 3\r\n");
    const result = await edit("f.py", "a = 1\nb = 2", "a = 1\nb = 22");
    expect(result.status).toBe("ok");
    expect(text("f.py")).toBe("a = 1\r\nb = 22\r\nc = 3\r\n");
    expect(result.text).toContain("CRLF");
  });

  test("E01 new lines put into a CRLF file by a one-line match become CRLF too", async () => {
    put("f.py", "a = 1\r\nb = 2\r\n");
    await edit("f.py", "b = 2", "b = 2\nc = 3");
    expect(text("f.py")).toBe("a = 1\r\nb = 2\r\nc = 3\r\n");
  });

  test("E01 text that has a CR of its own is taken literally", async () => {
    put("f.py", "a\r\nb\r\n");
    const result = await edit("f.py", "a\r\nb", "a\nb\r");
    expect(result.text).not.toContain("converted");
    expect(text("f.py")).toBe("a\nb\r\r\n");
  });

  test("E01 mixed line ends: exact only, and a miss names the CR", async () => {
    put("m", "a\r\nb\nc\n");
    const miss = await edit("m", "a\nb", "x");
    expect(miss.status).toBe("failed");
    expect(miss.text).toContain("U+000D");
    const hit = await edit("m", "b\nc", "B\nC");
    expect(hit.status).toBe("ok");
    expect(text("m")).toBe("a\r\nB\nC\n");
  });

  test("E01 LF file, model sends CRLF: refused, and said why", async () => {
    put("f", "a\nb\n");
    const result = await edit("f", "a\r\nb", "x");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("U+000D (carriage return)");
    expect(text("f")).toBe("a\nb\n");
  });

  test("E03 UTF-8 BOM survives an edit, and first-line matches work", async () => {
    put("a.cs", Buffer.from("\ufeffusing System;\r\nint x;\r\n"));
    expect((await edit("a.cs", "using System;", "using System.IO;")).status).toBe("ok");
    expect(bytes("a.cs")).toEqual(Buffer.from("\ufeffusing System.IO;\r\nint x;\r\n"));
  });

  test("E04 accented and astral text elsewhere in the file is untouched", async () => {
    put("u.txt", "café 🌲\nport=80\n");
    await edit("u.txt", "port=80", "port=81");
    expect(bytes("u.txt")).toEqual(Buffer.from("café 🌲\nport=81\n"));
  });

  test("E06 dollar patterns in the new text", async () => {
    const wild = "a$$b $& $` $' $1 $<n>";
    put("m.mk", "head\nKEY\ntail\n");
    await edit("m.mk", "KEY", wild);
    expect(text("m.mk")).toBe(`head\n${wild}\ntail\n`);
    put("n.mk", "head\nKEY\ntail\n");
    await tools.run(writePatch, { patches: [{ op: "edit", path: "n.mk", old_string: "KEY", new_string: wild }] });
    expect(text("n.mk")).toBe(`head\n${wild}\ntail\n`);
  });

  test("E07 typographic quotes are neither flattened nor invented", async () => {
    put("q", "say “hi”\nlet a = 'x'\n");
    const before = bytes("q");
    const miss = await edit("q", 'say "hi"', "say");
    expect(miss.status).toBe("failed");
    expect(miss.text).toContain("U+201C");
    expect(miss.text).toContain("U+201D");
    expect(bytes("q")).toEqual(before);
    expect((await edit("q", "'x'", "’x’")).status).toBe("ok");
    expect(bytes("q").includes(Buffer.from([0xe2, 0x80, 0x99, 0x78, 0xe2, 0x80, 0x99]))).toBe(true);
  });

  test("E21 final newline is kept or kept absent", async () => {
    for (const tail of ["", "\n", "\n\n\n", "\r\n", " \t"]) {
      put("n", `a\nb${tail}`);
      expect((await edit("n", "a", "A")).status).toBe("ok");
      expect(text("n")).toBe(`A\nb${tail}`);
    }
  });

  test("E22 backslash sequences are written as given", async () => {
    put("p.py", "KEY\n");
    await edit("p.py", "KEY", 'print("a\\nb\\u0041")');
    expect(text("p.py")).toBe('print("a\\nb\\u0041")\n');
  });

  test("whatever the bytes around it, an edit changes its own stretch and nothing else", async () => {
    // A linear congruential generator: the same inputs in every run.
    let seed = 12345;
    const next = (limit: number) => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return seed % limit;
    };
    const atoms = ["a", "\n", "\r\n", "\r", "\ufeff", "é", "e\u0301", "🌲", "\u2028", "\t", "$&", " "];
    for (let round = 0; round < 60; round++) {
      const head = Array.from({ length: next(30) }, () => atoms[next(atoms.length)]).join("");
      const tail = Array.from({ length: next(30) }, () => atoms[next(atoms.length)]).join("");
      put("x", `${head}<<old>>${tail}`);
      expect((await edit("x", "<<old>>", "<<new$1>>")).status).toBe("ok");
      expect(bytes("x")).toEqual(Buffer.from(`${head}<<new$1>>${tail}`));
    }
  });

  test("a file that is not UTF-8 is refused, bytes intact", async () => {
    for (const content of [
      Buffer.from("port=80 caf\xe9\n", "latin1"),
      Buffer.from("\ufeffport=80\n", "utf16le"),
      Buffer.from("port=80\0\n"),
    ]) {
      put("b", content);
      const result = await edit("b", "port=80", "port=81");
      expect(result.status).toBe("failed");
      expect(result.text).toMatch(/UTF-8|binary/);
      expect(bytes("b")).toEqual(content);
    }
  });

  test("half a surrogate pair is refused on either side", async () => {
    put("s", "\ufffd x\n");
    expect((await edit("s", "\ud83d", "y")).text).toContain("surrogate");
    expect((await edit("s", "x", "\udc00")).text).toContain("surrogate");
    expect(bytes("s")).toEqual(Buffer.from("\ufffd x\n"));
  });
});

describe("a miss is explained", () => {
  test("E08 invisible characters explain a miss", async () => {
    put("n.js", "first\nlet\u00a0total = 1;\n");
    const before = bytes("n.js");
    const result = await edit("n.js", "let total", "let sum");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("line 2, column 4");
    expect(result.text).toContain("the file has U+00A0 (no-break space) where old_string has U+0020 (space)");
    expect(bytes("n.js")).toEqual(before);
    expect(result.effects).toEqual([]);
  });

  test("E12 whitespace drift is not absorbed silently", async () => {
    put("t.py", "def f():\n\treturn 1\n");
    const result = await edit("t.py", "    return 1", "    return 2");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("line 2, column 1: the file has U+0009 (tab)");
    expect(text("t.py")).toBe("def f():\n\treturn 1\n");
  });

  test("E08 the place is found in the right one of many similar lines", async () => {
    const block = (name: string) => `function ${name}() {\n  const value = 1;\n  return value;\n}\n`;
    put("many.js", ["alpha", "beta", "gamma"].map(block).join("\n"));
    const result = await edit("many.js", "function beta() {\n  const value = 1;\n  return  value;\n}", "x");
    expect(result.text).toContain("line 8, column 10: the file has U+0076 (v) where old_string has U+0020 (space)");
  });

  test.each([
    ["decomposed accent", "let cafe\u0301 = 1\n", "let café = 1", "U+0065"],
    ["zero width space", "let to\u200btal = 1\n", "let total = 1", "U+200B"],
    ["en dash", "pages 1–9 of it\n", "pages 1-9 of it", "U+2013 (en dash)"],
    ["case", "const Total = 1\n", "const total = 1", "U+0054 (T)"],
    ["typo", "the quick brown fox\n", "the quick brwn fox", "U+006F (o)"],
    ["end of file", "last line", "last line\n", "its end where old_string has U+000A (line feed)"],
    ["BOM inside", "x = \ufeff1\n", "x = 1", "U+FEFF (byte order mark)"],
  ])("E08 %s", async (_name, content, old, says) => {
    put("f", content);
    const result = await edit("f", old, "NEW");
    expect(result.status).toBe("failed");
    expect(result.text).toContain(says);
  });

  test("E08 blank lines before the text: the place is found all the same", async () => {
    put("f", "one\n}\n\nfunction save() {\n");
    const result = await edit("f", "\n\n\nfunction save() {", "x");
    expect(result.text).toContain("line 2, column 1: the file has U+007D (}) where old_string has U+000A (line feed)");
  });

  test("E08 copied line numbers and an edit made before are recognised", async () => {
    put("f", "one\ntwo\nthree\n");
    expect((await edit("f", "1: one\n2: two", "x")).text).toContain("line numbers");
    expect((await edit("f", "zwei", "three")).text).toContain("new_string is already there, at line 3");
    expect((await edit("f", "§§§§", "x")).text).toContain("No line of the file resembles it");
  });

  test("E08 a miss stays quick and small on hostile input", async () => {
    put("long.js", `const ${"ab ".repeat(1_000_000)};`);
    put("same", "return value;\n".repeat(200_000));
    const start = performance.now();
    for (const path of ["long.js", "same"]) {
      const result = await edit(path, "return valve;\n".repeat(50), "x");
      expect(result.status).toBe("failed");
      expect(result.text.length).toBeLessThan(4000);
    }
    expect(performance.now() - start).toBeLessThan(3000);
  });

  test("E09 several matches: count and line numbers", async () => {
    put("d.ts", "import x\nimport x\ny\n");
    const result = await edit("d.ts", "import x", "import z");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("occurs 2 times (lines 1, 2)");
    expect(text("d.ts")).toBe("import x\nimport x\ny\n");
  });

  test("E09 overlapping occurrences count", async () => {
    put("o", "aaa\n");
    expect((await edit("o", "aa", "b")).text).toContain("occurs 2 times (lines 1, 1)");
    put("o", "a".repeat(2_000_000));
    const start = performance.now();
    expect((await edit("o", "a".repeat(1_000_000), "b")).text).toContain("occurs more than 50 times");
    expect(performance.now() - start).toBeLessThan(2000);
  });

  test("E11 empty old text", async () => {
    for (const content of ["keep\n", ""]) {
      put("k.txt", content);
      const result = await edit("k.txt", "", "X");
      expect(result.status).toBe("failed");
      expect(result.text).toContain("create_file");
      const batch = await tools.run(writePatch, { patches: [{ op: "edit", path: "k.txt", old_string: "", new_string: "X" }] });
      expect(batch.status).toBe("failed");
      expect(text("k.txt")).toBe(content);
    }
  });

  test("E23 no-op edit: an error, mtime unchanged, no record", async () => {
    put("x", "x\n");
    utimesSync(dir.at("x"), 1000, 1000);
    const result = await edit("x", "x", "x");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("identical");
    expect(result.effects).toEqual([]);
    expect(statSync(dir.at("x")).mtimeMs).toBe(1_000_000);
  });
});

describe("the file on disk", () => {
  test("E13 two edits of one file, one after the other: both land", async () => {
    put("r.txt", Array.from({ length: 100 }, (_, index) => `${index + 1}\n`).join(""));
    const first = await edit("r.txt", "\n50\n", "\nFIFTY\n");
    const second = await edit("r.txt", "\n75\n", "\nX\n");
    expect([first.status, second.status]).toEqual(["ok", "ok"]);
    expect(text("r.txt").split("\n")).toHaveLength(101);
    expect(text("r.txt")).toContain("FIFTY");
    expect(text("r.txt")).toContain("\nX\n");
  });

  test("E13 at the same time: never success for a lost edit", async () => {
    for (let round = 0; round < 20; round++) {
      put("r.txt", "one\ntwo\nthree\n");
      const results = await Promise.all([
        edit("r.txt", "one", "ONE"),
        edit("r.txt", "two", "TWO"),
        edit("r.txt", "three", "THREE"),
      ]);
      const now = text("r.txt");
      for (const [index, word] of ["ONE", "TWO", "THREE"].entries()) {
        expect(now.includes(word)).toBe(results[index]?.status === "ok");
        if (results[index]?.status === "failed") expect(results[index]?.text).toContain("changed on disk");
      }
      expect(results.some((result) => result.status === "ok")).toBe(true);
    }
    expect(allNames(dir.path)).toEqual(["r.txt"]);
  });

  test("E16 mode bits survive", async () => {
    for (const mode of [0o755, 0o640, 0o600, 0o4755, 0o666]) {
      put("s.sh", "#!/bin/sh\necho a\n");
      chmodSync(dir.at("s.sh"), mode);
      expect((await edit("s.sh", "echo a", "echo b")).status).toBe("ok");
      expect(statSync(dir.at("s.sh")).mode & 0o7777).toBe(mode);
    }
  });

  test.skipIf(process.getuid?.() !== 0)("E16 the owner survives when root edits", async () => {
    put("o", "a\n");
    chownSync(dir.at("o"), 65534, 65533);
    await edit("o", "a", "b");
    const stat = statSync(dir.at("o"));
    expect([stat.uid, stat.gid]).toEqual([65534, 65533]);
  });

  test("E17 read-only file: refused, also for root", async () => {
    put("ro.txt", "lock\n");
    chmodSync(dir.at("ro.txt"), 0o444);
    const result = await edit("ro.txt", "lock", "x");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("permission denied");
    expect(text("ro.txt")).toBe("lock\n");
    expect(statSync(dir.at("ro.txt")).mode & 0o777).toBe(0o444);
    const [effect] = result.effects;
    expect(effect).toMatchObject({ kind: "file_write", op: "edit", status: "failed", beforeHash: contentHash("lock\n") });
    expect(allNames(dir.path)).toEqual(["ro.txt"]);
  });

  test("E24 changed on disk since the read: applied to the current bytes", async () => {
    put("f", "a\nb\n");
    await tools.run(readFileRange, { path: "f" });
    put("f", "a\nb\nappended\n");
    const result = await edit("f", "a\n", "A\n");
    expect(result.status).toBe("ok");
    expect(text("f")).toBe("A\nb\nappended\n");
    expect(result.effects).toEqual([
      {
        kind: "file_write",
        op: "edit",
        path: "f",
        beforeHash: contentHash("a\nb\nappended\n"),
        beforeBytes: 13,
        afterHash: contentHash("A\nb\nappended\n"),
        afterBytes: 13,
        status: "ok",
      },
    ]);
  });

  test("E24 expected_before_hash: a stale view is refused, a true one is not", async () => {
    put("f", "a\nb\n");
    const header = (await tools.run(readFileRange, { path: "f" })).text.split("\n")[0] ?? "";
    const hash = /(xxh64:[0-9a-f]{16})\)$/.exec(header)?.[1] ?? "";
    put("f", "a\nb\nc\n");
    const stale = await edit("f", "a", "A", hash);
    expect(stale.status).toBe("failed");
    expect(stale.text).toContain(contentHash("a\nb\nc\n"));
    expect(text("f")).toBe("a\nb\nc\n");
    for (const good of [contentHash("a\nb\nc\n"), contentHash("a\nb\nc\n").slice(6).toUpperCase(), ""]) {
      put("f", "a\nb\nc\n");
      expect((await edit("f", "a", "A", good)).status).toBe("ok");
    }
    expect((await edit("f", "b", "B", "12345")).text).toContain("not a content hash");
  });

  test("E24 the hash in the result is the one the next edit may expect", async () => {
    put("f", "a\n");
    const first = await edit("f", "a", "b");
    const hash = /xxh64:[0-9a-f]{16}/.exec(first.text)?.[0] ?? "";
    expect((await edit("f", "b", "c", hash)).status).toBe("ok");
  });

  test("E26 very large file: refused with the limit, before it is read", async () => {
    // Sparse: 600 MB of nothing with a word at the end.
    const handle = await open(dir.at("big.txt"), "w");
    await handle.write("END\n", 600_000_000);
    await handle.close();
    const before = process.memoryUsage.rss();
    const start = performance.now();
    const result = await edit("big.txt", "END", "E");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("67108864");
    expect(performance.now() - start).toBeLessThan(1000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(50_000_000);
    expect(allNames(dir.path)).toEqual(["big.txt"]);
  });

  test("E27 hard links: the other name keeps the old text, and the result says so", async () => {
    put("h1", "a\n");
    chmodSync(dir.at("h1"), 0o640);
    linkSync(dir.at("h1"), dir.at("h2"));
    const result = await edit("h1", "a", "b");
    expect(text("h1")).toBe("b\n");
    expect(text("h2")).toBe("a\n");
    expect(statSync(dir.at("h1")).mode & 0o777).toBe(0o640);
    expect(result.text).toContain("2 hard links");
  });

  test("W04 editing through a link changes its target and keeps the link", async () => {
    mkdirSync(dir.at("real"));
    put("real/mem", "a\n");
    symlinkSync("real/mem", dir.at("mem"));
    const result = await edit("mem", "a", "b");
    expect(result.status).toBe("ok");
    expect(text("real/mem")).toBe("b\n");
    expect(allNames(dir.path)).toEqual(["mem", "real", "real/mem"]);
    expect(statSync(dir.at("mem")).isFile()).toBe(true);
    expect(readlinkSync(dir.at("mem"))).toBe("real/mem");
    expect(result.effects).toMatchObject([{ path: "real/mem" }]);
    expect(result.touched).toEqual([{ path: dir.at("real/mem"), kind: "write" }]);
  });

  test("a missing file, a directory, a FIFO: an error that says what would work", async () => {
    mkdirSync(dir.at("src"));
    put("src/README.md", "x\n");
    expect((await edit("src/readme.md", "x", "y")).text).toContain("Did you mean `src/README.md`?");
    expect((await edit("src", "x", "y")).text).toContain("is a directory");
    expect((await edit("src/README.md/x", "x", "y")).status).toBe("failed");
    Bun.spawnSync(["mkfifo", dir.at("pipe")]);
    expect((await edit("pipe", "x", "y")).text).toContain("not a regular file");
  });
});

describe("what the model is told", () => {
  test("summary line and unified diff with three lines of context", async () => {
    put("f", Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join(""));
    const result = await edit("f", "line 10\n", "line ten\nline ten and a half\n");
    const lines = result.text.split("\n");
    expect(lines[0]).toMatch(/^edited f: \+2 -1 lines, now \d+ bytes \(xxh64:[0-9a-f]{16}\)$/);
    expect(lines.slice(1)).toEqual([
      "--- a/f",
      "+++ b/f",
      "@@ -7,7 +7,8 @@",
      " line 7",
      " line 8",
      " line 9",
      "-line 10",
      "+line ten",
      "+line ten and a half",
      " line 11",
      " line 12",
      " line 13",
    ]);
  });

  test("10 MB file: the edit is found where it is, and the diff stays small", async () => {
    const line = `${"x".repeat(79)}\n`;
    put("ten.txt", `${line.repeat(65_000)}port = 80\n${line.repeat(65_000)}`);
    await edit("ten.txt", "port = 80", "port = 81");
    for (let round = 0; round < 5; round++) {
      const result = await edit("ten.txt", `port = ${81 + round}`, `port = ${82 + round}`);
      expect(result.status).toBe("ok");
      expect(result.text).toContain("@@ -64998,7 +64998,7 @@");
    }
  });
});
