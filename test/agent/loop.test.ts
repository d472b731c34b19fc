import { expect, test } from "bun:test";
import { runTurn, type TurnContext } from "../../src/agent/loop.ts";
import type { ProviderEvent } from "../../src/provider/provider.ts";
import type { ToolContext } from "../../src/tools/tool.ts";
import { failed, succeeded } from "../../src/tools/tool.ts";
import type { RunEvent } from "../../src/types/event.ts";
import type { Message } from "../../src/types/message.ts";
import { type FakeTool, fakeToolbox } from "../support/fake-toolbox.ts";
import { calling, type Script, saying, scriptedProvider } from "../support/scripted-provider.ts";

type Setup = {
  readonly script: Script;
  readonly tools?: readonly FakeTool[];
  readonly steering?: string[][];
  readonly limit?: TurnContext["limit"];
  readonly checkFinal?: TurnContext["checkFinal"];
  readonly makeRoom?: TurnContext["makeRoom"];
  readonly beforeRequest?: TurnContext["beforeRequest"];
  readonly onEvent?: (event: RunEvent) => void;
};

function setUp(setup: Setup) {
  const provider = scriptedProvider(setup.script);
  const messages: Message[] = [{ role: "user", text: "go" }];
  const events: RunEvent[] = [];
  const controller = new AbortController();
  const steering = setup.steering ?? [];
  let clock = 0;
  const context: TurnContext = {
    turnId: "turn-1",
    provider,
    messages,
    request: () => ({ model: "m", system: "s", tools: [], sessionId: "x" }),
    calls: {
      toolbox: fakeToolbox(setup.tools ?? []),
      tool: {} as Omit<ToolContext, "callId" | "signal">,
      permit: () => ({ allowed: true }),
      withhold: (name) => `${name} is left out.`,
      redact: (text) => text.replaceAll("SECRET", "[redacted:test]"),
      redactArguments: (value) => value,
      touched: async () => "",
      now: () => ++clock,
    },
    steeringWaits: () => (steering[0]?.length ?? 0) > 0,
    takeSteering: async () => (steering.shift() ?? []).map((text) => ({ role: "user", text })),
    limit: setup.limit ?? (() => undefined),
    ...(setup.checkFinal && { checkFinal: setup.checkFinal }),
    ...(setup.makeRoom && { makeRoom: setup.makeRoom }),
    ...(setup.beforeRequest && { beforeRequest: setup.beforeRequest }),
    emit: (event) => {
      events.push(event);
      setup.onEvent?.(event);
    },
    signal: controller.signal,
  };
  return { provider, messages, events, controller, run: () => runTurn(context), context };
}

const types = (events: readonly RunEvent[]): string[] => events.map((event) => event.type);
const ends = (events: readonly RunEvent[]): RunEvent[] =>
  events.filter((event) => event.type === "failed" || event.type === "cancelled");

test("a plain answer: one request, one final text", async () => {
  const { run, events, messages } = setUp({ script: [saying("hello")] });
  expect(await run()).toEqual({ status: "ok", text: "hello", requests: 1 });
  expect(types(events)).toEqual(["request_started", "text_delta", "assistant_finished"]);
  expect(messages.at(-1)).toEqual({ role: "assistant", text: "hello", calls: [] });
});

test("a tool that throws costs its call, not the run, and the bug is seen", async () => {
  const script: Script = [calling(["broken", {}], ["look", {}]), saying("done")];
  const broken = (): never => {
    throw new Error("ENOTDIR: SECRET\nmore");
  };
  const { run, events, messages, context } = setUp({
    script,
    tools: [{ name: "broken", effect: "write", run: broken }, { name: "look" }],
  });
  expect(await run()).toMatchObject({ status: "ok", text: "done" });
  expect(messages.filter(({ role }) => role === "tool")).toMatchObject([
    { name: "broken", failed: true, text: expect.stringContaining("internal error of thndrs: ENOTDIR: [redacted:test]. A part") },
    { name: "look", failed: false },
  ]);
  const finished = events.filter((event) => event.type === "tool_finished");
  expect(finished).toMatchObject([{ status: "failed" }, { status: "ok" }]);
  const said = expect.stringMatching(/^broken: internal error: ENOTDIR: \[redacted:test\] \(this is a bug in thndrs.*\)$/);
  const bug = { type: "diagnostic", diagnostic: { severity: "error", code: "tool_bug", message: said } };
  expect(events.filter((event) => event.type === "diagnostic")).toEqual([bug] as never);
  expect(context.signal.aborted).toBe(false);
});

