/** The last pass over a history: healthy ones are left alone, object for object. */
import { expect, test } from "bun:test";
import { OWN_IDS } from "../../src/provider/call-ids.ts";
import { LOST_RESULT, sanitizeConversation as sanitize } from "../../src/provider/conversation.ts";
import type { Message } from "../../src/types/message.ts";

const sanitizeConversation = (messages: readonly Message[]) => sanitize(messages, OWN_IDS, "own");
const user = (text: string): Message => ({ role: "user", text });
const ask = (...ids: string[]): Message => ({
  role: "assistant",
  text: "",
  calls: ids.map((id) => ({ id, name: "t", arguments: "{}" })),
});
const answer = (callId: string, text = "r"): Message => ({ role: "tool", callId, name: "t", text, failed: false });

test("a healthy history is the same array of the same objects", () => {
  const healthy = [
    user("a"),
    ask("1", "2"),
    answer("1"),
    answer("2", ""),
    user("steer"),
    ask("3"),
    answer("3"),
    { role: "assistant", text: "done", calls: [] } as const,
  ];
  expect(sanitizeConversation(healthy)).toBe(healthy);
});

test("repair keeps every healthy message object", () => {
  const broken = [user("a"), ask("1", "2"), answer("2"), user("steer"), answer("1"), ask("3")];
  const repaired = sanitizeConversation(broken);
  expect(repaired.map((message) => (message.role === "tool" ? message.callId : message.role))).toEqual([
    "user",
    "assistant",
    "1",
    "2",
    "user",
    "assistant",
    "3",
  ]);
  expect(repaired.slice(0, 6).every((message) => broken.includes(message))).toBe(true);
  expect(repaired[6]).toEqual({ role: "tool", callId: "3", name: "t", text: LOST_RESULT, failed: true });
  expect(sanitizeConversation(repaired)).toBe(repaired);
});

test("a result that belongs to a later call of the same id is not stolen", () => {
  const repaired = sanitizeConversation([ask("1"), ask("1"), answer("1", "second")]);
  expect(repaired.map((message) => (message.role === "tool" ? [message.callId, message.text] : message.role))).toEqual([
    "assistant",
    ["1", LOST_RESULT],
    "assistant",
    ["1_2", "second"],
  ]);
});

test("empty messages and orphans go; nothing is invented for them", () => {
  expect(sanitizeConversation([user(" "), answer("x"), { role: "assistant", text: "\n", calls: [] }, user("a")])).toEqual([
    user("a"),
  ]);
});

test("a long history is judged in linear time", () => {
  const long: Message[] = [];
  for (let n = 0; n < 20_000; n += 1) long.push(ask(`c${n}`), answer(`c${n}`));
  const began = performance.now();
  expect(sanitizeConversation(long)).toBe(long);
  expect(performance.now() - began).toBeLessThan(5000);
});
