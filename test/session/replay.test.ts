import { expect, test } from "bun:test";
import { createClassifier } from "../../src/session/record-schemas.ts";
import type { ReadRecord } from "../../src/session/records.ts";
import { type Conversation, rebuildConversation } from "../../src/session/replay.ts";
import { NO_OUTPUT, OUTCOME_UNKNOWN, summaryText } from "../../src/session/replay-entries.ts";
import { resumeSession } from "../../src/session/resume.ts";
import type { Message } from "../../src/types/message.ts";
import { tempDir } from "../support/temp.ts";
import { fileOf, finished, line, SAMPLES, said, started, user } from "./samples.ts";

function rebuild(records: readonly object[]): Conversation {
  const classify = createClassifier();
  const read = records.map((record, seq) => classify(JSON.parse(line(seq, record))));
  const conversation = rebuildConversation(read.filter((one): one is ReadRecord => one !== undefined));
  expectValid(conversation.messages);
  expect(conversation.seqs).toHaveLength(conversation.messages.length);
  return conversation;
}

/** What the strictest wire asks of a history. */
function expectValid(messages: readonly Message[]): void {
  const ids = new Set<string>();
  let waiting: string[] = [];
  for (const message of messages) {
    expect(JSON.stringify(message)).not.toMatch(/\\ud[89a-f]/);
    if (message.role !== "tool") expect(waiting).toEqual([]);
    if (message.role === "user") expect(message.text.trim()).not.toBe("");
    if (message.role === "assistant") {
      expect(message.text.trim() !== "" || message.calls.length > 0).toBe(true);
      for (const call of message.calls) {
        expect(ids.has(call.id)).toBe(false);
        ids.add(call.id);
        JSON.parse(call.arguments);
      }
      waiting = message.calls.map((call) => call.id);
    }
    if (message.role === "tool") {
      expect(waiting.shift()).toBe(message.callId);
      expect(message.text.trim()).not.toBe("");
    }
  }
  expect(waiting).toEqual([]);
}

const shape = (messages: readonly Message[]): string[] =>
  messages.map((message) =>
    message.role === "tool"
      ? `tool ${message.callId}: ${message.text}`
      : message.role === "user"
        ? `user ${message.text}`
        : `assistant ${message.text} [${message.calls.map((call) => call.id).join(",")}]`,
  );

test("who made the ids of a turn is known where its first request was recorded", () => {
  const about = (turn: string, provider: string) => ({ ...SAMPLES.prompt_metadata, turn_id: turn, provider });
  const { messages } = rebuild([
    user(1, "do it"),
    about("turn-1", "one"),
    started(1, "functions.a:0"),
    finished(1, "functions.a:0", "r"),
    user(2, "again"),
    started(2, "b"),
    finished(2, "b", "r"),
    user(3, "again"),
    about("turn-3", "two"),
    started(3, "c"),
    finished(3, "c", "r"),
    said(3, "done"),
  ]);
  const makers = messages.flatMap((message) => (message.role === "assistant" ? [message.from] : []));
  expect(makers.slice(0, 3)).toEqual(["one", undefined, "two"]);
});

test("text, calls and results of each response come back in order, with and without request numbers", () => {
  for (const numbered of [true, false]) {
    const request = (n: number): object => (numbered ? { request: n } : {});
    const { messages, turns } = rebuild([
      SAMPLES.session_meta,
      user(1, "do it"),
      said(1, "reading", request(1)),
      started(1, "a", request(1)),
      started(1, "b", request(1)),
      finished(1, "b"),
      finished(1, "a"),
      started(1, "c", request(2)),
      finished(1, "c"),
      said(1, "done", request(3)),
      user(2, "thanks"),
      said(2, "welcome", request(1)),
    ]);
    expect(shape(messages)).toEqual([
      "user do it",
      "assistant reading [a,b]",
      "tool a: result a",
      "tool b: result b",
      "assistant  [c]",
      "tool c: result c",
      "assistant done []",
      "user thanks",
      "assistant welcome []",
    ]);
    expect(turns).toBe(2);
  }
});