test("project context that throws costs its text, not the run", async () => {
  const touched = [{ path: "/w/a", kind: "read" as const }];
  const { run, events, messages, context } = setUp({
    script: [calling(["look", {}]), saying("done")],
    tools: [{ name: "look", run: () => succeeded("seen", { touched }) }],
  });
  Object.assign(context.calls, { touched: () => Promise.reject(new Error("EACCES")) });
  expect(await run()).toMatchObject({ status: "ok" });
  expect(messages.find(({ role }) => role === "tool")).toMatchObject({ text: "seen" });
  expect(types(events)).toContain("diagnostic");
});

test("every request is the former one plus new messages at the end", async () => {
  const script: Script = [...Array.from({ length: 19 }, (_, turn) => calling(["look", { path: `f${turn}` }])), saying("done")];
  const { run, provider } = setUp({ script, tools: [{ name: "look" }] });
  expect((await run()).requests).toBe(20);
  for (let index = 1; index < provider.requests.length; index++) {
    const former = provider.requests[index - 1]?.messages ?? [];
    const now = provider.requests[index]?.messages ?? [];
    expect(now.length).toBeGreaterThan(former.length);
    for (const [at, message] of former.entries()) expect(now[at]).toBe(message);
  }
});

test("reads of one message overlap; a write runs alone and in the model's order", async () => {
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const read = (name: string) => ({
    name,
    run: async () => {
      log.push(`+${name}`);
      if (log.filter((entry) => entry.startsWith("+read")).length === 2) gate.resolve();
      await gate.promise;
      log.push(`-${name}`);
      return succeeded(name);
    },
  });
  const write: FakeTool = {
    name: "write",
    effect: "write",
    run: async () => {
      log.push("+write");
      await Promise.resolve();
      log.push("-write");
      return succeeded("w");
    },
  };
  const { run, messages } = setUp({
    script: [calling(["read1", {}], ["read2", {}], ["write", {}], ["read1", {}]), saying("ok")],
    tools: [read("read1"), read("read2"), write],
  });
  await run();
  expect(log.slice(0, 2).sort()).toEqual(["+read1", "+read2"]);
  expect(log.slice(4)).toEqual(["+write", "-write", "+read1", "-read1"]);
  expect(messages.filter((message) => message.role === "tool").map((message) => message.text)).toEqual([
    "read1",
    "read2",
    "w",
    "read1",
  ]);
});

test("P06 empty arguments mean {}", async () => {
  for (const args of ["", "  ", "null"]) {
    let seen: unknown;
    const { run } = setUp({
      script: [calling(["t", args]), saying("ok")],
      tools: [
        {
          name: "t",
          run: (input) => {
            seen = input;
            return succeeded("x");
          },
        },
      ],
    });
    await run();
    expect(seen).toEqual({});
  }
});

test("P19 unknown tool, unparsable and non-object arguments are errors for the model; the run goes on", async () => {
  const { run, messages } = setUp({
    script: [calling(["edit_file", {}], ["t", "{"], ["t", "[]"], ["t", '"x"'], ["t", "5"], ["t", { path: 3 }]), saying("ok")],
    tools: [{ name: "t" }],
  });
  expect((await run()).status).toBe("ok");
  const results = messages.filter((message) => message.role === "tool");
  expect(results.map((message) => message.failed)).toEqual([true, true, true, true, true, true]);
  expect(results[0]?.text).toContain('no tool "edit_file". The tools are: t');
  expect(results[1]?.text).toContain("not valid JSON");
  expect(results[2]?.text).toContain("not an array");
  expect(results[5]?.text).toContain("- path:");
});

test("the model gets the text, the events get it redacted", async () => {
  const { run, messages, events } = setUp({
    script: [calling(["t", {}]), saying("ok")],
    tools: [{ name: "t", run: () => succeeded("key=SECRET") }],
  });
  await run();
  expect(messages.find((message) => message.role === "tool")?.text).toBe("key=SECRET");
  expect(events.find((event) => event.type === "tool_finished")).toMatchObject({ output: "key=[redacted:test]" });
});

