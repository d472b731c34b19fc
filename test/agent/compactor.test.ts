import { expect, test } from "bun:test";
import { createBudget } from "../../src/agent/budget.ts";
import { Compactor, type CompactorParts, type EarlierSummary } from "../../src/agent/compactor.ts";
import type { Provider, ProviderEvent, ProviderRequest } from "../../src/provider/provider.ts";
import type { RunEvent } from "../../src/types/event.ts";
import type { Message } from "../../src/types/message.ts";

const SUMMARY: readonly ProviderEvent[] = [
  { type: "text", text: "## Objective\n- go on" },
  { type: "stop", reason: "end" },
];

/** A conversation of `exchanges` tool calls in one turn, whose results are too small to be trimmed. */
function looped(exchanges: number, size = 500): Message[] {
  const messages: Message[] = [{ role: "user", text: "Do it all. Never stop." }];
  for (let n = 0; n < exchanges; n++) {
    messages.push({ role: "assistant", text: "", calls: [{ id: `c${n}`, name: "t", arguments: `{"n":${n}}` }] });
    messages.push({ role: "tool", callId: `c${n}`, name: "t", text: `${n} ${"x".repeat(size)}`, failed: false });
  }
  return messages;
}

function compactor(
  messages: Message[],
  answers: readonly (readonly ProviderEvent[])[],
  more: Partial<CompactorParts> = {},
  pending?: EarlierSummary,
) {
  const asked: ProviderRequest[] = [];
  const events: RunEvent[] = [];
  const provider: Provider = {
    name: "test",
    wire: "openai-chat",
    async *stream(request) {
      asked.push(request);
      yield* answers[Math.min(asked.length, answers.length) - 1] ?? [];
    },
  };
  const budget = createBudget({ contextWindow: 5000, maxOutput: 1000, source: "configured" }, 0.92);
  const made = new Compactor(
    {
      provider,
      budget,
      request: () => ({ model: "m", sessionId: "s", system: "system", tools: [] }),
      mode: "auto",
      review: "never",
      keepRecentTokens: 20_000,
      model: "test/m",
      emit: (event) => events.push(event),
      lastSeq: () => 99,
      redeliver: async () => "",
      ...more,
    },
    messages,
    messages.map((_, index) => index),
    pending,
  );
  return { made, asked, events, budget };
}

const compactions = (events: readonly RunEvent[]): RunEvent[] => events.filter((event) => event.type === "compaction");
const never = new AbortController().signal;

test("a refused, an empty and a failed summary change nothing; after two in a row none is asked for", async () => {
  const bad: readonly (readonly ProviderEvent[])[] = [
    [
      { type: "text", text: "I would rather not" },
      { type: "stop", reason: "refusal" },
    ],
    [{ type: "stop", reason: "end" }],
    [{ type: "failure", class: "invalid_request", message: "no" }],
  ];
  for (const answer of bad) {
    const messages = looped(22);
    const before = [...messages];
    const { made, asked, events } = compactor(messages, [answer]);
    // Over the threshold, still inside the window: the run goes on.
    for (let n = 0; n < 4; n++) expect(await made.beforeRequest("turn-1", never)).toBeUndefined();
    expect(asked).toHaveLength(2);
    expect(compactions(events)).toEqual([]);
    expect(messages).toEqual(before);
  }
});

test.each([
  ["nothing", [{ type: "stop", reason: "end" }]],
  [
    "only reasoning",
    [
      { type: "reasoning", text: "hm" },
      { type: "stop", reason: "length" },
    ],
  ],
] as const)("a summary that holds %s is asked for once more, then said with what helps", async (_, silence) => {
  const { made, asked, events } = compactor(looped(22), [silence, SUMMARY]);
  await made.beforeRequest("turn-1", never);
  expect([asked.length, compactions(events).length]).toEqual([2, 1]);
  const [first = "", second = ""] = asked.map((request) => request.messages[0]?.text);
  expect(second.slice(0, first.length)).toBe(first);
  expect(second).toContain("held no text");
  const mute = compactor(looped(22), [silence]);
  expect(await mute.made.compact("turn-1", "", never)).toMatchObject({
    done: false,
    message: expect.stringMatching(/twice; choose another model \(--model, \/model\), or/) as never,
  });
  expect(mute.asked).toHaveLength(2);
});

