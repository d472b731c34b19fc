/** Record and replay: what was recorded plays back the same, and says when it cannot. */
import { expect, test } from "bun:test";
import type { Provider, ProviderEvent } from "../../src/provider/provider.ts";
import { createTape } from "../../src/provider/recording.ts";
import { createReplay } from "../../src/provider/replay.ts";
import type { Message, ToolSpec } from "../../src/types/message.ts";
import { startLoopback } from "../support/loopback.ts";
import { collect, requestOf, settingsFor, testProvider, WIRES } from "../support/wire/stream.ts";

const tools: readonly ToolSpec[] = [{ name: "ls", description: "", parameters: { type: "object" } }];

async function twoTurns(provider: Provider) {
  const messages: Message[] = [{ role: "user", text: "go" }];
  const first = await collect(provider, requestOf([...messages], { tools }));
  messages.push({ role: "assistant", text: first.text, calls: first.calls });
  for (const call of first.calls) messages.push({ role: "tool", callId: call.id, name: call.name, text: "ok", failed: false });
  const second = await collect(provider, requestOf([...messages], { tools }));
  return [first, second].map(({ text, reasoning, calls, usage, stop, failure }) => ({
    text,
    reasoning,
    calls,
    usage,
    stop,
    failure,
  }));
}

for (const wire of WIRES) {
  test(`${wire}: a recording plays back what was recorded, without the tries that failed`, async () => {
    const server = await startLoopback([
      { status: 529, body: { error: { message: "busy" } } },
      { text: ["half", " void"], cut: { after: 3, how: "rst" } },
      { reasoning: "hm", text: ["a\n", "北", "\nb"], calls: [{ name: "ls", arguments: { path: "." } }, { name: "ls" }] },
      { text: "done" },
    ]);
    const written: string[] = [];
    const inner = testProvider(settingsFor(wire, server.baseUrl), {
      retry: { maxTries: 8, capMs: 1, maxRetryAfterMs: 1 },
      apiKey: "sk-secret-secret",
    });
    const live = await twoTurns(createTape((lines) => written.push(lines))(inner));
    await server.close();
    const text = written.join("");
    const lines = text.trimEnd().split("\n");
    expect(text).not.toContain("secret");
    expect(text).not.toContain("void");
    expect(text).not.toContain("sig-");
    expect(text).not.toContain('"go"');
    // Whatever moment a run is killed at, what is there is whole responses.
    expect(written).toHaveLength(2);
    for (const lines of written) expect(lines).toEndWith("\n");
    expect(() => createReplay(written[0] ?? "")).not.toThrow();
    expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual([
      "thndrs_recording",
      "response",
      "type",
      "type",
      "type",
      "type",
      "type",
      "type",
      "response",
      "type",
      "type",
      "type",
    ]);
    expect(await twoTurns(createReplay(text))).toEqual(live);
    expect(await twoTurns(createReplay(`\uFEFF${text.replaceAll("\n", "\r\n")}\r\n\r\n`))).toEqual(live);
  });
}

const event = (...events: ProviderEvent[]) => events.map((one) => JSON.stringify(one)).join("\n");
const head = '{"thndrs_recording":1}';
const call = event(
  { type: "tool_call", call: { id: "c1", name: "ls", arguments: "{}" } },
  { type: "stop", reason: "tool_calls" },
);
const done = event({ type: "text", text: "done" }, { type: "stop", reason: "end" });

test("a recording that runs out says which turn", async () => {
  const replay = createReplay([head, done].join("\n"));
  expect((await collect(replay)).text).toBe("done");
  const out = await collect(replay);
  expect([out.failure?.class, out.failure?.message, out.endings]).toEqual([
    "replay",
    "the recording has 1 turn; the run asks for turn 2",
    1,
  ]);
});

test("calls that no longer fit say which turn", async () => {
  const started = await collect(
    createReplay([head, call].join("\n")),
    requestOf([{ role: "user", text: "x" }], { tools: [{ name: "other", description: "", parameters: {} }] }),
  );
  expect(started.failure?.message).toBe("turn 1 of the recording calls ls, which this run does not offer");
  const replay = createReplay([head, call, done].join("\n"));
  await collect(replay, requestOf([{ role: "user", text: "x" }], { tools }));
  const lost = await collect(replay, requestOf([{ role: "user", text: "x" }], { tools }));
  expect(lost.failure?.message).toContain("turn 2 of the recording expects results for c1");
});

