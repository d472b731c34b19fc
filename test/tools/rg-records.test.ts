/** Reading `rg --json` however its bytes are cut (S06). */
import { expect, test } from "bun:test";
import { createPathSplitter } from "../../src/tools/listing.ts";
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
  expect(found.map((each) => each.kind)).toEqual(["whole", "long", "whole"]);
  const [first, middle, last] = found;
  expect(first?.kind === "whole" && JSON.parse(first.bytes.toString()).data.lines.text).toBe("short é\n");
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

test.each([1, 2, 5, 1000])("paths in chunks of %d bytes", (size) => {
  const found: string[] = [];
  const splitter = createPathSplitter("base/", (paths) => found.push(...paths));
  const bytes = Buffer.from("./a\0./é/b\nc\0d\0./x\0");
  for (let from = 0; from < bytes.length; from += size) splitter.push(Buffer.from(bytes.subarray(from, from + size)));
  expect(found).toEqual(["base/a", "base/é/b\nc", "base/d", "base/x"]);
  expect(splitter.count()).toBe(4);
});