test("steering is taken before the next request, also when the model would have stopped", async () => {
  const { run, provider } = setUp({ script: [saying("one"), saying("two")], steering: [[], ["also this"]] });
  expect((await run()).text).toBe("two");
  expect(provider.requests[1]?.messages.at(-1)).toEqual({ role: "user", text: "also this" });
});

test("steering that the last request allowed cannot carry is left where it is", async () => {
  const steering = [[], ["too late"]];
  const limit = (requests: number) => (requests === 1 ? ({ class: "max_turns", message: "enough" } as const) : undefined);
  const { run, messages, events } = setUp({ script: [saying("one")], steering, limit });
  expect((await run()).status).toBe("limit");
  expect(steering).toEqual([["too late"]]);
  expect(messages.at(-1)?.text).toBe("one");
  expect(events.filter((event) => event.type === "assistant_finished")).toMatchObject([{ final: false }]);
});

test("the output limit: one continuation, then a failure that says so", async () => {
  const once = setUp({ script: [saying("Hel", "length"), saying("lo")] });
  expect(await once.run()).toMatchObject({ status: "ok", text: "Hello", requests: 2 });
  const twice = setUp({ script: [saying("Hel", "length"), saying("lo", "length")] });
  expect(await twice.run()).toMatchObject({ status: "failed", text: "Hello", error: { class: "output_limit" } });
  expect(ends(twice.events)).toHaveLength(1);
});

test("a cut answer that goes on with a call is no part of the next one, which may be cut as well", async () => {
  const call = (text: string): ProviderEvent[] => [{ type: "text", text }, ...calling(["t", {}])];
  const script = [saying("Part one, ", "length"), call("looking"), saying("Do", "length"), saying("ne.")];
  const { run, messages, provider } = setUp({ script, tools: [{ name: "t" }] });
  expect(await run()).toMatchObject({ status: "ok", text: "Done." });
  expect(provider.requests).toHaveLength(4);
  expect(messages.filter((message) => message.role === "assistant").map((message) => message.text)).toEqual([
    "Part one, ",
    "looking",
    "Do",
    "ne.",
  ]);
  const failing = setUp({
    script: [...script.slice(0, 2), saying("Do", "length"), saying("ne", "length")],
    tools: [{ name: "t" }],
  });
  expect(await failing.run()).toMatchObject({ status: "failed", text: "Done", error: { class: "output_limit" } });
});

test("a cut answer that goes on with a call is not checked against the schema", async () => {
  const checked: string[] = [];
  const checkFinal = (text: string) => {
    checked.push(text);
    return undefined;
  };
  const script = [saying("Part one, ", "length"), calling(["t", {}]), saying("{}")];
  expect(await setUp({ script, tools: [{ name: "t" }], checkFinal }).run()).toMatchObject({ status: "ok", text: "{}" });
  expect(checked).toEqual(["{}"]);
});

test("a call cut at the output limit is not run; the model is told", async () => {
  let ran = 0;
  const events = calling(["t", { path: "a" }], ["t", '{"path": "b']).slice(0, -1);
  const { run, messages } = setUp({
    script: [[...events, { type: "stop", reason: "length" }], saying("ok")],
    tools: [
      {
        name: "t",
        run: () => {
          ran += 1;
          return succeeded("x");
        },
      },
    ],
  });
  await run();
  expect(ran).toBe(1);
  expect(messages.filter((message) => message.role === "tool").map((message) => message.text)).toEqual([
    "x",
    "This call was cut at the output limit and was not run. Send it again, in smaller pieces.",
  ]);
});

test("C12 empty answers and reasoning alone are failures that say why", async () => {
  const empty = setUp({ script: [saying("")] });
  expect(await empty.run()).toMatchObject({
    status: "failed",
    error: { class: "empty_answer", message: "the model gave no answer" },
  });
  const reasoning = setUp({
    script: [
      [
        { type: "reasoning", text: "hm" },
        { type: "stop", reason: "length" },
      ],
    ],
  });
  expect((await reasoning.run()).error?.message).toBe("the model gave no answer, only reasoning; it reached its output limit");
});

