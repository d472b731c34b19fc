/** The connection to the model is opened while the first request is made, and the request takes it. */
import { expect, test } from "bun:test";
import { runThndrs } from "../support/run.ts";

const ANSWER = [
  'data: {"choices":[{"delta":{"content":"hello"}}]}\n\n',
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
  "data: [DONE]\n\n",
].join("");

/** A server that says what came over each connection: the first word of every request. */
function listen() {
  const connections: string[][] = [];
  const server = Bun.listen<{ requests: string[] }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { requests: [] };
        connections.push(socket.data.requests);
      },
      data(socket, data) {
        const text = data.toString();
        if (!/^(?:GET|POST) /.test(text)) return;
        socket.data.requests.push(text.slice(0, text.indexOf(" ")));
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`);
      },
    },
  });
  return {
    connections,
    env: { OLLAMA_BASE_URL: `http://127.0.0.1:${server.port}/v1` },
    [Symbol.dispose]: () => server.stop(true),
  };
}

test("one run, one connection: what is opened ahead is what the request goes over", async () => {
  // On a busy machine the request can be ready before the connection is, and then opens its own: not every time.
  for (let left = 10; left > 0; left--) {
    using server = listen();
    const result = await runThndrs({ args: ["-p", "hi", "--model", "ollama/m"], env: server.env });
    expect([result.code, result.stdout, server.connections.flat()]).toEqual([0, "hello\n", ["POST"]]);
    if (server.connections.length === 1) return;
  }
  throw new Error("no request went over the connection that was opened for it");
});

test("nothing is contacted where no request follows", async () => {
  using server = listen();
  const result = await runThndrs({ args: ["-p", "hi", "--model", "ollama/m", "--print-prompt"], env: server.env });
  expect([result.code, server.connections]).toEqual([0, []]);
});

test("a server on this machine is reached past a proxy that is set", async () => {
  using server = listen();
  const env = { ...server.env, HTTP_PROXY: "http://127.0.0.1:9", https_proxy: "http://127.0.0.1:9" };
  const result = await runThndrs({ args: ["-p", "hi", "--model", "ollama/m"], env });
  expect([result.code, result.stdout, server.connections.flat()]).toEqual([0, "hello\n", ["POST"]]);
});
