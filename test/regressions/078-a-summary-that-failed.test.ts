/**
 * A summary that could not be made (a server that answers 500 for a while) says nothing of the conversation: it is named as what it
 * was, and the next turn asks again, so that a session outlives the trouble.
 */
import { expect, test } from "bun:test";
import { createBudget } from "../../src/agent/budget.ts";
import { Compactor } from "../../src/agent/compactor.ts";
import type { Provider, ProviderEvent } from "../../src/provider/provider.ts";
import type { Message } from "../../src/types/message.ts";

const TROUBLE: readonly ProviderEvent[] = [{ type: "failure", class: "overloaded", message: "answered 500" }];
const SUMMARY: readonly ProviderEvent[] = [
  { type: "text", text: "## Objective\n- go on" },
  { type: "stop", reason: "end" },
];

test("after failures the stop names them, later prompts ask again, and the first summary that comes makes room", async () => {
  const messages: Message[] = Array.from({ length: 12 }, (_, turn): Message[] => [
    { role: "user", text: `turn ${turn}` },
    { role: "assistant", text: "many words ".repeat(200), calls: [] },
  ]).flat();
  messages.push({ role: "user", text: "next" });
  let answer = TROUBLE;
  let asked = 0;
  const provider: Provider = {
    name: "test",
    wire: "openai-chat",
    async *stream() {
      asked += 1;
      yield* answer;
    },
  };
  const compactor = new Compactor(
    {
      provider,
      budget: createBudget({ contextWindow: 5000, maxOutput: 1000, source: "configured" }, 0.92),
      request: () => ({ model: "m", sessionId: "s", system: "system", tools: [] }),
      mode: "auto",
      review: "never",
      keepRecentTokens: 500,
      model: "test/m",
      emit: () => undefined,
      lastSeq: () => 99,
      redeliver: async () => "",
    },
    messages,
    messages.map((_, index) => index),
  );
  const never = new AbortController().signal;
  for (let turn = 1; turn <= 4; turn++) {
    for (let tries = 0; tries < 3; tries++) {
      const stop = await compactor.beforeRequest(`turn-${turn}`, never);
      expect(stop?.message).toContain("(the summary could not be made: answered 500; the next prompt asks for one again)");
    }
    expect(asked).toBe(2 * turn);
  }
  answer = SUMMARY;
  expect(await compactor.beforeRequest("turn-5", never)).toBeUndefined();
  expect(messages[0]?.text).toContain("<conversation_summary>");
});