test("C12 an empty answer that ended for an unknown reason names it; a whole one is no worse for it", async () => {
  const end: ProviderEvent = { type: "stop", reason: "end", unknown: "LANGUAGE" };
  const empty = setUp({ script: [[end]] });
  expect((await empty.run()).error).toEqual({
    class: "empty_answer",
    message: "the model gave no answer; it ended with: LANGUAGE",
  });
  expect(await setUp({ script: [[{ type: "text", text: "whole" }, end]] }).run()).toMatchObject({ status: "ok", text: "whole" });
});

test("no progress: a notice from the third, the end at the sixth", async () => {
  const script = Array.from({ length: 10 }, () => calling(["t", { path: "same" }]));
  const { run, messages, provider } = setUp({ script, tools: [{ name: "t" }] });
  expect(await run()).toMatchObject({ status: "failed", error: { class: "no_progress" } });
  expect(provider.requests).toHaveLength(6);
  const texts = messages.filter((message) => message.role === "tool").map((message) => message.text);
  expect(texts[1]).toBe("done");
  expect(texts[2]).toContain("3 times in a row");
});

test("C17 a limit ends the turn before the next request; the work so far is kept", async () => {
  let ran = 0;
  const { run, provider, events } = setUp({
    script: Array.from({ length: 9 }, (_, index) => calling(["t", { path: `${index}` }])),
    tools: [
      {
        name: "t",
        run: () => {
          ran += 1;
          return succeeded(`${ran}`);
        },
      },
    ],
    limit: (requests) => (requests >= 5 ? { class: "max_turns", message: "5 requests" } : undefined),
  });
  expect(await run()).toMatchObject({ status: "limit", requests: 5, error: { class: "max_turns" } });
  expect(provider.requests).toHaveLength(5);
  expect(ran).toBe(5);
  expect(ends(events)).toHaveLength(1);
});

test("a failure keeps the partial text, marked, and emits one failed", async () => {
  const { run, events, messages } = setUp({
    script: [
      [
        { type: "text", text: "half an ans" },
        { type: "failure", class: "truncated", message: "the stream ended early" },
      ],
    ],
  });
  expect(await run()).toMatchObject({ status: "failed", error: { class: "truncated", message: "the stream ended early" } });
  expect(events.find((event) => event.type === "assistant_finished")).toMatchObject({
    text: "half an ans",
    partial: true,
    final: false,
  });
  expect(messages.at(-1)).toMatchObject({ role: "assistant", text: "half an ans" });
});

test("a retry makes the text so far void", async () => {
  const { run } = setUp({
    script: [
      [
        { type: "text", text: "first tr" },
        { type: "retrying", attempt: 1, maxAttempts: 8, delayMs: 0, failure: "truncated", message: "cut" },
        ...saying("second"),
      ],
    ],
  });
  expect((await run()).text).toBe("second");
});

test("L08 a cancel in a tool: one cancelled event, the call is answered, later calls do not start", async () => {
  const started = Promise.withResolvers<void>();
  const ran: string[] = [];
  const { run, controller, messages, events } = setUp({
    script: [calling(["slow", {}], ["after", {}])],
    tools: [
      {
        name: "slow",
        effect: "shell",
        run: async (_, context) => {
          started.resolve();
          await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
          return { ...failed("cancelled"), status: "cancelled" };
        },
      },
      {
        name: "after",
        effect: "shell",
        run: () => {
          ran.push("after");
          return succeeded("x");
        },
      },
    ],
  });
  const outcome = run();
  await started.promise;
  controller.abort("signal:SIGTERM");
  expect(await outcome).toMatchObject({ status: "cancelled", error: { class: "cancelled" } });
  expect(ends(events)).toEqual([{ type: "cancelled", turnId: "turn-1", reason: "signal:SIGTERM" }]);
  expect(ran).toEqual([]);
  expect(messages.filter((message) => message.role === "tool")).toHaveLength(2);
});

test("L08 a cancel at a question: the call is cancelled, not denied", async () => {
  const { context, controller, events } = setUp({ script: [calling(["t", {}])], tools: [{ name: "t", effect: "shell" }] });
  const permit = async () => {
    controller.abort("user");
    return { allowed: false, reason: "Cancelled." } as const;
  };
  const outcome = await runTurn({ ...context, calls: { ...context.calls, permit } });
  expect(outcome.status).toBe("cancelled");
  expect(events.find((event) => event.type === "tool_finished")).toMatchObject({ status: "cancelled", output: "Cancelled." });
});

