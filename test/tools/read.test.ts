import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { contentHash } from "../../src/base/hash.ts";
import { MAX_LINE_CHARS, MAX_READ_LINES, MAX_RESULT_BYTES } from "../../src/tools/bounds.ts";
import { LineWindow } from "../../src/tools/line-window.ts";
import { readFileRange } from "../../src/tools/read.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { type FileTools, fileTools } from "./file-context.ts";

let dir: TempDir;
let tools: FileTools;

beforeEach(async () => {
  dir = await tempDir();
  tools = await fileTools(dir.path);
});
afterEach(() => dir.remove());

const read = (path: string, start_line?: number, end_line?: number) =>
  tools.run(readFileRange, {
    path,
    ...(start_line === undefined ? {} : { start_line }),
    ...(end_line === undefined ? {} : { end_line }),
  });
const put = (path: string, content: string | Uint8Array) => writeFileSync(dir.at(path), content);
const seq = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1}\n`).join("");

test("the header gives the range, the line count and the hash that edits take", async () => {
  put("f", "a\nb\nc\n");
  const result = await read("f");
  expect(result.text).toBe(`f (lines 1-3 of 3, ${contentHash("a\nb\nc\n")})\n1: a\n2: b\n3: c`);
  expect(result.touched).toEqual([{ path: dir.at("f"), kind: "read", completeHash: contentHash("a\nb\nc\n") }]);
  const part = await read("f", 2, 2);
  expect(part.text).toBe(`f (lines 2-2 of 3, ${contentHash("a\nb\nc\n")})\n2: b`);
  expect(part.truncated).toBe(false);
  expect(part.touched).toEqual([{ path: dir.at("f"), kind: "read" }]);
});

test("R01 FIFO, socket, device, directory: an error at once", async () => {
  Bun.spawnSync(["mkfifo", dir.at("pipe")]);
  const listener = Bun.listen({ unix: dir.at("socket"), socket: { data() {} } });
  mkdirSync(dir.at("src"));
  const start = performance.now();
  try {
    expect((await read("pipe")).text).toContain("not a regular file but a FIFO");
    expect((await read("socket")).text).toContain("not a regular file but a socket");
    expect((await read("src")).text).toContain("is a directory");
    expect((await read(".")).text).toContain("is a directory");
  } finally {
    listener.stop(true);
  }
  if (process.getuid?.() === 0 && Bun.spawnSync(["mknod", dir.at("null"), "c", "1", "3"]).exitCode === 0) {
    expect((await read("null")).text).toContain("not a regular file but a device");
  }
  expect(performance.now() - start).toBeLessThan(1000);
});

test("R02 range past the end: the real line count", async () => {
  put("five", seq(5));
  put("empty", "");
  const past = await read("five", 100, 200);
  expect(past.status).toBe("failed");
  expect(past.text).toContain("has 5 lines");
  const empty = await read("empty", 1, 10);
  expect(empty.status).toBe("ok");
  expect(empty.text).toBe(`empty (empty, 0 lines, ${contentHash("")})`);
  const emptyPast = await read("empty", 2, 10);
  expect(emptyPast.status).toBe("failed");
  expect(emptyPast.text).toContain("has 0 lines");
  expect((await read("five", 4, 900)).text).toContain("five (lines 4-5 of 5,");
  expect((await read("five", 4, 3)).text).toContain("before start_line");
});

test("R03 line count of a file that ends in a newline", async () => {
  put("two", "l1\nl2\n");
  const both = await read("two", 1, 2);
  expect(both.text).toContain("(lines 1-2 of 2,");
  expect(both.truncated).toBe(false);
  expect((await read("two", 3, 3)).text).toContain("has 2 lines");
  put("open", "l1\nl2");
  expect((await read("open")).text).toContain("(lines 1-2 of 2,");
  put("blank", "\n\n");
  expect((await read("blank")).text).toBe(`blank (lines 1-2 of 2, ${contentHash("\n\n")})\n1: \n2: `);
});

test("lines end at LF or CRLF only", async () => {
  put("f", "a\r\nb\rc\u2028d\u0085e\fg\nh\r");
  expect((await read("f")).text.split("\n").slice(1)).toEqual(["1: a", "2: b\rc\u2028d\u0085e\fg", "3: h\r"]);
});

test("R04 one enormous line: the real length, and advice that works", async () => {
  const content = Array.from({ length: 300_000 }, (_, index) => `${String(index).padStart(9, "0")}.`).join("");
  put("min.js", `// head\n${content}\ntail\n`);
  const result = await read("min.js", 2, 2);
  expect(result.truncated).toBe(true);
  expect(result.text).toContain(`${content.slice(0, 512)} …[line cut: the first 512 characters of 3000000 bytes]`);
  const advice = /(\{"argv".*\})\]/.exec(result.text)?.[1] ?? "";
  const { argv } = JSON.parse(advice) as { argv: string[] };
  const shown = Bun.spawnSync(argv, { cwd: dir.path }).stdout.toString();
  expect(shown.replaceAll("\n", "")).toBe(content.slice(512, 512 + 20_000));
  expect(shown.split("\n").every((line) => line.length <= MAX_LINE_CHARS)).toBe(true);
  expect((await read("min.js", 3, 3)).text).toEndWith("\n3: tail");
});

