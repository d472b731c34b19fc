import { expect, test } from "bun:test";
import { isPlainRecord } from "../../src/session/quick-check.ts";
import { recordSchemas } from "../../src/session/record-schemas.ts";
import type { RecordType } from "../../src/session/records.ts";

const envelope = { schema_version: 1, seq: 3, time: "2026-01-01T00:00:00.000Z" };

const PLAIN: readonly { readonly type: RecordType; readonly [field: string]: unknown }[] = [
  { type: "user", turn_id: "t", text: "hi" },
  { type: "assistant_finished", turn_id: "t", text: "hi", request: 1 },
  { type: "assistant_finished", turn_id: "t", text: "hi", partial: true },
  { type: "reasoning_finished", turn_id: "t", text: "hm" },
  { type: "usage", turn_id: "t", input_tokens: 3, output_tokens: 0, cost_usd: 0.1, request: 2 },
  { type: "tool_started", turn_id: "t", call_id: "c", name: "n", arguments: { a: [1] }, request: 1 },
  { type: "tool_finished", turn_id: "t", call_id: "c", status: "ok", output: "", truncated: false, elapsed_ms: 1 },
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

test("what this program writes most is recognised", () => {
  for (const record of PLAIN) expect(isPlainRecord({ ...envelope, ...record }, record.type)).toBe(true);
  const cancelled = { type: "cancelled", turn_id: "t", reason: "user" } as const;
  expect(isPlainRecord({ ...envelope, ...cancelled }, "cancelled")).toBe(false);
});

test("what is recognised, the schema accepts: every field with every kind of value, missing, and unknown ones", () => {
  let accepted = 0;
  const check = (record: Record<string, unknown>, type: RecordType): void => {
    const parsed = JSON.parse(JSON.stringify({ ...envelope, ...record }));
    if (!isPlainRecord(parsed, type)) return;
    accepted += 1;
    expect(recordSchemas[type].safeParse(parsed).success).toBe(true);
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
