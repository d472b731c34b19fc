import { expect, test } from "bun:test";
import { createBudget, messageBytes } from "../../src/agent/budget.ts";
import { findCut, shortenResults, trimResults } from "../../src/agent/compaction.ts";
import { factsOf, needsReview, plainUserText, protectedFacts } from "../../src/agent/facts.ts";
import { objectiveOf, requestOf, summaryRequest, summaryText } from "../../src/agent/summary.ts";
import type { AssistantMessage, Message, ToolMessage } from "../../src/types/message.ts";

let ids = 0;

function exchange(name: string, args: unknown, text: string, failed = false): [AssistantMessage, ToolMessage] {
  const id = `c${++ids}`;
  return [
    { role: "assistant", text: "", calls: [{ id, name, arguments: JSON.stringify(args) }] },
    { role: "tool", callId: id, name, text, failed },
  ];
}

const user = (text: string): Message => ({ role: "user", text });
const say = (text: string): Message => ({ role: "assistant", text, calls: [] });
const big = (letter: string): string => letter.repeat(5000);

test("trimming: oldest large results first, never the newest, never an open failure, small ones stay", () => {
  const failing = exchange("run_shell", { argv: ["test"] }, `$ test\nexit 1\n${big("f")}`);
  const messages: Message[] = [
    user("go"),
    ...exchange("read_file_range", { path: "a" }, big("a")),
    ...failing,
    ...exchange("read_file_range", { path: "b" }, "small"),
    ...exchange("read_file_range", { path: "c" }, big("c")),
    ...exchange("read_file_range", { path: "d" }, big("d")),
    ...exchange("read_file_range", { path: "e" }, big("e")),
    ...exchange("read_file_range", { path: "f" }, big("f")),
  ];
  const one = trimResults(messages, 1000, () => "records 1-9");
  expect(one.count).toBe(1);
  expect(one.messages[2]?.text).toBe(
    "[older result of read_file_range, 5000 bytes, left out to save room (records 1-9); call the tool again if you need it]",
  );
  const all = trimResults(messages, 1e9, () => "h");
  expect(all.messages.map((message, index) => message !== messages[index])).toEqual(
    messages.map((_, index) => index === 2 || index === 8),
  );
  // A later success of the same command settles the failure.
  const settled: Message[] = [...messages, ...exchange("run_shell", { argv: ["test"] }, "exit 0"), user("x")];
  expect(trimResults(settled, 1e9, () => "h").messages[4]?.text).toContain("left out");
});

test("the cut lies at a user turn; inside the last turn only when that turn alone is too large", () => {
  const turns: Message[] = Array.from({ length: 6 }, (_, n) => [user(`question ${n}`), say("x".repeat(1000))]).flat();
  expect(findCut(turns, 2500)).toEqual({ index: 8 });
  expect(findCut(turns, 1)).toEqual({ index: 10 });
  expect(findCut(turns, 1e9)).toBeUndefined;
  const long: Message[] = [
    user("old"),
    say("y"),
    user("do it all"),
    ...Array.from({ length: 10 }, (_, n) => exchange("t", { n }, big("z"))).flat(),
  ];
  const cut = findCut(long, 12_000);
  expect(cut?.current).toBe("do it all");
  expect(long[cut?.index ?? 0]?.role).toBe("assistant");
  expect(long.slice(cut?.index).reduce((sum, message) => sum + messageBytes(message), 0)).toBeLessThan(12_100);
  expect(findCut([user("only")], 10)).toBeUndefined();
});

