/** Arguments as models write them: null for what they leave out. */
import { expect, test } from "bun:test";
import { z } from "zod";
import { withoutNulls } from "../../src/agent/arguments.ts";
import { runCalls } from "../../src/agent/calls.ts";
import { succeeded } from "../../src/tools/tool.ts";

const schema = {
  type: "object",
  properties: {
    path: { type: "string" },
    start: { type: "integer" },
    kind: { enum: ["a", "b"] },
    either: { anyOf: [{ type: "string" }, { type: "array" }] },
    maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
    nullable: { type: ["string", "null"] },
    listed: { enum: ["a", null] },
    any: {},
    elsewhere: { $ref: "#/$defs/x" },
    free: { type: "object", additionalProperties: true },
    inner: { type: "object", properties: { at: { type: "integer" }, to: { type: "integer" } }, required: ["to"] },
    many: { type: "array", items: { type: "object", properties: { at: { type: "integer" } } } },
  },
  required: ["path"],
};

test("null for an optional property that takes none means absent", () => {
  expect(withoutNulls({ path: "x", start: null, kind: null, either: null, inner: null }, schema)).toEqual({ path: "x" } as never);
  const nested = { path: "x", inner: { at: null, to: null }, many: [{ at: null }, { at: 1 }] };
  expect(withoutNulls(nested, schema)).toEqual({ path: "x", inner: { to: null }, many: [{}, { at: 1 }] } as never);
});

test("null stays where it is required, allowed or nobody's business, and nothing is copied for nothing", () => {
  const input = {
    path: null,
    maybe: null,
    nullable: null,
    listed: null,
    any: null,
    elsewhere: null,
    unknown: null,
    free: { a: null },
    many: [{ at: 2 }, null],
  };
  expect(withoutNulls(input, schema)).toBe(input);
  expect(withoutNulls(input, undefined)).toBe(input);
});

test("permission and tool see the same: a call without it", async () => {
  const seen: unknown[] = [];
  const tool = {
    name: "t",
    description: "",
    effect: "read",
    input: z.strictObject({ path: z.string(), start: z.number().optional() }),
    example: {},
    run: async (input: unknown) => {
      seen.push(input);
      return succeeded("ok");
    },
  } as const;
  const entry = {
    spec: { name: "t", description: "", parameters: schema },
    effect: "read",
    parallel: true,
    load: async () => tool,
  } as const;
  const call = { id: "1", name: "t", arguments: '{"path":"x","start":null}' };
  const [finished] = await runCalls([call], {
    turnId: "t",
    toolbox: { specs: () => [entry.spec], find: () => entry, withheld: () => false },
    signal: new AbortController().signal,
    emit: () => {},
    tool: {} as never,
    permit: (_, input) => {
      seen.push(input);
      return { allowed: true };
    },
    withhold: () => "",
    redact: (text) => text,
    redactArguments: (value) => value,
    touched: async () => "",
    now: () => 0,
  });
  expect([finished?.result.status, ...seen]).toEqual(["ok", { path: "x" }, { path: "x" }]);
});