test("R04 the advice survives odd names, and characters are counted, not bytes", async () => {
  put("-it's $x.js", "é".repeat(600));
  const result = await read("./-it's $x.js");
  const { argv } = JSON.parse(/(\{"argv".*\})\]/.exec(result.text)?.[1] ?? "") as { argv: string[] };
  expect(Bun.spawnSync(argv, { cwd: dir.path }).stdout.toString()).toBe("é".repeat(88));
  put("fits", "🌲".repeat(512));
  expect((await read("fits")).truncated).toBe(false);
  put("over", "🌲".repeat(513));
  const over = await read("over");
  expect(over.text).toContain(`1: ${"🌲".repeat(512)} …[line cut`);
  expect(over.text.isWellFormed()).toBe(true);
});

/** Follows "continue with start_line N" to the end and returns every line shown. */
async function followAll(path: string): Promise<{ lines: string[]; results: string[] }> {
  const lines: string[] = [];
  const results: string[] = [];
  for (let start: number | undefined = 1; start !== undefined; ) {
    const { text } = await read(path, start);
    results.push(text);
    lines.push(...text.split("\n").filter((line) => /^\d+: /.test(line)));
    start = Number(/continue with start_line (\d+)/.exec(text)?.[1]) || undefined;
  }
  return { lines, results };
}

test("R05 which cap fired: bytes", async () => {
  const content = Array.from({ length: 3000 }, (_, index) => String(index + 1).padStart(200, "x"));
  put("wide", `${content.join("\n")}\n`);
  const { lines, results } = await followAll("wide");
  expect(lines).toEqual(content.map((line, index) => `${index + 1}: ${line}`));
  expect(results[0]).toContain("cut by the cap of 65536 bytes a result");
  for (const text of results) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
});

test("R05 which cap fired: lines", async () => {
  put("tall", seq(5000));
  const { lines, results } = await followAll("tall");
  expect(lines).toEqual(Array.from({ length: 5000 }, (_, index) => `${index + 1}: ${index + 1}`));
  expect(results).toHaveLength(3);
  expect(results[0]).toContain(`cut by the cap of 2000 lines a read: lines 1-${MAX_READ_LINES} of 5000`);
  put("exact", seq(MAX_READ_LINES));
  expect((await read("exact")).truncated).toBe(false);
});

test("R06 binary file", async () => {
  put("a.out", Buffer.from("\x7fELF\x00\x01\x02", "latin1"));
  const result = await read("a.out");
  expect(result.status).toBe("ok");
  expect(result.text).toBe("a.out: binary, 7 bytes.");
  put("late", `${"text\n".repeat(3000)}nul\0here\n`);
  expect((await read("late", 3001, 3001)).text).toContain("binary, 15009 bytes");
  expect((await read("late", 1, 1)).text).toContain("1: text");
  put("wide.txt", Buffer.from("\ufeffhello\n", "utf16le"));
  expect((await read("wide.txt")).text).toContain("UTF-16");
});

test("R07 invalid UTF-8 is said, not hidden", async () => {
  put("x", Buffer.from("ok\n\xff\xfe\n", "latin1"));
  const result = await read("x");
  expect(result.text).toContain("1: ok\n2: \ufffd\ufffd\n");
  expect(result.text).toContain("not valid UTF-8");
  expect(result.touched).toEqual([{ path: dir.at("x"), kind: "read" }]);
});