test("calls of one response that ran one after the other stay together where the request is numbered", () => {
  const r = { request: 1 };
  const { messages } = rebuild([
    user(1, "x"),
    started(1, "a", r),
    finished(1, "a"),
    started(1, "b", r),
    finished(1, "b"),
    said(1, "ok", { request: 2 }),
  ]);
  expect(shape(messages)).toEqual(["user x", "assistant  [a,b]", "tool a: result a", "tool b: result b", "assistant ok []"]);
});

test("J06 open calls of a parallel batch get one synthetic result each, finished ones keep theirs", () => {
  const { messages, openCalls } = rebuild([user(1, "x"), started(1, "a"), started(1, "b"), started(1, "c"), finished(1, "b")]);
  expect(shape(messages)).toEqual([
    "user x",
    "assistant  [a,b,c]",
    `tool a: ${OUTCOME_UNKNOWN}`,
    "tool b: result b",
    `tool c: ${OUTCOME_UNKNOWN}`,
  ]);
  expect(openCalls).toEqual(["a", "c"]);
  expect(messages.filter((message) => message.role === "tool").map((message) => message.failed)).toEqual([true, false, true]);
});

test("J07 thirty calls in parallel batches with results out of order: all found, none synthetic", () => {
  const records: object[] = [user(1, "x")];
  for (let batch = 0; batch < 6; batch++) {
    const ids = Array.from({ length: 5 }, (_, n) => `call_${batch}_${n}`);
    records.push(...ids.map((id) => started(1, id, { request: batch + 1 })));
    const late = ids.pop() ?? "";
    records.push(...ids.reverse().map((id) => finished(1, id)));
    // One result of each batch arrives behind the next batch's first start.
    records.push(finished(1, late));
  }
  const first = records.findIndex((record) => "output" in record);
  const [moved] = records.splice(first, 1);
  records.push(moved ?? {});
  const { messages, openCalls, orphanResults } = rebuild(records);
  expect(openCalls).toEqual([]);
  expect(orphanResults).toBe(0);
  const results = messages.filter((message) => message.role === "tool");
  expect(results).toHaveLength(30);
  for (const result of results) expect(result.text).toBe(`result ${result.callId}`);
});

test("a result logged before its call finds it; one without a call is left out", () => {
  const { messages, orphanResults } = rebuild([user(1, "x"), finished(1, "a"), started(1, "a"), finished(1, "ghost")]);
  expect(shape(messages)).toEqual(["user x", "assistant  [a]", "tool a: result a"]);
  expect(orphanResults).toBe(1);
});

test("J17 doubled ids are made distinct, each with its own result, also after a crash left the first open", () => {
  const { messages, openCalls } = rebuild([
    user(1, "x"),
    started(1, "call_0", { request: 1 }),
    finished(1, "call_0", "first"),
    started(1, "call_0", { request: 2 }),
    user(2, "again"),
    started(2, "call_0", { request: 1 }),
    started(2, "call_0", { request: 1 }),
    finished(2, "call_0", "third"),
    finished(2, "call_0", "fourth"),
  ]);
  expect(shape(messages).filter((text) => text.startsWith("tool"))).toEqual([
    "tool call_0: first",
    `tool call_0_2: ${OUTCOME_UNKNOWN}`,
    "tool call_0_3: third",
    "tool call_0_4: fourth",
  ]);
  expect(openCalls).toEqual(["call_0_2"]);
});

