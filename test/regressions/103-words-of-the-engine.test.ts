/** What the runtime says about answers it cannot read was on stderr in its own words, or in a message of ours. */
import { expect, test } from "bun:test";
import { createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { wireFrames } from "../support/loopback.ts";
import { modelEnv, NO_WAIT, startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const base64 = (bytes: Uint8Array): string => `base64:${Buffer.from(bytes).toString("base64")}`;
const FRAMES = wireFrames("chat", { text: "packed" }).join("");

test("an answer that a proxy packed is read", async () => {
  const raw = [base64(gzipSync(FRAMES))];
  await using model = await startModel([{ raw, chunking: 3, headers: { "content-encoding": "gzip" } }]);
  expect(await runThndrs({ args: ["-p", "x", "--quiet"], env: model.env })).toMatchObject({
    code: 0,
    stdout: "packed\n",
    stderr: "",
  });
});

test.each(["gzip", "deflate", "br", "zstd"])("a body that is no %s: one line, ours", async (encoding) => {
  const step = { raw: ["this is nothing of the kind"], headers: { "content-encoding": encoding } };
  await using model = await startModel([step]);
  const result = await runThndrs({ args: ["-p", "x", "--quiet"], env: { ...model.env, ...NO_WAIT } });
  const what = `sent an answer that cannot be unpacked (content-encoding: ${encoding})`;
  const said = `thndrs: error: 127.0.0.1:${model.server.port} ${what}; thndrs asks for none that is packed: check the server, or the proxy before it\n`;
  expect([result.code, result.stdout, result.stderr]).toEqual([1, "", said]);
});

test.each([
  ["SSH-2.0-OpenSSH_9.9\r\n", "what it answers is not HTTP: check the address and the port"],
  ["HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", "what it answers is not HTTP: check the address and the port"],
  ["", "the connection was reset"],
])("a server that says %j", async (answer, why) => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const env = { ...modelEnv(`http://127.0.0.1:${port}/v1`), ...NO_WAIT };
  const result = await runThndrs({ args: ["-p", "x", "--quiet"], env });
  expect([result.code, result.stderr]).toEqual([1, `thndrs: error: cannot reach 127.0.0.1:${port}: ${why}\n`]);
  server.close();
});

test("thndrs models tells why a local server at a named address does not answer", async () => {
  const names = ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"];
  const env = Object.fromEntries(names.map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]));
  const result = await runThndrs({ args: ["models"], env });
  const said = names.map(
    (name) => `thndrs: warning: ${name.toLowerCase()}: cannot reach 127.0.0.1:9: the connection was refused\n`,
  );
  expect([result.code, result.stdout, result.stderr]).toEqual([1, "", said.join("")]);
});

test("an MCP server whose answer cannot be unpacked has failed, in one sentence", async () => {
  const headers = { "content-encoding": "gzip", "content-type": "application/json" };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("this is no gzip at all", { headers }) });
  await using dir = await tempDir({ "home/config.toml": `[mcp.servers.s]\nurl = "http://127.0.0.1:${server.port}/mcp"\n` });
  const result = await runThndrs({ args: ["mcp", "test", "s"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } });
  const said = "s: failed: it sent an answer that cannot be unpacked (content-encoding: gzip)\n";
  expect([result.code, result.stdout + result.stderr]).toEqual([1, said]);
  await server.stop(true);
});
