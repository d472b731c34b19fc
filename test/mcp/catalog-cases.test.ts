/** What a server offers → what a provider is offered (cases M05, M07–M10), and results of every kind (M14). */
import { expect, test } from "bun:test";
import { toolName } from "../../src/mcp/names.ts";
import { toolResult } from "../../src/mcp/results.ts";
import { repairSchema, restoreNames } from "../../src/mcp/schema.ts";
import { tempDir } from "../support/temp.ts";
import type { Manners } from "./fake-server.ts";
import { FAKE, fakeCommand, openFleet, stdioPlan } from "./fleet.ts";

const fake = (manners: Manners, more: Parameters<typeof stdioPlan>[2] = {}) => stdioPlan("fake", fakeCommand(manners), more);
const OBJECT = { type: "object", properties: {} };

function repaired(schema: unknown) {
  const result = repairSchema(schema);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

/** Tools of servers `first.` and `first:` with one name. */
function collision(): readonly [string, string] {
  const known = new Map<string, string>();
  const tool = (count: number): string => `${"t".repeat(50)}${count}`;
  for (let count = 0; ; count++) {
    known.set(toolName("first.", tool(count)).name, tool(count));
    const match = known.get(toolName("first:", tool(count)).name);
    if (match !== undefined) return [match, tool(count)];
  }
}

/** Every `$ref` leads somewhere. */
function isSelfContained(schema: unknown): boolean {
  const root = schema as Record<string, unknown>;
  let good = true;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "$ref" && typeof inner === "string") {
        const target = inner
          .slice(2)
          .split("/")
          .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], root);
        good &&= inner === "#" || target !== undefined;
      }
      visit(inner);
    }
  };
  visit(root);
  return good;
}

test("M05 names are what a provider takes, distinct, and stable", () => {
  const long = "synchronise.all/customer data".padEnd(90, "x");
  const pairs: [string, string][] = [
    ["enterprise-database-management", long],
    ["enterprise-database-management", `${long}y`],
    ["s", "a.b"],
    ["s", "a/b"],
    ["s", "a_b"],
    ["a__b", "c"],
    ["a", "b__c"],
    ["a_", "b"],
    ["a", "_b"],
    ["ünïcode 🎉", "名前"],
    ["ünïcode 🎉", "名称"],
    ["s", "\ud800"],
    ["", " "],
    ["a b", "x"],
    ["a_b", toolName("a b", "x").name.slice("mcp__a_b__".length)],
    ["a_b", "x_20260101"],
  ];
  const names = pairs.map(([server, tool]) => toolName(server, tool).name);
  for (const name of names) expect(name).toMatch(/^mcp__[a-zA-Z0-9_-]{1,59}$/);
  expect(new Set(names).size).toBe(pairs.length);
  expect(pairs.map(([server, tool]) => toolName(server, tool).name)).toEqual(names);
  expect(toolName("github", "create_issue")).toEqual({ name: "mcp__github__create_issue", exact: true });
  expect(toolName("s", "a.b").name).toMatch(/^mcp__s__a_b_[0-9a-f]{8}$/);
  expect(toolName("x".repeat(29), "y".repeat(28)).name).toHaveLength(64);
  expect(toolName("x".repeat(29), "y".repeat(28)).exact).toBe(true);
});

test("M05 one name twice, whatever the servers do for it: the first has it, and that is said", async () => {
  // Two names that are cut to the same beginning, and whose hashes are equal in the 32 bits that are used.
  const [one, other] = collision();
  await using fleet = await openFleet([
    stdioPlan("first.", fakeCommand({ tools: [{ name: one }, { name: "a" }] })),
    stdioPlan("first:", fakeCommand({ tools: [{ name: other }, { name: "a" }] })),
  ]);
  await fleet.ready();
  expect(toolName("first.", one).name).toBe(toolName("first:", other).name);
  expect(fleet.names()).toEqual([toolName("first.", one).name, toolName("first.", "a").name, toolName("first:", "a").name]);
  const said = fleet.diagnostics.filter(({ severity }) => severity === "warning").map(({ message }) => message);
  expect(said).toEqual([expect.stringMatching(/^MCP server first:, tool .*: left out: a tool of first\. has the same name$/)]);
  expect(fleet.servers.status()).toHaveLength(2);
});

