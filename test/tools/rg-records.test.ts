/** Reading `rg --json` however its bytes are cut (S06). */
import { expect, test } from "bun:test";
import { createPathSplitter } from "../../src/tools/engine-output.ts";
import { createFileReader } from "../../src/tools/rg-files.ts";
import { createRecordReader, MAX_RECORD_BYTES, type RawRecord } from "../../src/tools/rg-records.ts";

function record(text: string, line = 7): string {
  const match = { match: { text: "x" }, start: 3, end: 4 };
  const data = { path: { text: "./a" }, lines: { text }, line_number: line, absolute_offset: 12, submatches: [match, match] };
  return JSON.stringify({ type: "match", data });
}

function read(bytes: Buffer, size: number): RawRecord[] {
  const records: RawRecord[] = [];
  const reader = createRecordReader((found) => records.push(found));
  for (let from = 0; from < bytes.length; from += size) reader.push(Buffer.from(bytes.subarray(from, from + size)));
  return records;
}

// A line that holds the very text the reader looks for, escaped as JSON must.
const tricky = `${'},"line_number":9,"absolute_offset":1 },"start":5,"end":6 \\'.repeat(3000)}\n`;

test.each([1, 2, 3, 7, 16, 17, 1000, 65_536, 10_000_000])("chunks of %d bytes give the same records", (size) => {
  const long = size < 16 ? record(`${tricky.slice(0, 140_000)}é`) : record(`${tricky}é`);
  const bytes = Buffer.from(`${record("short é\n", 1)}\n${long}\n\n${record("after", 2)}\n`);
  const found = read(bytes, size);
  expect(found.map((each) => each.kind)).toEqual(["whole", "long", "whole", "whole"]);
  const [first, middle, empty, last] = found;
  expect(first?.kind === "whole" && JSON.parse(first.bytes.toString()).data.lines.text).toBe("short é\n");
  expect(empty?.kind === "whole" && empty.bytes.length).toBe(0);
  expect(last?.kind === "whole" && JSON.parse(last.bytes.toString()).data.line_number).toBe(2);
  if (middle?.kind !== "long") throw new Error("no long record");
  expect({ ...middle, head: middle.head.toString("latin1", 0, 15) }).toEqual({
    kind: "long",
    head: '{"type":"match"',
    lineNumber: 7,
    absoluteOffset: 12,
    start: 3,
    end: 4,
  });
});

test("a cut-off record at the end is not given, and what is held stays small", () => {
  const reader = createRecordReader(() => {
    throw new Error("no record is complete");
  });
  const chunk = Buffer.alloc(65_536, "a");
  for (let index = 0; index < 10 * (MAX_RECORD_BYTES / chunk.length); index++) reader.push(chunk);
});

test("lines of binary files are not held, what is no record of ripgrep's is counted", () => {
  const found: number[] = [];
  const reader = createFileReader({ prefix: "", wants: () => "lines", take: (file) => found.push(file.lines.length) });
  const push = (...lines: string[]): void => void reader.push(Buffer.from(`${lines.join("\n")}\n`), () => false);
  const begin = JSON.stringify({ type: "begin", data: { path: { text: "./a" } } });
  const end = (offset: number | null): string => JSON.stringify({ type: "end", data: { binary_offset: offset } });
  push(begin, record("x"), end(null));
  const held = reader.heldBytes();
  expect(held).toBeGreaterThan(0);
  for (let round = 0; round < 3; round++) push(begin, record("x"), record("x"), end(7));
  expect([reader.heldBytes(), reader.strayBytes(), found]).toEqual([held, 0, [1, 0, 0, 0]]);
  push("", "banner", record("x"), end(null), JSON.stringify({ type: "summary" }), begin);
  expect(reader.strayBytes()).toBe(8 + [record("x"), end(null), begin].join("\n").length + 1);
});

test.each([1, 2, 5, 1000])("paths in chunks of %d bytes", (size) => {
  const found: string[] = [];
  const splitter = createPathSplitter("base/", (paths) => found.push(...paths));
  const bytes = Buffer.from("./a\0./é/b\nc\0d\0./x\0");
  for (let from = 0; from < bytes.length; from += size) splitter.push(Buffer.from(bytes.subarray(from, from + size)));
  expect(found).toEqual(["base/a", "base/é/b\nc", "base/d", "base/x"]);
  expect(splitter.count()).toBe(4);
});
