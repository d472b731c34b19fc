import { expect, test } from "bun:test";
import { LineSplitter, parseLine } from "../../src/session/lines.ts";
import { describeSkipped, newTally, readRecords, skippedCount, type Tally } from "../../src/session/read.ts";
import { tempDir } from "../support/temp.ts";
import { line, SAMPLES, user } from "./samples.ts";

async function read(content: string | Uint8Array, options = {}): Promise<{ seqs: number[]; types: string[]; tally: Tally }> {
  await using temp = await tempDir({ "s.jsonl": content });
  const tally = newTally();
  const all = (await Array.fromAsync(readRecords(temp.at("s.jsonl"), tally, options))).flat();
  return { seqs: all.map((one) => one.record.seq), types: all.map((one) => one.record.type), tally };
}

const many = (count: number): string[] => Array.from({ length: count }, (_, seq) => line(seq, user(1, `text ${seq}`)));
const upTo = (count: number, without: readonly number[] = []): number[] =>
  Array.from({ length: count }, (_, seq) => seq).filter((seq) => !without.includes(seq));

test("J02 a bad line in the middle: eleven of twelve, one skipped", async () => {
  const lines = many(12);
  lines[5] = '{"schema_version":1,"seq":5,"ty';
  const { seqs, tally } = await read(`${lines.join("\n")}\n`);
  expect(seqs).toEqual(upTo(12, [5]));
  expect(skippedCount(tally)).toBe(1);
  expect(describeSkipped(tally)).toBe("skipped 1 malformed line");
});

for (const newline of ["", "\n"]) {
  test(`J03 400 NULs between two lines ${newline === "" ? "without" : "with"} a newline after them`, async () => {
    const lines = many(6);
    const text = `${lines.slice(0, 3).join("\n")}\n${"\0".repeat(400)}${newline}${lines.slice(3).join("\n")}\n`;
    const { seqs, tally } = await read(text);
    expect(seqs).toEqual(upTo(6));
    expect(tally).toMatchObject({ nulBlocks: 1, malformed: 0 });
  });
}

test("J03 NULs that took the end of one record and the newline lose only that record", async () => {
  const lines = many(4);
  const text = `${lines[0]}\n${lines[1]?.slice(0, 30)}${"\0".repeat(4096)}${lines[2]}\n${lines[3]}\n`;
  const { seqs, tally } = await read(text);
  expect(seqs).toEqual([0, 2, 3]);
  expect(tally).toMatchObject({ nulBlocks: 1, malformed: 1 });
});

test("J04 two and three records on one line are all read; strings that hold }{ are not split", async () => {
  const tricky = line(1, user(1, 'a }{ b "}{" \\'));
  const { seqs, tally } = await read(
    `${line(0, SAMPLES.user)}${tricky}\n${line(2, user(1, "}{"))}\n${line(3, {})} ${line(4, SAMPLES.user)}${line(5, SAMPLES.user)}\n`,
  );
  expect(seqs).toEqual([0, 1, 2, 4, 5]);
  expect(tally.malformed).toBe(1);
});

test("J04 a record behind rubbish, and rubbish behind a record", () => {
  expect(parseLine(Buffer.from('garbage {"a":1} more {"b":{"c":"}"}} {"torn": '))).toEqual({
    values: [{ a: 1 }, { b: { c: "}" } }],
    malformed: 3,
    nulBlocks: 0,
  });
});

test("U+2028 inside a record does not split it", async () => {
  const { seqs, tally } = await read(`${line(0, user(1, "a\u2028b\u2029c"))}\n${line(1, SAMPLES.user)}\n`);
  expect(seqs).toEqual([0, 1]);
  expect(tally.malformed).toBe(0);
});

test("a last line without a newline counts when it is whole, and as skipped when it is torn", async () => {
  expect((await read(many(3).join("\n"))).seqs).toEqual([0, 1, 2]);
  const torn = await read(many(3).join("\n").slice(0, -5));
  expect(torn.seqs).toEqual([0, 1]);
  expect(torn.tally.malformed).toBe(1);
});

test("wrong shapes are skipped: arrays, numbers, missing fields, wrong types, negative seq", async () => {
  const bad = [
    "[1]",
    "5",
    '"x"',
    "null",
    "{}",
    line(-1, SAMPLES.user),
    line(1.5, SAMPLES.user),
    line(1, { type: "user", text: 5 }),
    line(1, SAMPLES.user, { time: 5 }),
  ];
  const { seqs, tally } = await read(`${line(0, SAMPLES.user)}\n${bad.join("\n")}\n${line(1, SAMPLES.user)}\n`);
  expect(seqs).toEqual([0, 1]);
  expect(tally.malformed).toBe(bad.length);
});