test("a cancelled summary is no failed one", async () => {
  const messages = looped(22);
  const { made, asked } = compactor(messages, [
    [{ type: "failure", class: "cancelled", message: "cancelled" }],
    [{ type: "failure", class: "cancelled", message: "cancelled" }],
    SUMMARY,
  ]);
  const gone = AbortSignal.abort("user");
  await made.beforeRequest("turn-1", gone);
  await made.beforeRequest("turn-1", gone);
  await made.beforeRequest("turn-2", never);
  expect(asked).toHaveLength(3);
  expect(messages[0]?.text).toContain("<conversation_summary>");
});

test("a provider whose window is smaller than we think gets a smaller summary request", async () => {
  const tooLong: readonly ProviderEvent[] = [{ type: "failure", class: "context_overflow", message: "too long" }];
  const { made, asked, events } = compactor(looped(22), [tooLong, tooLong, SUMMARY]);
  await made.beforeRequest("turn-1", never);
  const sizes = asked.map((request) => request.messages[0]?.text.length ?? 0);
  expect(sizes).toHaveLength(3);
  expect(sizes[1]).toBeLessThan((sizes[0] ?? 0) * 0.6);
  expect(sizes[2]).toBeLessThan((sizes[1] ?? 0) * 0.6);
  expect(compactions(events)).toHaveLength(1);
});

test("P17 summaries that make no room worth having end after a few, with the fixed overhead named", async () => {
  // Nearly all of the window is fixed.
  const messages = looped(4, 200);
  const system = "s".repeat(13_000);
  const { made, asked } = compactor(messages, [SUMMARY], { request: () => ({ model: "m", sessionId: "s", system, tools: [] }) });
  let stop: Awaited<ReturnType<typeof made.beforeRequest>>;
  for (let n = 0; n < 40 && stop === undefined; n++) {
    stop = await made.beforeRequest("turn-1", never);
    made.noteRequest();
    messages.push(
      ...looped(1, 300)
        .slice(1)
        .map((message): Message => (message.role === "tool" ? { ...message, callId: `x${n}` } : message)),
    );
  }
  expect(asked.length).toBeLessThanOrEqual(6);
  expect(stop?.message).toMatch(/\d+ of them fixed/);
});

test("the running request is carried word for word when steering came after it, once, through every summary", async () => {
  const messages = looped(12);
  messages.push({ role: "user", text: "and mind the docs" }, ...looped(14).slice(1));
  const { made, events } = compactor(messages, [SUMMARY]);
  // The turn began before: its message is the first one.
  const request = messages[0];
  const rest = messages.splice(1);
  made.noteUser(0);
  messages.push(...rest);
  for (let n = 0; n < 3; n++) {
    await made.beforeRequest("turn-1", never);
    made.noteRequest();
    made.noteRequest();
    messages.push(...looped(14).slice(1));
  }
  expect(compactions(events).length).toBeGreaterThan(1);
  const head = messages[0]?.text ?? "";
  expect(head.split(request?.text ?? "?").length - 1).toBe(1);
  expect(head).toContain("(the first request above)");
  expect(head).toContain("constraint: Never stop.");
  expect(head.split("<conversation_summary>")).toHaveLength(2);
});

test("one result larger than the whole window is shortened rather than ending the run", async () => {
  const messages = looped(3, 60_000);
  const { made, asked, budget } = compactor(messages, [SUMMARY]);
  expect(await made.beforeRequest("turn-1", never)).toBeUndefined();
  expect(made.used()).toBeLessThanOrEqual(budget.available);
  expect(asked.length).toBeLessThanOrEqual(1);
  expect(messages.filter((message) => message.role === "tool").every((message) => message.text.includes("characters …]"))).toBe(
    true,
  );
});