test("a time limit is a timeout, not a user's cancel", async () => {
  const { run, controller } = setUp({ script: [saying("never")] });
  controller.abort("timeout");
  expect(await run()).toMatchObject({ status: "timeout", requests: 0, error: { class: "timeout" } });
});

test("an invalid structured answer gets one repair request", async () => {
  const checkFinal = (text: string) => (text.startsWith("{") ? undefined : "not JSON");
  const repaired = setUp({ script: [saying("nope"), saying("{}")], checkFinal });
  expect(await repaired.run()).toMatchObject({ status: "ok", text: "{}", requests: 2 });
  const hopeless = setUp({ script: [saying("nope"), saying("no")], checkFinal });
  expect(await hopeless.run()).toMatchObject({ status: "failed", error: { class: "invalid_output" } });
});

test("context overflow: room is made once, then the request goes again", async () => {
  const overflow = { type: "failure", class: "context_overflow", message: "too long" } as const;
  let rooms = 0;
  const makeRoom = async () => ++rooms > 0;
  const saved = setUp({ script: [[overflow], saying("ok")], makeRoom });
  expect(await saved.run()).toMatchObject({ status: "ok", requests: 2 });
  const lost = setUp({ script: [[overflow], [overflow]], makeRoom });
  expect(await lost.run()).toMatchObject({ status: "failed", error: { class: "context_overflow" } });
  expect(rooms).toBe(2);
});

test("what making room has cost ends the turn as a limit, before the next request and after an overflow", async () => {
  const stop = { class: "max_cost", message: "used up" } as const;
  let spent = false;
  const limit = () => (spent ? stop : undefined);
  const full = { class: "context_overflow", message: "does not fit" } as const;
  const beforeRequest = async () => {
    spent = true;
    return full;
  };
  const before = setUp({ script: [saying("never")], limit, beforeRequest });
  expect(await before.run()).toMatchObject({ status: "limit", error: stop, requests: 0 });
  spent = false;
  const overflow: ProviderEvent = { type: "failure", ...full };
  const makeRoom = async () => {
    spent = true;
    return false;
  };
  expect(await setUp({ script: [[overflow]], limit, makeRoom }).run()).toMatchObject({ status: "limit", error: stop });
});

test("a cancel while room is made after an overflow is a cancel", async () => {
  const overflow: ProviderEvent = { type: "failure", class: "context_overflow", message: "too long" };
  const made = setUp({
    script: [[overflow]],
    makeRoom: async () => {
      made.controller.abort("user");
      return false;
    },
  });
  expect((await made.run()).status).toBe("cancelled");
  expect(types(ends(made.events))).toEqual(["cancelled"]);
});

test("a call whose arguments hold half a surrogate pair is answered, not run", async () => {
  const ran: unknown[] = [];
  const run: FakeTool["run"] = (input) => {
    ran.push(input);
    return succeeded("noted");
  };
  const tools: FakeTool[] = [{ name: "note", run }];
  const calls = ['{"text":"\\ud800"}', '{"\\udc00":1}', '{"text":"\\ud83c\\udf32"}'].map((args): [string, unknown] => [
    "note",
    args,
  ]);
  const turn = setUp({ script: [calling(...calls), saying("done")], tools });
  await turn.run();
  expect(ran).toEqual([{ text: "🌲" }]);
  const said = turn.messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
  expect(said.map((text) => text.includes("half a surrogate pair"))).toEqual([true, true, false]);
});

test("of many reads in one message four run at a time, and the results keep the model's order", async () => {
  let running = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const run: FakeTool["run"] = async (input) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((done) => {
      waiting.push(done);
      // Whoever came last goes first: order must not come from the end.
      if (running === 4 || input.last === true) waiting.pop()?.();
    });
    running -= 1;
    if (running < 4) waiting.pop()?.();
    return succeeded(`read ${String(input.path)}`);
  };
  const calls = Array.from({ length: 11 }, (_, index): [string, unknown] => ["look", { path: `f${index}`, last: index === 10 }]);
  const turn = setUp({ script: [calling(...calls), saying("done")], tools: [{ name: "look", run }] });
  await turn.run();
  expect(most).toBe(4);
  const said = turn.messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
  expect(said).toEqual(calls.map((_, index) => `read f${index}`));
});
