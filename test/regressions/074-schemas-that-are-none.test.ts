/**
 * A provider that checks schemas refuses the whole request for one tool's bad one, and with it every later request of the run.
 * Whatever a server sends as a schema, what is sent on is one in every part.
 */
import { expect, test } from "bun:test";
import { toolResult } from "../../src/mcp/results.ts";
import { repairSchema } from "../../src/mcp/schema.ts";

const object = (properties: unknown, more: object = {}) => ({ type: "object", properties, ...more });

function repaired(schema: unknown) {
  const result = repairSchema(schema);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

/** What is left of the one property `a`. */
const left = (a: unknown): unknown => (repaired(object({ a })).parameters.properties as { a: unknown }).a;

test("what is no schema means anything, and that is said", () => {
  for (const bad of ["string", null, 5, [], [{ type: "string" }]]) {
    const { parameters, notes } = repaired(object({ a: bad, b: { type: "string" } }));
    expect(parameters).toEqual(object({ a: {}, b: { type: "string" } }));
    expect(notes.join()).toContain("properties");
  }
  expect(left(object({ b: null, c: "x" }))).toEqual(object({ b: {}, c: {} }));
  for (const items of ["string", null, 3, true]) expect(left({ type: "array", items })).toEqual({ type: "array", items: {} });
  expect(repaired(object({ a: { $ref: "#/$defs/x" } }, { $defs: { x: "string" } })).parameters).toEqual(
    object({ a: {} }, { $defs: { x: {} } }),
  );
  expect(left({ anyOf: ["string", { type: "null" }] })).toEqual({ anyOf: [{}, { type: "null" }] });
});

test("a value that its keyword does not take goes, and only that", () => {
  const bad: Readonly<Record<string, readonly unknown[]>> = {
    type: [null, 5, "text", [], ["x"], {}],
    enum: ["x", [], {}, null],
    examples: ["x"],
    required: [true, "a", {}],
    description: [5, null, ["d"]],
    title: [{}],
    format: [1],
    pattern: [5, "(", "x".repeat(3000)],
    minimum: ["0", null],
    exclusiveMinimum: [true],
    multipleOf: [0, -1],
    minLength: [-1, 1.5, "1"],
    uniqueItems: ["yes"],
    additionalProperties: ["no", 0, []],
    properties: [[], "x"],
    patternProperties: [5],
    $defs: ["x"],
    anyOf: [[], {}, "x"],
    prefixItems: [[]],
    dependentRequired: [[]],
  };
  for (const [key, values] of Object.entries(bad)) {
    for (const value of values) {
      expect({ key, left: left({ [key]: value, default: value, "x-own": value }) }).toEqual({
        key,
        left: { default: value, "x-own": value },
      });
    }
  }
  const { parameters, notes } = repaired(object({ a: {} }, { additionalProperties: "no", description: 5 }));
  expect(parameters).toEqual(object({ a: {} }));
  expect(notes.join()).toContain("additionalProperties, description");
});

test("what is meant without doubt is written as providers take it", () => {
  expect(left({ type: "String" })).toEqual({ type: "string" });
  expect(left({ type: ["INT", "null", "int", 5] })).toEqual({ type: ["integer", "null"] });
  expect(repaired({ type: "Object", properties: {} }).parameters).toEqual(object({}));
  expect(left({ type: "array", items: [{ type: "string" }, "x"], additionalItems: false })).toEqual({
    type: "array",
    prefixItems: [{ type: "string" }, {}],
    items: { not: {} },
  });
  expect(left({ type: "array" })).toEqual({ type: "array", items: {} });
  expect(repaired(object({ a: {} }, { required: ["a", "a", 5, "gone"] })).parameters.required).toEqual(["a"]);
});

test("good schemas stay as they are, data in them is not looked into, and repairing twice changes nothing", () => {
  const good = object(
    {
      a: { type: ["string", "null"], enum: ["x", null], pattern: "^\\w+\\-x$", default: { type: null, items: "x" } },
      b: { type: "array", items: { $ref: "#/$defs/B" }, minItems: 1, uniqueItems: true, examples: [{ required: true }] },
      required: { type: "integer", minimum: 0, const: 5 },
      type: { oneOf: [{ const: { enum: [] } }, { not: {} }], "x-order": 3, deprecated: false },
      c: { dependentRequired: { a: ["b"] }, additionalProperties: { type: "number" }, unevaluatedProperties: false },
    },
    { required: ["a"], additionalProperties: false, $defs: { B: { type: "object", properties: { items: { type: "string" } } } } },
  );
  expect(repaired(good)).toMatchObject({ parameters: good, notes: [] });
  const odd = repaired(object({ a: { items: "x", anyOf: [5], type: "int" }, b: null })).parameters;
  expect(repaired(odd)).toMatchObject({ parameters: odd, notes: [] });
});

test("values nested without end, wherever they stand, cost themselves", () => {
  const nest = (start: string, end: string) => JSON.parse(`${start.repeat(20_000)}1${end.repeat(20_000)}`);
  for (const value of [nest("[", "]"), nest('{"a":', "}"), nest('{"items":', "}"), nest('{"anyOf":[', "]}")]) {
    for (const key of ["type", "$ref", "enum", "items", "required", "x-own", "properties", "anyOf", "description"]) {
      expect(repairSchema(object({ a: { [key]: value } })).ok).toBe(true);
    }
  }
});

test("nesting that takes the square of its depth to write out is not written out", () => {
  const value = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  const began = performance.now();
  expect(repairSchema(object({ a: { type: "string", default: value } }))).toMatchObject({
    ok: true,
    parameters: object({ a: { type: "string" } }),
  });
  expect(toolResult({ structuredContent: value })).toMatchObject({ status: "failed" });
  expect(toolResult({ toolResult: value })).toMatchObject({ status: "ok" });
  expect(performance.now() - began).toBeLessThan(1000);
});
