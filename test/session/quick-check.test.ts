import { expect, test } from "bun:test";
import { glance, isPlainRecord } from "../../src/session/quick-check.ts";
import { recordSchema } from "../../src/session/record-schemas.ts";
import type { RecordType } from "../../src/session/records.ts";
import { SAMPLES } from "./samples.ts";

const envelope = { schema_version: 1, seq: 3, time: "2026-01-01T00:00:00.000Z" };

type Plain = { readonly type: RecordType; readonly [field: string]: unknown };

/** Samples of every type, and fields that they leave out. */
const PLAIN: readonly Plain[] = [
  ...Object.values(SAMPLES),
  { type: "assistant_finished", turn_id: "t", text: "hi", partial: true },
  { type: "tool_started", turn_id: "t", call_id: "c", name: "n", arguments: { a: [1] }, mcp: { server: "s", tool: "t" } },
  { ...SAMPLES.file_write, before_hash: "xxh64:2", before_bytes: 3 },
  { ...SAMPLES.shell_exec, process_id: "bg-1", signal: "SIGTERM", exit_code: null },
];

const VALUES: readonly unknown[] = [
  undefined,
  null,
  "",
  "x",
  "ok",
  0,
  -1,
  1.5,
  Number.POSITIVE_INFINITY,
  true,
  [],
  {},
  ["a"],
  { a: 1 },
];

test("what this program writes is recognised, whatever its type", () => {
  for (const record of PLAIN) {
    const stored = { ...envelope, ...record };
    expect(glance(stored)).toEqual({ known: true, record: stored } as never);
  }
});

test("other fields, other kinds and missing ones are looked at more closely; other types and versions are foreign", () => {
  for (const record of PLAIN) {
    expect(glance({ ...envelope, ...record, extra: 1 })).toBe("look closer");
    for (const field of Object.keys(record).filter((name) => name !== "type")) {
      expect([record.type, field, glance({ ...envelope, ...record, [field]: Symbol("odd") })]).toEqual([
        record.type,
        field,
        "look closer",
      ]);
    }
  }
  const nested = SAMPLES.session_meta.config;
  expect(glance({ ...envelope, ...SAMPLES.session_meta, config: { ...nested, more: 1 } })).toBe("look closer");
  expect(glance({ ...envelope, ...SAMPLES.session_meta, config: { ...nested, files: [{ path: "/c" }] } })).toBe("look closer");
  expect(glance({ ...envelope, ...SAMPLES.session_meta, config: { ...nested, origins: { a: 1 } } })).toBe("look closer");
  const newer = { ...envelope, schema_version: 2, type: "user" };
  expect(glance(newer)).toEqual({ known: false, record: newer } as never);
  const other = { ...envelope, type: "constructor" };
  expect(glance(other)).toEqual({ known: false, record: other } as never);
  expect(glance({ type: "user" })).toBeUndefined();
});

test("what is recognised, the schema accepts: every field with every kind of value, missing, and unknown ones", () => {
  let accepted = 0;
  const schemas = new Map(PLAIN.map(({ type }) => [type, recordSchema(type)]));
  const check = (record: Record<string, unknown>, type: RecordType): void => {
    const parsed = JSON.parse(JSON.stringify({ ...envelope, ...record }));
    if (!isPlainRecord(parsed, type)) return;
    accepted += 1;
    expect(schemas.get(type)?.safeParse(parsed).success).toBe(true);
  };
  for (const record of PLAIN) {
    for (const field of [...Object.keys(record), "mcp", "extra", "constructor", "toString", "request", "partial"]) {
      for (const value of VALUES) {
        check({ ...record, [field]: value }, record.type);
        for (const other of Object.keys(record))
          for (const second of VALUES) check({ ...record, [field]: value, [other]: second }, record.type);
      }
    }
  }
  expect(accepted).toBeGreaterThan(500);
});
