import { expect, test } from "bun:test";
import { join } from "node:path";
import { redact } from "../../src/base/redact.ts";
import { readLastLedger } from "../../src/session/last-ledger.ts";
import { newTally } from "../../src/session/read.ts";
import { MAX_RECOVERED_BYTES, parseHandle, recoverRange } from "../../src/session/recover.ts";
import { readConversation } from "../../src/session/replay.ts";
import { tempDir } from "../support/temp.ts";
import { SAMPLES } from "./samples.ts";

type Fields = { readonly type: string } & Readonly<Record<string, unknown>>;

async function session(records: readonly Fields[]) {
  const lines = records.map((record, seq) =>
    JSON.stringify({ schema_version: 1, seq, time: "2026-01-02T03:04:05.000Z", ...record }),
  );
  const dir = await tempDir({ "s.jsonl": `${lines.join("\n")}\n` });
  return Object.assign(dir, { file: join(dir.path, "s.jsonl") });
}

const user = (text: string): Fields => ({ type: "user", turn_id: "t", text });
const output = (text: string): Fields => ({ ...SAMPLES.tool_finished, type: "tool_finished", output: text });
const options = { redact: (text: string) => redact(text) };

test("a handle is a range of records, as summaries and trimmed results name it; anything else is none", () => {
  expect(parseHandle("records 3-41")).toEqual({ start: 3, end: 41 });
  expect(parseHandle(" 3-41 ")).toEqual({ start: 3, end: 41 });
  expect(parseHandle("record 7")).toEqual({ start: 7, end: 7 });
  for (const bad of ["", "records", "records 9-3", "records -1-3", "records 1.5-3", "../x", "records 1-2; rm", "records 1-2-3"])
    expect(parseHandle(bad)).toBeUndefined();
});

test("recovery shows the covered records, redacted, without accounting", async () => {
  const key = `sk-ant-api03-${"aB3".repeat(20)}`;
  await using file = await session([
    user("before"),
    user(`key ${key}`),
    { ...SAMPLES.context_ledger, type: "context_ledger" },
    output("seen"),
    user("after"),
  ]);
  const got = await recoverRange(file.file, "records 1-3", options);
  expect(got).toMatchObject({ handle: "records 1-3", start: 1, end: 3, records: 3, truncated: false });
  expect(got.text).toMatch(/^#1 2026-01-02T03:04:05.000Z user\nkey \[redacted:[a-z_-]+\]\n\n#3 .*tool_finished\n.*seen$/);
});

test("recovery is bounded at 64 KiB, whatever the records hold, and names what is left out", async () => {
  const wide = "é".repeat(40_000);
  await using file = await session([
    ...Array.from({ length: 100 }, (_, n) => output(`${n} ${wide} ${n}`)),
    user("😀".repeat(1e6)),
  ]);
  const all = await recoverRange(file.file, "records 0-100", options);
  expect(Buffer.byteLength(all.text)).toBeLessThanOrEqual(MAX_RECOVERED_BYTES);
  expect(all.truncated).toBe(true);
  const rest = /\[… the rest: (records \d+-100)\]$/.exec(all.text)?.[1] ?? "";
  const next = await recoverRange(file.file, rest, options);
  expect(next.start).toBeGreaterThan(20);
  const one = await recoverRange(file.file, "records 100", options);
  expect(Buffer.byteLength(one.text)).toBeLessThanOrEqual(MAX_RECOVERED_BYTES);
  expect(Buffer.byteLength(one.text)).toBeGreaterThan(60_000);
  expect(one.text.isWellFormed()).toBe(true);
  expect(one.text).not.toContain("\uFFFD");
  expect(one.text).toMatch(/\[… \d+ bytes …\]/);
});

test("an unknown handle says so and names those there are", async () => {
  await using file = await session([user("a"), { ...SAMPLES.compaction, type: "compaction", recovery_handle: "records 0-0" }]);
  for (const bad of ["records 0-9", "records 5-6", "nonsense", "../../etc/passwd"])
    expect(recoverRange(file.file, bad, options)).rejects.toThrow(/no recovery handle .*"records 0-0".*last record is 1/);
  expect((await recoverRange(file.file, "records 0-1", options)).records).toBe(2);
});

test("damaged lines inside a range cost themselves alone", async () => {
  await using file = await session([user("one"), user("two"), user("three")]);
  await file.write({ "s.jsonl": `${await Bun.file(file.file).text()}{"broken\n` });
  const got = await recoverRange(file.file, "records 0-2", options);
  expect(got.text.match(/#\d /g)).toEqual(["#0 ", "#1 ", "#2 "]);
});

test("pins and drops are read back as they stood last", async () => {
  const item = (path?: string, hash?: string) => ({
    id: "i",
    kind: "project_instruction",
    ...(path !== undefined && { path }),
    ...(hash !== undefined && { content_hash: hash }),
  });
  const pin = (path: string, reason = "user_pin"): Fields => ({ type: "context_pin", item: item(path), reason });
  const drop = (path: string, hash: string): Fields => ({
    type: "context_drop",
    item: item(path, hash),
    reason: "explicit_drop",
  });
  const reset = (path?: string): Fields => ({ type: "context_drop", item: item(path), reason: "drop_reset" });
  const records = [
    user("x"),
    drop("gone.md", "xxh64:0"),
    reset(),
    pin("a.md"),
    pin("b.md"),
    pin("a.md", "user_unpin"),
    drop("c.md", "xxh64:1"),
    drop("c.md", "xxh64:2"),
    drop("d.md", "xxh64:3"),
    reset("d.md"),
    { ...SAMPLES.context_ledger, type: "context_ledger", used: 7 },
  ];
  await using file = await session(records);
  const decisions = { pins: ["b.md"], drops: [{ path: "c.md", contentHash: "xxh64:2" }] };
  expect((await readConversation(file.file, newTally())).decisions).toEqual(decisions);
  const last = await readLastLedger(file.file, newTally());
  expect(last).toMatchObject({ decisions, handles: [], ledger: { used: 7, seq: 10 } });
});
