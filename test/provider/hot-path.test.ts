/** Streaming costs little: 1 MB in 20,000 deltas, and long answers byte by byte, in linear time. */
import { expect, test } from "bun:test";
import { startLoopback, wireFrames } from "../support/loopback.ts";
import {
  chunked,
  collect,
  encode,
  hello,
  memoryFetch,
  requestOf,
  settingsFor,
  testProvider,
  WIRES,
} from "../support/wire/stream.ts";

const deltas = Array.from({ length: 20_000 }, (_, n) => `w${n} lorem ipsum dolor sit amet consectetur elit sed `.slice(0, 50));

for (const wire of WIRES) {
  test(`${wire}: 1 MB in 20,000 deltas`, async () => {
    const text = wireFrames(wire, { text: deltas }).join("");
    const bytes = new TextEncoder().encode(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 32_768) }, (_, n) => bytes.slice(n * 32_768, (n + 1) * 32_768));
    const provider = testProvider(settingsFor(wire, "http://mock.test/v1"), { fetch: memoryFetch({ chunks }) });
    await collect(provider);
    const began = process.cpuUsage();
    const said = await collect(provider);
    const spent = process.cpuUsage(began);
    expect(said.text).toBe(deltas.join(""));
    // Deltas of one network chunk leave as one event.
    expect(said.events).toBeLessThan(chunks.length + 5);
    // About 40 ms on a small machine; the bound only catches another order of magnitude.
    expect((spent.user + spent.system) / 1_000).toBeLessThan(600);
  });
}

test("one frame of 4 MB, in small chunks, is linear", async () => {
  const frames = wireFrames("chat", { text: "x".repeat(4_000_000) });
  const bytes = new TextEncoder().encode(frames.join(""));
  const chunks = Array.from({ length: Math.ceil(bytes.length / 1_000) }, (_, n) => bytes.slice(n * 1_000, (n + 1) * 1_000));
  const began = performance.now();
  const said = await collect(testProvider(settingsFor("chat", "http://mock.test/v1"), { fetch: memoryFetch({ chunks }) }));
  expect(said.text.length).toBe(4_000_000);
  expect(performance.now() - began).toBeLessThan(3_000);
});

test("an event that never ends is refused instead of filling memory", async () => {
  const megabyte = new TextEncoder().encode("x".repeat(1_048_576));
  const endless = memoryFetch({ chunks: [...encode("data: "), ...Array.from({ length: 40 }, () => megabyte)] });
  const said = await collect(testProvider(settingsFor("chat", "http://mock.test/v1"), { fetch: endless }));
  expect([said.failure?.class, said.failure?.message]).toEqual(["protocol", "mock.test sent an event that is too large"]);
});

test("requests of one provider share a connection", async () => {
  const server = await startLoopback([{ text: "a" }], { repeatLast: true });
  const provider = testProvider(settingsFor("chat", server.baseUrl));
  for (const seen of [1, 2, 3, 4, 5, 6]) {
    // The loop leaves as soon as it has the stop.
    for await (const event of provider.stream(requestOf(hello), new AbortController().signal)) if (event.type === "stop") break;
    expect(await (await server.request(seen)).ended).toBe(false);
    await Bun.sleep(20);
  }
  // One, unless a loaded machine is late to return it to the pool.
  expect(server.connections()).toBeLessThan(4);
  await server.close();
});

test("one byte a write over real TCP", async () => {
  for (const wire of WIRES) {
    const answer = { text: "北 🌲 é", calls: [{ name: "w", arguments: { text: "北 🌲 é" } }] };
    const server = await startLoopback([{ ...answer, chunking: 1 }]);
    const said = await collect(testProvider(settingsFor(wire, server.baseUrl)));
    const whole = await collect(
      testProvider(settingsFor(wire, "http://mock.test"), {
        fetch: memoryFetch({ chunks: chunked(wireFrames(wire, answer), "whole") }),
      }),
    );
    expect([said.text, said.calls, said.stop]).toEqual([whole.text, whole.calls, whole.stop]);
    await server.close();
  }
});

test("a consumer that leaves in the middle closes the connection", async () => {
  for (const wire of WIRES) {
    const server = await startLoopback([{ text: ["a", "b"], cut: { after: 5, how: "stall" } }]);
    for await (const event of testProvider(settingsFor(wire, server.baseUrl)).stream(
      requestOf(hello),
      new AbortController().signal,
    )) {
      if (event.type === "text") break;
    }
    expect(await (await server.request(1)).ended).toBe(true);
    await server.close();
  }
});
