/** What leaves for the server: strict whatever the history holds, and byte for byte an extension of the request before. */
import { describe, expect, test } from "bun:test";
import type { ProviderRequest } from "../../src/provider/provider.ts";
import { bodyWithList, jsonText } from "../../src/provider/wire-text.ts";
import type { Message, ToolSpec } from "../../src/types/message.ts";
import { startLoopback, wireFrames } from "../support/loopback.ts";
import type { Answer } from "../support/wire/answer.ts";
import { prefixBreaks } from "../support/wire/prefix.ts";
import { collect, encode, memoryFetch, requestOf, settingsFor, testProvider, WIRES } from "../support/wire/stream.ts";
import { validateRequest } from "../support/wire/validate.ts";

const MOCK = "http://mock.test/v1";
const tools: readonly ToolSpec[] = [
  { name: "read_file", description: "reads", parameters: { type: "object", properties: { path: { type: "string" } } } },
  { name: "run_shell", description: "runs", parameters: { type: "object", properties: {} } },
];

/** Drives a conversation the way the loop does: one provider, messages only ever appended. */
async function converse(
  wire: (typeof WIRES)[number],
  answers: readonly Answer[],
  more: Partial<ProviderRequest> = {},
  name = "mock",
) {
  const fetch = memoryFetch(...answers.map((answer, n) => ({ chunks: encode(wireFrames(wire, answer, n + 1).join("")) })));
  const provider = testProvider(settingsFor(wire, MOCK, { name }), { fetch });
  const messages: Message[] = [{ role: "user", text: "start" }];
  for (const _ of answers) {
    const said = await collect(provider, requestOf([...messages], { tools, ...more }));
    expect(said.failure).toBeUndefined();
    messages.push({
      role: "assistant",
      text: said.text,
      calls: said.calls,
      ...(said.reasoning === "" ? {} : { reasoning: said.reasoning }),
      ...(said.carry === undefined ? {} : { carry: said.carry }),
    });
    for (const call of said.calls)
      messages.push({ role: "tool", callId: call.id, name: call.name, text: "result 北", failed: false });
    if (said.calls.length === 0) messages.push({ role: "user", text: "and then?" });
  }
  for (const body of fetch.bodies) expect(validateRequest(wire, body)).toEqual([]);
  return { bodies: fetch.bodies, messages };
}

