/** Schemas for servers that make a grammar of them: no keyword their converter refuses, nothing narrower than before. */
import { expect, test } from "bun:test";
import { forGrammar } from "../../src/provider/grammar-schema.ts";
import catalog from "../../src/tools/catalog.json" with { type: "json" };
import { collect, memoryFetch, requestOf, settingsFor, testProvider } from "../support/wire/stream.ts";

const ANY = ["string", "number", "boolean", "object", "array", "null"];

test("what a grammar cannot hold goes; a pattern stays as words", () => {
  const schema = {
    type: "object",
    description: "all",
    properties: {
      p: { type: "string", pattern: "^(?!x)[a-z]+\\Z", minLength: 2, maxLength: 10_000, description: "a name" },
      q: { type: "string", pattern: "abc" },
      any: { description: "whatever" },
      nothing: {},
      not: { not: { type: "string" } },
      list: { type: "array", items: {}, minItems: 1, maxItems: 5000, uniqueItems: true },
      big: { type: "integer", minimum: 0, maximum: 2 ** 64 },
      half: { type: "number", minimum: 0.5 },
      day: { type: "string", format: "date" },
      mail: { type: "string", format: "email" },
      one: { oneOf: [{ type: "string", pattern: "x" }, { const: 1 }] },
      map: { type: "object", additionalProperties: { pattern: "x" }, patternProperties: { "^x": {} }, propertyNames: {} },
      open: { type: "object", additionalProperties: true, if: {}, else: {}, dependentRequired: {} },
      pattern: { enum: ["a", null] },
    },
    required: ["p"],
    $comment: "x",
  };
  expect(forGrammar(schema)).toEqual({
    type: "object",
    description: "all",
    properties: {
      p: { type: "string", description: "a name (pattern: ^(?!x)[a-z]+\\Z)" },
      q: { type: "string", description: "(pattern: abc)" },
      any: { description: "whatever", type: ANY },
      nothing: { type: ANY },
      not: { type: ANY },
      list: { type: "array", items: { type: ANY } },
      big: { type: "integer", minimum: 0 },
      half: { type: "number" },
      day: { type: "string", format: "date" },
      mail: { type: "string" },
      one: { oneOf: [{ type: "string", description: "(pattern: x)" }, { const: 1 }] },
      map: { type: "object", additionalProperties: { description: "(pattern: x)", type: ANY } },
      open: { type: "object", additionalProperties: true },
      pattern: { enum: ["a", null] },
    },
    required: ["p"],
  });
});

test("references that such a converter cannot follow mean anything", () => {
  const $defs = {
    node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } },
    "a b": {},
    deep: { $defs: { x: {} } },
  };
  const references = ["#/$defs/node", "#", "#/$defs/a%20b", "#/properties/r/not", "#/$defs/deep/$defs/x", "#/$defs/none"];
  for (const [index, $ref] of references.entries()) {
    const { properties } = forGrammar({ type: "object", properties: { r: { $ref, description: "r", not: {} } }, $defs });
    const r = index === 0 ? { $ref, description: "r" } : { description: "r", type: ANY };
    expect({ $ref, properties }).toEqual({ $ref, properties: { r } });
  }
});

test.each([
  ["llamacpp", false],
  ["lmstudio", false],
  ["ollama", false],
  ["vllm", true],
  ["openrouter", true],
])("%s is sent a pattern: %p", async (name, sent) => {
  const fetch = memoryFetch({ chunks: [] });
  const provider = testProvider(settingsFor("chat", "http://mock.test/v1", { name }), { fetch });
  const parameters = { type: "object", properties: { a: { type: "string", pattern: "x" } } };
  await collect(provider, requestOf([{ role: "user", text: "x" }], { tools: [{ name: "t", description: "d", parameters }] }));
  await collect(provider, requestOf([{ role: "user", text: "x" }], { outputSchema: parameters }));
  const [tools, answer] = fetch.bodies.map((body) => JSON.parse(body));
  expect(tools.tools[0].function.parameters.properties.a.pattern === "x").toBe(sent);
  expect(answer.response_format.json_schema.schema.properties.a.pattern === "x").toBe(sent);
  // The schema itself stays whole: answers are checked against it.
  expect(parameters.properties.a.pattern).toBe("x");
});

test("the built-in tools that every first request carries are taken as they are", () => {
  const looked = catalog.filter(({ parameters }) => forGrammar(parameters) !== parameters).map(({ name }) => name);
  expect(looked).toEqual(["web_search"]);
});
