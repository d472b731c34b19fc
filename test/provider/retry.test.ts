/** Trying again: when, how long, how often, and how it is stopped (P10, P12, P13). */
import { expect, test } from "bun:test";
import { humanWait, retryAfterHeader, waitInText } from "../../src/provider/wait.ts";
import { type Step, startLoopback } from "../support/loopback.ts";
import { collect, settingsFor, testProvider, WIRES } from "../support/wire/stream.ts";

const NOW = Date.parse("2026-11-30T12:00:00Z");

/** Runs a script with a clock that does not wait; says what the waits were. */
async function run(
  steps: readonly Step[],
  more: { readonly maxTries?: number; readonly random?: () => number; readonly wire?: (typeof WIRES)[number] } = {},
) {
  const server = await startLoopback(steps, { repeatLast: true });
  const waits: number[] = [];
  const provider = testProvider(settingsFor(more.wire ?? "chat", server.baseUrl), {
    retry: { maxTries: more.maxTries ?? 8, capMs: 60_000, maxRetryAfterMs: 300_000 },
    random: more.random ?? (() => 0.5),
    now: () => NOW,
    sleep: async (ms) => void waits.push(ms),
  });
  const said = await collect(provider);
  await server.close();
  return { said, waits, requests: server.requests.length };
}

const busy = (status: number, headers: Record<string, string> = {}, message = "busy"): Step => ({
  status,
  headers,
  body: { error: { message } },
});

for (const wire of WIRES) {
  test(`P13 ${wire}: 529 three times, then success`, async () => {
    const { said, waits, requests } = await run([busy(529), busy(529), busy(529), { text: "ok" }], { wire });
    expect([said.text, said.stop, said.endings, requests]).toEqual(["ok", "end", 1, 4]);
    expect(waits).toEqual([500, 1_000, 2_000]);
    expect(said.retries.map((event) => [event.attempt, event.maxAttempts, event.failure])).toEqual([
      [2, 8, "overloaded"],
      [3, 8, "overloaded"],
      [4, 8, "overloaded"],
    ]);
  });

  test(`P08 ${wire}: a cut stream is asked for again and its text is void`, async () => {
    const { said, requests } = await run(
      [
        { text: ["half", "er"], cut: { after: 3, how: "rst" } },
        { text: ["ha"], cut: { after: 2, how: "clean" } },
        { text: "whole" },
      ],
      { wire },
    );
    expect([said.text, said.retries.length, requests]).toEqual(["whole", 2, 3]);
  });
}

test("P13 503 for ever: eight tries, waits grow to the cap, then one failure that says so", async () => {
  const { said, waits, requests } = await run([busy(503)], { random: () => 0.999_999 });
  expect([requests, said.failure?.class, said.endings]).toEqual([8, "overloaded", 1]);
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
  expect(said.failure?.message).toContain("(gave up after 8 tries)");
});

test("full jitter: a wait may be anything from nothing to the step", async () => {
  expect((await run([busy(500), { text: "x" }], { random: () => 0 })).waits).toEqual([0]);
});

test("what cannot get better is not tried again", async () => {
  for (const step of [busy(400), busy(401), busy(402), busy(404), busy(413)]) expect((await run([step])).requests).toBe(1);
  expect((await run([{ raw: ["data: nonsense\n\n"] }])).requests).toBe(1);
});

test("P12 Retry-After in seconds and as a date is obeyed", async () => {
  expect((await run([busy(429, { "retry-after": "2" }), { text: "x" }])).waits).toEqual([2_000]);
  expect((await run([busy(429, { "retry-after": "Mon, 30 Nov 2026 12:00:02 GMT" }), { text: "x" }])).waits).toEqual([2_000]);
  expect((await run([busy(429, {}, "Rate limit reached. Please try again in 1m1.5s."), { text: "x" }])).waits).toEqual([61_500]);
});