for (const wire of WIRES) {
  describe(wire, () => {
    test("each of 20 requests begins with the bytes of the one before", async () => {
      const answers = Array.from({ length: 20 }, (_, n) => ({
        ...(n % 3 === 0 ? { text: `step ${n}` } : {}),
        ...(n % 4 === 0 ? { reasoning: `because ${n}` } : {}),
        calls: [{ name: "read_file", arguments: { path: `f${n}` } }, ...(n % 2 === 0 ? [{ name: "run_shell" }] : [])],
      }));
      const { bodies } = await converse(wire, [...answers, { text: "done" }]);
      expect(bodies.length).toBe(21);
      expect(prefixBreaks(bodies)).toEqual([]);
    });

    test("P18 nothing empty is ever sent, whatever the history holds", () => strictFor(wire, BROKEN));
    test("J06 every call is answered exactly once, in place", () => strictFor(wire, UNANSWERED));
    test("P20 half surrogates are mended in every place", () => strictFor(wire, SURROGATES));
    test("P06 P19 arguments that are no object leave as an object", () => strictFor(wire, ARGUMENTS));

    test("a request without tools over a history with calls (a summary) is valid", async () => {
      const history = [user("x"), assistant("", call("a", "run_shell")), result("a", "1"), user("sum up")];
      const body = (await bodyOf(wire, requestOf(history))) ?? "";
      expect(validateRequest(wire, body)).toEqual([]);
      if (wire === "anthropic") expect(JSON.parse(body).tool_choice).toEqual({ type: "none" });
    });

    test("a bug of ours (a schema that is no JSON) is a failure, not a throw", async () => {
      const circular: Record<string, unknown> = { type: "object" };
      circular.self = circular;
      const provider = testProvider(settingsFor(wire, MOCK), { fetch: memoryFetch({ chunks: [] }) });
      const said = await collect(
        provider,
        requestOf([user("x")], { tools: [{ name: "t", description: "", parameters: circular }] }),
      );
      expect([said.failure?.class, said.endings]).toEqual(["internal", 1]);
    });

    test("no tools means no tools member", async () => {
      const body = JSON.parse((await bodyOf(wire, requestOf([{ role: "user", text: "x" }]))) ?? "");
      expect(Object.keys(body)).not.toContain("tools");
    });

    test("credentials go to the base URL only, and configured headers and query win", async () => {
      const fetch = memoryFetch({ chunks: encode(wireFrames(wire, { text: "x" }).join("")) });
      const settings = settingsFor(wire, `${MOCK}/`, {
        headers: { "User-Agent": "custom", "X-Extra": "1" },
        query: { "api-version": "2026" },
      });
      await collect(testProvider(settings, { fetch }));
      const headers = fetch.inits[0]?.headers as Headers;
      expect([headers.get("user-agent"), headers.get("x-extra"), fetch.inits[0]?.redirect]).toEqual(["custom", "1", "manual"]);
      expect(headers.get(wire === "anthropic" ? "x-api-key" : "authorization")).toContain("sk-test-0123456789");
      const path = { chat: "chat/completions", responses: "responses", anthropic: "messages" }[wire];
      expect(fetch.urls).toEqual([`${MOCK}/${path}?api-version=2026`]);
    });

    test("a provider without a key sends no credential header", async () => {
      const fetch = memoryFetch({ chunks: encode(wireFrames(wire, { text: "x" }).join("")) });
      await collect(testProvider(settingsFor(wire, MOCK), { fetch, apiKey: undefined }));
      const headers = fetch.inits[0]?.headers as Headers;
      expect([headers.get("authorization"), headers.get("x-api-key")]).toEqual([null, null]);
    });
  });
}

const call = (id: string, name: string, args = "{}") => ({ id, name, arguments: args });
const assistant = (text: string, ...calls: ReturnType<typeof call>[]): Message => ({ role: "assistant", text, calls });
const result = (callId: string, text: string): Message => ({ role: "tool", callId, name: "read_file", text, failed: false });
const user = (text: string): Message => ({ role: "user", text });

const BROKEN: readonly (readonly Message[])[] = [
  [user("x"), assistant("", call("a", "read_file")), result("a", "")],
  [user("x"), assistant("  \n", call("a", "read_file")), result("a", "  \n ")],
  [user("x"), assistant(""), user("y")],
  [user("x"), { role: "assistant", text: "", reasoning: "cut while thinking", calls: [] }, user("y")],
  [user(""), user("y")],
  [user("x"), user("y"), user("z")],
  [assistant("I begin"), user("y")],
  [user("x"), assistant("a"), assistant("b"), user("y")],
  [user("x"), assistant("ends with spaces  ")],
  [user("x"), assistant("", call("a", "")), result("a", "no such tool")],
  [user("x"), assistant("", call("a", "weird name!/π")), result("a", "1")],
];
const UNANSWERED: readonly (readonly Message[])[] = [
  [user("x"), assistant("", call("a", "read_file"), call("b", "read_file")), result("a", "1")],
  [user("x"), assistant("", call("a", "read_file"))],
  [user("x"), assistant("", call("a", "read_file")), user("steer"), result("a", "late")],
  [user("x"), assistant("", call("a", "read_file"), call("b", "read_file")), result("b", "2"), result("a", "1")],
  [user("x"), assistant("", call("a", "read_file")), result("a", "1"), result("a", "again"), result("zzz", "orphan")],
  [user("x"), result("zzz", "orphan"), user("y")],
  [
    user("x"),
    assistant("", call("a", "read_file")),
    result("a", "1"),
    assistant("", call("a", "read_file")),
    result("a", "2"),
    user("y"),
  ],
  [user("x"), assistant("", call("a", "read_file"), call("a", "run_shell")), result("a", "1"), result("a", "2")],
  [user("x"), assistant("", call("a b", "read_file"), call("", "run_shell")), result("a b", "1"), result("", "2")],
];
const SURROGATES: readonly (readonly Message[])[] = [
  [
    user("a\ud82d"),
    assistant("b\udc00", call("a", "read_file", '{"path":"\ud82d"}'), call("b", "run_shell", '{"x":"\\ud82d"}')),
    result("a", "\ud800"),
    result("b", "ok"),
  ],
];
const ARGUMENTS: readonly (readonly Message[])[] = ["", " ", "null", "[]", '"x"', "5", '{"a":', "not json", '{"a":1}'].map(
  (args) => [user("x"), assistant("", call("a", "read_file", args)), result("a", "1")],
);

