/** `--output-schema` checks what the schema says, all of it, and refuses a schema it could not check. */
import { expect, test } from "bun:test";
import { loadAnswerSchema } from "../../src/app/answer-schema.ts";
import { tempDir } from "../support/temp.ts";

async function load(schema: unknown) {
  await using dir = await tempDir({ "s.json": JSON.stringify(schema) });
  return await loadAnswerSchema(dir.at("s.json"), "s.json");
}

const text = { type: "string" };

test("what a schema demands is demanded, with and without a type", async () => {
  const cases: [schema: unknown, fits: unknown[], does: unknown[]][] = [
    [
      { properties: { verdict: text }, required: ["verdict", "reason"] },
      [{ verdict: "a", reason: 1 }],
      [{ verdict: 1 }, { verdict: "a" }],
    ],
    [{ type: "object", required: ["reason"] }, [{ reason: null }], [{}, []]],
    [{ type: "object", properties: { a: { type: "string", default: "x" } }, required: ["a"] }, [{ a: "" }], [{}]],
    [{ anyOf: [{ required: ["a"] }, { required: ["b"] }] }, [{ a: 1 }, { b: 1 }], [{}, { c: 1 }]],
    [{ items: text }, [["a"], []], [[1]]],
    [{ minLength: 2 }, ["ab", 1], ["a"]],
    [{ minimum: 3 }, [3], [2]],
    [{ allOf: [{ required: ["a"] }, { properties: { a: text } }] }, [{ a: "x" }], [{}, { a: 1 }]],
    [{ type: "string", pattern: "^\\p{L}+$" }, ["Ärger"], ["a1"]],
    [{ type: "string", pattern: "^a\\-b\\:c$" }, ["a-b:c"], ["ab"]],
    [{ type: "string", pattern: "^[\\w\\-.]+$" }, ["a-b.c"], ["a b"]],
    [{ patternProperties: { "^x\\-": text } }, [{ "x-1": "a" }], [{ "x-1": 1 }]],
    // Properties that are called like keywords.
    [
      { properties: { enum: { pattern: "^a\\-b$" }, patternProperties: text } },
      [{ enum: "a-b" }],
      [{ enum: "ab" }, { patternProperties: 1 }],
    ],
    [{ enum: [{ a: [1, 2] }, "x"] }, [{ a: [1, 2] }, "x"], [{ a: [2, 1] }]],
    [{ const: ["a"] }, [["a"]], ["a"]],
    [{ type: "integer" }, [2 ** 60, 1.0], [1.5, "1"]],
    [{ $defs: { n: { type: "number" } }, properties: { a: { $ref: "#/$defs/n" } } }, [{ a: 1 }], [{ a: "1" }]],
    [{ definitions: { n: { type: "number" } }, properties: { a: { $ref: "#/definitions/n" } } }, [{ a: 1 }], [{ a: "1" }]],
    [{ prefixItems: [text], items: false }, [["a"]], [["a", "b"], [1]]],
    [JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'), [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
    [{ type: ["string", "null"] }, ["a", null], [1]],
    [{ type: "object", properties: { a: text }, additionalProperties: false }, [{ a: "x" }], [{ b: 1 }]],
    [{ uniqueItems: true }, [[1, 2]], [[1, 1]]],
    [{ not: { type: "null" } }, [1], [null]],
  ];
  for (const [schema, fits, does] of cases) {
    const { check } = await load(schema);
    for (const value of fits)
      expect({ schema, value, wrong: check(JSON.stringify(value)) }).toEqual({ schema, value, wrong: undefined });
    for (const value of does)
      expect({ schema, value, wrong: typeof check(JSON.stringify(value)) }).toEqual({ schema, value, wrong: "string" });
  }
});

test("a schema that could not be checked is refused, and says where", async () => {
  const cases: [schema: unknown, says: string][] = [
    [{ properties: { a: { type: "strin" } } }, '#/properties/a has the type "strin"'],
    [{ required: "a" }, '# has a "required" that is no list'],
    [{ items: 3 }, "#/items is no schema"],
    [{ anyOf: {} }, "# has anyOf that is no list"],
    [{ properties: [] }, "# has properties that is no object"],
    [{ properties: { a: { $ref: "#/$defs/n" } } }, '#/properties/a refers to "#/$defs/n"'],
    [{ $ref: "https://example.org/x.json" }, '# refers to "https://example.org/x.json"'],
    [{ pattern: "(" }, "# has a pattern"],
    [{ patternProperties: { "[": true } }, "# has a pattern"],
    [{ enum: "a" }, '# has an "enum"'],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "draft-04"],
    [{ $ref: "#" }, "cannot be used"],
  ];
  for (const [schema, says] of cases) {
    const error = await load(schema).then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    expect(error).toStartWith("--output-schema s.json: cannot be used: ");
    expect(error).toContain(says);
  }
});

test("what is wrong with an answer is said in bounded words", async () => {
  const { check } = await load({ type: "object", properties: { verdict: text }, required: ["verdict", "reason"] });
  expect(check("no")).toStartWith("it is not JSON");
  expect(check('{"verdict": 1}')).toContain("reason");
  expect(check('{"verdict": 1}')).toContain("#/verdict");
  const many = await load({ items: text });
  expect(check("[".repeat(100_000))).toBe("it is nested too deep");
  expect(many.check(JSON.stringify(Array.from({ length: 5000 }, () => 1)))?.length).toBeLessThan(1300);
});