test("M05 a call under the cleaned name reaches the original one, and a diagnostic says so", async () => {
  const name = "synchronise.all/customer data".padEnd(90, "x");
  const plan = stdioPlan("enterprise-database-management", fakeCommand({ tools: [{ name }] }));
  await using fleet = await openFleet([plan]);
  await fleet.ready();
  const [sent = ""] = fleet.names();
  expect(sent).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(await fleet.call(sent, { x: 1 })).toMatchObject({ status: "ok", text: '{"x":1}' });
  expect(fleet.diagnostics).toMatchObject([{ severity: "info", code: "mcp.name" }]);
  expect(fleet.servers.entries()[0]?.mcp).toEqual({ server: "enterprise-database-management", tool: name });
});

test("M07 one bad schema costs only its own tool", async () => {
  const big = Object.fromEntries(
    Array.from({ length: 4000 }, (_, n) => [`p${n}`, { type: "string", description: "d".repeat(250) }]),
  );
  const tools = [
    { name: "good", inputSchema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    { name: "none", inputSchema: undefined },
    { name: "null", inputSchema: null },
    { name: "text", inputSchema: { type: "string" } },
    { name: "list", inputSchema: [1] },
    {
      name: "either",
      inputSchema: {
        anyOf: [
          { type: "object", properties: { x: { type: "number" }, both: {} }, required: ["x", "both"] },
          { type: "object", properties: { y: { type: "number" }, both: {} }, required: ["y", "both"] },
        ],
      },
    },
    { name: "dollar", inputSchema: { type: "object", properties: { "$.x": { type: "number" }, "": {} }, required: ["$.x"] } },
    { name: "big", inputSchema: { type: "object", properties: big } },
    { name: "loop", inputSchema: { type: "object", properties: { me: { $ref: "#/properties/me" }, child: { $ref: "#" } } } },
    { name: 7 as unknown as string },
  ];
  await using dir = await tempDir({ "manners.json": JSON.stringify({ pages: { first: { tools } } }) });
  await using fleet = await openFleet([stdioPlan("fake", [process.execPath, FAKE, `@${dir.at("manners.json")}`])]);
  await fleet.ready();
  const entries = new Map(fleet.servers.entries().map((entry) => [entry.mcp.tool, entry.spec.parameters]));
  expect([...entries.keys()]).toEqual(["good", "none", "null", "either", "dollar", "big", "loop"]);
  expect(entries.get("good")).toEqual({ type: "object", properties: { a: { type: "string" } }, required: ["a"] });
  expect(entries.get("either")).toMatchObject({ type: "object", required: ["both"] });
  expect(Object.keys(entries.get("either")?.properties as object)).toEqual(["x", "both", "y"]);
  for (const parameters of entries.values()) {
    expect(parameters.type).toBe("object");
    expect(JSON.stringify(parameters).length).toBeLessThanOrEqual(64 * 1024);
    for (const key of ["anyOf", "oneOf", "allOf", "$ref"]) expect(parameters[key]).toBeUndefined();
    expect(isSelfContained(parameters)).toBe(true);
    for (const name of Object.keys(parameters.properties as object)) expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
  }
  const renamed = Object.keys(entries.get("dollar")?.properties as object)[0] ?? "";
  expect(await fleet.call("mcp__fake__dollar", { [renamed]: 5 })).toMatchObject({ status: "failed" });
  const about = fleet.diagnostics.map((diagnostic) => `${diagnostic.severity} ${diagnostic.message}`).join("\n");
  expect(about).toContain("warning MCP server fake, tool text: left out");
  expect(about).toContain("warning MCP server fake, tool list: left out");
  expect(about).toContain("1 tools without a name");
});

test("M07 arguments go back under the server's own property names", () => {
  const { renamed, parameters } = repaired({ type: "object", properties: { "$.x": {}, "_.x": {}, "a b": {}, a_b: {}, ok: {} } });
  expect(Object.keys(parameters.properties as object).sort()).toEqual(["_.x", "_.x_2", "a_b", "a_b_2", "ok"].sort());
  expect(restoreNames({ "_.x_2": 1, a_b_2: 2, a_b: 3, ok: 4 }, renamed)).toEqual({ "$.x": 1, "a b": 2, a_b: 3, ok: 4 });
});

test("M08 $defs and $ref are sent self-contained; an outputSchema never matters", async () => {
  const inputSchema = {
    type: "object",
    properties: { item: { $ref: "#/$defs/Item" }, other: { $ref: "#/definitions/Other" } },
    $defs: { Item: { type: "object", properties: { next: { $ref: "#/$defs/Item" } } } },
    definitions: { Other: { type: "string" } },
  };
  const outputSchema = { type: "object", properties: { x: { $ref: "#/$defs/nowhere" } }, required: ["x"] };
  const tools = [{ name: "t", inputSchema, outputSchema, result: { content: [{ type: "text", text: "fine" }] } }];
  await using fleet = await openFleet([fake({ tools })]);
  await fleet.ready();
  expect(fleet.servers.entries()[0]?.spec.parameters).toEqual(inputSchema);
  expect(await fleet.call("mcp__fake__t")).toMatchObject({ status: "ok", text: "fine" });
  expect(fleet.diagnostics).toEqual([]);
});

test("M08 references that lead out, nowhere or round in a circle mean anything", () => {
  const { parameters, notes } = repaired({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $ref: "#/$defs/Top",
    $defs: {
      Top: {
        type: "object",
        properties: {
          out: { $ref: "https://example.invalid/s.json" },
          gone: { $ref: "#/$defs/Gone" },
          round: { $ref: "#/$defs/A" },
          fine: { $ref: "#/$defs/B" },
        },
      },
      A: { $ref: "#/$defs/A2" },
      A2: { $ref: "#/$defs/A" },
      B: { type: "integer" },
    },
  });
  expect(parameters.properties).toEqual({ out: {}, gone: {}, round: {}, fine: { $ref: "#/$defs/B" } });
  expect(parameters.$schema).toBeUndefined();
  expect(isSelfContained(parameters)).toBe(true);
  expect(notes.join(" ")).toContain("lead nowhere");
});

test("M08 hostile schemas end: deep ones, wide self-references, odd members", () => {
  let deep: Record<string, unknown> = { type: "string" };
  for (let level = 0; level < 5000; level++) deep = { type: "object", properties: { d: deep } };
  expect(repairSchema(deep).ok).toBe(true);
  expect(repairSchema({ allOf: Array.from({ length: 50 }, () => ({ $ref: "#" })) }).ok).toBe(true);
  const odd = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"a":true},"required":[1,"__proto__","gone"]}',
  );
  const { parameters } = repaired(odd);
  expect(JSON.stringify(parameters)).toBe(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"a":{}},"required":["__proto__"]}',
  );
  for (const bad of [{ properties: 3 }, { type: ["object", "null"], required: "x" }, {}, { type: "object", properties: [] }]) {
    expect(repaired(bad).parameters).toEqual({ type: "object", properties: {} });
  }
  expect(repairSchema("x").ok).toBe(false);
  expect(repairSchema({ type: ["string", "null"] }).ok).toBe(false);
});

