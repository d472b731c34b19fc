import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contentHash } from "../../src/base/hash.ts";
import { createFileTool, writePatch } from "../../src/tools/write.ts";
import { giveTo, type TempDir, tempDir } from "../support/temp.ts";
import { allNames, type FileTools, fileTools } from "./file-context.ts";

let dir: TempDir;
let tools: FileTools;

beforeEach(async () => {
  dir = await tempDir();
  tools = await fileTools(dir.path);
});
afterEach(() => dir.remove());

type Patches = Parameters<typeof writePatch.run>[0]["patches"];

const create = (path: string, content = "new\n") => tools.run(createFileTool, { path, content });
const patch = (...patches: Patches) => tools.run(writePatch, { patches });
const edits = (path: string, ...pairs: (readonly [string, string])[]) =>
  patch(...pairs.map(([old_string, new_string]) => ({ op: "edit" as const, path, old_string, new_string })));
const put = (path: string, content: string | Uint8Array) => writeFileSync(dir.at(path), content);
const text = (path: string) => readFileSync(dir.at(path), "utf8");

describe("create_file", () => {
  test("E16 a new file honours the umask", async () => {
    const script = `
      import { fileTools } from ${JSON.stringify(join(import.meta.dir, "file-context.ts"))};
      import { createFileTool } from ${JSON.stringify(join(import.meta.dir, "../../src/tools/write.ts"))};
      process.umask(Number(process.argv[1]));
      const tools = await fileTools(process.argv[2]);
      console.log((await tools.run(createFileTool, { path: process.argv[3], content: "x" })).status);
    `;
    for (const [mask, name, mode] of [
      [0o002, "a/n2.txt", 0o664],
      [0o022, "n22.txt", 0o644],
      [0o077, "n77.txt", 0o600],
    ] as const) {
      const child = Bun.spawnSync([process.execPath, "-e", script, String(mask), dir.path, name]);
      expect(child.stdout.toString()).toBe("ok\n");
      expect(statSync(dir.at(name)).mode & 0o777).toBe(mode);
    }
    expect(statSync(dir.at("a")).mode & 0o777).toBe(0o775);
  });

  test("E21 E22 exactly the given text", async () => {
    for (const content of ["", "a", "a\n", 'print("a\\nb")\n', "\ufeffx\r\ny", "é🌲\u2028"]) {
      const name = `f${content.length}${Math.abs(Number(Bun.hash(content) % 1000n))}`;
      const result = await create(name, content);
      expect(result.status).toBe("ok");
      expect(readFileSync(dir.at(name))).toEqual(Buffer.from(content));
      expect(result.effects).toEqual([
        {
          kind: "file_write",
          op: "create",
          path: name,
          afterHash: contentHash(content),
          afterBytes: Buffer.byteLength(content),
          status: "ok",
        },
      ]);
    }
  });

  test("E25 an existing file, a directory, a link: refused with the reason, nothing changed", async () => {
    put("existing.txt", "keep\n");
    mkdirSync(dir.at("sub"));
    symlinkSync("nowhere/x", dir.at("dangling"));
    symlinkSync("existing.txt", dir.at("link"));
    const before = allNames(dir.path);
    expect((await create("existing.txt")).text).toContain("already exists");
    expect((await create("sub")).text).toContain("is a directory");
    expect((await create("sub/")).text).toContain("names a directory");
    expect((await create("new/")).text).toContain("names a directory");
    expect((await create("dangling")).text).toContain("symbolic link whose target does not exist");
    expect((await create("link")).text).toContain("already exists");
    expect((await create(".")).text).toContain("is a directory");
    expect((await create("existing.txt/x/y")).status).toBe("failed");
    expect(text("existing.txt")).toBe("keep\n");
    expect(allNames(dir.path)).toEqual(before);
  });

  test("E25 parents are made; on failure none of them stays", async () => {
    expect((await create("a/b/new.txt")).status).toBe("ok");
    expect(text("a/b/new.txt")).toBe("new\n");
    const tooLong = `x/y/${"n".repeat(300)}`;
    const result = await create(tooLong);
    expect(result.status).toBe("failed");
    expect(result.text).toContain("too long");
    expect(allNames(dir.path)).toEqual(["a", "a/b", "a/b/new.txt"]);
  });

  test("a dangling link on the way is not created through either", async () => {
    symlinkSync("missing", dir.at("d"));
    expect((await create("d/x")).status).toBe("failed");
    expect((await patch({ op: "replace", path: "d", content: "x" })).status).toBe("failed");
    expect(allNames(dir.path)).toEqual(["d"]);
  });

  test("W05 a name that differs only in Unicode normalisation is not doubled", async () => {
    put("cafe\u0301.txt", "a\n");
    const result = await create("café.txt");
    expect(result.status).toBe("failed");
    expect(result.text).toContain("normalisation");
    expect(allNames(dir.path)).toHaveLength(1);
  });

  test("a cancelled call writes nothing", async () => {
    const stop = new AbortController();
    const cancelled = await fileTools(dir.path, stop.signal);
    stop.abort();
    const result = await cancelled.run(createFileTool, { path: "a/b/x", content: "x" });
    expect(result.status).toBe("cancelled");
    expect(allNames(dir.path)).toEqual([]);
  });

  test("the diff of a new file is capped at 120 lines and says so", async () => {
    const result = await create("long.txt", Array.from({ length: 500 }, (_, index) => `${index}\n`).join(""));
    const lines = result.text.split("\n");
    expect(lines[0]).toMatch(/^created long\.txt: \+500 -0 lines, now 1890 bytes \(xxh64:/);
    expect(lines.slice(1, 5)).toEqual(["--- /dev/null", "+++ b/long.txt", "@@ -0,0 +1,500 @@", "+0"]);
    expect(lines).toHaveLength(1 + 120 + 1);
    expect(lines.at(-1)).toContain("diff cut: 120 of 503 lines");
  });

  test("a result stays under the byte cap whatever the lines are", async () => {
    const result = await create("wide.txt", `${"🌲".repeat(5000)}\n`.repeat(200));
    expect(Buffer.byteLength(result.text)).toBeLessThan(65_536);
    expect(result.text.isWellFormed()).toBe(true);
    expect(result.text).toContain("line cut");
  });
});

describe("write_patch", () => {
  test("E03 replace of the whole file keeps one BOM, and CRLF", async () => {
    for (const content of [
      "using System.IO;\nint x;\n",
      "\ufeffusing System.IO;\nint x;\n",
      "\ufeffusing System.IO;\r\nint x;\r\n",
    ]) {
      put("a.cs", "\ufeffusing System;\r\nint x;\r\n");
      tools = await fileTools(dir.path);
      const result = await patch({ op: "replace", path: "a.cs", content });
      expect(result.status).toBe("ok");
      expect(text("a.cs")).toBe("\ufeffusing System.IO;\r\nint x;\r\n");
      expect(result.text).toContain("-using System;\n+using System.IO;");
    }
  });

  test("E19 batch with one bad edit: nothing is written, the index is named", async () => {
    put("b.txt", "p\nq\n");
    const result = await edits("b.txt", ["p", "P"], ["missing", "M"]);
    expect(result.status).toBe("failed");
    expect(result.text).toStartWith("patches[1]: ");
    expect(text("b.txt")).toBe("p\nq\n");
    expect(result.effects).toEqual([]);
  });

  test("all edits match the original, in any order; none sees another's result", async () => {
    put("b.txt", "a b c\n");
    expect((await edits("b.txt", ["c", "a"], ["a", "c"])).status).toBe("ok");
    expect(text("b.txt")).toBe("c b a\n");
    put("b.txt", "one\n");
    const chained = await edits("b.txt", ["one", "two"], ["two", "three"]);
    expect(chained.text).toStartWith("patches[1]: ");
    expect(text("b.txt")).toBe("one\n");
  });

  test("edits that touch are fine, edits that overlap are not", async () => {
    put("b.txt", "abcdef\n");
    expect((await edits("b.txt", ["abc", "1"], ["def", "2"])).status).toBe("ok");
    expect(text("b.txt")).toBe("12\n");
    put("b.txt", "abcdef\n");
    const overlap = await edits("b.txt", ["cde", "1"], ["abcd", "2"]);
    expect(overlap.text).toContain("patches[1]: it overlaps patches[0] at line 1");
    const same = await edits("b.txt", ["cde", "1"], ["cde", "2"]);
    expect(same.text).toContain("overlaps");
    expect(text("b.txt")).toBe("abcdef\n");
  });

  test("edits far apart give several hunks with right line numbers", async () => {
    put("f", Array.from({ length: 60 }, (_, index) => `${index + 1}\n`).join(""));
    const result = await edits("f", ["\n50\n", "\nFIFTY\n"], ["\n5\n", "\n5\n5.5\n"], ["\n8\n", "\n"]);
    expect(result.status).toBe("ok");
    expect(result.text).toContain("edited f: 3 edits, +2 -2 lines");
    expect(result.text.split("\n").filter((line) => line.startsWith("@@"))).toEqual(["@@ -3,9 +3,9 @@", "@@ -47,7 +47,7 @@"]);
  });

  test("the diff is one that `patch` applies, whatever the change", async () => {
    let seed = 7;
    const next = (limit: number) => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return seed % limit;
    };
    for (let round = 0; round < 12; round++) {
      const before = `${Array.from({ length: 5 + next(40) }, (_, index) => `line ${index} ${next(3)}`).join("\n")}${next(2) === 0 ? "\n" : ""}`;
      const lines = before.split("\n");
      const at = next(lines.length - 2);
      const old = lines.slice(at, at + 1 + next(2)).join("\n");
      put("f", before);
      put("g", before);
      const result = await edits("f", [old, ["", "x", "x\ny\n", `${old}!`][next(4)] ?? ""]);
      if (result.status !== "ok") continue;
      const diff = `${result.text.split("\n").slice(1).join("\n").replaceAll("a/f", "a/g").replaceAll("b/f", "b/g")}\n`;
      const applied = Bun.spawnSync(["patch", "-p1", "--silent"], { cwd: dir.path, stdin: Buffer.from(diff) });
      expect(applied.stdout.toString() + applied.stderr.toString()).toBe("");
      expect(text("g")).toBe(text("f"));
    }
  });

  test("create never clobbers; replace creates a missing file too", async () => {
    put("f", "old\n");
    expect((await patch({ op: "create", path: "f", content: "x" })).text).toContain("already exists");
    const made = await patch({ op: "replace", path: "d/new", content: "x\n" });
    expect(made.status).toBe("ok");
    expect(made.effects).toMatchObject([{ op: "replace", path: "d/new", afterBytes: 2 }]);
    expect(text("d/new")).toBe("x\n");
    expect(text("f")).toBe("old\n");
  });

  test("E23 replace with the same content: no change, mtime unchanged, no record", async () => {
    put("f", "same\n");
    utimesSync(dir.at("f"), 1000, 1000);
    const result = await patch({ op: "replace", path: "f", content: "same\n" });
    expect(result.text).toContain("No change");
    expect(result.effects).toEqual([]);
    expect(statSync(dir.at("f")).mtimeMs).toBe(1_000_000);
  });

  test("E24 a stale hash in any patch rejects the whole call", async () => {
    put("f", "a\nb\n");
    const hash = contentHash("a\nb\n");
    const stale = await patch(
      { op: "edit", path: "f", old_string: "a", new_string: "A", expected_before_hash: hash },
      { op: "edit", path: "f", old_string: "b", new_string: "B", expected_before_hash: contentHash("other") },
    );
    expect(stale.text).toStartWith("patches[1]: ");
    expect((await patch({ op: "replace", path: "f", content: "x", expected_before_hash: contentHash("other") })).status).toBe(
      "failed",
    );
    expect((await patch({ op: "replace", path: "new", content: "x", expected_before_hash: hash })).text).toContain(
      "does not exist",
    );
    expect(text("f")).toBe("a\nb\n");
    expect(allNames(dir.path)).toEqual(["f"]);
  });

  test("R07 a file that is not UTF-8 is not replaced by what a lossy read showed", async () => {
    put("x", Buffer.from("ok\n\xff\xfe\n", "latin1"));
    const result = await patch({ op: "replace", path: "x", content: "ok\n\ufffd\ufffd\n" });
    expect(result.status).toBe("failed");
    expect(readFileSync(dir.at("x"))).toEqual(Buffer.from("ok\n\xff\xfe\n", "latin1"));
  });

  test("what does not belong together is named by index", async () => {
    put("f", "a\n");
    put("g", "a\n");
    const edit = { op: "edit" as const, path: "f", old_string: "a", new_string: "b" };
    expect((await patch(edit, { ...edit, path: "g" })).text).toStartWith("patches[1]: a call edits one file");
    expect((await patch(edit, { op: "replace", path: "f", content: "x" })).text).toStartWith(
      "patches[1]: op replace must be the only",
    );
    expect((await patch({ op: "create", path: "n" })).text).toBe("patches[0]: op create needs content.");
    expect((await patch({ op: "edit", path: "f", content: "x" })).text).toContain("needs old_string and new_string");
    expect((await patch({ ...edit, content: "x" })).text).toContain("does not take content");
    expect((await patch(edit, { ...edit, path: "../out" })).text).toStartWith("patches[1]: `../out` is outside");
    expect([text("f"), text("g")]).toEqual(["a\n", "a\n"]);
    // Two spellings of one file are one file; fields that are filled in with nothing are no fields.
    expect((await patch({ ...edit, content: "", expected_before_hash: "" })).status).toBe("ok");
  });

  test("E16 E27 replace keeps mode and says which links it left", async () => {
    put("h1", "a\n");
    chmodSync(dir.at("h1"), 0o640);
    linkSync(dir.at("h1"), dir.at("h2"));
    const result = await patch({ op: "replace", path: "h1", content: "b\n" });
    expect(result.text).toContain("2 hard links");
    expect(statSync(dir.at("h1")).mode & 0o777).toBe(0o640);
    expect(text("h2")).toBe("a\n");
  });
});