test("J16 unknown types and a higher schema are kept and marked", async () => {
  const { types, tally } = await read(
    `${line(0, { type: "hologram", depth: 3 })}\n${line(1, SAMPLES.user, { schema_version: 2 })}\n`,
  );
  expect(types).toEqual(["hologram", "user"]);
  expect(tally).toMatchObject({ records: 2, foreign: 2, malformed: 0 });
});

test("J15 seq decides, not the order of lines or the times", async () => {
  const shuffled = many(500).map((text, index) => ({ text, key: (index * 7919) % 500 }));
  shuffled.sort((a, b) => a.key - b.key);
  const { seqs } = await read(`${shuffled.map((one) => one.text).join("\n")}\n`);
  expect(seqs).toEqual(upTo(500));
});

test("a gap in seq does not hold the rest back, and doubled numbers are all kept", async () => {
  const lines = [...many(5), ...many(20_010).slice(10), line(20_009, SAMPLES.user)];
  const { seqs } = await read(`${lines.join("\n")}\n`);
  expect(seqs).toHaveLength(20_006);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
});

test("J12 a line over the limit is skipped with a count, the next one is read", async () => {
  const big = line(1, user(1, "x".repeat(300_000)));
  const text = `${line(0, SAMPLES.user)}\n${big}\n${line(2, SAMPLES.user)}\n`;
  const { seqs, tally } = await read(text, { maxRecordBytes: 100_000 });
  expect(seqs).toEqual([0, 2]);
  expect(tally).toMatchObject({ oversized: 1, malformed: 0 });
  expect((await read(text)).seqs).toEqual([0, 1, 2]);
});

test("lines come out the same whatever the chunks", () => {
  const bytes = Buffer.from("one\n\ntwo é\n\u2028three\nlast");
  const whole = ["one", "", "two é", "\u2028three", "last"];
  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new LineSplitter(1000);
    const lines: string[] = [];
    const onLine = (found: Buffer): void => void lines.push(found.toString("utf8"));
    for (let at = 0; at < bytes.length; at += size) splitter.push(Buffer.from(bytes.subarray(at, at + size)), onLine);
    splitter.finish(onLine);
    expect(lines).toEqual(whole);
  }
});

test("lines that come together are the lines that come one by one, with NUL, over the limit or cut anywhere", () => {
  const bytes = Buffer.from(`one\n\ntwo é\nth\0ree\n${"x".repeat(40)}\n\u2028four\n${"y".repeat(12)}\nlast`);
  for (const limit of [1000, 30, 12]) {
    for (let size = 1; size <= bytes.length; size++) {
      const found = [false, true].map((together) => {
        const splitter = new LineSplitter(limit);
        const lines: string[] = [];
        const onLine = (line: Buffer): void => void lines.push(line.toString("utf8"));
        const onLines = (text: string): void => {
          expect(text).not.toContain("\0");
          lines.push(...text.split("\n"));
        };
        for (let at = 0; at < bytes.length; at += size)
          splitter.push(Buffer.from(bytes.subarray(at, at + size)), onLine, together ? onLines : undefined);
        splitter.finish(onLine);
        return { lines, oversized: splitter.oversized };
      });
      expect(found[1]).toEqual(found[0]);
    }
  }
});

test("only the wanted types are yielded, also from damaged lines", async () => {
  const text = `${line(0, SAMPLES.user)}\n${line(1, SAMPLES.user)}${line(2, SAMPLES.usage)}\n${line(3, SAMPLES.usage)}\n`;
  const { seqs } = await read(text, { only: new Set(["usage"]) });
  expect(seqs).toEqual([2, 3]);
});

test("a random cut anywhere loses at most the record it hits", async () => {
  const lines = many(30);
  const text = Buffer.from(`${lines.join("\n")}\n`);
  for (let cut = 1; cut < text.length; cut += 131) {
    const { seqs } = await read(text.subarray(0, cut));
    const complete = text.subarray(0, cut).toString("latin1").split("\n").length - 1;
    expect(seqs.length).toBeGreaterThanOrEqual(complete);
    expect(seqs).toEqual(upTo(seqs.length));
  }
});