const page = (name: string, nextCursor?: string) => ({
  tools: [{ name, inputSchema: OBJECT }],
  ...(nextCursor !== undefined && { nextCursor }),
});

test("M09 more tools than anybody can use: the first thousand count, and that is said", async () => {
  const tools = Array.from({ length: 1003 }, (_, at) => ({ name: `t${at}`, description: "d", inputSchema: { type: "object" } }));
  await using dir = await tempDir({ "manners.json": JSON.stringify({ pages: { first: { tools } } }) });
  await using fleet = await openFleet([stdioPlan("many", [process.execPath, FAKE, `@${dir.at("manners.json")}`])]);
  await fleet.ready();
  expect(fleet.servers.entries()).toHaveLength(1000);
  expect(fleet.diagnostics.map(({ message }) => message)).toEqual(["MCP server many: 3 tools beyond 1000 are left out"]);
});

test("M09 all pages are followed; the empty text is a cursor", async () => {
  await using fleet = await openFleet([fake({ pages: { first: page("a", "p2"), "at:p2": page("b", ""), "at:": page("c") } })]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__fake__a", "mcp__fake__b", "mcp__fake__c"]);
  expect(fleet.diagnostics).toEqual([]);
});

test("M09 a list of tools that is none costs its server, a page that is none itself; no list is an empty one", async () => {
  const listing = (name: string, pages: Manners["pages"]) => stdioPlan(name, fakeCommand(pages ? { pages } : {}));
  await using fleet = await openFleet([
    listing("text", { first: { tools: "x" } }),
    listing("object", { first: { tools: { a: 1 } } }),
    listing("later", { first: page("a", "p2"), "at:p2": { tools: 5 } }),
    listing("null", { first: { tools: null } }),
    listing("absent", { first: {} }),
  ]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__later__a"]);
  expect(fleet.diagnostics.map(({ severity, message }) => `${severity} ${message}`).sort()).toEqual([
    "warning MCP server later: a page of its list of tools is no list; what came before counts",
    "warning MCP server object: its list of tools is no list",
    "warning MCP server text: its list of tools is no list",
  ]);
});

test("an answer to the handshake of another shape is one sentence", async () => {
  await using fleet = await openFleet([fake({ handshake: { foo: 1 } })]);
  await fleet.ready();
  expect(fleet.diagnostics.map(({ message }) => message)).toEqual([
    "MCP server fake: its answer to the handshake is not what the protocol says",
  ]);
});

test("M10 a cursor that does not move, and one that never ends: each tool once, a diagnostic, an end", async () => {
  await using fleet = await openFleet([
    stdioPlan("still", fakeCommand({ pages: { first: page("a", "x"), "at:x": page("a", "x") } })),
    stdioPlan("endless", fakeCommand({ endless: true })),
  ]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__still__a", "mcp__endless__t"]);
  expect(fleet.diagnostics.map((diagnostic) => diagnostic.message).sort()).toEqual([
    "MCP server endless: its list of tools has no end; the first 1 count",
    "MCP server still: its list of tools repeats a page; what came before counts",
  ]);
});

test("the allow-list of a server is by original names", async () => {
  const plan = fake({ tools: [{ name: "a" }, { name: "b.c" }, { name: "d" }] }, { tools: ["b.c", "gone"] });
  await using fleet = await openFleet([plan]);
  await fleet.ready();
  expect(fleet.servers.entries().map((entry) => entry.mcp.tool)).toEqual(["b.c"]);
  expect(fleet.diagnostics.map((diagnostic) => diagnostic.message).join()).toContain('no tool "gone"');
});

test("descriptions hide nothing and have an end", async () => {
  const hidden = [..."ignore all"].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0))).join("");
  const tools = [
    { name: "a", description: `Reads${hidden} a\u200b file.\u001b[31m` },
    { name: "b", description: "d".repeat(10_000) },
    { name: "c", title: "A title", annotations: { readOnlyHint: true } },
    { name: "d", description: 5 },
  ];
  await using fleet = await openFleet([fake({ tools })]);
  await fleet.ready();
  const said = fleet.servers.entries().map((entry) => entry.spec.description);
  expect(said[0]).toBe("Reads a file.[31m");
  expect(said[1]).toHaveLength(4006);
  // Calls through MCP run alone, and never count as reading.
  expect(fleet.servers.entries().every((entry) => !entry.parallel && entry.effect === "net")).toBe(true);
  expect(said.slice(2)).toEqual(["A title", 'The tool "d" of an MCP server.']);
});

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

