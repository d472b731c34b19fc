/** P04: what is one tool call, in the many ways servers send fragments. */
import { expect, test } from "bun:test";
import { cleanId, freeId, idRule, nineCharacterId, OWN_IDS } from "../../src/provider/call-ids.ts";
import { CallJoiner } from "../../src/provider/tool-calls.ts";
import type { Message } from "../../src/types/message.ts";
import { collect, encode, memoryFetch, requestOf, settingsFor, testProvider } from "../support/wire/stream.ts";

type Wire = { index?: number; id?: string | null; name?: string | null; args?: unknown };

async function callsOf(fragments: readonly Wire[]): Promise<readonly (readonly [string, string])[]> {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const frames = fragments.map(({ index, id, name, args }) =>
    chunk({ tool_calls: [{ index, id, function: { name, arguments: args } }] }, null),
  );
  const fetch = memoryFetch({ chunks: encode([...frames, chunk({}, "stop")].join("")) });
  const said = await collect(testProvider(settingsFor("chat", "http://mock.test/v1"), { fetch }));
  expect(said.failure).toBeUndefined();
  expect(new Set(said.calls.map((call) => call.id)).size).toBe(said.calls.length);
  expect(said.stop).toBe(fragments.length === 0 ? "end" : "tool_calls");
  return said.calls.map((call) => [call.name, call.arguments] as const);
}

const CASES: readonly (readonly [what: string, fragments: readonly Wire[], calls: readonly (readonly [string, string])[]])[] = [
  [
    "P04 interleaved by index, id only once",
    [
      { index: 0, id: "a", name: "read", args: '{"pa' },
      { index: 1, id: "b", name: "read", args: '{"path":"b"}' },
      { index: 0, args: 'th":"a"}' },
    ],
    [
      ["read", '{"path":"a"}'],
      ["read", '{"path":"b"}'],
    ],
  ],
  [
    "whole calls, all index 0, no id",
    [
      { index: 0, name: "a", args: '{"n":1}' },
      { index: 0, name: "b", args: '{"n":2}' },
      { index: 0, name: "a", args: '{"n":3}' },
    ],
    [
      ["a", '{"n":1}'],
      ["b", '{"n":2}'],
      ["a", '{"n":3}'],
    ],
  ],
  [
    "whole identical calls, all index 0, no id",
    [
      { index: 0, name: "a", args: "{}" },
      { index: 0, name: "a", args: "{}" },
    ],
    [
      ["a", "{}"],
      ["a", "{}"],
    ],
  ],
  [
    "whole calls without index and id",
    [
      { name: "a", args: "{}" },
      { name: "b", args: "{}" },
    ],
    [
      ["a", "{}"],
      ["b", "{}"],
    ],
  ],
  [
    "whole calls, all index 0, own ids",
    [
      { index: 0, id: "x", name: "a", args: "{}" },
      { index: 0, id: "y", name: "a", args: "{}" },
    ],
    [
      ["a", "{}"],
      ["a", "{}"],
    ],
  ],
  [
    "whole calls that share one id",
    [
      { index: 0, id: "x", name: "a", args: '{"n":1}' },
      { index: 1, id: "x", name: "a", args: '{"n":2}' },
    ],
    [
      ["a", '{"n":1}'],
      ["a", '{"n":2}'],
    ],
  ],
  [
    "whole calls that share id and index",
    [
      { index: 0, id: "x", name: "a", args: '{"n":1}' },
      { index: 0, id: "x", name: "a", args: '{"n":2}' },
    ],
    [
      ["a", '{"n":1}'],
      ["a", '{"n":2}'],
    ],
  ],
  [
    "the whole call sent twice",
    [
      { index: 0, id: "x", name: "a", args: '{"n":1}' },
      { index: 0, id: "x", name: "a", args: '{"n":1}' },
    ],
    [["a", '{"n":1}']],
  ],
  [
    "id and name repeated in every fragment",
    [
      { index: 0, id: "x", name: "a", args: "" },
      { index: 0, id: "x", name: "a", args: '{"n"' },
      { index: 0, id: "x", name: "a", args: ":1}" },
    ],
    [["a", '{"n":1}']],
  ],
  [
    "name repeated, no id",
    [
      { index: 0, name: "a", args: '{"n"' },
      { index: 0, name: "a", args: ":1}" },
    ],
    [["a", '{"n":1}']],
  ],
  [
    "a fresh id for every fragment",
    [
      { index: 0, id: "x1", name: "a", args: "" },
      { index: 0, id: "x2", args: '{"n"' },
      { index: 0, id: "x3", args: ":1}" },
    ],
    [["a", '{"n":1}']],
  ],
  [
    "empty and null ids and names in later fragments",
    [
      { index: 0, id: "x", name: "a", args: '{"n"' },
      { index: 0, id: "", name: "", args: ":" },
      { index: 0, id: null, name: null, args: "1}" },
    ],
    [["a", '{"n":1}']],
  ],
  [
    "fragments by id without index",
    [
      { id: "x", name: "a", args: '{"n"' },
      { id: "y", name: "b", args: '{"m"' },
      { id: "x", args: ":1}" },
      { id: "y", args: ":2}" },
    ],
    [
      ["a", '{"n":1}'],
      ["b", '{"m":2}'],
    ],
  ],
  [
    "fragments without index and id",
    [{ name: "a", args: '{"n"' }, { args: ":1}" }, { name: "b", args: "{}" }],
    [
      ["a", '{"n":1}'],
      ["b", "{}"],
    ],
  ],
  [
    "indexes that do not start at 0 or have gaps",
    [
      { index: 3, id: "x", name: "a", args: "{}" },
      { index: 7, id: "y", name: "b", args: "{}" },
    ],
    [
      ["a", "{}"],
      ["b", "{}"],
    ],
  ],
  [
    "the id after the name",
    [
      { index: 0, name: "a", args: "" },
      { index: 0, id: "x", args: "{}" },
    ],
    [["a", "{}"]],
  ],
  [
    "P06 arguments absent, null, an object",
    [
      { index: 0, id: "x", name: "a" },
      { index: 1, id: "y", name: "b", args: null },
      { index: 2, id: "z", name: "c", args: { n: 1 } },
    ],
    [
      ["a", ""],
      ["b", ""],
      ["c", '{"n":1}'],
    ],
  ],
  [
    "nested braces over fragments",
    [
      { index: 0, id: "x", name: "a", args: '{"a":{"b":{}' },
      { index: 0, args: '},"c":"}{"' },
      { index: 0, args: "}" },
    ],
    [["a", '{"a":{"b":{}},"c":"}{"}']],
  ],
  ["no calls", [], []],
];

