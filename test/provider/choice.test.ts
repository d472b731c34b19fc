/** Presets, the default choice, what is known of models, and what endpoints list. */
import { expect, test } from "bun:test";
import { variablePrefix } from "../../src/base/variable-name.ts";
import { endpoint } from "../../src/provider/http.ts";
import { listModels, probeLocal } from "../../src/provider/listing.ts";
import { modelInfo } from "../../src/provider/models.ts";
import { PRESET_NAMES, resolveProviders } from "../../src/provider/presets.ts";
import { chooseModel } from "../../src/provider/select.ts";
import { withCost } from "../../src/provider/usage.ts";
import { startLoopback } from "../support/loopback.ts";
import { collect, encode, memoryFetch, settingsFor, testProvider } from "../support/wire/stream.ts";

test("the presets of the specification, as data", () => {
  const providers = resolveProviders({});
  expect(PRESET_NAMES).toEqual(
    "openai anthropic openrouter gemini groq deepseek mistral xai together fireworks cerebras opencode umans ollama lmstudio llamacpp vllm".split(
      " ",
    ),
  );
  const row = (name: string) => [
    providers[name]?.wire,
    providers[name]?.baseUrl,
    providers[name]?.apiKeyEnv,
    providers[name]?.local,
  ];
  expect(row("openai")).toEqual(["openai-responses", "https://api.openai.com/v1", "OPENAI_API_KEY", false]);
  expect(row("anthropic")).toEqual(["anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", false]);
  expect(row("openrouter")).toEqual(["openai-chat", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", false]);
  expect(row("gemini")).toEqual([
    "openai-chat",
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "GEMINI_API_KEY",
    false,
  ]);
  expect(row("opencode")).toEqual(["openai-chat", "https://opencode.ai/zen/v1", "OPENCODE_API_KEY", false]);
  expect(row("umans")).toEqual(["anthropic", undefined, "UMANS_API_KEY", false]);
  expect(row("ollama")).toEqual(["openai-chat", "http://127.0.0.1:11434/v1", undefined, true]);
  expect(row("vllm")).toEqual(["openai-chat", "http://127.0.0.1:8000/v1", undefined, true]);
  for (const name of PRESET_NAMES) if (name !== "umans") expect(URL.canParse(providers[name]?.baseUrl ?? "")).toBe(true);
});

test("environment beats configuration beats preset; configured providers join", () => {
  const providers = resolveProviders(
    { OPENAI_BASE_URL: "http://e.test/v1", MY_PROXY_BASE_URL: " http://p.test ", GROQ_BASE_URL: "" },
    {
      openai: { baseUrl: "http://c.test", headers: { a: "b" } },
      "my-proxy": { wire: "anthropic", models: ["m1", "m2"] },
      groq: { apiKeyEnv: "OTHER_KEY" },
      toString: {},
    },
  );
  expect([providers.openai?.baseUrl, providers.openai?.headers]).toEqual(["http://e.test/v1", { a: "b" }]);
  expect(providers["my-proxy"]).toMatchObject({
    wire: "anthropic",
    baseUrl: "http://p.test",
    apiKeyEnv: "MY_PROXY_API_KEY",
    defaultModel: "m1",
    local: false,
  });
  expect([providers.groq?.baseUrl, providers.groq?.apiKeyEnv]).toEqual(["https://api.groq.com/openai/v1", "OTHER_KEY"]);
  expect(Object.hasOwn(providers, "toString") && providers.toString).toMatchObject({ wire: "openai-chat" });
  expect(variablePrefix("my-proxy.2")).toBe("MY_PROXY_2");
});

test("the choice: named, else the only credential, else what was looked for", () => {
  const providers = resolveProviders({});
  const choose = (model: string | undefined, ...keys: string[]) =>
    chooseModel({ model, providers, hasCredential: (provider) => keys.includes(provider.name) });
  const picked = (choice: ReturnType<typeof choose>) =>
    choice.ok && "provider" in choice ? `${choice.provider.name} ${choice.model}` : choice;
  expect(picked(choose("openrouter/anthropic/claude-x:free"))).toBe("openrouter anthropic/claude-x:free");
  expect(picked(choose("ollama/qwen3:8b"))).toBe("ollama qwen3:8b");
  expect(picked(choose("anthropic"))).toBe(`anthropic ${providers.anthropic?.defaultModel}`);
  expect(picked(choose(undefined, "groq"))).toBe(`groq ${providers.groq?.defaultModel}`);
  expect(choose("replay/demo/run.jsonl")).toEqual({ ok: true, replay: "demo/run.jsonl" });
  expect(choose("nobody/x")).toMatchObject({ ok: false, reason: "unknown_provider" });
  expect(choose("__proto__/x")).toMatchObject({ ok: false, reason: "unknown_provider" });
  expect(choose("ollama")).toMatchObject({ ok: false, reason: "no_model" });
  expect(choose(undefined, "umans")).toMatchObject({ ok: false, reason: "no_model" });
  expect(choose(undefined, "groq", "openai")).toMatchObject({ ok: false, reason: "ambiguous" });
  const nothing = choose(undefined);
  expect(nothing).toMatchObject({ ok: false, reason: "nothing_found" });
  if (!nothing.ok) {
    expect(nothing.lookedFor).toHaveLength(13);
    for (const name of nothing.lookedFor) expect(nothing.message).toContain(name);
  }
});

test("models: table, dated ids, overrides; unknown stays unknown", () => {
  expect(modelInfo("anthropic", "claude-haiku-4-5-20251001")).toMatchObject({
    contextWindow: 200_000,
    maxOutput: 64_000,
    price: { input: 1, output: 5 },
  });
  expect(modelInfo("openrouter", "anthropic/claude-haiku-4-5").price).toBeUndefined();
  expect(modelInfo("openai", "gpt-5-pro")).toEqual({ id: "gpt-5-pro" });
  expect(modelInfo("ollama", "qwen3")).toEqual({ id: "qwen3" });
  expect(modelInfo("ollama", "qwen3", { "ollama/qwen3": { contextWindow: 8_192, price: { input: 0, output: 0 } } })).toEqual({
    id: "qwen3",
    contextWindow: 8_192,
    price: { input: 0, output: 0 },
  });
});

test("P14 cost only where price and counts are known; cache traffic has its own price", async () => {
  const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  expect(
    withCost({ inputTokens: 1_000_000, outputTokens: 100_000, cacheReadTokens: 500_000, cacheWriteTokens: 100_000 }, price)
      .costUsd,
  ).toBeCloseTo(1.2 + 0.15 + 0.375 + 1.5, 9);
  expect(withCost({ inputTokens: 5 }, price)).toEqual({ inputTokens: 5 });
  expect(withCost({ inputTokens: 5, outputTokens: 5 }, undefined).costUsd).toBeUndefined();
  expect(withCost({ costUsd: 0.5, inputTokens: 5, outputTokens: 5 }, price).costUsd).toBe(0.5);
  const frame = `data: ${JSON.stringify({ choices: [{ delta: { content: "x" }, finish_reason: "stop" }], usage: { prompt_tokens: 10, completion_tokens: 10 } })}\n\n`;
  const provider = testProvider(settingsFor("chat", "http://mock.test"), {
    fetch: memoryFetch({ chunks: encode(frame) }),
    modelInfo: (id) => ({ id, price }),
  });
  expect((await collect(provider)).usage).toEqual({ inputTokens: 10, outputTokens: 10, costUsd: 0.00018 });
});

test("GET /models in the shapes servers give it, sorted, with what they tell", async () => {
  const served = [
    { id: "z", context_length: 4_096, pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003" } },
    { id: "models/gemini-x" },
    { id: "b", max_model_len: 32_768 },
    { name: "a", meta: { n_ctx_train: 2_048 } },
    { nothing: true },
  ];
  const server = await startLoopback([], { models: served });
  const signal = new AbortController().signal;
  const listing = await listModels(settingsFor("chat", server.baseUrl), { userAgent: "t", apiKey: "k" }, signal);
  expect(listing).toEqual({
    ok: true,
    models: [
      { id: "a", contextWindow: 2_048 },
      { id: "b", contextWindow: 32_768 },
      { id: "gemini-x" },
      { id: "z", contextWindow: 4_096, price: { input: 3, output: 15, cacheRead: 0.3 } },
    ],
  });
  expect((await probeLocal(settingsFor("chat", server.baseUrl), signal))?.length).toBe(4);
  await server.close();
  expect(await probeLocal(settingsFor("chat", server.baseUrl), signal)).toBeUndefined();
  const refused = await listModels(settingsFor("chat", server.baseUrl), { userAgent: "t" }, signal);
  expect([refused.ok, !refused.ok && refused.failure.class]).toEqual([false, "network"]);
  const strange = await listModels(
    settingsFor("chat", "http://mock.test"),
    { userAgent: "t", fetch: memoryFetch({ chunks: encode("<html>") }) },
    signal,
  );
  expect([strange.ok, !strange.ok && strange.failure.class]).toEqual([false, "protocol"]);
});

test("all pages of a list are read, each model is there once, and pages that lead nowhere end it", async () => {
  const signal = new AbortController().signal;
  const asked: string[] = [];
  const pages: Readonly<Record<string, object>> = {
    "": { data: [{ id: "b" }, { id: "a" }], has_more: true, last_id: "a" },
    a: { data: [{ id: "a" }, { id: "c" }], has_more: true, last_id: "c" },
    c: { data: [{ id: "d" }], has_more: true, last_id: "c" },
  };
  const fetch = async (url: string) => {
    const after = new URL(url).searchParams.get("after_id") ?? "";
    asked.push(after);
    return Response.json(pages[after] ?? {});
  };
  const listing = await listModels(settingsFor("anthropic", "http://mock.test"), { userAgent: "t", fetch }, signal);
  expect(listing.ok && listing.models.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
  expect(asked).toEqual(["", "a", "c"]);
});

test("the address of any of its paths is a base URL", () => {
  for (const path of ["", "/", "/chat/completions", "/responses", "/messages", "/models/"])
    expect(endpoint(settingsFor("chat", `http://mock.test/v1${path}`), "/models")?.href).toBe("http://mock.test/v1/models");
});

test("a list without an end is not read to it, and no message of a list repeats a key", async () => {
  const signal = new AbortController().signal;
  const settings = settingsFor("chat", "http://mock.test", { query: { key: "query-secret-1" } });
  let sent = 0;
  const endless = async () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 1;
          controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
        },
      }),
    );
  const listing = await listModels(settings, { userAgent: "t", fetch: endless }, signal);
  expect([listing.ok, !listing.ok && listing.failure.class]).toEqual([false, "protocol"]);
  expect(sent).toBeLessThan(24);
  const told = encode('{"error":{"message":"key-0123456789 and query-secret-1 are not valid"}}');
  const options = { userAgent: "t", apiKey: "key-0123456789", fetch: memoryFetch({ status: 401, chunks: told }) };
  const refused = await listModels(settings, options, signal);
  expect(!refused.ok && refused.failure.message).toContain("[redacted:credential] and [redacted:credential] are not valid");
});
