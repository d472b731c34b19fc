/**
 * A stdio MCP server with the manners a test asks for: `bun fake-server.ts '{"tools": [...], "junk": true, …}'`
 * (or `@FILE`). Speaks raw
 * JSON lines, so that it can also speak them wrongly. Every message it gets is appended to `log`. Refuses: being right by accident.
 */
import { appendFileSync } from "node:fs";

export type FakeTool = { readonly name: string; readonly [key: string]: unknown } & {
  /** The result of a call; default: the arguments as text. */
  readonly result?: unknown;
};

export type Manners = {
  readonly tools?: readonly FakeTool[];
  /** Answers to tools/list in order of asking: by cursor (first page under "first"). */
  readonly pages?: Readonly<Record<string, unknown>>;
  /** Every tools/list has a new cursor. */
  readonly endless?: boolean;
  readonly junk?: boolean;
  /** Bytes to stderr before initialize is answered. */
  readonly stderrFlood?: number;
  readonly stderr?: string;
  readonly never?: "initialize" | "tools/list" | "tools/call";
  readonly dieIn?: "start" | "initialize" | "tools/call";
  /** Stays whatever signal or end of input comes. */
  readonly stubborn?: boolean;
  /** What a call does besides answering. */
  readonly inCall?: "stray" | "change" | "ask" | "flood";
  /** The members of every reply to a call, besides its id, in place of `jsonrpc` and the result. */
  readonly reply?: object;
  /** Reports progress this often before it answers a call, or without end. */
  readonly progress?: { readonly everyMs: number; readonly times?: number };
  /** Notifies a change of its tools (a → b) when this file appears. */
  readonly changeWhen?: string;
  /** Announces a change with every list it gives. */
  readonly storm?: boolean;
  readonly log?: string;
  /** Milliseconds before initialize is answered. */
  readonly slow?: number;
  /** The result of initialize, in place of a good one. */
  readonly handshake?: unknown;
};

type Message = { readonly id?: number | string; readonly method?: string; readonly params?: Record<string, unknown> };

const OBJECT = { type: "object", properties: {} };

function main(manners: Manners): void {
  let tools: readonly FakeTool[] = manners.tools ?? [{ name: "echo" }];
  const write = (text: string | Uint8Array): void => void process.stdout.write(text);
  const send = (message: object): void => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const change = (): void => {
    tools = [{ name: "b", inputSchema: OBJECT }];
    send({ method: "notifications/tools/list_changed" });
  };
  const flood = (bytes: number): void => {
    for (let left = bytes; left > 0; left -= 65_536)
      process.stderr.write("noise ".repeat(10_923).slice(0, Math.min(left, 65_536)));
  };
  if (manners.stubborn) {
    for (const name of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(name, () => undefined);
    setInterval(() => undefined, 1000);
  }
  if (manners.dieIn === "start") process.exit(1);
  if (manners.stderr) process.stderr.write(`${manners.stderr}\n`);
  if (manners.junk) {
    write('Server started!\n\n{"not":"rpc"}\n[1,2]\n"text"\nnull\n');
    write("x".repeat(5_000_000));
    write(new Uint8Array([0xff, 0xfe, 0xc3, 0x28, 0x0a, 0x80, 0x0a]));
  }
  if (manners.changeWhen) {
    const path = manners.changeWhen;
    const timer = setInterval(async () => {
      if (!(await Bun.file(path).exists())) return;
      clearInterval(timer);
      change();
    }, 5);
  }

  const list = (params: Record<string, unknown> | undefined): unknown => {
    if (manners.endless) return { tools: [{ name: "t", inputSchema: OBJECT }], nextCursor: `c${Math.random()}` };
    if (manners.pages)
      return manners.pages[params?.cursor === undefined ? "first" : `at:${String(params.cursor)}`] ?? { tools: [] };
    return { tools: tools.map(({ result: _, ...tool }) => ({ inputSchema: OBJECT, ...tool })) };
  };
  const call = (message: Message): void => {
    const { id, params } = message;
    const tool = tools.find((known) => known.name === params?.name);
    if (manners.dieIn === "tools/call") process.exit(3);
    if (manners.never === "tools/call") return;
    if (manners.inCall === "flood") flood(1_000_000);
    if (manners.inCall === "change") change();
    if (manners.inCall === "ask") {
      send({ id: "q1", method: "roots/list" });
      send({ id: "q2", method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } });
      send({ id: 3, method: "elicitation/create", params: { message: "?", requestedSchema: OBJECT } });
      send({ id: 4, method: "ping" });
      send({ id: 5, method: "no/such/method", params: {} });
    }
    if (manners.inCall === "stray") {
      send({ method: "notifications/made/up", params: { x: 1 } });
      send({ method: "notifications/progress", params: { progressToken: 99, progress: 1 } });
      send({ method: "notifications/message", params: { level: "info", data: "hello" } });
      send({ id: 4711, result: { content: [{ type: "text", text: "not yours" }] } });
      send({ id: null, error: { code: -32700, message: "?" } });
    }
    const environment = (): unknown => ({ env: process.env, cwd: process.cwd() });
    if (manners.reply) {
      write(`${JSON.stringify({ id, ...manners.reply })}\n`);
      return;
    }
    const result = tool?.result ?? {
      content: [
        {
          type: "text",
          text: tool?.name === "environment" ? JSON.stringify(environment()) : JSON.stringify(params?.arguments ?? {}),
        },
      ],
    };
    if (!tool) {
      send({ id, error: { code: -32602, message: `no tool ${String(params?.name)}` } });
      return;
    }
    if (manners.progress) {
      const { everyMs, times = Number.POSITIVE_INFINITY } = manners.progress;
      const progressToken = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
      let count = 0;
      const timer = setInterval(() => {
        if (++count > times) {
          clearInterval(timer);
          send({ id, result });
        } else if (progressToken !== undefined) {
          send({ method: "notifications/progress", params: { progressToken, progress: count, total: null } });
        }
      }, everyMs);
      return;
    }
    send({ id: manners.inCall === "stray" ? String(id) : id, result });
    if (manners.inCall === "stray") send({ id, result });
  };
  const answer = (message: Message): void => {
    const { id, method, params } = message;
    if (method === manners.never) return;
    if (method === manners.dieIn) process.exit(3);
    if (method === "initialize") {
      if (manners.stderrFlood) flood(manners.stderrFlood);
      const result = {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "fake", version: "1.0.0" },
      };
      setTimeout(() => send({ id, result: manners.handshake ?? result }), manners.slow ?? 0);
    } else if (method === "tools/list") {
      send({ id, result: list(params) });
      if (manners.storm) for (let n = 0; n < 50; n++) send({ method: "notifications/tools/list_changed" });
    } else if (method === "tools/call") call(message);
    else if (method === "ping") send({ id, result: {} });
    else if (method !== undefined && id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
  };

  let rest = "";
  process.stdin.on("data", (chunk) => {
    rest += String(chunk);
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (manners.log) appendFileSync(manners.log, `${line}\n`);
      answer(JSON.parse(line) as Message);
    }
  });
  process.stdin.on("end", () => {
    if (!manners.stubborn) process.exit(0);
  });
}

if (import.meta.main) {
  const given = process.argv[2] ?? "{}";
  main(JSON.parse(given.startsWith("@") ? await Bun.file(given.slice(1)).text() : given) as Manners);
}
