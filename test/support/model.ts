/** A loopback model for one end-to-end test, and the environment that points the binary at it. */
import { type Loopback, type LoopbackOptions, type Script, startLoopback } from "./loopback.ts";
import type { Wire } from "./wire/answer.ts";

const PROVIDERS: Readonly<Record<Wire, string>> = { chat: "openrouter", responses: "openai", anthropic: "anthropic" };

/** A key in the shape of a real one: whatever is shown or logged must not hold it. */
export const TEST_KEY = "sk-test-9f8e7d6c5b4a39281706f5e4d3c2b1a0";

export type TestModel = AsyncDisposable & {
  readonly server: Loopback;
  /** Chooses provider, model, address and key. */
  readonly env: Readonly<Record<string, string>>;
  /** `provider/id`. */
  readonly name: string;
};

/** The environment for a server on any base URL. */
export function modelEnv(baseUrl: string, wire: Wire = "chat"): Record<string, string> {
  const provider = PROVIDERS[wire];
  const prefix = provider.toUpperCase();
  return { [`${prefix}_BASE_URL`]: baseUrl, [`${prefix}_API_KEY`]: TEST_KEY, THNDRS_MODEL: `${provider}/mock` };
}

/** Starts the server; disposing it fails the test when a request was invalid. */
export async function startModel(script: Script, options: LoopbackOptions & { readonly wire?: Wire } = {}): Promise<TestModel> {
  const server = await startLoopback(script, options);
  const wire = options.wire ?? "chat";
  return {
    server,
    env: modelEnv(server.baseUrl, wire),
    name: `${PROVIDERS[wire]}/mock`,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Retries that do not wait, for tests of what happens after them. */
export const NO_WAIT = { THNDRS_RETRY_MAX_TRIES: "1" } as const;
