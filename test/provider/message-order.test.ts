/** The order of roles: what strict servers and chat templates take, and that earlier bytes stay. */
import { describe, expect, test } from "bun:test";
import { inOrder } from "../../src/provider/message-order.ts";
import type { Message } from "../../src/types/message.ts";
import { wireFrames } from "../support/loopback.ts";
import { prefixBreaks } from "../support/wire/prefix.ts";
import {
  collect,
  encode,
  memoryFetch,
  requestOf,
  type Served,
  settingsFor,
  testProvider,
  WIRES,
} from "../support/wire/stream.ts";

const MOCK = "http://mock.test/v1";
const user = (text: string): Message => ({ role: "user", text });
const said = (text: string): Message => ({ role: "assistant", text, calls: [] });
const call: Message = { role: "assistant", text: "", calls: [{ id: "abcdefgh1", name: "run_shell", arguments: "{}" }] };
const result: Message = { role: "tool", callId: "abcdefgh1", name: "run_shell", text: "done", failed: false };
const steered: readonly Message[] = [user("a"), call, result, user("b")];

const answered: Served = { chunks: encode(wireFrames("chat", { text: "ok" }).join("")) };
const refused = (status: number, message: string): Served => ({
  status,
  chunks: encode(JSON.stringify({ message, code: "3230" })),
});

type Body = { readonly messages: readonly { readonly role: string; readonly content: string }[] };
const rolesOf = (raw: string): string => (JSON.parse(raw) as Body).messages.map(({ role }) => role).join(" ");

async function asked(name: string, model: string, messages: readonly Message[], ...answers: Served[]) {
  const fetch = memoryFetch(...answers, answered);
  const provider = testProvider(settingsFor("chat", MOCK, { name }), { fetch });
  const first = await collect(provider, requestOf(messages, { model }));
  return { first, fetch, provider };
}

describe("a user behind a tool's result", () => {
  test.each([
    ["mistral", "m"],
    ["mock", "mistralai/Devstral-Small-2-24B-Instruct-2512"],
    ["vllm", "Ministral-3-8B"],
    ["llamacpp", "gemma-3-27b-it"],
    ["openrouter", "mistralai/mistral-small-4"],
  ])("%s/%s: a word of the assistant stands between them", async (name, model) => {
    const { fetch, first } = await asked(name, model, steered);
    expect([rolesOf(fetch.bodies[0] ?? ""), first.text]).toEqual(["system user assistant tool assistant user", "ok"]);
  });

  test.each([
    ["openai", "gpt-5"],
    ["deepseek", "deepseek-v4-pro"],
    ["vllm", "qwen3-coder"],
    ["mock", "m"],
  ])("%s/%s: nothing is made up", async (name, model) => {
    const { fetch } = await asked(name, model, steered);
    expect(rolesOf(fetch.bodies[0] ?? "")).toBe("system user assistant tool user");
  });

  test.each([
    [400, "Unexpected role 'user' after role 'tool'"],
    [500, "Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles"],
  ])("a server that refuses it with %i is asked in the order it takes, once and for all", async (status, message) => {
    const { fetch, first, provider } = await asked("mock", "m", steered, refused(status, message));
    expect([first.text, first.retries, fetch.bodies.map(rolesOf)]).toEqual([
      "ok",
      [],
      ["system user assistant tool user", "system user assistant tool assistant user"],
    ]);
    await collect(provider, requestOf([...steered, said("c"), user("d")], { model: "m" }));
    expect(rolesOf(fetch.bodies[2] ?? "")).toBe("system user assistant tool assistant user assistant user");
  });

  test("a refusal that no other order would mend is told, and not tried again", async () => {
    const refusal = refused(500, "Jinja Exception: conversation roles must alternate");
    const fetch = memoryFetch(refusal);
    const retry = { maxTries: 8, capMs: 0, maxRetryAfterMs: 0 };
    const failed = await collect(testProvider(settingsFor("chat", MOCK), { fetch, retry }), requestOf([user("a")]));
    expect([failed.failure?.class, fetch.bodies.length]).toEqual(["invalid_request", 1]);
  });

  test("a refusal of neighbours that are one already is not tried again either", async () => {
    const fetch = memoryFetch(refused(500, "Jinja Exception: conversation roles must alternate"));
    await collect(testProvider(settingsFor("chat", MOCK), { fetch }), requestOf([user("a"), user("b")]));
    expect(fetch.bodies.length).toBe(1);
  });

  for (const wire of WIRES) {
    test(`${wire}: one message less and one more are another order`, async () => {
      const fetch = memoryFetch(refused(400, "roles must alternate"), {
        chunks: encode(wireFrames(wire, { text: "ok" }).join("")),
      });
      const both = [user("a"), user("b"), call, result, user("c")];
      const first = await collect(testProvider(settingsFor(wire, MOCK), { fetch }), requestOf(both));
      expect([first.text, fetch.bodies.length, fetch.bodies[1]]).toEqual([
        "ok",
        2,
        expect.stringContaining("(interrupted)") as never,
      ]);
    });

    test(`${wire}: a model of that family gets it on every wire`, async () => {
      const fetch = memoryFetch({ chunks: encode(wireFrames(wire, { text: "ok" }).join("")) });
      await collect(testProvider(settingsFor(wire, MOCK), { fetch }), requestOf(steered, { model: "devstral" }));
      expect([fetch.bodies.length, fetch.bodies[0]]).toEqual([1, expect.stringContaining("(interrupted)") as never]);
    });
  }
});

describe("neighbours of one role", () => {
  test("are one message on the chat wire, and grow at the end alone", async () => {
    const { fetch, provider } = await asked("mock", "m", [user("one")], refused(400, "bad"));
    await collect(provider, requestOf([user("one"), user("two")], { model: "m" }));
    await collect(provider, requestOf([user("one"), user("two"), said("ok"), user("three")], { model: "m" }));
    expect(fetch.bodies.map(rolesOf)).toEqual(["system user", "system user", "system user assistant user"]);
    expect((JSON.parse(fetch.bodies[1] ?? "") as Body).messages[1]?.content).toBe("one\n\ntwo");
    expect(fetch.bodies[1]).toStartWith((fetch.bodies[0] ?? "").slice(0, -'"}]}'.length));
    expect(prefixBreaks(fetch.bodies.slice(1))).toEqual([]);
  });

  test("an answer that was cut and one that calls are one, without the state of either", () => {
    const calling: Message = { role: "assistant", text: "b", reasoning: "r", calls: call.role === "assistant" ? call.calls : [] };
    const joined = inOrder([user("x"), said("a"), calling, result], { merge: true, bridge: false });
    expect(joined.slice(1)).toEqual([{ ...calling, text: "a\n\nb" }, result]);
  });

  test("a healthy history comes back as it is", () => {
    const healthy = [user("a"), call, result, said("b"), user("c")];
    expect(inOrder(healthy, { merge: true, bridge: true })).toBe(healthy);
  });
});
