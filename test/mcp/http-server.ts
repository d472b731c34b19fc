/**
 * A Streamable HTTP MCP server inside the test, with sessions that can be made to expire and streams that stop. Raw JSON, no SDK.
 * Refuses: anything but POST, GET and DELETE on /mcp.
 */

export type Message = { readonly id?: number | string; readonly method?: string; readonly params?: Record<string, unknown> };

export type HttpManners = {
  /** What an expired session's id is answered with; every id is expired from `expire()` on. */
  readonly expiredStatus?: number;
  /** New sessions expire at once, too. */
  readonly alwaysExpired?: boolean;
  /** tools/call begins an event stream and says nothing more. */
  readonly silentCall?: boolean;
  /** Answers everything with this status. */
  readonly status?: number;
  /** tools/call answers with JSON that does not end. */
  readonly endlessCall?: boolean;
  /** Only the protocol from 2026-07-28 on: no handshake, no sessions. */
  readonly newer?: boolean;
  /** Answers in place of this server, where it has something to say; `count` is how many of this method there were before. */
  readonly instead?: (message: Message, count: number) => Response | undefined;
  /** Only the older transport: POST to /mcp is 405, GET gives an endpoint. */
  readonly older?: boolean;
};

export type FakeHttp = AsyncDisposable & {
  readonly url: string;
  /** Method and session of every message, in order: `initialize -`, `tools/call s1`. */
  readonly seen: string[];
  readonly headers: Headers[];
  expire(): void;
  /** Resolves with the first request whose client has gone away. */
  readonly left: Promise<void>;
};

export function startHttp(manners: HttpManners = {}): FakeHttp {
  const seen: string[] = [];
  const headers: Headers[] = [];
  const live = new Set<string>();
  const left = Promise.withResolvers<void>();
  let sessions = 0;
  let older: ReadableStreamDefaultController<Uint8Array> | undefined;
  const bytes = new TextEncoder();
  const reply = (message: Message): object | undefined => {
    const { id, method, params } = message;
    if (id === undefined) return undefined;
    const answer = (result: unknown): object => ({ jsonrpc: "2.0", id, result });
    if (method === "initialize") {
      const serverInfo = { name: "http", version: "1.0.0" };
      return answer({ protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === "tools/list") return answer({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
    if (method === "tools/call") return answer({ content: [{ type: "text", text: JSON.stringify(params?.arguments) }] });
    return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
  };
  const stream = (onStart: (controller: ReadableStreamDefaultController<Uint8Array>) => void): Response =>
    new Response(new ReadableStream<Uint8Array>({ start: onStart, cancel: () => left.resolve() }), {
      headers: { "content-type": "text/event-stream" },
    });
  const viaOlder = async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    if (request.method === "GET") {
      return stream((controller) => {
        older = controller;
        controller.enqueue(bytes.encode("event: endpoint\ndata: /messages\n\n"));
      });
    }
    if (path !== "/messages") return new Response("no", { status: 405 });
    const message = (await request.json()) as Message;
    const instead = manners.instead?.(message, seen.filter((line) => line === `${message.method} older`).length);
    seen.push(`${message.method} older`);
    if (instead) return instead;
    const answer = reply(message);
    if (answer) older?.enqueue(bytes.encode(`event: message\ndata: ${JSON.stringify(answer)}\n\n`));
    return new Response(null, { status: 202 });
  };
  const META = "io.modelcontextprotocol";
  const viaNewer = (message: Message): Response => {
    const { id, method, params } = message;
    seen.push(`${method} newer`);
    const version = (params?._meta as Record<string, unknown> | undefined)?.[`${META}/protocolVersion`];
    if (version !== "2026-07-28") {
      const data = { supported: ["2026-07-28"], requested: String(version) };
      const error = { code: -32022, message: "Unsupported protocol version", data };
      return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
    }
    if (method === "subscriptions/listen") {
      const meta = { [`${META}/subscriptionId`]: id };
      const ack = { notifications: { toolsListChanged: true }, _meta: meta };
      const note = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: ack };
      return stream((controller) => controller.enqueue(bytes.encode(`event: message\ndata: ${JSON.stringify(note)}\n\n`)));
    }
    const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private", _meta: {} };
    if (method === "server/discover") {
      const result = { ...complete, supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } };
      return Response.json({ jsonrpc: "2.0", id, result });
    }
    const answer = reply(message) as { result?: object } | undefined;
    if (!answer) return new Response(null, { status: 202 });
    return Response.json({ ...answer, result: { ...answer.result, ...complete } });
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      headers.push(request.headers);
      if (manners.status) return new Response("no", { status: manners.status });
      if (manners.older) return viaOlder(request);
      const session = request.headers.get("mcp-session-id");
      if (request.method === "GET") return new Response(null, { status: 405 });
      if (request.method === "DELETE") {
        seen.push(`DELETE ${session}`);
        return new Response(null, { status: 200 });
      }
      const message = (await request.json()) as Message;
      if (manners.newer) return viaNewer(message);
      seen.push(`${message.method} ${session ?? "-"}`);
      if (message.method === "initialize") {
        const first = manners.instead?.(message, 0);
        if (first) return first;
        const made = `s${++sessions}`;
        if (!manners.alwaysExpired || sessions === 1) live.add(made);
        return Response.json(reply(message), { headers: { "mcp-session-id": made } });
      }
      const instead = manners.instead?.(message, seen.filter((line) => line.startsWith(`${message.method} `)).length - 1);
      if (instead) return instead;
      const known = session !== null && live.has(session);
      // The notification that ends the handshake is let through, so that the handshake is whole.
      if (!known && message.id !== undefined) return new Response("gone", { status: manners.expiredStatus ?? 404 });
      if (message.method === "tools/call" && manners.silentCall) {
        return stream((controller) => controller.enqueue(bytes.encode(": hello\n\n")));
      }
      if (message.method === "tools/call" && manners.endlessCall) {
        const part = bytes.encode("x".repeat(1024 * 1024));
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(bytes.encode('{"jsonrpc":"2.0","result":"')),
          pull: (controller) => controller.enqueue(part),
          cancel: () => left.resolve(),
        });
        return new Response(body, { headers: { "content-type": "application/json" } });
      }
      const answer = reply(message);
      return answer ? Response.json(answer) : new Response(null, { status: 202 });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    seen,
    headers,
    expire: () => live.clear(),
    left: left.promise,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
