/**
 * The scripted model server every test talks to: three wires, real TCP on 127.0.0.1, strict about requests.
 * In a test: `const server = await startLoopback([{ calls: [...] }, { text: "done" }])`, point a provider at
 * `server.baseUrl`, `await server.close()` (throws when a request was invalid or the script ran out).
 * As a process: `bun test/support/loopback.ts --script FILE.json` prints one JSON line `{"port","url","pid"}`;
 * control over HTTP: GET /__requests, GET /__violations, GET /__wait?n=2, POST /__release?gate=NAME, POST /__quit.
 * FILE.json is `{"steps": [...], ...options}` or just the array of steps.
 * Refuses: thinking. Waiting is by gate (`hold`), never by clock.
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Answer, Wire } from "./wire/answer.ts";
import { anthropicFrames } from "./wire/anthropic.ts";
import { chatFrames } from "./wire/chat.ts";
import { type HttpRequest, RequestReader } from "./wire/http-request.ts";
import { responsesFrames } from "./wire/responses.ts";
import { validateRequest } from "./wire/validate.ts";

/** How body bytes are spread over writes: everything at once, one frame a write (default), or N bytes a write. */
export type Chunking = "whole" | "frame" | number;

/** One scripted response. Without low-level members it is a correct stream of the `Answer`. JSON-serialisable. */
export type Step = Answer & {
  /** Serve the next request whose raw body contains this text; steps without `match` are served in order. */
  readonly match?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as the whole body instead of a stream; an object is sent as JSON. */
  readonly body?: string | object;
  /** Byte-exact body pieces instead of generated frames (`base64:` prefix for arbitrary bytes). */
  readonly raw?: readonly string[];
  readonly chunking?: Chunking;
  /** Never answers; the socket stays open. */
  readonly hang?: boolean;
  /** Ends the response after this many frames: a clean HTTP end, FIN without it, RST, or silence with an open socket. */
  readonly cut?: { readonly after: number; readonly how: "clean" | "fin" | "rst" | "stall" };
  /** Waits for `release(gate)` before the status line, or before frame `at`. */
  readonly hold?: { readonly gate: string; readonly at?: number };
  /** Closes the connection before any answer. */
  readonly refuse?: "fin" | "rst";
  /** Pause between frames in ms: only for demonstrations and signal tests. */
  readonly pace?: number;
};

export type Seen = {
  /** Counts from 1, model requests only. */
  readonly number: number;
  readonly wire: Wire;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read into bodies of three shapes
  readonly body: any;
  /** Resolves when the connection is gone or the answer is complete: true when the client left early. */
  readonly ended: Promise<boolean>;
};

export type LoopbackOptions = {
  /** Served by GET /models. Default: one model, `mock`. */
  readonly models?: readonly object[];
  /** After the last step serve it again, instead of a 500 and a violation. */
  readonly repeatLast?: boolean;
  /** Do not judge requests. */
  readonly lenient?: boolean;
};

export type Script = readonly Step[] | ((request: Seen) => Step | Promise<Step>);

export type Loopback = {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  readonly port: number;
  readonly requests: readonly Seen[];
  readonly violations: readonly string[];
  /** Connections accepted so far. */
  connections(): number;
  /** The n-th model request (from 1), as soon as it is here. */
  request(n: number): Promise<Seen>;
  /** Opens a gate, for now and for ever. */
  release(gate: string): void;
  /** Stops the server. Throws an Error that lists the violations, unless `{ ignoreViolations: true }`. */
  close(options?: { readonly ignoreViolations?: boolean }): Promise<void>;
};

const WIRES: readonly (readonly [RegExp, Wire])[] = [
  [/\/chat\/completions$/, "chat"],
  [/\/responses$/, "responses"],
  [/\/messages$/, "anthropic"],
];
const FRAMES = { chat: chatFrames, responses: responsesFrames, anthropic: anthropicFrames } as const;

/** Frames of one answer on one wire, as the server would send them: for tests that feed a parser directly. */
export function wireFrames(wire: Wire, answer: Answer, n = 1): string[] {
  return FRAMES[wire](answer, n);
}

export async function startLoopback(script: Script, options: LoopbackOptions = {}): Promise<Loopback> {
  const state = new State(script, options);
  const server = createServer({ noDelay: true }, (socket) => state.accept(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = (server.address() as AddressInfo).port;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    requests: state.requests,
    violations: state.violations,
    connections: () => state.accepted,
    request: (n) => state.request(n),
    release: (gate) => state.release(gate),
    close: async ({ ignoreViolations = false } = {}) => {
      await stop(server, state);
      if (!ignoreViolations && state.violations.length > 0)
        throw new Error(`the loopback server saw bad requests:\n${state.violations.join("\n")}`);
    },
  };
}

async function stop(server: Server, state: State): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of state.sockets) socket.destroy();
  await closed;
}