for (const [what, fragments, calls] of CASES)
  test(what, async () => expect(await callsOf(fragments)).toEqual(calls as [string, string][]));

const listed = (...calls: Wire[]) => ({
  tool_calls: calls.map(({ index, id, name, args }) => ({ index, id, function: { name, arguments: args } })),
});

test.each([
  ["with one id", [{ id: "x", name: "a", args: "{}" }], { id: "x", name: "a", args: '{"n":1}' }],
  ["with one id and index", [{ index: 0, id: "x", name: "a", args: "{}" }], { index: 0, id: "x", name: "a", args: '{"n":1}' }],
  ["with an object for nothing", [{ id: "x", name: "a", args: {} }], { id: "x", name: "a", args: { n: 1 } }],
  ["with nothing at all", [{ id: "x", name: "a", args: "" }], { id: "x", name: "a", args: '{"n":1}' }],
  ["without an id", [{ name: "a", args: null }], { name: "a", args: '{"n":1}' }],
  ["that are the same", [{ id: "x", name: "a", args: '{"n":1}' }], { id: "x", name: "a", args: '{"n":1}' }],
])("elements of one list are calls of their own %s", async (_what, first, last) => {
  const message = listed(...first, last);
  const frame = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  for (const chunk of [
    JSON.stringify({ choices: [{ message, finish_reason: "tool_calls" }] }),
    frame(message, null) + frame({}, "tool_calls"),
  ]) {
    const fetch = memoryFetch({ chunks: encode(chunk) });
    const { calls } = await collect(testProvider(settingsFor("chat", "http://mock.test/v1"), { fetch }));
    expect(calls).toHaveLength(2);
    expect(calls.at(-1)?.arguments).toBe('{"n":1}');
  }
});

test("pieces of one call in one list are joined, and so is what takes the place of {} in the next one", () => {
  const joiner = new CallJoiner();
  joiner.begin();
  joiner.add({ index: 0, id: "x", name: "a", arguments: '{"n"' });
  joiner.add({ index: 0, id: "x", name: "a", arguments: ":1}" });
  joiner.add({ index: 1, id: "y", name: "b", arguments: "{}" });
  joiner.begin();
  joiner.add({ index: 1, id: "y", name: "b", arguments: '{"m":2}' });
  expect(joiner.finish().map((call) => call.arguments)).toEqual(['{"n":1}', '{"m":2}']);
});

test("joining a call of many named fragments is linear", () => {
  const joiner = new CallJoiner();
  const began = performance.now();
  joiner.add({ index: 0, id: "x", name: "a", arguments: '{"text":"' });
  for (let n = 0; n < 50_000; n += 1) joiner.add({ index: 0, id: "x", name: "a", arguments: "{twenty characters}}" });
  joiner.add({ index: 0, id: "x", name: "a", arguments: '"}' });
  expect(joiner.finish()[0]?.arguments.length).toBe(9 + 50_000 * 20 + 2);
  expect(performance.now() - began).toBeLessThan(2_000);
});