test("P18 J17 empty texts and empty outputs are repaired, P20 lone surrogates too", () => {
  const { messages } = rebuild([
    user(1, "hi \ud82d"),
    said(1, ""),
    { ...started(1, "a"), arguments: { path: "\ud82d" } },
    finished(1, "a", " \n"),
    said(1, "   "),
    { type: "reasoning_finished", turn_id: "turn-1", text: "only thought" },
    user(2, ""),
    said(2, "x\udc00"),
  ]);
  expect(shape(messages)).toEqual(["user hi \ufffd", "assistant  [a]", `tool a: ${NO_OUTPUT}`, "assistant x\ufffd []"]);
});

test("P15 reasoning goes back with the response it belongs to", () => {
  const thought = (n: number, text: string): object => ({ type: "reasoning_finished", turn_id: "turn-1", text, request: n });
  const { messages } = rebuild([
    user(1, "x"),
    thought(1, "first thought"),
    started(1, "a", { request: 1 }),
    finished(1, "a"),
    thought(2, "second thought"),
    said(1, "done", { request: 2 }),
  ]);
  const replies = messages.filter((message) => message.role === "assistant");
  expect(replies.map((reply) => [reply.reasoning, reply.text, reply.calls.length])).toEqual([
    ["first thought", "", 1],
    ["second thought", "done", 0],
  ]);
});

test("a cut answer is kept and marked", () => {
  const { messages } = rebuild([
    user(1, "x"),
    said(1, "half an ans", { partial: true }),
    { ...SAMPLES.cancelled },
    user(2, "go on"),
  ]);
  expect(messages[1]).toMatchObject({ role: "assistant", text: expect.stringMatching(/^half an ans\n\n\[.+\]$/) });
});

test("steering that was sent is part of the conversation once; other queue records are not", () => {
  const queued = (kind: string, action: string, text: string, request?: number): object => ({
    type: "queued_input",
    queue_id: "q",
    kind,
    action,
    text,
    ...(request === undefined ? {} : { request }),
  });
  const { messages } = rebuild([
    user(1, "x"),
    started(1, "a", { request: 1 }),
    queued("steering", "add", "faster", 1),
    queued("follow-up", "add", "later", 1),
    finished(1, "a"),
    queued("steering", "sent", "faster", 1),
    queued("steering", "sent", "and shorter", 2),
    said(1, "ok", { request: 2 }),
    said(1, "shorter", { request: 3 }),
    queued("follow-up", "sent", "later", 3),
    user(2, "later"),
  ]);
  expect(shape(messages)).toEqual([
    "user x",
    "assistant  [a]",
    "tool a: result a",
    "user faster",
    "assistant ok []",
    "user and shorter",
    "assistant shorter []",
    "user later",
  ]);
});

const compaction = (start: number, end: number, extra: object = {}): object => ({
  ...SAMPLES.compaction,
  covered_start_seq: start,
  covered_end_seq: end,
  recovery_handle: `r${start}-${end}`,
  ...extra,
});

test("a compaction in force replaces what it covers; pending and rejected ones do not; review decides later", () => {
  const base = [user(1, "one"), said(1, "two"), user(2, "three"), said(2, "four")];
  const texts = (records: object[]): string[] => shape(rebuild(records).messages);
  const replaced = [`user ${summaryText("so far")}`, "user three", "assistant four []"];
  expect(texts([...base, compaction(0, 1)])).toEqual(replaced);
  expect(texts([...base, compaction(0, 1, { review: "pending" })])).toHaveLength(4);
  const review = (verdict: string): object => ({ type: "compaction_review", recovery_handle: "r0-1", review: verdict });
  expect(texts([...base, compaction(0, 1, { review: "pending" }), review("approved")])).toEqual(replaced);
  expect(texts([...base, compaction(0, 1, { review: "pending" }), review("rejected")])).toHaveLength(4);
});

test("a second compaction that covers the first leaves one summary", () => {
  const { messages, compaction: inForce } = rebuild([
    user(1, "one"),
    said(1, "two"),
    compaction(0, 1, { summary: "first" }),
    user(2, "three"),
    said(2, "four"),
    compaction(0, 4, { summary: "second" }),
    user(3, "five"),
  ]);
  expect(shape(messages)).toEqual([`user ${summaryText("second")}`, "user five"]);
  expect(inForce?.summary).toBe("second");
});