test("ranges go on where the former summary began, and end before what stays", async () => {
  const messages = looped(22);
  const { made, events } = compactor(messages, [SUMMARY]);
  await made.beforeRequest("turn-1", never);
  made.noteRequest();
  made.noteRequest();
  const kept = messages.length;
  messages.push(...looped(20).slice(1));
  await made.beforeRequest("turn-1", never);
  const [first, second] = compactions(events) as Extract<RunEvent, { type: "compaction" }>[];
  expect(first).toMatchObject({ coveredStartSeq: 0, coveredEndSeq: 45 - (kept - 1) - 1 });
  expect(second?.coveredStartSeq).toBe(0);
  expect(second?.coveredEndSeq).toBeGreaterThanOrEqual(first?.coveredEndSeq ?? 99);
});

test("a summary that waits outlives its program: approved later, it gives the same conversation, and blocks another until then", async () => {
  const messages = [...looped(22), { role: "user", text: "next" } as const];
  const before = [...messages];
  const first = compactor(messages, [SUMMARY], { review: "always" });
  expect(await first.made.compact("turn-1", "", never)).toMatchObject({ done: true, pending: true });
  expect(messages).toEqual(before);
  const [compaction] = compactions(first.events) as Extract<RunEvent, { type: "compaction" }>[];
  if (!compaction) throw new Error("no compaction");
  const { recoveryHandle: handle, summary, coveredEndSeq } = compaction;

  const later = { role: "user", text: "and more" } as const;
  const resumed = [...before, later];
  const second = compactor(resumed, [SUMMARY], {}, { handle, summary, coveredEndSeq });
  expect(second.made.pending).toMatchObject({ handle, summary });
  expect(await second.made.compact("turn-2", "", never)).toEqual({
    done: false,
    message: "a summary already waits for a review",
  });
  messages.push(later);
  for (const { made, events } of [first, second]) {
    expect(await made.settle("approved")).toBe(true);
    expect(events.at(-1)).toEqual({ type: "compaction_review", recoveryHandle: handle, review: "approved" });
    expect(made.pending).toBeUndefined();
  }
  expect(resumed).toEqual(messages);
  expect(resumed.length).toBeLessThan(before.length);
  expect(resumed[0]?.text).toBe(summary);
});

test("a full conversation whose summary waits says so each time, until it is reviewed", async () => {
  const messages = Array.from({ length: 8 }, (_, turn): Message[] => [
    { role: "user", text: `turn ${turn}` },
    { role: "assistant", text: "many words ".repeat(250), calls: [] },
  ]).flat();
  messages.push({ role: "user", text: "next" });
  const { made, asked } = compactor(messages, [SUMMARY], { review: "always", keepRecentTokens: 500 });
  const full = {
    class: "context_overflow",
    message: "the conversation is full and its summary waits for a review: /context review approve or reject",
  } as const;
  expect(await made.beforeRequest("turn-1", never)).toEqual(full);
  expect(await made.beforeRequest("turn-2", never)).toEqual(full);
  expect(asked).toHaveLength(1);
  await made.settle("approved");
  expect(await made.beforeRequest("turn-3", never)).toBeUndefined();
});

test("a cut at what came into a running turn covers the answer before it and not its own record", async () => {
  const messages = looped(3);
  let seq = 20;
  const { made, events } = compactor(messages, [SUMMARY], { keepRecentTokens: 1, lastSeq: () => seq });
  made.noteRequest();
  // The answer is record 21, what was typed is 22, its skill 23.
  const typed: Message = { role: "user", text: "and this" };
  messages.push({ role: "assistant", text: "an answer", calls: [] }, typed);
  seq = 23;
  made.noteSteering(typed, 22);
  await made.compact("turn-1", "", never);
  expect(compactions(events)).toMatchObject([{ coveredStartSeq: 0, coveredEndSeq: 21 }]);
  expect(messages.at(-1)).toBe(typed);
});

test("a cut at the loop's own words, which are in no record, covers the answer before them and nothing behind", async () => {
  const own: Message = { role: "user", text: "Continue." };
  const typed: Message = { role: "user", text: "and this" };
  for (const after of [[own], [own, typed]]) {
    const messages = looped(3);
    let seq = 20;
    const { made, events } = compactor(messages, [SUMMARY], { keepRecentTokens: after.length * 4, lastSeq: () => seq });
    made.noteRequest();
    messages.push({ role: "assistant", text: "an answer", calls: [] }, ...after);
    seq = 20 + after.length;
    if (after.length > 1) made.noteSteering(typed, 22);
    await made.compact("turn-1", "", never);
    expect(messages.slice(1)).toEqual(after);
    expect(compactions(events)).toMatchObject([{ coveredEndSeq: 21 }]);
  }
});