class State {
  readonly requests: Seen[] = [];
  readonly violations: string[] = [];
  readonly sockets = new Set<Socket>();
  accepted = 0;
  readonly #script: Script;
  readonly #options: LoopbackOptions;
  readonly #taken = new Set<number>();
  readonly #gates = new Map<string, { promise: Promise<void>; resolve: () => void }>();
  #waiters: { n: number; resolve: (seen: Seen) => void }[] = [];

  constructor(script: Script, options: LoopbackOptions) {
    this.#script = script;
    this.#options = options;
  }

  request(n: number): Promise<Seen> {
    const here = this.requests[n - 1];
    if (here !== undefined) return Promise.resolve(here);
    return new Promise((resolve) => this.#waiters.push({ n, resolve }));
  }

  gate(name: string): { promise: Promise<void>; resolve: () => void } {
    const known = this.#gates.get(name);
    if (known !== undefined) return known;
    const made = Promise.withResolvers<void>();
    this.#gates.set(name, made);
    return made;
  }

  release(name: string): void {
    this.gate(name).resolve();
  }

  accept(socket: Socket): void {
    this.accepted += 1;
    this.sockets.add(socket);
    // Many requests may share a connection, each with a listener of its own.
    socket.setMaxListeners(0);
    const reader = new RequestReader();
    // Requests of one connection are answered one after the other.
    let queue = Promise.resolve();
    socket.on("data", (data) => {
      for (const request of reader.push(Buffer.from(data))) queue = queue.then(() => this.#serve(socket, request));
    });
    socket.on("error", () => {});
    socket.on("close", () => this.sockets.delete(socket));
  }

  async #serve(socket: Socket, request: HttpRequest): Promise<void> {
    try {
      const path = request.path.split("?")[0] ?? "";
      if (path.startsWith("/__")) return await this.#control(socket, request);
      if (request.method === "GET" && path.endsWith("/models")) {
        const data = this.#options.models ?? [{ id: "mock", object: "model" }];
        return respond(socket, 200, { "content-type": "application/json" }, JSON.stringify({ object: "list", data }));
      }
      const wire = WIRES.find(([pattern]) => pattern.test(path))?.[1];
      if (wire === undefined || request.method !== "POST") {
        this.violations.push(`${request.method} ${path} is no model request`);
        return respond(socket, 404, { "content-type": "application/json" }, '{"error":{"message":"no such path"}}');
      }
      await this.#model(socket, request, path, wire);
    } catch (error) {
      this.violations.push(`the loopback server failed: ${String(error)}`);
      socket.destroy();
    }
  }

  async #model(socket: Socket, request: HttpRequest, path: string, wire: Wire): Promise<void> {
    const ended = Promise.withResolvers<boolean>();
    const number = this.requests.length + 1;
    const seen: Seen = {
      number,
      wire,
      path,
      method: request.method,
      headers: request.headers,
      raw: request.body,
      body: parse(request.body),
      ended: ended.promise,
    };
    if (this.#options.lenient !== true)
      for (const problem of validateRequest(wire, request.body)) this.violations.push(`request ${number} (${wire}): ${problem}`);
    socket.once("close", () => ended.resolve(true));
    this.requests.push(seen);
    const due = this.#waiters.filter((waiter) => waiter.n === number);
    this.#waiters = this.#waiters.filter((waiter) => waiter.n !== number);
    for (const waiter of due) waiter.resolve(seen);
    const step = await this.#next(seen);
    if (await this.#play(socket, step, wire, number)) ended.resolve(false);
  }

  async #next(seen: Seen): Promise<Step> {
    if (typeof this.#script === "function") return this.#script(seen);
    const steps = this.#script;
    const free = [...steps.keys()].filter((index) => !this.#taken.has(index));
    const fits = (index: number) => seen.raw.includes(steps[index]?.match ?? "");
    const index =
      free.find((at) => steps[at]?.match !== undefined && fits(at)) ?? free.find((at) => steps[at]?.match === undefined);
    const step = index === undefined ? undefined : steps[index];
    if (index !== undefined && step !== undefined) {
      this.#taken.add(index);
      return step;
    }
    const last = steps.at(-1);
    if (this.#options.repeatLast === true && last !== undefined) return last;
    this.violations.push(`request ${seen.number}: the script has no step left`);
    return { status: 400, body: { error: { message: "the script has no step left" } } };
  }

  /** True when the answer was sent to its end. */
  async #play(socket: Socket, step: Step, wire: Wire, n: number): Promise<boolean> {
    if (step.hold !== undefined && step.hold.at === undefined) await this.gate(step.hold.gate).promise;
    if (step.hang === true) return false;
    if (step.refuse !== undefined) {
      leave(socket, step.refuse);
      return false;
    }
    const status = step.status ?? 200;
    if (step.body !== undefined) {
      const text = typeof step.body === "string" ? step.body : JSON.stringify(step.body);
      const type = typeof step.body === "string" ? "text/plain" : "application/json";
      respond(socket, status, { "content-type": type, ...step.headers }, text);
      return true;
    }
    const frames = (step.raw ?? wireFrames(wire, step, n)).map(bytes);
    head(socket, status, { "content-type": "text/event-stream", ...step.headers, "transfer-encoding": "chunked" });
    const limit = step.cut?.after ?? frames.length;
    const before = step.hold?.at === undefined ? undefined : { at: step.hold.at, open: this.gate(step.hold.gate).promise };
    if (!(await pour(socket, frames.slice(0, limit), step, before))) return false;
    if (step.cut?.how === "stall") return false;
    if (step.cut !== undefined && step.cut.how !== "clean") {
      await turn();
      leave(socket, step.cut.how);
      return false;
    }
    socket.write("0\r\n\r\n");
    return true;
  }

  async #control(socket: Socket, request: HttpRequest): Promise<void> {
    const url = new URL(request.path, "http://127.0.0.1");
    const json = (value: unknown) => respond(socket, 200, { "content-type": "application/json" }, JSON.stringify(value));
    if (url.pathname === "/__requests") return json(this.requests.map(({ ended: _, raw: __, ...rest }) => rest));
    if (url.pathname === "/__violations") return json(this.violations);
    if (url.pathname === "/__wait") {
      const { ended: _, raw: __, ...rest } = await this.request(Number(url.searchParams.get("n") ?? "1"));
      return json(rest);
    }
    if (url.pathname === "/__release") this.release(url.searchParams.get("gate") ?? "");
    json({ ok: true });
    if (url.pathname === "/__quit") setTimeout(() => process.exit(0), 10);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bytes(text: string): Buffer {
  return text.startsWith("base64:") ? Buffer.from(text.slice(7), "base64") : Buffer.from(text, "utf8");
}

function head(socket: Socket, status: number, headers: Readonly<Record<string, string>>): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n`);
}

function respond(socket: Socket, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  const data = Buffer.from(body);
  head(socket, status, { ...headers, "content-length": String(data.length) });
  socket.write(data);
}

function leave(socket: Socket, how: "fin" | "rst"): void {
  if (how === "rst") socket.resetAndDestroy();
  else socket.end();
}

/** A turn of the event loop, so that two writes do not become one segment. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function pieces(frames: readonly Buffer[], chunking: Chunking): readonly Buffer[] {
  if (chunking === "frame") return frames;
  const all = Buffer.concat(frames);
  if (chunking === "whole") return all.length === 0 ? [] : [all];
  const cut: Buffer[] = [];
  for (let at = 0; at < all.length; at += chunking) cut.push(all.subarray(at, at + chunking));
  return cut;
}

/** Writes pieces with back-pressure; false when the client left. */
async function pour(
  socket: Socket,
  frames: readonly Buffer[],
  step: Step,
  before: { readonly at: number; readonly open: Promise<void> } | undefined,
): Promise<boolean> {
  const parts = before === undefined ? pieces(frames, step.chunking ?? "frame") : frames;
  for (const [index, part] of parts.entries()) {
    if (before !== undefined && index === before.at) await before.open;
    if (socket.destroyed) return false;
    const ready = socket.write(Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]));
    if (!ready) await drained(socket);
    if (step.pace !== undefined) await Bun.sleep(step.pace);
    else if (typeof step.chunking === "number") await turn();
  }
  if (before !== undefined && before.at >= parts.length) await before.open;
  return !socket.destroyed;
}

function drained(socket: Socket): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const go = () => {
      socket.off("drain", go);
      socket.off("close", go);
      resolve();
    };
    socket.on("drain", go);
    socket.on("close", go);
  });
}

if (import.meta.main) {
  const at = process.argv.indexOf("--script");
  const script: unknown = JSON.parse(await Bun.file(process.argv[at + 1] ?? "").text());
  const { steps, ...options } = (Array.isArray(script) ? { steps: script } : script) as { steps: Step[] } & LoopbackOptions;
  const server = await startLoopback(steps, options);
  process.on("SIGTERM", () => process.exit(0));
  // Should its parent die, it must not stay for ever.
  setTimeout(() => process.exit(1), 15 * 60_000);
  console.log(JSON.stringify({ port: server.port, url: server.baseUrl, pid: process.pid }));
}