test.skipIf(process.getuid?.() !== 0)(
  "E18 read-only directory: an error, the file intact, no temporary file, the next call works",
  async () => {
    mkdirSync(dir.at("d"));
    put("d/f", "x\n");
    chmodSync(dir.path, 0o755);
    giveTo(dir.path, 65534);
    chmodSync(dir.at("d"), 0o555);
    const script = `
    import { fileTools } from ${JSON.stringify(join(import.meta.dir, "file-context.ts"))};
    import { createFileTool } from ${JSON.stringify(join(import.meta.dir, "../../src/tools/write.ts"))};
    import { replaceRange } from ${JSON.stringify(join(import.meta.dir, "../../src/tools/edit.ts"))};
    const tools = await fileTools(process.argv[1]);
    const results = [
      await tools.run(replaceRange, { path: "d/f", old_string: "x", new_string: "y" }),
      await tools.run(createFileTool, { path: "d/e/n", content: "n" }),
      await tools.run(createFileTool, { path: "ok.txt", content: "n" }),
    ];
    console.log(JSON.stringify(results.map(({ status, text }) => [status, text.split("\\n")[0]])));
  `;
    const child = Bun.spawnSync([
      "setpriv",
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
      process.execPath,
      "-e",
      script,
      dir.path,
    ]);
    const [replaced, created, next] = JSON.parse(child.stdout.toString());
    expect(replaced).toEqual(["failed", "`d/f`: permission denied."]);
    expect(created).toEqual(["failed", "`d/e/n`: permission denied."]);
    expect(next[0]).toBe("ok");
    expect(text("d/f")).toBe("x\n");
    expect(allNames(dir.path)).toEqual(["d", "d/f", "ok.txt"]);
  },
);