test("waits and costs of a summary go out, its words do not", async () => {
  const retrying = { type: "retrying", attempt: 2, maxAttempts: 8, delayMs: 5, failure: "overloaded", message: "busy" } as const;
  const answer: readonly ProviderEvent[] = [
    { type: "reasoning", text: "hm" },
    { type: "text", text: "half" },
    { type: "usage", usage: { inputTokens: 7, costUsd: 0.5 } },
    retrying,
    { type: "text", text: "## Objective\n- go on" },
    { type: "usage", usage: { inputTokens: 8, costUsd: 0.25 } },
    { type: "stop", reason: "end" },
  ];
  const { made, events } = compactor(looped(22), [answer]);
  await made.beforeRequest("turn-1", never);
  expect(events.filter((event) => event.type !== "compaction")).toEqual([
    { type: "usage", turnId: "turn-1", usage: { inputTokens: 7, costUsd: 0.5 } },
    { ...retrying, turnId: "turn-1", summary: true },
    { type: "usage", turnId: "turn-1", usage: { inputTokens: 8, costUsd: 0.25 } },
  ]);
  expect(compactions(events)).toHaveLength(1);
});

test("a summary is held to what may be spent: before it, between its attempts; one that came to nothing is not estimated", async () => {
  const stop = { class: "max_cost", message: "the limit was reached" } as const;
  const told: string[] = [];
  let spent = false;
  const spending = {
    begin: () => void told.push("begin"),
    drop: () => void told.push("drop"),
    limit: () => (spent ? stop : undefined),
  };
  const paid: Provider = {
    name: "test",
    wire: "openai-chat",
    async *stream() {
      yield { type: "usage", usage: { costUsd: 0.5 } };
      spent = true;
      yield { type: "retrying", attempt: 2, maxAttempts: 8, delayMs: 5, failure: "overloaded", message: "busy" };
      throw new Error("asked again");
    },
  };
  const cut = compactor(looped(22), [], { provider: paid, spending });
  expect(await cut.made.compact("turn-1", "", never)).toEqual({
    done: false,
    message: "the summary could not be made: the limit was reached",
  });
  expect([told, cut.events.map((event) => event.type)]).toEqual([["begin", "drop"], ["usage"]]);
  const late = compactor(looped(22), [SUMMARY], { spending });
  expect((await late.made.compact("turn-2", "", never)).done).toBe(false);
  expect(late.asked).toEqual([]);
  spent = false;
  told.length = 0;
  const failed: readonly ProviderEvent[] = [{ type: "failure", class: "overloaded", message: "busy" }];
  await compactor(looped(22), [failed], { spending }).made.compact("turn-3", "", never);
  await compactor(looped(22), [SUMMARY], { spending }).made.compact("turn-4", "", never);
  expect(told).toEqual(["begin", "drop", "begin"]);
});

test("C10 C11 instructions stand once, with the summary: messages that stay keep none of an earlier state", async () => {
  const messages = looped(22);
  const head = '<project_context>\nTABS\n</project_context>\n\n<skill name="s">\nSKILL\n</skill>\n\n';
  const late: Message = { role: "user", text: `${head}now this` };
  messages.push(late, { role: "assistant", text: "on it", calls: [] });
  const given: (readonly Message[])[] = [];
  const redeliver = async (retained: readonly Message[]): Promise<string> => {
    given.push(retained);
    return "<project_context>\nSPACES\n</project_context>";
  };
  const { made } = compactor(messages, [SUMMARY], { redeliver, keepRecentTokens: 300 });
  expect(await made.beforeRequest("turn-1", never)).toBeUndefined();
  const texts = messages.map(({ text }) => text).join("\n");
  expect(texts.split("SPACES")).toHaveLength(2);
  expect(texts).not.toContain("TABS");
  expect(texts).toContain("SKILL");
  expect(messages.some(({ role, text }) => role === "user" && text.endsWith("now this"))).toBe(true);
  // What stays holds none of it, so it is asked for again.
  expect(JSON.stringify(given)).not.toContain("TABS");
});