test("a side request without tools takes its turn and does not disturb the checks", async () => {
  const summary = event({ type: "text", text: "summary" }, { type: "stop", reason: "end" });
  const replay = createReplay([head, call, summary, done].join("\n"));
  await collect(replay, requestOf([{ role: "user", text: "x" }], { tools }));
  expect((await collect(replay, requestOf([{ role: "user", text: "sum up" }]))).text).toBe("summary");
  expect((await collect(replay, requestOf([{ role: "user", text: "summary" }], { tools }))).text).toBe("done");
});

test("a summary asked with the tools at hand, and the shorter history after it, fit", async () => {
  const summary = event({ type: "text", text: "summary" }, { type: "stop", reason: "end" });
  const replay = createReplay([head, call, summary, done].join("\n"));
  const history: Message[] = [{ role: "user", text: "x" }];
  const first = await collect(replay, requestOf([...history], { tools }));
  history.push(
    { role: "assistant", text: "", calls: first.calls },
    { role: "tool", callId: "c1", name: "ls", text: "1", failed: false },
  );
  expect((await collect(replay, requestOf([...history, { role: "user", text: "sum up" }], { tools }))).text).toBe("summary");
  expect((await collect(replay, requestOf([{ role: "user", text: "summary" }, ...history.slice(1)], { tools }))).text).toBe(
    "done",
  );
});

test("ids of a replay never collide with those of a resumed conversation", async () => {
  const history: Message[] = [
    { role: "assistant", text: "", calls: [{ id: "c1", name: "ls", arguments: "{}" }] },
    { role: "tool", callId: "c1", name: "ls", text: "1", failed: false },
    { role: "assistant", text: "so", calls: [] },
    { role: "user", text: "again" },
  ];
  expect((await collect(createReplay([head, call].join("\n")), requestOf(history, { tools }))).calls[0]?.id).toBe("c1_2");
});

test("failures are played back; hand-written files may give arguments as an object", async () => {
  const failed = createReplay(
    [head, event({ type: "text", text: "p" }, { type: "failure", class: "context_overflow", message: "too long" }), done].join(
      "\n",
    ),
  );
  const first = await collect(failed);
  expect([first.text, first.failure?.class]).toEqual(["p", "context_overflow"]);
  expect((await collect(failed)).text).toBe("done");
  const byHand = [
    head,
    '{"type":"tool_call","call":{"name":"ls","arguments":{"path":"."}}}',
    '{"type":"stop","reason":"tool_calls"}',
  ].join("\n");
  expect((await collect(createReplay(byHand), requestOf([{ role: "user", text: "x" }], { tools }))).calls).toEqual([
    { id: "call_1", name: "ls", arguments: '{"path":"."}' },
  ]);
});

test("a broken file is an error for the person, with its line", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "demo.jsonl: the recording is empty"],
    ['{"type":"text","text":"x"}', "demo.jsonl, line 1: expected"],
    ['{"thndrs_recording":2}', "demo.jsonl, line 1: expected"],
    [`${head}\n\nnot json`, "demo.jsonl, line 3: not a JSON object"],
    [`${head}\n{"type":"dance"}`, "demo.jsonl, line 2: not an event"],
    [`${head}\n{"type":"stop","reason":"bored"}`, "demo.jsonl, line 2: not an event"],
    [`${head}\n{"type":"text","text":"x"}\n{"response":2}`, "demo.jsonl, line 3: the response before this one has no stop"],
    [`${head}\n{"type":"text","text":"x"}`, "demo.jsonl: the last response has no stop"],
  ];
  for (const [source, message] of cases) expect(() => createReplay(source, "demo.jsonl")).toThrow(message);
});

