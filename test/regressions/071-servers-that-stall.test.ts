/**
 * A remote server that takes a request and never answers held up the end of the run, whichever request it was: the stream of the
 * older transport, the note that ends the handshake, the renewal of a login, a login. Each wait has a limit, says what it was,
 * and is over at once when the run is.
 */
import { expect, test } from "bun:test";
import { createProcessOwner } from "../../src/base/process.ts";
import { storedLogin } from "../../src/mcp/held-login.ts";
import { logIn } from "../../src/mcp/login.ts";
import { httpPlan, openFleet } from "../mcp/fleet.ts";

type Stall = AsyncDisposable & {
  readonly url: string;
  /** Resolves when a request is left without an answer. */
  readonly stalled: Promise<void>;
  /** Resolves when its client has gone away. */
  readonly left: Promise<void>;
};

/** `answer`: undefined leaves the request without an answer. */
function startStalling(answer: (request: Request, base: string) => Promise<Response | undefined>): Stall {
  const stalled = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const given = await answer(request, `http://127.0.0.1:${server.port}`);
      if (given) return given;
      request.signal.addEventListener("abort", () => left.resolve());
      stalled.resolve();
      return new Promise<never>(() => undefined);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    stalled: stalled.promise,
    left: left.promise,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** The older transport's stream opens and says nothing. */
function startSilentStream(): Stall {
  const stalled = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      if (request.method === "POST") return new Response("no", { status: 405 });
      stalled.resolve();
      const start = (controller: ReadableStreamDefaultController<Uint8Array>): void =>
        controller.enqueue(new TextEncoder().encode(": hi\n\n"));
      const body = new ReadableStream<Uint8Array>({ start, cancel: () => left.resolve() });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    stalled: stalled.promise,
    left: left.promise,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** Answers the first request of the handshake, but not the note that ends it. */
async function halfHandshake(request: Request): Promise<Response | undefined> {
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const { id, method, params } = (await request.json()) as { id: number; method: string; params?: { protocolVersion: string } };
  if (method !== "initialize") return undefined;
  const serverInfo = { name: "x", version: "1" };
  const result = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  return Response.json({ jsonrpc: "2.0", id, result });
}

/** Wants a login; its token endpoint, and with `all` everything about logins, does not answer. */
const locked =
  (all: boolean) =>
  async (request: Request, base: string): Promise<Response | undefined> => {
    if (new URL(request.url).pathname !== "/mcp") return undefined;
    const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
    return new Response("login", { status: 401, ...(all && { headers: { "www-authenticate": challenge } }) });
  };

/** The stored login of a server whose access token has ended. */
function storeOf(url: string) {
  const base = new URL(url).origin;
  const metadata = {
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    response_types_supported: ["code"],
    token_endpoint_auth_methods_supported: ["none"],
  };
  const login = {
    url,
    client: { client_id: "c" },
    tokens: { access_token: "ended-token", token_type: "Bearer", refresh_token: "refresh-token" },
    discovery: { authorizationServerUrl: base, authorizationServerMetadata: metadata },
  };
  return {
    lookup: async () => JSON.stringify(login),
    store: async () => ({ kind: "file", path: "" }) as const,
    remove: async () => false,
  };
}

const cases = [
  ["the older transport's stream never names its endpoint", startSilentStream, /no answer within/],
  ["the note that ends the handshake is never answered", () => startStalling(halfHandshake), /no answer within/],
  ["the renewal of a login is never answered", () => startStalling(locked(false)), /no answer within/],
] as const;

for (const [what, start, reason] of cases) {
  test(`${what}: said after the time-out, and the client lets go`, async () => {
    await using server = start();
    const plan = httpPlan("s", server.url, { timeoutMs: 400 });
    await using fleet = await openFleet([plan], { authOf: () => storedLogin(plan, storeOf(server.url)) });
    await fleet.ready();
    expect(fleet.servers.status()).toMatchObject([{ state: "failed", reason: expect.stringMatching(reason) }]);
    await server.left;
  });

  test(`${what}: the end of the run does not wait`, async () => {
    await using server = start();
    const plan = httpPlan("s", server.url, { timeoutMs: 600_000 });
    await using fleet = await openFleet([plan], { authOf: () => storedLogin(plan, storeOf(server.url)) });
    await server.stalled;
    const began = performance.now();
    await fleet.servers.close();
    await server.left;
    expect(performance.now() - began).toBeLessThan(2000);
  });
}

for (const [what, timeoutMs, after] of [
  ["its time-out", 400, undefined],
  ["Ctrl-C", 600_000, 200],
] as const) {
  test(`a login that never gets an answer ends with ${what}`, async () => {
    await using server = startStalling(locked(true));
    const controller = new AbortController();
    if (after !== undefined) void server.stalled.then(() => controller.abort("user"));
    const login = logIn({
      plan: httpPlan("s", server.url, { timeoutMs }),
      version: "0",
      root: import.meta.dir,
      processes: createProcessOwner(),
      inherit: {},
      signal: controller.signal,
      store: storeOf(server.url),
      redirectUrl: "http://127.0.0.1:1/callback",
      ask: () => Promise.reject(new Error("nobody is asked")),
    });
    const failure = await login.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeDefined();
    await server.left;
  });
}