test("protected facts: constraints, failing checks and unverified edits; a passing check settles edits", () => {
  const messages: Message[] = [
    user("<project_context>\nnever mind this\n</project_context>\n\nFix it. You must not touch api.ts. Thanks!"),
    ...exchange("run_shell", { argv: ["npm", "test"] }, "$ npm test\nexit 1\nFAIL total"),
    ...exchange("replace_range", { path: "a.ts" }, "Edited a.ts"),
  ];
  expect(protectedFacts(messages, [])).toEqual([
    "constraint: You must not touch api.ts.",
    'failing: run_shell {"argv":["npm","test"]} → $ npm test exit 1 FAIL total',
    'unverified edit: replace_range {"path":"a.ts"}',
  ]);
  expect(needsReview(messages)).toBe(true);
  const verified = [...messages, ...exchange("run_shell", { argv: ["npm", "test"] }, "$ npm test\nexit 0")];
  const earlier = [
    "constraint: keep LF",
    "failing: lint {} → no",
    'failing: run_shell {"argv":["npm","test"]} → exit 1',
    "unverified edit: x",
  ];
  expect(protectedFacts(verified, earlier)).toEqual([
    "constraint: keep LF",
    "constraint: You must not touch api.ts.",
    "failing: lint {} → no",
  ]);
  expect(needsReview(verified)).toBe(false);
});

test("a summary carries objective, facts and the running request, and can be read back", () => {
  const text = summaryText({
    objective: "Fix </conversation_summary> it",
    summary: "## Objective\n- fix",
    facts: ["constraint: never push"],
    current: "and now this",
    handle: "records 0-9",
  });
  expect(text.match(/<\/conversation_summary>/g)).toHaveLength(1);
  expect(factsOf(text)).toEqual(["constraint: never push"]);
  expect(objectiveOf([user(text), say("x")])).toBe("Fix </conversation_summary> it");
  expect(text).toContain("<current_request>\nand now this\n</current_request>");
});

test("the summary request always fits, says what was left out, and holds no instruction text", () => {
  const messages: Message[] = [
    user("<project_context>\nRULES\n</project_context>\n\nplease"),
    ...Array.from({ length: 400 }, (_, n) => exchange("t", { n }, `${big("q")} </transcript> end ${n}`)).flat(),
  ];
  for (const room of [2000, 9000, 60_000, 5_000_000]) {
    const text = summaryRequest(messages, "keep the port number", room);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(room, 2000));
    expect(text).toContain("keep the port number");
    expect(text.match(/<\/transcript>/g)).toHaveLength(1);
    expect(text).not.toContain("RULES");
  }
  expect(summaryRequest(messages, "", 9000)).toMatch(/\[… \d+ entries left out …\]/);
});

test("our own elements are not what the user said", () => {
  expect(
    plainUserText(
      "<project_context>\na\n</project_context>\n\n<thndrs_self_knowledge_update>\nb\n</thndrs_self_knowledge_update>\n\nhello",
    ),
  ).toBe("hello");
});

test("the budget learns from reported usage, within reason", () => {
  const budget = createBudget({ contextWindow: 10_000, maxOutput: 2_000, source: "static" }, 0.92);
  expect([budget.available, budget.target, budget.threshold]).toEqual([8000, 6400, 7360]);
  expect(budget.tokens(3500)).toBe(1000);
  budget.learn(4000, { inputTokens: 1000 });
  expect(budget.tokens(4000)).toBe(1000);
  budget.learn(7000, { inputTokens: 1000 });
  expect(budget.tokens(5000)).toBe(1000);
  budget.learn(1500, { inputTokens: 1000 });
  expect(budget.tokens(2000)).toBe(1000);
  // No count of this request at all.
  budget.learn(1_000_000, { inputTokens: 3 });
  budget.learn(10, { inputTokens: 9999 });
  expect(budget.tokens(2000)).toBe(1000);
  budget.learn(10, {});
  expect(budget.tokens(2000)).toBe(1000);
});

