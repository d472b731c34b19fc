import { expect, test } from "bun:test";
import { startLoopback } from "../support/loopback.ts";

const chatBody = (messages: object[]) => JSON.stringify({ model: "mock", stream: true, messages });
const post = (url: string, body: string, signal?: AbortSignal) =>
  fetch(`${url}/chat/completions`, { method: "POST", body, ...(signal === undefined ? {} : { signal }) });

test("loopback: steps are served in order, requests are seen, the stream is complete", async () => {
  const server = await startLoopback([{ text: "one" }, { text: ["t", "wo"], chunking: 1 }]);
  const first = await (await post(server.baseUrl, chatBody([{ role: "user", content: "é" }]))).text();
  const second = await (await post(server.baseUrl, chatBody([{ role: "user", content: "b" }]))).text();
  expect(first).toContain('"content":"one"');
  expect(second).toContain('"content":"wo"');
  expect(second).toEndWith("data: [DONE]\n\n");
  expect(server.requests[0]?.body.messages[0].content).toBe("é");
  await server.close();
});

test("loopback: a bad request fails the test at close", async () => {
  const server = await startLoopback([{ text: "x" }]);
  await (await post(server.baseUrl, chatBody([{ role: "user", content: "" }]))).text();
  expect(server.violations.length).toBe(1);
  expect(server.close()).rejects.toThrow("empty user message");
});

test("loopback: a request after the last step is a violation", async () => {
  const server = await startLoopback([]);
  expect((await post(server.baseUrl, chatBody([{ role: "user", content: "a" }]))).status).toBe(400);
  expect(server.close()).rejects.toThrow("no step left");
});

test("loopback: cut by FIN and RST breaks the transfer, a clean cut does not", async () => {
  for (const how of ["fin", "rst", "clean"] as const) {
    const server = await startLoopback([{ text: ["a", "b", "c"], cut: { after: 2, how } }]);
    const text = post(server.baseUrl, chatBody([{ role: "user", content: "a" }])).then((response) => response.text());
    if (how === "clean") expect(await text).not.toContain("[DONE]");
    else expect(text).rejects.toThrow();
    await text.catch(() => {});
    await server.close();
  }
});

test("loopback: gates hold before the answer and inside it; leaving early is seen", async () => {
  const server = await startLoopback([{ text: ["a", "b"], hold: { gate: "go", at: 2 } }, { hang: true }]);
  const response = await post(server.baseUrl, chatBody([{ role: "user", content: "a" }]));
  const reader = response.body?.getReader();
  const got = await reader?.read();
  expect(new TextDecoder().decode(got?.value)).toContain('"role":"assistant"');
  server.release("go");
  while ((await reader?.read())?.done === false);
  expect(await (await server.request(1)).ended).toBe(false);
  const abort = new AbortController();
  const hanging = post(server.baseUrl, chatBody([{ role: "user", content: "a" }]), abort.signal).catch(() => {});
  const seen = await server.request(2);
  abort.abort();
  await hanging;
  expect(await seen.ended).toBe(true);
  await server.close();
});

test("loopback: as a process it prints its address and obeys control requests", async () => {
  const file = `${(await import("node:os")).tmpdir()}/thndrs-loopback-${process.pid}.json`;
  await Bun.write(file, JSON.stringify([{ text: "hello" }]));
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/../support/loopback.ts`, "--script", file], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  const line = JSON.parse(new TextDecoder().decode((await reader.read()).value)) as { url: string; port: number };
  expect(await (await post(line.url, chatBody([{ role: "user", content: "a" }]))).text()).toContain("hello");
  const control = `http://127.0.0.1:${line.port}`;
  expect(await (await fetch(`${control}/__requests`)).json()).toHaveLength(1);
  expect(await (await fetch(`${control}/__violations`)).json()).toEqual([]);
  await fetch(`${control}/__quit`, { method: "POST" });
  expect(await child.exited).toBe(0);
  await Bun.file(file).delete();
});