async function bodyOf(wire: (typeof WIRES)[number], request: ProviderRequest): Promise<string | undefined> {
  const fetch = memoryFetch({ chunks: encode(wireFrames(wire, { text: "x" }).join("")) });
  await collect(testProvider(settingsFor(wire, MOCK), { fetch }), request);
  return fetch.bodies[0];
}

async function strictFor(wire: (typeof WIRES)[number], histories: readonly (readonly Message[])[]): Promise<void> {
  for (const messages of histories) {
    const body = (await bodyOf(wire, requestOf(messages, { tools, system: "s\ud82d" }))) ?? "";
    expect([messages, validateRequest(wire, body)]).toEqual([messages, []]);
  }
}

test("anthropic: cache breakpoints on system, tools and the last two user messages", async () => {
  const { bodies } = await converse("anthropic", [
    { calls: [{ name: "run_shell" }] },
    { calls: [{ name: "run_shell" }] },
    { text: "x" },
  ]);
  const body = JSON.parse(bodies[2] ?? "");
  expect(body.system[0].cache_control).toEqual({ type: "ephemeral" });
  expect(body.tools.map((tool: object) => "cache_control" in tool)).toEqual([false, true]);
  const marked = body.messages.map((message: { content: object[] }) => message.content.map((block) => "cache_control" in block));
  expect(marked).toEqual([[false], [false], [true], [false], [true]]);
});

test("anthropic: thinking with its signature and redacted thinking come back in place, to the same model only", async () => {
  const event = (data: Record<string, unknown>) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const block = (index: number, content_block: object, ...deltas: object[]) =>
    event({ type: "content_block_start", index, content_block }) +
    deltas.map((delta) => event({ type: "content_block_delta", index, delta })).join("") +
    event({ type: "content_block_stop", index });
  const stream =
    block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "first" },
      { type: "signature_delta", signature: "S1" },
    ) +
    block(1, { type: "redacted_thinking", data: "R" }) +
    block(2, { type: "text", text: "" }, { type: "text_delta", text: "look" }) +
    block(3, { type: "thinking", thinking: "", signature: "" }, { type: "signature_delta", signature: "S2" }) +
    block(4, { type: "tool_use", id: "t1", name: "run_shell", input: {} }) +
    event({ type: "message_delta", delta: { stop_reason: "tool_use" } }) +
    event({ type: "message_stop" });
  const fetch = memoryFetch({ chunks: encode(stream) });
  const provider = testProvider(settingsFor("anthropic", MOCK), { fetch });
  const said = await collect(provider, requestOf([user("x")], { tools }));
  expect([said.reasoning, said.text, said.stop]).toEqual(["first", "look", "tool_calls"]);
  const message: Message = {
    role: "assistant",
    text: said.text,
    calls: said.calls,
    ...(said.carry === undefined ? {} : { carry: said.carry }),
  };
  await collect(provider, requestOf([user("x"), message, result("t1", "1")], { tools }));
  expect(JSON.parse(fetch.bodies[1] ?? "").messages[1].content).toEqual([
    { type: "thinking", thinking: "first", signature: "S1" },
    { type: "redacted_thinking", data: "R" },
    { type: "text", text: "look" },
    { type: "thinking", thinking: "", signature: "S2" },
    { type: "tool_use", id: "t1", name: "run_shell", input: {} },
  ]);
  await collect(provider, requestOf([user("x"), message, result("t1", "1")], { tools, model: "another" }));
  expect(JSON.parse(fetch.bodies[2] ?? "").messages[1].content.map((part: { type: string }) => part.type)).toEqual([
    "text",
    "tool_use",
  ]);
});