test("what a compaction carries is read back from it, however often it is compacted", () => {
  const parts = { objective: "do it all", summary: "## Objective\n- all", facts: [], handle: "records 0-9" };
  const first = user(summaryText({ ...parts, current: "do it all" }));
  expect(requestOf(first)).toBe("do it all");
  // The request of a summary is the request it carries, not the summary.
  const second = user(
    `<project_context>\nRULES\n</project_context>\n\n${summaryText({ ...parts, current: requestOf(first) ?? "" })}`,
  );
  expect(messageBytes(second)).toBeLessThan(messageBytes(first) + 60);
  expect(requestOf(second)).toBe("do it all");
  expect(requestOf(user(summaryText({ ...parts, current: "then </x> this" })))).toBe("then </x> this");
  expect(requestOf(user(summaryText(parts)))).toBeUndefined();
  const long = summaryText({ ...parts, objective: "o".repeat(9000), current: "c".repeat(9000), maxBytes: 500 });
  expect(long.length).toBeLessThan(1500);
});

test("the cut of a conversation that begins with a summary covers more than the summary", () => {
  const summary = user(summaryText({ objective: "o", summary: "s", facts: [], current: "go", handle: "records 0-9" }));
  expect(findCut([summary, user("a"), say("b")], 1e9)).toBeUndefined();
  expect(findCut([summary, user("a"), say("b"), user("c"), say("d")], 1e9)).toEqual({ index: 3 });
  const loop: Message[] = [summary, ...exchange("t", 1, big("a")), ...exchange("t", 2, big("b")), ...exchange("t", 3, big("c"))];
  expect(findCut(loop, 6000)).toEqual({ index: 5, current: "go" });
  expect(findCut(loop.slice(0, 3), 100)).toBeUndefined();
});

test("results too large for the window keep head and tail, all down to one length, only as far as needed", () => {
  const messages: Message[] = [
    user("go"),
    ...exchange("t", 1, `HEAD${big("é")}TAIL`),
    ...exchange("t", 2, "small"),
    ...exchange("t", 3, big("b")),
  ];
  const total = (list: readonly Message[]): number => list.reduce((sum, message) => sum + messageBytes(message), 0);
  for (const excess of [100, 3000, 9000, 13_000]) {
    const { messages: short, savedBytes, count } = shortenResults(messages, excess);
    expect(savedBytes).toBeGreaterThanOrEqual(excess);
    expect(total(messages) - total(short)).toBe(savedBytes);
    expect(count).toBe(excess === 100 || excess === 3000 ? 1 : 2);
    expect(short[2]?.text).toMatch(/^HEAD.*\[… \d+ characters …\].*TAIL$/s);
    expect(short[4]).toBe(messages[4] as Message);
  }
  expect(shortenResults(messages, 1e9).savedBytes).toBeGreaterThan(13_000);
  expect(shortenResults([user("x")], 10).count).toBe(0);
});

test("facts keep to their room: what is open first, then the oldest constraints", () => {
  const said = Array.from({ length: 40 }, (_, n) => `constraint: never do ${n}`);
  const open = ["failing: a → x", "unverified edit: b"];
  const all = protectedFacts([], [...said, ...open]);
  expect(all).toHaveLength(24);
  expect(all.slice(0, 4)).toEqual(said.slice(0, 4));
  expect(all.slice(-3)).toEqual([said[39] ?? "", ...open]);
  const few = protectedFacts([], [...said, ...open], 180);
  expect(few).toEqual([...said.slice(0, 4), said[39] ?? "", ...open]);
});

test("our elements are found in linear time, closed or not", () => {
  expect(
    plainUserText("a <project_context>x</project_context> b <skill_content>open <project_context y>z</project_context> c"),
  ).toBe("a  b <skill_content>open  c");
  expect(plainUserText("<project_contexts>mine</project_contexts>")).toBe("<project_contexts>mine</project_contexts>");
  const began = performance.now();
  const hostile = "<skill_content> <conversation_summary> <project_context> x ".repeat(40_000);
  expect(plainUserText(hostile)).toBe(hostile.trim());
  expect(objectiveOf([user(hostile)])).toBe(hostile.trim());
  expect(performance.now() - began).toBeLessThan(2000);
});

test("a skill that was delivered with the prompt is not what the user said", () => {
  expect(plainUserText('<skill name="x" path="p" hash="h" truncated="false">\nnever do this\n</skill>\n\n$x now')).toBe("$x now");
});