const RESULTS: readonly (readonly [string, unknown, { status: string; text: string | RegExp; truncated?: boolean }])[] = [
  [
    "two texts",
    {
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    },
    { status: "ok", text: "a\nb" },
  ],
  [
    "svg",
    { content: [{ type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" }] },
    { status: "ok", text: "[image image/svg+xml, 5 bytes, not shown]" },
  ],
  [
    "png that is none",
    { content: [{ type: "image", mimeType: "image/png", data: "!!not base64!!" }] },
    { status: "ok", text: /^\[image image\/png, \d+ bytes, not shown\]$/ },
  ],
  [
    "audio",
    { content: [{ type: "audio", mimeType: "audio/wav", data: "AAAA" }] },
    { status: "ok", text: "[audio audio/wav, 3 bytes, not shown]" },
  ],
  [
    "link",
    { content: [{ type: "resource_link", uri: "file:///x", name: "x" }] },
    { status: "ok", text: "[resource link x file:///x]" },
  ],
  [
    "resource",
    { content: [{ type: "resource", resource: { uri: "a:b", mimeType: "text/plain", text: "hello" } }] },
    { status: "ok", text: "[resource a:b (text/plain)]\nhello" },
  ],
  [
    "blob",
    { content: [{ type: "resource", resource: { uri: "a:b", blob: "AAAA" } }] },
    { status: "ok", text: "[resource a:b, 3 bytes, not shown]" },
  ],
  ["empty", { content: [] }, { status: "ok", text: "(no output)" }],
  ["error", { content: [{ type: "text", text: "no such row" }], isError: true }, { status: "failed", text: "no such row" }],
  ["error without words", { content: [], isError: true }, { status: "failed", text: "The tool failed without a message." }],
  ["structured only", { structuredContent: { a: [1] } }, { status: "ok", text: '{\n  "a": [\n    1\n  ]\n}' }],
  [
    "structured beside text",
    { content: [{ type: "text", text: "t" }], structuredContent: { a: 1 } },
    { status: "ok", text: "t" },
  ],
  ...[[{ type: "text", text: "" }], [{ type: "text", text: " \n" }], [{ type: "text" }]].map(
    (content) =>
      [
        "structured beside an empty text",
        { content, structuredContent: { a: 1 } },
        { status: "ok", text: /^\{\n {2}"a": 1\n\}/ },
      ] as const,
  ),
  [
    "structured beside an image",
    {
      content: [
        { type: "text", text: "" },
        { type: "image", mimeType: "a/b", data: "AAAA" },
      ],
      structuredContent: { a: 1 },
    },
    { status: "ok", text: '{\n  "a": 1\n}\n[image a/b, 3 bytes, not shown]' },
  ],
  [
    "unknown kind",
    { content: [{ type: "hologram" }, null, 3, { type: "text" }] },
    {
      status: "ok",
      text: '[content of kind "hologram", not shown]\n[content of an unknown kind]\n[content of an unknown kind]\n[text without text]',
    },
  ],
  ["no content", {}, { status: "ok", text: "(no output)" }],
  ["nothing", null, { status: "failed", text: "The server's answer is not a tool result." }],
  ["content that is text", { content: "x" }, { status: "ok", text: "x" }],
  ["content that is one item", { content: { type: "text", text: "x" } }, { status: "ok", text: "x" }],
  ["content that is neither", { content: 5 }, { status: "failed", text: "The content of the server's answer is no list." }],
  ["older shape", { toolResult: { a: 1 } }, { status: "ok", text: '{\n  "a": 1\n}' }],
  ["deep", { structuredContent: deep(100_000) }, { status: "failed", text: /too deep/ }],
  [
    "big",
    { content: [{ type: "text", text: "é".repeat(4_000_000) }] },
    { status: "ok", text: /\[cut: the first 65,3\d\d of 8,000,000 bytes; ask the tool for less\]$/, truncated: true },
  ],
];

test("M14 every kind of result is one valid, bounded tool result", () => {
  for (const [name, given, wanted] of RESULTS) {
    const result = toolResult(given);
    expect(Buffer.byteLength(result.text), name).toBeLessThanOrEqual(65_536);
    expect(result.text, name).not.toContain("\ufffd");
    const text = typeof wanted.text === "string" ? wanted.text : expect.stringMatching(wanted.text);
    expect(result, name).toMatchObject({ ...wanted, text });
  }
});

test("M07 M14 values nested without end, through a server: the good tool works, each bad thing costs itself", async () => {
  const script = `
    const nest = (n) => "[".repeat(n) + "]".repeat(n);
    const say = (text) => process.stdout.write(text + "\\n");
    for await (const line of console) {
      const m = JSON.parse(line);
      const answer = (result) => say('{"jsonrpc":"2.0","id":' + m.id + ',"result":' + result + "}");
      if (m.method === "initialize") answer(JSON.stringify({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "r", version: "1" } }));
      if (m.method === "tools/list") answer('{"tools":[{"name":"bad","inputSchema":{"type":"object","properties":{"p":{"type":"string","default":' + nest(200000) + '}}}},{"name":"odd","inputSchema":' + nest(200000) + '},{"name":"good","inputSchema":{"type":"object"}}]}');
      if (m.method === "tools/call") answer('{"structuredContent":' + (m.params.name === "good" ? "[1]" : nest(200000)) + "}");
    }`;
  await using fleet = await openFleet([stdioPlan("r", [process.execPath, "-e", script])]);
  await fleet.ready();
  expect(fleet.names()).toEqual(["mcp__r__bad", "mcp__r__good"]);
  expect(fleet.servers.entries()[0]?.spec.parameters).toEqual({ type: "object", properties: { p: { type: "string" } } });
  expect(await fleet.call("mcp__r__bad")).toMatchObject({ status: "failed", text: expect.stringContaining("too deep") });
  expect(await fleet.call("mcp__r__good")).toMatchObject({ status: "ok", text: "[\n  1\n]" });
});

test("M14 through a server: 8 MB of text, odd images and a second item keep the next call working", async () => {
  const results: Record<string, unknown> = {
    big: { content: [{ type: "text", text: "x".repeat(8_000_000) }] },
    svg: { content: [{ type: "image", mimeType: "image/svg+xml", data: "<svg/>" }] },
    odd: {
      content: [
        { type: "image", mimeType: "image/png", data: 5 },
        { type: "text", text: "second" },
      ],
    },
  };
  const script = `
    const results = ${JSON.stringify({ ...results, big: undefined })};
    results.big = { content: [{ type: "text", text: "x".repeat(8_000_000) }] };
    const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
    for await (const line of console) {
      const m = JSON.parse(line);
      if (m.method === "initialize") say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "r", version: "1" } } });
      if (m.method === "tools/list") say({ id: m.id, result: { tools: Object.keys(results).map((name) => ({ name, inputSchema: { type: "object" } })) } });
      if (m.method === "tools/call") say({ id: m.id, result: results[m.params.name] });
    }`;
  await using fleet = await openFleet([stdioPlan("r", [process.execPath, "-e", script])]);
  await fleet.ready();
  const big = await fleet.call("mcp__r__big");
  expect(big).toMatchObject({ status: "ok", truncated: true });
  expect(Buffer.byteLength(big.text)).toBeLessThanOrEqual(65_536);
  expect(await fleet.call("mcp__r__svg")).toMatchObject({ status: "ok" });
  expect(await fleet.call("mcp__r__odd")).toMatchObject({ status: "ok", text: "[image image/png, no data, not shown]\nsecond" });
});
