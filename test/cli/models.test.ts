/** `thndrs models`. */
import { expect, test } from "bun:test";
import { runModels } from "../../src/cli/models.ts";
import { startLoopback } from "../support/loopback.ts";
import { makeStage } from "./stage.ts";

const LOCALS = ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"];
// Local servers of the machine the tests run on must not be asked: nobody listens at port 9.
const NO_LOCALS = Object.fromEntries(LOCALS.map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:9/v1"]));
const SILENT = LOCALS.map(
  (name) => `thndrs: warning: ${name.toLowerCase()}: cannot reach 127.0.0.1:9: the connection was refused\n`,
);
const KEY = "sk-test-0123456789abcdefghij";

test("lists what every provider with a key serves, with window and price where known", async () => {
  using stage = makeStage();
  const server = await startLoopback([], { models: [{ id: "gpt-5" }, { id: "mine", context_length: 32_768 }] });
  const env = { ...NO_LOCALS, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.baseUrl };
  const { code, stdout, stderr } = await stage.play(runModels, ["models"], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: SILENT.join("") });
  expect(stdout.split("\n")).toEqual(["openai/gpt-5    400k  $1.25 in, $10 out per million", "openai/mine      33k", ""]);
  const json = JSON.parse((await stage.play(runModels, ["models", "--json", "--limit", "1"], env)).stdout);
  expect(json.models).toEqual([
    { model: "openai/gpt-5", context_window: 400_000, max_output: 128_000, price: { input: 1.25, output: 10, cacheRead: 0.125 } },
  ]);
  await server.close();
});

test("one provider; a configured one without a list shows its configured models", async () => {
  using stage = makeStage();
  const server = await startLoopback([], { models: [{ id: "mock" }] });
  stage.user(
    `[providers.corp]\nbase_url = "${server.baseUrl}"\n[providers.mute]\nbase_url = "http://127.0.0.1:9/v1"\nmodels = ["a", "b"]\n[models."mute/a"]\ncontext_window = 1000\n`,
  );
  expect((await stage.play(runModels, ["models", "corp"], NO_LOCALS)).stdout).toBe("corp/mock\n");
  expect((await stage.play(runModels, ["models", "mute"], NO_LOCALS)).stdout).toBe("mute/a      1k\nmute/b\n");
  expect((await stage.play(runModels, ["models"], NO_LOCALS)).stdout).toContain("corp/mock");
  await server.close();
});

test("one that does not answer is named; exit 1 when nobody did", async () => {
  using stage = makeStage();
  const server = await startLoopback([], { models: [{ id: "mock" }] });
  const dead = { ...NO_LOCALS, ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: "http://127.0.0.1:9/v1" };
  const alone = await stage.play(runModels, ["models"], dead);
  expect(alone).toMatchObject({ code: 1, stdout: "" });
  expect(alone.stderr).toMatch(/^thndrs: warning: anthropic: .*127\.0\.0\.1:9/);
  const both = await stage.play(runModels, ["models"], { ...dead, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.baseUrl });
  expect(both).toMatchObject({ code: 0, stdout: "openai/mock\n" });
  await server.close();
});

test("a local server is found at its address; one that is not at a named address is told; an unknown name", async () => {
  using stage = makeStage();
  const server = await startLoopback([], { models: [{ id: "qwen3:8b" }] });
  const found = await stage.play(runModels, ["models"], { ...NO_LOCALS, OLLAMA_BASE_URL: server.baseUrl });
  expect(found).toEqual({ code: 0, stdout: "ollama/qwen3:8b\n", stderr: SILENT.slice(1).join("") });
  await server.close();
  expect(await stage.play(runModels, ["models"], NO_LOCALS)).toEqual({ code: 1, stdout: "", stderr: SILENT.join("") });
  await expect(stage.play(runModels, ["models", "opnai"], NO_LOCALS)).rejects.toThrow('did you mean "openai"?');
});

test("security 4: the key does not follow a project's address", async () => {
  using stage = makeStage();
  const seen: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen.push(request.headers.get("authorization"));
      return Response.json({ data: [{ id: "mock" }] });
    },
  });
  stage.project(`[providers.openai]\nbase_url = "http://127.0.0.1:${server.port}/v1"\n`);
  const env = { ...NO_LOCALS, OPENAI_API_KEY: KEY };
  await stage.play(runModels, ["models", "openai", "--trust-project"], env);
  stage.user(`[providers.openai]\nbase_url = "http://127.0.0.1:${server.port}/v1"\n`);
  stage.project("");
  await stage.play(runModels, ["models", "openai"], env);
  expect(seen).toEqual([null, `Bearer ${KEY}`]);
  await server.stop(true);
});

const USUAL = [11434, 1234, 8080, 8000];
const listening = async (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}`).then(
    () => true,
    () => false,
  );
const free = !(await Promise.all(USUAL.map(listening))).includes(true);

test.skipIf(!free)("nobody named, nobody at the usual places: exit 2 and no word of them", async () => {
  using stage = makeStage();
  await expect(stage.play(runModels, ["models"])).rejects.toMatchObject({ exitCode: 2 });
});

test.each([
  [404, "text/plain", "404 page not found", /answered 404: 404 page not found/],
  [
    200,
    "text/html",
    "<!doctype html><title>Welcome</title>",
    /answered with a web page \(Welcome\), not with models; check the base URL/,
  ],
  [200, "text/plain", "ok", /did not answer with a list of models; check the base URL/],
])("a server at a named address that answers %d %s: the reason is told", async (status, type, body, said) => {
  using stage = makeStage();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(body, { status, headers: { "content-type": type } }),
  });
  const env = { ...NO_LOCALS, VLLM_BASE_URL: `http://127.0.0.1:${server.port}/v1` };
  const { code, stderr } = await stage.play(runModels, ["models"], env);
  expect({ code, warnings: stderr.split("\n").length - 1 }).toEqual({ code: 1, warnings: 4 });
  expect(stderr).toMatch(said);
  await server.stop(true);
});