test("R08 BOM not shown as content: one at the head only", async () => {
  put("a.cs", "\ufeffusing System;\r\nint \ufeffx;\r\n");
  const result = await read("a.cs");
  expect(result.text.split("\n").slice(1)).toEqual(["1: using System;", "2: int \ufeffx;"]);
  put("two", "\ufeff\ufeffx\n");
  expect((await read("two")).text).toEndWith("\n1: \ufeffx");
});

test("a missing file: what would work", async () => {
  mkdirSync(dir.at("src"));
  put("src/index.ts", "x\n");
  symlinkSync("gone", dir.at("dangling"));
  expect((await read("src/indx.ts")).text).toContain("Did you mean `src/index.ts`?");
  expect((await read("nothing/like/it")).text).toContain("find_files");
  expect((await read("dangling")).text).toContain("symbolic link whose target does not exist");
});

test("W05 a decomposed name is found by its composed spelling", async () => {
  mkdirSync(dir.at("cafe\u0301"));
  put("cafe\u0301/re\u0301sume\u0301.txt", "x\n");
  expect((await read("café/résumé.txt")).text).toContain("\n1: x");
});

test("P19 wrong types are refused by the schema, with the field", () => {
  const parsed = readFileRange.input.safeParse({ path: "f", start_line: "3" });
  expect(parsed.success).toBe(false);
  expect(parsed.error?.issues[0]?.path).toEqual(["start_line"]);
  for (const start_line of [0, -1, 1.5]) expect(readFileRange.input.safeParse({ path: "f", start_line }).success).toBe(false);
});

test("the window is the same however the bytes arrive", () => {
  const content = Buffer.from(`\ufeffé🌲${"x".repeat(700)}\r\n\r\nab\rc\n${"🌲".repeat(600)}\nlast`);
  const take = (size: number) => {
    const window = new LineWindow({ start: 1, end: 9, maxLines: 100, maxBytes: 65_536, maxLineChars: 512 });
    for (let at = 0; at < content.length; at += size) window.feed(content.subarray(at, at + size));
    window.finish();
    const { lines, cutLines, total, binary, lossy, closedBy } = window;
    return { lines, cutLines, total, binary, lossy, closedBy };
  };
  const whole = take(content.length);
  expect(whole.total).toBe(5);
  expect(whole.lossy).toBe(false);
  for (const size of [1, 2, 3, 7, 64, 512, 1000]) expect(take(size)).toEqual(whole);
});

describe("large files", () => {
  test("the last 20 lines of a 1 GB file in bounded memory", async () => {
    // 1 GiB, mostly a hole of one long line of NULs past the first 8 KiB, then numbered lines at the end.
    const handle = await open(dir.at("big.log"), "w");
    const block = Buffer.from(`${"x".repeat(63)}\n`.repeat(16_384));
    const lines = 16_384 * 64;
    for (let index = 0; index < 64; index++) await handle.write(block);
    await handle.write("tail\n", 1_073_741_824);
    await handle.close();
    const script = `
      import { fileTools } from ${JSON.stringify(join(import.meta.dir, "file-context.ts"))};
      import { readFileRange } from ${JSON.stringify(join(import.meta.dir, "../../src/tools/read.ts"))};
      const tools = await fileTools(process.argv[1]);
      const start = performance.now();
      const result = await tools.run(readFileRange, { path: "big.log", start_line: ${lines - 18}, end_line: ${lines} });
      const past = await tools.run(readFileRange, { path: "big.log", start_line: ${lines + 2} });
      // VmHWM: maxRSS starts at the size of the process that forked this one.
      const status = await Bun.file("/proc/self/status").text().catch(() => "");
      const peak = Number(/VmHWM:\\s+(\\d+)/.exec(status)?.[1] ?? 0);
      console.log(JSON.stringify({ text: result.text, past: past.text, ms: performance.now() - start, rss: peak }));
    `;
    const child = Bun.spawnSync([process.execPath, "-e", script, dir.path]);
    const { text, past, rss, ms } = JSON.parse(child.stdout.toString());
    expect(text).toStartWith(`big.log (lines ${lines - 18}-${lines} of at least ${lines + 1}, no hash: over`);
    expect(text.split("\n")).toHaveLength(21);
    expect(past).toContain(`has ${lines + 1} lines; start_line ${lines + 2} is past the end`);
    expect(rss).toBeLessThan(150 * 1024);
    expect(ms).toBeLessThan(10_000);
  }, 30_000);

  test("a cancelled read of a large file ends", async () => {
    const handle = await open(dir.at("big.log"), "w");
    await handle.write("a\n".repeat(10_000), 0);
    await handle.write("end\n", 200_000_000);
    await handle.close();
    const stop = new AbortController();
    const cancelled = await fileTools(dir.path, stop.signal);
    stop.abort();
    expect((await cancelled.run(readFileRange, { path: "big.log" })).status).toBe("cancelled");
  });
});