test("anthropic: effort becomes adaptive thinking or a budget, by generation", async () => {
  const optionsOf = async (model: string, reasoningEffort?: ProviderRequest["reasoningEffort"]) => {
    const body = JSON.parse(
      (await bodyOf(
        "anthropic",
        requestOf([user("x")], { model, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }),
      )) ?? "",
    );
    expect(body.thinking?.budget_tokens ?? 0).toBeLessThan(body.max_tokens);
    return [body.thinking?.type, body.thinking?.budget_tokens, body.output_config?.effort];
  };
  expect(await optionsOf("claude-sonnet-4-20250514", "medium")).toEqual(["enabled", 8_192, undefined]);
  expect(await optionsOf("claude-3-5-haiku-20241022", "high")).toEqual([undefined, undefined, undefined]);
  expect(await optionsOf("claude-haiku-4-5-20251001")).toEqual([undefined, undefined, undefined]);
  expect(await optionsOf("claude-opus-4-6", "high")).toEqual(["adaptive", undefined, "high"]);
  expect(await optionsOf("claude-opus-4-7", "xhigh")).toEqual(["adaptive", undefined, "xhigh"]);
  expect(await optionsOf("claude-sonnet-5-5")).toEqual(["adaptive", undefined, undefined]);
  expect(await optionsOf("claude-sonnet-5-5", "none")).toEqual(["adaptive", undefined, "low"]);
  expect(await optionsOf("glm-5", "low")).toEqual(["enabled", 4_096, undefined]);
});

test("responses: stateless, encrypted reasoning comes back before its call, session id as cache key", async () => {
  const { bodies } = await converse(
    "responses",
    [{ reasoning: "hm", text: "t", calls: [{ name: "run_shell" }] }, { text: "x" }],
    { reasoningEffort: "high" },
  );
  const body = JSON.parse(bodies[1] ?? "");
  expect([body.store, body.include, body.prompt_cache_key, body.reasoning]).toEqual([
    false,
    ["reasoning.encrypted_content"],
    "session-1",
    { effort: "high", summary: "auto" },
  ]);
  expect(body.input.map((item: { type?: string; role?: string }) => item.type ?? item.role)).toEqual([
    "user",
    "reasoning",
    "assistant",
    "function_call",
    "function_call_output",
  ]);
  expect(body.input[1]).toEqual({
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "hm" }],
    encrypted_content: "sig-1",
  });
});