test("a cancelled response is not recorded, a failed one is", async () => {
  const written: string[] = [];
  const end = (failure: ProviderEvent): Provider => ({
    name: "x",
    wire: "openai-chat",
    async *stream() {
      yield { type: "text", text: "p" };
      yield failure;
    },
  });
  const record = createTape((lines) => written.push(lines));
  await collect(record(end({ type: "failure", class: "cancelled", message: "" })));
  expect(written).toEqual([]);
  await collect(record(end({ type: "failure", class: "auth", message: "no" })));
  expect(written.map((lines) => lines.split("\n").length)).toEqual([5]);
});

test("providers that follow each other in one conversation make one recording", async () => {
  const written: string[] = [];
  const record = createTape((lines) => written.push(lines));
  const saying = (name: string): Provider => ({
    name,
    wire: "openai-chat",
    async *stream() {
      yield { type: "text", text: name };
      yield { type: "stop", reason: "end" };
    },
  });
  for (const name of ["one", "two"]) await collect(record(saying(name)));
  const replay = createReplay(written.join(""));
  expect((await collect(replay)).text).toBe("one");
  expect((await collect(replay)).text).toBe("two");
});

const spec = (properties: readonly string[], required: readonly string[], more: object = {}): readonly ToolSpec[] => [
  {
    name: "ls",
    description: "",
    parameters: { type: "object", properties: Object.fromEntries(properties.map((name) => [name, {}])), required, ...more },
  },
];

test("calls whose arguments no longer fit say which turn; what did not fit then either is played", async () => {
  const said = (args: object) =>
    event(
      { type: "tool_call", call: { id: "c", name: "ls", arguments: JSON.stringify(args) } },
      { type: "stop", reason: "tool_calls" },
    );
  const recordOf = async (args: object, offered: readonly ToolSpec[]): Promise<string> => {
    const written: string[] = [];
    await collect(
      createTape((lines) => written.push(lines))(createReplay([head, said(args)].join("\n"))),
      requestOf([{ role: "user", text: "x" }], { tools: offered }),
    );
    return written.join("");
  };
  const played = async (text: string, offered: readonly ToolSpec[]) =>
    (await collect(createReplay(text), requestOf([{ role: "user", text: "x" }], { tools: offered }))).failure?.message;
  const before = spec(["path", "depth"], ["path"]);
  const good = await recordOf({ path: ".", depth: 1 }, before);
  expect(await played(good, before)).toBeUndefined();
  expect(await played(good, spec(["path"], ["path"], { additionalProperties: true }))).toBeUndefined();
  expect(await played(good, spec(["path"], ["path"]))).toBe(
    "turn 1 of the recording calls ls with depth, which it does not know",
  );
  expect(await played(good, spec(["dir", "path", "depth"], ["dir"]))).toBe(
    "turn 1 of the recording calls ls without dir, which it now needs",
  );
  const odd = await recordOf({ where: "." }, before);
  expect(odd).toContain('"unfit":[0]');
  expect(await played(odd, before)).toBeUndefined();
  // Written by hand, or by an older thndrs: nobody looked.
  expect(await played([head, said({ where: "." })].join("\n"), before)).toBeUndefined();
});

test("a tool that there never was does not stop a replay; one that is missing now does", async () => {
  const inner: Provider = {
    name: "p",
    wire: "openai-chat",
    async *stream() {
      yield { type: "tool_call", call: { id: "c", name: "nosuch", arguments: "{}" } };
      yield { type: "stop", reason: "tool_calls" };
    },
  };
  const ls = spec([], []);
  const nosuch = ls.map((tool) => ({ ...tool, name: "nosuch" }));
  const asked = (offered: readonly ToolSpec[]) => requestOf([{ role: "user", text: "x" }], { tools: offered });
  const recordWith = async (offered: readonly ToolSpec[]): Promise<string> => {
    const written: string[] = [];
    await collect(createTape((lines) => written.push(lines))(inner), asked(offered));
    return written.join("");
  };
  const played = await collect(createReplay(await recordWith(ls)), asked(ls));
  expect([played.failure, played.calls.map(({ name }) => name)]).toEqual([undefined, ["nosuch"]]);
  expect((await collect(createReplay(await recordWith(nosuch)), asked(ls))).failure?.message).toBe(
    "turn 1 of the recording calls nosuch, which this run does not offer",
  );
});
