/** Pages on 127.0.0.1 for the web tools' tests, the tools around them, and a resolver that knows only them. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Tool, ToolContext, ToolResult } from "../../src/tools/tool.ts";
import { fileTools } from "./file-context.ts";

export type WebServer = AsyncDisposable & {
  readonly port: number;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** What was asked, as `METHOD path`, with the headers. */
  readonly seen: { readonly line: string; readonly headers: Headers; readonly body: string }[];
};

/** Serves `pages` by path; everything else is a 404. */
export function serve(pages: Readonly<Record<string, (request: Request) => Response | Promise<Response>>>): WebServer {
  const seen: WebServer["seen"] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      seen.push({ line: `${request.method} ${pathname}${search}`, headers: request.headers, body: await request.text() });
      return (await pages[pathname]?.(request)) ?? new Response("nothing here", { status: 404 });
    },
  });
  return {
    port: server.port ?? 0,
    url: `http://127.0.0.1:${server.port}`,
    seen,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

export type RawServer = AsyncDisposable & { readonly port: number; readonly url: string; readonly closed: Promise<void> };

/** A server of bytes: `talk` gets the socket once the first request has arrived. `closed`: the first connection is gone. */
export async function serveRaw(talk: (socket: Socket) => void): Promise<RawServer> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      resolve();
    });
    socket.once("data", () => talk(socket));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", () => ready()));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    closed,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

/** A resolver for tests: no name leaves this machine. Counts its questions. */
export function resolver(names: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const resolveHost = async (host: string): Promise<readonly string[]> => {
    asked.push(host);
    return names[host] ?? [];
  };
  return { asked, resolveHost };
}

export type WebRun = {
  readonly allowHosts?: readonly string[];
  readonly signal?: AbortSignal;
  readonly settings?: Partial<ToolContext["settings"]>;
};

/** Runs a web tool as agent/calls does: input through the schema. */
export async function runWeb<Input>(tool: Tool<Input>, input: Input, options: WebRun = {}): Promise<ToolResult> {
  const { context } = await fileTools(import.meta.dir, options.signal);
  const settings = { ...context.settings, webAllowHosts: options.allowHosts ?? [], ...options.settings };
  return tool.run(tool.input.parse(input), { ...context, settings });
}