test("a summary that waits is there until somebody, or a later one that needs nobody, has decided; turns after it do not", () => {
  const base = [user(1, "one"), said(1, "two"), user(2, "three"), said(2, "four")];
  const waiting = compaction(0, 1, { review: "pending" });
  const review = (verdict: string): object => ({ type: "compaction_review", recovery_handle: "r0-1", review: verdict });
  const pending = (...records: object[]) => rebuild([...base, waiting, ...records]).pendingCompaction;
  const found = { handle: "r0-1", summary: summaryText("so far"), coveredEndSeq: 1 };
  expect(pending()).toEqual(found);
  expect(pending(user(3, "five"), said(3, "six"))).toEqual(found);
  expect(pending(review("rejected"))).toBeUndefined();
  expect(pending(review("approved"))).toBeUndefined();
  expect(pending(review("rejected"), compaction(0, 1, { review: "pending", summary: "again" }))?.summary).toContain("again");
  // Print mode asks nobody.
  expect(pending(user(3, "five"), said(3, "six"), compaction(0, 4))).toBeUndefined();
  expect(pending(compaction(0, 0))).toEqual(found);
});

test("a summary approved late stands for a smaller one made meanwhile", () => {
  const { messages } = rebuild([
    user(1, "one"),
    said(1, "two"),
    user(2, "three"),
    compaction(0, 1, { review: "pending", summary: "large" }),
    compaction(0, 0, { summary: "small" }),
    { type: "compaction_review", recovery_handle: "r0-1", review: "approved" },
  ]);
  expect(shape(messages)).toEqual([`user ${summaryText("large")}`, "user three"]);
});

test("skills are in use until a summary comes into force", () => {
  const used = (name: string): object => ({ ...SAMPLES.skill_activated, path: `/s/${name}/SKILL.md` });
  const waiting = compaction(0, 1, { review: "pending" });
  const skills = (...records: object[]) => rebuild([user(1, "one"), said(1, "two"), ...records]).skills;
  expect(skills(used("a"), used("b"), used("a"))).toEqual(["/s/a/SKILL.md", "/s/b/SKILL.md"]);
  expect(skills(used("a"), waiting, used("b"))).toHaveLength(2);
  expect(skills(used("a"), compaction(0, 1), used("b"))).toEqual(["/s/b/SKILL.md"]);
  expect(skills(used("a"), waiting, { type: "compaction_review", recovery_handle: "r0-1", review: "approved" })).toEqual([]);
});

test("J16 records of a newer program are not replayed", () => {
  const { messages } = rebuild([
    user(1, "x"),
    { type: "hologram", text: "boo" },
    { ...said(1, "future"), schema_version: 2 },
    said(1, "ok"),
  ]);
  expect(shape(messages)).toEqual(["user x", "assistant ok []"]);
});

test("facts: sources, model, changed files, totals where unknown stays unknown", () => {
  const { sources, model, changedFiles, totals, title } = rebuild([
    { ...SAMPLES.session_meta, title: "" },
    SAMPLES.context,
    user(1, "\n  \u001b[31mFix\tthe   bug\nnow"),
    { type: "usage", turn_id: "turn-1", input_tokens: 5 },
    { type: "usage", turn_id: "turn-1", input_tokens: 7, output_tokens: 1 },
    SAMPLES.file_write,
    { ...SAMPLES.file_write, path: "b.txt", status: "failed" },
  ]);
  expect(sources).toMatchObject([{ path: "/w/AGENTS.md", contentHash: "xxh64:aa", scope: ".", origin: "root" }]);
  expect({ model, changedFiles, title }).toEqual({ model: "openai/gpt", changedFiles: ["a.txt"], title: "[31mFix the bug" });
  expect(totals).toEqual({ requests: 2, usage: { inputTokens: 12, outputTokens: 1 } });
});