test("responses: models that do not reason are not asked for reasoning state", async () => {
  const included = async (model: string) =>
    JSON.parse((await bodyOf("responses", requestOf([user("x")], { model }))) ?? "").include;
  expect([await included("gpt-4o"), await included("openai/gpt-4.1-mini"), await included("gpt-5-chat-latest")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([await included("gpt-5.6-terra"), await included("o3")]).toEqual([
    ["reasoning.encrypted_content"],
    ["reasoning.encrypted_content"],
  ]);
});

test("P15 chat: reasoning is echoed in the field it came in, absent where there was none, added where it is demanded", async () => {
  const { bodies } = await converse("chat", [
    { reasoning: "hm", calls: [{ name: "run_shell" }] },
    { calls: [{ name: "run_shell" }] },
    { text: "x" },
  ]);
  const messages = JSON.parse(bodies[2] ?? "").messages;
  expect(messages[2].reasoning_content).toBe("hm");
  expect("reasoning_content" in messages[4]).toBe(false);

  const frames = wireFrames("chat", { reasoning: "why", text: "x" }).map((frame) =>
    frame.replace("reasoning_content", "reasoning"),
  );
  const fetch = memoryFetch({ chunks: encode(frames.join("")) });
  const provider = testProvider(settingsFor("chat", MOCK), { fetch });
  const said = await collect(provider);
  const message: Message = {
    role: "assistant",
    text: "x",
    reasoning: said.reasoning,
    calls: [],
    ...(said.carry === undefined ? {} : { carry: said.carry }),
  };
  await collect(provider, requestOf([user("x"), message, user("y")]));
  expect(JSON.parse(fetch.bodies[1] ?? "").messages[2]).toEqual({ role: "assistant", content: "x", reasoning: "why" });

  // After a resume there is no private state, only the text; deepseek still demands the field.
  const resumed: Message[] = [
    user("x"),
    { role: "assistant", text: "", reasoning: "kept", calls: [call("a", "run_shell")] },
    result("a", "1"),
  ];
  const bodyFor = async (name: string, model = "mock", base = MOCK) => {
    const get = memoryFetch({ chunks: encode(wireFrames("chat", { text: "x" }).join("")) });
    await collect(testProvider(settingsFor("chat", base, { name }), { fetch: get }), requestOf(resumed, { tools, model }));
    return JSON.parse(get.bodies[0] ?? "").messages[2];
  };
  expect((await bodyFor("deepseek")).reasoning_content).toBe("kept");
  expect("reasoning_content" in (await bodyFor("groq"))).toBe(false);
  expect("reasoning_content" in (await bodyFor("groq", "moonshotai/kimi-k2"))).toBe(false);
  // The same server under another name is as strict.
  expect("reasoning_content" in (await bodyFor("mine", "kimi-k2", "https://api.groq.com/openai/v1"))).toBe(false);
  expect((await bodyFor("mock", "deepseek-v4")).reasoning_content).toBe("kept");
  expect("reasoning_content" in (await bodyFor("mock"))).toBe(false);
  // Gemini 3 rejects calls without a signature; 2.5 knows none.
  const signature = (message: { tool_calls: { extra_content?: { google: object } }[] }) =>
    message.tool_calls[0]?.extra_content?.google;
  expect(signature(await bodyFor("gemini", "gemini-3.6-flash"))).toEqual({
    thought_signature: "skip_thought_signature_validator",
  });
  expect(signature(await bodyFor("gemini", "gemini-2.5-flash"))).toBeUndefined();
});

test("chat: data a server attached to a call (thought signatures) and reasoning details come back", async () => {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const extra = { google: { thought_signature: "sig" } };
  const detail = (text: string) => ({ reasoning: text, reasoning_details: [{ type: "reasoning.text", index: 0, text }] });
  const stream =
    chunk(detail("a")) +
    chunk(detail("b")) +
    chunk({ tool_calls: [{ index: 0, id: "c1", function: { name: "run_shell", arguments: "{}" }, extra_content: extra }] }) +
    chunk({}, "tool_calls");
  const fetch = memoryFetch({ chunks: encode(stream) });
  const provider = testProvider(settingsFor("chat", MOCK), { fetch });
  const said = await collect(provider, requestOf([user("x")], { tools }));
  const message: Message = {
    role: "assistant",
    text: "",
    reasoning: "ab",
    calls: said.calls,
    ...(said.carry === undefined ? {} : { carry: said.carry }),
  };
  await collect(provider, requestOf([user("x"), message, result("c1", "1")], { tools }));
  const sent = JSON.parse(fetch.bodies[1] ?? "").messages[2];
  expect([sent.tool_calls[0].extra_content, sent.reasoning, sent.reasoning_details]).toEqual([
    extra,
    "ab",
    [{ type: "reasoning.text", index: 0, text: "ab" }],
  ]);
});

test("chat: what differs between providers", async () => {
  const bodyFor = async (name: string, more: Partial<ProviderRequest> = {}) => {
    const fetch = memoryFetch({ chunks: encode(wireFrames("chat", { text: "x" }).join("")) });
    const history: Message[] = [user("x"), assistant("", call("call_1", "run_shell")), result("call_1", "1")];
    await collect(
      testProvider(settingsFor("chat", MOCK, { name }), { fetch }),
      requestOf(history, { tools, maxOutputTokens: 9, reasoningEffort: "xhigh", ...more }),
    );
    return JSON.parse(fetch.bodies[0] ?? "");
  };
  const openai = await bodyFor("openai", { outputSchema: { type: "object" } });
  expect([openai.max_completion_tokens, openai.prompt_cache_key, openai.reasoning_effort, openai.response_format.type]).toEqual([
    9,
    "session-1",
    "xhigh",
    "json_schema",
  ]);
  const groq = await bodyFor("groq", { outputSchema: { type: "object" } });
  expect([groq.max_tokens, groq.prompt_cache_key, groq.reasoning_effort, groq.response_format]).toEqual([
    9,
    undefined,
    "high",
    undefined,
  ]);
  expect((await bodyFor("groq", { outputSchema: { type: "object" }, tools: [] })).response_format.json_schema.name).toBe(
    "answer",
  );
  const mistral = await bodyFor("mistral");
  expect([mistral.stream_options, /^[a-zA-Z0-9]{9}$/.test(mistral.messages[2].tool_calls[0].id)]).toEqual([undefined, true]);
  expect(mistral.messages[3].tool_call_id).toBe(mistral.messages[2].tool_calls[0].id);
  expect((await bodyFor("openrouter")).reasoning).toEqual({ effort: "xhigh" });
  expect((await bodyFor("deepseek", { reasoningEffort: "none" })).thinking).toEqual({ type: "disabled" });
});

test("an anthropic base URL without a version gets one; a pasted endpoint is not doubled", async () => {
  const cases = [
    ["anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"],
    ["anthropic", "https://proxy.test/claude/", "https://proxy.test/claude/v1/messages"],
    ["anthropic", "https://proxy.test/v1/messages", "https://proxy.test/v1/messages"],
    ["chat", "https://proxy.test/v1/chat/completions", "https://proxy.test/v1/chat/completions"],
    ["chat", "https://proxy.test/openai?x=1", "https://proxy.test/openai/chat/completions?x=1"],
  ] as const;
  for (const [wire, base, expected] of cases) {
    const fetch = memoryFetch({ chunks: encode(wireFrames(wire, { text: "x" }).join("")) });
    await collect(testProvider(settingsFor(wire, base), { fetch }));
    expect(fetch.urls).toEqual([expected]);
  }
});

test("a redirect over real HTTP never carries the key to another server", async () => {
  const elsewhere = await startLoopback([{ text: "stolen" }]);
  const server = await startLoopback([{ status: 307, headers: { location: `${elsewhere.baseUrl}/chat/completions` }, body: "" }]);
  const said = await collect(testProvider(settingsFor("chat", server.baseUrl)));
  expect([said.failure?.class, elsewhere.connections()]).toEqual(["invalid_request", 0]);
  await server.close();
  await elsewhere.close();
});

test("the prefix check itself sees a change, a reordering and a list that is not last", () => {
  const [a, b] = ['{"model":"m","messages":[1]}', '{"model":"m","messages":[1,2]}'];
  expect(prefixBreaks([a, b])).toEqual([]);
  expect(prefixBreaks([a, '{"model":"m","messages":[2,1]}'])[0]).toContain("request 2 differs from byte 25");
  expect(prefixBreaks([b, a])).toHaveLength(1);
  expect(prefixBreaks(['{"messages":[1],"model":"m"}', b])[0]).toContain("not the last member");
});

test("P20 half a surrogate pair in a tool's schema is mended, ordinary text beside it is not touched", () => {
  const tools = jsonText([{ name: "t", description: "half \ud82d, a path C:\\udata, 🌲" }]);
  const body = JSON.parse(bodyWithList({ model: "m" }, tools, "messages", ['{"role":"user"}']));
  expect(body).toEqual({
    model: "m",
    tools: [{ name: "t", description: "half \ufffd, a path C:\\udata, 🌲" }],
    messages: [{ role: "user" }],
  });
});