test("ids: cleaned, cut with a hash, free, nine characters where demanded", () => {
  expect([cleanId("functions.read:0"), cleanId(""), cleanId("é")]).toEqual(["functions_read_0", "", "_"]);
  expect(cleanId("x".repeat(65))).toHaveLength(64);
  expect(cleanId(`${"x".repeat(70)}a`)).not.toBe(cleanId(`${"x".repeat(70)}b`));
  const used = new Set<string>();
  expect([freeId("a", used), freeId("a", used), freeId("", used), freeId("", used)]).toEqual(["a", "a_2", "call_3", "call_4"]);
  const long = "y".repeat(64);
  expect([freeId(long, used), freeId(long, used)].map((id) => id.length)).toEqual([64, 64]);
  expect(nineCharacterId("abcDEF123")).toBe("abcDEF123");
  expect(nineCharacterId("call_1")).toMatch(/^[a-z0-9]{9}$/);
  expect(nineCharacterId("call_1")).not.toBe(nineCharacterId("call_2"));
});

test("ids of chat servers go back as they came; what cannot is made to fit", () => {
  const signed = `call_1__thought__${"CiQB+/".repeat(400)}==`;
  const used = new Set<string>();
  for (const id of ["functions.read_file:0", "call|fc_123|x", "ü", signed]) expect(freeId(id, used, OWN_IDS)).toBe(id);
  // A number that is taken gives way to the next one: the model reads its own form again.
  expect(freeId("functions.read_file:0", used, OWN_IDS)).toBe("functions.read_file:1");
  expect(freeId("functions.read_file:1", used, OWN_IDS)).toBe("functions.read_file:2");
  expect(freeId("a b\n", used, OWN_IDS)).toBe("a_b_");
  expect(freeId("x".repeat(20_000), used, OWN_IDS)).toHaveLength(64);
  const openai = idRule(settingsFor("chat", "https://api.openai.com/v1", { name: "openai" }));
  expect([freeId("y".repeat(64), used, openai).length, freeId("functions.read:0", used, openai)]).toEqual([
    40,
    "functions_read_0",
  ]);
});

test("a chat server gets its ids back, another server gets ids that it takes", async () => {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const call = { index: 0, id: "functions.read:0", function: { name: "read", arguments: "{}" } };
  const fetch = memoryFetch({ chunks: encode(chunk({ tool_calls: [call] }, "tool_calls")) });
  const chat = testProvider(settingsFor("chat", "http://mock.test/v1"), { fetch });
  const { calls } = await collect(chat);
  const history: readonly Message[] = [
    { role: "user", text: "x" },
    { role: "assistant", text: "", from: "mock", calls },
    { role: "tool", callId: calls[0]?.id ?? "", name: "read", text: "r", failed: false },
  ];
  await collect(chat, requestOf(history));
  const back = JSON.parse(fetch.bodies[1] ?? "").messages.slice(2) as Record<string, unknown>[];
  expect(back).toMatchObject([{ tool_calls: [{ id: "functions.read:0" }] }, { tool_call_id: "functions.read:0" }]);
  for (const wire of ["responses", "anthropic"] as const) {
    const other = memoryFetch({ chunks: [] });
    await collect(testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch: other }), requestOf(history));
    expect(other.bodies[0]?.split('"functions_read_0"').length).toBe(3);
  }
  // Another chat server has its own form, whatever it takes from itself.
  const long = { id: `call_1__thought__${"Q/+=".repeat(200)}`, name: "read", arguments: "{}" };
  const longer: readonly Message[] = [
    ...history,
    { role: "assistant", text: "", from: "mock", calls: [long] },
    { role: "tool", callId: long.id, name: "read", text: "r", failed: false },
  ];
  const idsSent = async (name: string): Promise<string[]> => {
    const other = memoryFetch({ chunks: encode(chunk({ tool_calls: [call] }, "tool_calls")) });
    const said = await collect(
      testProvider(settingsFor("chat", "http://mock.test/v1", { name }), { fetch: other }),
      requestOf(longer),
    );
    // An id that anybody in the conversation has is taken.
    expect(said.calls.map(({ id }) => id)).not.toContain("functions.read:0");
    const sent = JSON.parse(other.bodies[0] ?? "").messages as { tool_calls?: { id: string }[] }[];
    return sent.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id);
  };
  expect(await idsSent("mock")).toEqual(["functions.read:0", long.id]);
  const [first, second] = await idsSent("vllm");
  expect(first).toBe("functions_read_0");
  expect(second).toMatch(/^[\w-]{64}$/);
  for (const id of await idsSent("openai")) expect(id).toMatch(/^[\w-]{1,40}$/);
});