describe("files that are read in pieces", () => {
  const MIB = 1_048_576;

  test("say the same as if they were read whole: hash, lines, text", async () => {
    for (const length of [MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB + 5]) {
      const line = `${"x".repeat(99)}\n`;
      const content = `\ufefffirst\n${line.repeat(Math.ceil(length / 100))}`.slice(0, length);
      put("f", content);
      const lines = content.split("\n").length - (content.endsWith("\n") ? 1 : 0);
      const { text } = await read("f", 1, 1);
      expect(text).toBe(`f (lines 1-1 of ${lines}, ${contentHash(content)})\n1: first`);
    }
  });

  test("a character over the border of two pieces is whole; half a one, there or at the end, is told", async () => {
    for (const character of ["é", "€", "🌲"]) {
      const bytes = Buffer.from(character);
      for (let before = 1; before < bytes.length; before++) {
        const head = Buffer.alloc(MIB - before, "a\n");
        put("good", Buffer.concat([head, bytes, Buffer.from("\nend\n")]));
        expect((await read("good", 1, 1)).text).not.toContain("not valid UTF-8");
        put("bad", Buffer.concat([head, bytes.subarray(0, before), Buffer.from("\nend\n")]));
        expect((await read("bad", 1, 1)).text).toContain("not valid UTF-8");
        put("cut", Buffer.concat([head, Buffer.from("abcdefgh"), bytes.subarray(0, before)]));
        expect((await read("cut", 1, 1)).text).toContain("not valid UTF-8");
      }
    }
  });

  test("a NUL in a line that is shown makes a large file binary, too", async () => {
    put("f", Buffer.concat([Buffer.alloc(2 * MIB, "a\n"), Buffer.from("x\0y\n")]));
    expect((await read("f", MIB + 1)).text).toContain("binary, ");
    expect((await read("f", 1, 1)).text).toContain("1: a");
  });
});

test("five lines of a file of many gigabytes do not wait for its end; the end is read as before", async () => {
  put("big.log", seq(5000));
  truncateSync(dir.at("big.log"), 40_000_000_000);
  const { text, truncated, touched } = await read("big.log", 1, 5);
  const [header, ...rest] = text.split("\n");
  expect(header).toBe("big.log (lines 1-5 of at least 5001, no hash: over 67108864 bytes, too large to edit)");
  expect(rest.slice(0, 5)).toEqual(["1: 1", "2: 2", "3: 3", "4: 4", "5: 5"]);
  expect(rest[5]).toMatch(
    /^\[lines were counted in the first \d+ of 40000000000 bytes; run_shell with \["wc","-l","big.log"\] counts all/,
  );
  expect([rest.length, truncated, touched]).toEqual([6, false, [{ path: dir.at("big.log"), kind: "read" }]]);
  const whole = (await read("big.log")).text;
  expect(whole).toContain(
    "[cut by the cap of 2000 lines a read: lines 1-2000 of at least 5001 shown; continue with start_line 2001]",
  );
});

test("a file too large for a hash whose end is near is counted whole", async () => {
  put("big.log", `${"y".repeat(99)}\n`.repeat(800_000));
  const { text } = await read("big.log", 1, 2);
  expect(text).toStartWith("big.log (lines 1-2 of at least");
  expect((await read("big.log", 400_000, 400_000)).text).toStartWith("big.log (lines 400000-400000 of 800000, no hash");
  expect((await read("big.log", 800_000)).text).toStartWith("big.log (lines 800000-800000 of 800000, no hash");
  // One whose end the count has come to anyway.
  put("near.log", `${"y".repeat(63)}\n`.repeat(65 * 16_384));
  expect((await read("near.log", 1, 3)).text).toStartWith("near.log (lines 1-3 of 1064960, no hash");
  expect((await read("big.log", 800_001)).text).toContain("has 800000 lines; start_line 800001 is past the end");
});
