/** --capture: one line an exchange, when it is over, in order; bounded, redacted, and out of the way of the caller. */
import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { UnreadableBody, unpackedBody } from "../../src/base/packed-body.ts";
import { createCapture } from "../../src/provider/capture.ts";
import type { Fetch } from "../../src/provider/http.ts";

const MIB = 1024 * 1024;

type Line = { method: string; url: string; request: string; status?: number; response?: string; error?: string };

/** A capture whose lines are at hand; `answers` are given to the requests in turn. */
function stage(answers: readonly (Response | Error)[], redact = (text: string) => text) {
  const lines: Line[] = [];
  const rest = [...answers];
  const inner: Fetch = async () => {
    const next = rest.shift();
    if (next instanceof Response) return next;
    throw next ?? new Error("nothing left");
  };
  const capture = createCapture(inner, redact, async (line) => {
    expect(line).toEndWith("\n");
    lines.push(JSON.parse(line));
    return true;
  });
  const ask = (body: string, url = "http://host/v1/chat") => capture.fetch(url, { method: "POST", body });
  return { capture, lines, ask };
}

/** A response whose chunks come when the test says so. */
function live(): { response: Response; send: (text: string) => void; end: () => void; fail: (error: Error) => void } {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  return {
    response: new Response(body, { status: 200 }),
    send: (text) => controller?.enqueue(new TextEncoder().encode(text)),
    end: () => controller?.close(),
    fail: (error) => controller?.error(error),
  };
}

test("an exchange is written when it is over, before the next request leaves", async () => {
  const { lines, ask } = stage([new Response("one", { status: 200 }), new Response("two", { status: 503 })]);
  expect(await (await ask("first")).text()).toBe("one");
  const second = await ask("second");
  expect(lines).toEqual([{ method: "POST", url: "http://host/v1/chat", request: "first", status: 200, response: "one" }]);
  expect(second.status).toBe(503);
  expect(await second.text()).toBe("two");
});

test("a packed answer is kept as text, and one that cannot be unpacked as what went wrong", async () => {
  const headers = { "content-encoding": "gzip" };
  const whole = new Uint8Array(gzipSync("data: ünpacked\n\n"));
  const { lines, ask, capture } = stage([
    new Response(whole, { headers }),
    new Response("not packed at all, whatever it says", { headers }),
  ]);
  expect(await new Response(unpackedBody(await ask("1"))).text()).toBe("data: ünpacked\n\n");
  await expect(new Response(unpackedBody(await ask("2"))).text()).rejects.toBeInstanceOf(UnreadableBody);
  await capture.settle();
  expect(lines.map(({ response }) => response)).toEqual([
    "data: ünpacked\n\n",
    "\n[cut off: the body cannot be unpacked (content-encoding: gzip)]",
  ]);
});

test("the lines keep the order of the requests, whichever answer ends first", async () => {
  const slow = live();
  const { lines, ask, capture } = stage([slow.response, new Response("fast")]);
  const first = await ask("1");
  await (await ask("2")).text();
  slow.send("slow");
  slow.end();
  await first.text();
  await capture.settle();
  expect(lines.map(({ request, response }) => [request, response])).toEqual([
    ["1", "slow"],
    ["2", "fast"],
  ]);
});

test("the caller gets every chunk at its own pace; an abort reaches the server's stream", async () => {
  let asked = 0;
  let left: unknown;
  const source = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        asked += 1;
        controller.enqueue(new Uint8Array(1000).fill(97));
      },
      cancel(reason) {
        left = reason;
      },
    },
    { highWaterMark: 0 },
  );
  const { lines, ask, capture } = stage([new Response(source)]);
  const reader = (await ask("x")).body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(1000);
  expect(asked).toBe(1);
  await reader?.cancel("enough");
  expect(left).toBe("enough");
  await capture.settle();
  expect(lines[0]?.response).toBe(`${"a".repeat(1000)}\n[cut off: cancelled]`);
});

test("failures are kept: no connection, a broken stream, a run that ends first", async () => {
  const broken = live();
  const open = live();
  const { lines, ask, capture } = stage([new Error("refused"), broken.response, open.response]);
  await expect(ask("1")).rejects.toThrow("refused");
  const second = await ask("2");
  broken.send("half");
  broken.fail(new Error("reset"));
  await expect(second.text()).rejects.toThrow("reset");
  await ask("3");
  open.send("never read");
  await capture.settle();
  expect(lines.map(({ error, response }) => error ?? response)).toEqual([
    "refused",
    expect.stringMatching(/^(half)?\n\[cut off: reset\]$/),
    "\n[cut off: the run ended]",
  ]);
});

test("bodies are bounded, requests too, and the rest is counted to the byte", async () => {
  // Three bytes a character, and a bound that falls into the middle of one.
  const long = `start ${"北".repeat(2 * MIB)} end`;
  const { lines, ask, capture } = stage([new Response(long), new Response("x".repeat(4 * MIB))]);
  expect(await (await ask(long)).text()).toBe(long);
  await (await ask("y".repeat(4 * MIB))).text();
  await capture.settle();
  for (const kept of [lines[0]?.request, lines[0]?.response]) {
    const [, text = "", more = ""] = /^([\s\S]*)\n\[(\d+) more bytes\]$/.exec(kept ?? "") ?? [];
    expect(long.startsWith(text)).toBe(true);
    expect(Buffer.byteLength(text) + Number(more)).toBe(Buffer.byteLength(long));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4 * MIB);
    expect(Buffer.byteLength(text)).toBeGreaterThan(4 * MIB - 1024);
  }
  expect(lines[1]).toMatchObject({ request: "y".repeat(4 * MIB), response: "x".repeat(4 * MIB) });
});

test("a key that the bound would cut in half is not there in part", async () => {
  const key = "sk-or-v1-0123456789abcdef0123456789abcdef";
  const body = `${"a ".repeat(2 * MIB - 10)}"${key}" and more`;
  const { lines, ask, capture } = stage([new Response(body)], (text) => text.replaceAll(key, "[gone]"));
  await (await ask(body)).text();
  await capture.settle();
  expect(JSON.stringify(lines)).not.toContain("sk-or");
});

test("redaction knows what was learnt while the exchange was in flight; addresses and errors show no key", async () => {
  const secrets: string[] = [];
  const hide = (text: string): string => secrets.reduce((shown, secret) => shown.replaceAll(secret, "[gone]"), text);
  const url = "http://me:pw-77@host/v1?key=plain-77&api-version=3";
  const refused = new Error(`Unable to connect: fetching "${url}"`);
  const { lines, ask, capture } = stage([new Response("late-secret"), refused], hide);
  const response = await ask("late-secret", url);
  secrets.push("late-secret");
  await response.text();
  await expect(ask("x", url)).rejects.toThrow("fetching");
  await capture.settle();
  expect(lines[0]).toMatchObject({ url: "http://host/v1?key=redacted&api-version=3", request: "[gone]", response: "[gone]" });
  expect(lines[1]?.error).toBe('Unable to connect: fetching "http://host/v1?key=redacted&api-version=3"');
});

test("once a line is lost nothing more is kept, and requests go out as if nothing were", async () => {
  const written: string[] = [];
  const capture = createCapture(
    async () => new Response("ok"),
    (text) => text,
    async (line) => written.push(line) < 2,
  );
  for (let n = 0; n < 5; n++) {
    const response = await capture.fetch("http://host/", { method: "POST", body: String(n) });
    expect(await response.text()).toBe("ok");
  }
  await capture.settle();
  expect(written).toHaveLength(2);
});