test("P12 nonsense in Retry-After falls back to back-off", async () => {
  for (const junk of ["abc", "-5", "", "0", "Mon, 30 Nov 2020 12:00:02 GMT", "1e99", "NaN", "2026"]) {
    const { waits } = await run([busy(429, { "retry-after": junk }), { text: "x" }]);
    expect([junk, waits.length]).toEqual([junk, junk === "2026" ? 0 : 1]);
    if (junk !== "2026") expect(waits).toEqual([500]);
  }
});

test("P12 a wait beyond five minutes ends at once and names the time", async () => {
  const long = await run([busy(429, { "retry-after": "999999" })]);
  expect([long.requests, long.said.failure?.class, long.said.failure?.retryAfterMs]).toEqual([1, "rate_limit", 999_999_000]);
  expect(long.said.failure?.message).toContain("asks to wait 11 days, at 2026-12-12 01:46 UTC");
  const quota = await run([busy(429, {}, "Quota exceeded, it resets in 12 hours")]);
  expect([quota.requests, quota.said.failure?.class]).toEqual([1, "quota"]);
  expect(quota.said.failure?.message).toContain("12 h, at 2026-12-01 00:00 UTC");
});

test("a date in a refusal is not mistaken for a wait", async () => {
  const { said } = await run([busy(400, {}, "unknown field; your plan renews in 30 days")]);
  expect(said.failure?.message).toEndWith("answered 400: unknown field; your plan renews in 30 days");
});

test("P12 a cancel ends the wait at once", async () => {
  const server = await startLoopback([busy(429, { "retry-after": "200" })]);
  const control = new AbortController();
  const provider = testProvider(settingsFor("chat", server.baseUrl), {
    retry: { maxTries: 8, capMs: 60_000, maxRetryAfterMs: 300_000 },
  });
  const kinds: string[] = [];
  const began = performance.now();
  for await (const event of provider.stream(
    { model: "m", system: "", tools: [], messages: [{ role: "user", text: "x" }], sessionId: "s" },
    control.signal,
  )) {
    kinds.push(event.type === "failure" ? event.class : event.type);
    if (event.type === "retrying") control.abort();
  }
  expect(kinds).toEqual(["retrying", "cancelled"]);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(server.requests.length).toBe(1);
  await server.close();
});

test("waits in headers and sentences", () => {
  const header = (name: string, value: string) => retryAfterHeader(new Headers({ [name]: value }), NOW);
  expect([header("retry-after-ms", "250"), header("retry-after", "1.5"), header("retry-after", "soon")]).toEqual([
    250,
    1_500,
    undefined,
  ]);
  const sentences: readonly (readonly [string, number | undefined])[] = [
    ["Please try again in 20s.", 20_000],
    ["Please try again in 350ms.", 350],
    ["retry after 2 minutes", 120_000],
    ["resets in 1 hour and 5 minutes", 3_900_000],
    ["try again in 1h2m3s", 3_723_000],
    ['{"retryDelay": "34s"}', 34_000],
    ["Your limit resets at 2026-11-30T13:00:00Z", 3_600_000],
    ["used 5 of 10 requests in total", undefined],
    ["in 5 seconds-long chunks? no", undefined],
    ["upstream request timed out after 600 seconds", undefined],
    ["Worker crashed after 3 s", undefined],
    ["the request was cancelled in 20 ms", undefined],
    ["Rate limit reached. Wait for 12 s.", 12_000],
    ["please wait at least 3 minutes", 180_000],
    ["Retry-After: 7s", 7_000],
    ["quota will be available again in 2h", 7_200_000],
    ["your limit refreshes in 4 days", 345_600_000],
    ["try again later", undefined],
  ];
  for (const [sentence, ms] of sentences) expect([sentence, waitInText(sentence, NOW)]).toEqual([sentence, ms]);
  expect([humanWait(300), humanWait(90_000), humanWait(3_600_000), humanWait(43_500_000)]).toEqual([
    "1 s",
    "90 s",
    "60 min",
    "12 h 5 min",
  ]);
});