test("turn numbers go on after the highest one, also when a damaged line took a prompt", () => {
  expect(rebuild([user(1, "x"), user(5, "y")]).turns).toBe(5);
});

test("any subset of the records of a run rebuilds to a valid conversation", () => {
  const records: object[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    records.push(user(turn, `ask ${turn}`), said(turn, "a", { request: 1 }), started(turn, "same", { request: 1 }));
    records.push(started(turn, `t${turn}`, { request: 1 }), finished(turn, "same"), finished(turn, `t${turn}`));
    records.push({ ...SAMPLES.reasoning_finished, turn_id: `turn-${turn}`, request: 2 }, said(turn, "b", { request: 2 }));
  }
  let state = 12345;
  for (let round = 0; round < 300; round++) {
    const kept = records.filter(() => {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      return (state >> 16) % 4 !== 0;
    });
    rebuild(kept);
  }
});

test("resumeSession locks, reads, warns and goes on in the same file", async () => {
  const id = "session-20260101-000000-abcd";
  await using temp = await tempDir({
    [`${id}.jsonl`]: `${fileOf([SAMPLES.session_meta, user(1, "x"), started(1, "a")])}broken\n`,
  });
  const told: string[] = [];
  const options = { onBroken: () => undefined, diagnose: ({ message }: { message: string }) => void told.push(message) };
  const resumed = await resumeSession(temp.path, "session-2026", options);
  expect(shape(resumed.messages)).toEqual(["user x", "assistant  [a]", `tool a: ${OUTCOME_UNKNOWN}`]);
  expect(told).toEqual([
    `session ${id}: skipped 1 malformed line`,
    `session ${id}: 1 tool call had no recorded result; not run again`,
  ]);
  expect(resumeSession(temp.path, "latest", options)).rejects.toThrow("is in use by process");
  resumed.log.append({ type: "user", turn_id: "turn-2", text: "more" });
  resumed.log.close();
  const again = await resumeSession(temp.path, "latest", options);
  expect(again.log.lastSeq).toBe(3);
  expect(again.turns).toBe(2);
  again.log.close();
});

test("J12 a huge result is cut on resume, and says so", () => {
  const { messages } = rebuild([user(1, "x"), started(1, "a"), finished(1, "a", "y".repeat(2_000_000))]);
  const text = messages.at(-1)?.text ?? "";
  expect(text.length).toBeLessThan(300_000);
  expect(text).toEndWith("of 2000000 characters]");
});

test("J12 a conversation larger than any context loses its oldest part, stays valid and says so", () => {
  const turn = (n: number): object[] => [
    user(n, `question ${n}`),
    started(n, `c${n}`),
    finished(n, `c${n}`, `${n} `.repeat(60_000)),
  ];
  const many = rebuild(Array.from({ length: 400 }, (_, n) => turn(n + 1)).flat());
  expect(many.leftOut).toBeGreaterThan(100);
  expect(many.turns).toBe(400);
  expect(many.messages[0]?.role).toBe("user");
  expect(many.messages.at(-1)?.text).toStartWith("400 ");
  expect(many.messages.reduce((sum, message) => sum + message.text.length, 0)).toBeLessThan(20_000_000);
  // All of it in one turn: the question stays.
  const calls = Array.from({ length: 400 }, (_, n) => [started(1, `c${n}`), finished(1, `c${n}`, `${n} `.repeat(60_000))]).flat();
  const one = rebuild([user(1, "the question"), ...calls]);
  expect(one.messages[0]).toMatchObject({ role: "user", text: "the question" });
  expect(one.messages[1]?.role).toBe("assistant");
  expect(one.leftOut).toBeGreaterThan(10);
  expect(one.openCalls).toEqual([]);
});
