/** `thndrs acp serve` in this process with an editor at its other end: a client of the official library whose answers a test gives. */
import { existsSync, readFileSync } from "node:fs";
import {
  type ClientCapabilities,
  type ClientConnection,
  client,
  ndJsonStream,
  type SessionNotification,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { serveAcp } from "../../src/app/acp-server.ts";
import type { RunFlags } from "../../src/app/open.ts";
import { createProcessOwner } from "../../src/base/process.ts";
import type { RunEvent } from "../../src/types/event.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { type Files, type TempDir, tempDir } from "../support/temp.ts";

export type EditorOptions = {
  readonly script: Parameters<typeof startModel>[0];
  readonly files?: Files;
  readonly config?: string;
  readonly env?: Record<string, string>;
  readonly flags?: RunFlags;
  readonly capabilities?: ClientCapabilities;
  /** The option id to choose; "cancelled" cancels; absent: questions fail. */
  readonly permission?: (title: string) => string | Promise<string>;
  readonly readText?: (path: string) => string;
  readonly writeText?: (path: string, content: string) => void;
  /** Awaited before each write of the server: a slow reader. */
  readonly pace?: () => Promise<void> | undefined;
  /** Answers of the terminal it lends. */
  readonly terminal?: {
    readonly output: string;
    readonly exit: Promise<number>;
    readonly calls: string[];
    /** Awaited before a terminal opens. */
    readonly opening?: () => Promise<void>;
  };
};

export type TestEditor = AsyncDisposable & {
  readonly agent: ClientConnection["agent"];
  readonly model: TestModel;
  readonly place: TempDir;
  readonly updates: readonly SessionUpdate[];
  readonly events: readonly RunEvent[];
  readonly bugs: readonly unknown[];
  /** Everything the server wrote. */
  wire(): string;
  /** Starts a session in the workspace. */
  open(): Promise<string>;
  prompt(sessionId: string, text: string): Promise<{ stopReason: string }>;
  update(fits: (update: SessionUpdate) => boolean): Promise<SessionUpdate>;
  text(): string;
  records(sessionId: string): Record<string, unknown>[];
  /** The client goes away. */
  leave(): Promise<void>;
};

export async function openEditor(options: EditorOptions): Promise<TestEditor> {
  const [place, home, model] = await Promise.all([tempDir(options.files ?? {}), tempDir(), startModel(options.script)]);
  await home.write({ "thndrs/config.toml": options.config ?? "" });
  const processes = createProcessOwner();
  const toServer = new TransformStream<Uint8Array, Uint8Array>();
  const toClient = new TransformStream<Uint8Array, Uint8Array>();
  const written: Uint8Array[] = [];
  const out = toClient.writable.getWriter();
  const events: RunEvent[] = [];
  const bugs: unknown[] = [];
  const controller = new AbortController();
  const serving = serveAcp({
    input: toServer.readable,
    write: async (bytes) => {
      await options.pace?.();
      written.push(bytes);
      await out.write(bytes);
    },
    env: { PATH: "/usr/bin:/bin", HOME: home.path, XDG_CONFIG_HOME: home.path, ...model.env, ...options.env },
    cwd: place.path,
    flags: options.flags ?? {},
    processes,
    signal: controller.signal,
    event: (event) => events.push(event),
    bug: (error) => bugs.push(error),
  });
  const updates: SessionUpdate[] = [];
  const waiters: { fits: (update: SessionUpdate) => boolean; resolve: (update: SessionUpdate) => void }[] = [];
  const app = client({ name: "test" });
  app.onNotification("session/update", ({ params }: { params: SessionNotification }) => {
    updates.push(params.update);
    for (const waiter of waiters.filter((one) => one.fits(params.update))) waiter.resolve(params.update);
  });
  app.onRequest("session/request_permission", async ({ params }) => {
    if (!options.permission) throw new Error("nobody is there");
    const optionId = await options.permission(params.toolCall.title ?? "");
    return { outcome: optionId === "cancelled" ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
  });
  const { readText, writeText, terminal } = options;
  if (readText) app.onRequest("fs/read_text_file", ({ params }) => ({ content: readText(params.path) }));
  if (writeText) {
    app.onRequest("fs/write_text_file", ({ params }) => {
      writeText(params.path, params.content);
      return {};
    });
  }
  if (terminal) {
    app.onRequest("terminal/create", async ({ params }) => {
      await terminal.opening?.();
      terminal.calls.push(`create ${params.cwd} ${[params.command, ...(params.args ?? [])].join(" ")}`);
      return { terminalId: "lent-1" };
    });
    app.onRequest("terminal/wait_for_exit", async () => ({ exitCode: await terminal.exit }));
    app.onRequest("terminal/output", () => ({ output: terminal.output, truncated: false }));
    app.onRequest("terminal/kill", () => void terminal.calls.push("kill"));
    app.onRequest("terminal/release", () => void terminal.calls.push("release"));
  }
  const connection = app.connect(ndJsonStream(toServer.writable, toClient.readable));
  const { agent } = connection;
  await agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: {
      fs: { readTextFile: readText !== undefined, writeTextFile: writeText !== undefined },
      terminal: terminal !== undefined,
      ...options.capabilities,
    },
  });
  const leave = async (): Promise<void> => {
    // The transform stream of the test has no reader any more when the library closes its side.
    await toServer.writable.close().catch(() => undefined);
    await serving;
    connection.close();
  };
  return {
    agent,
    model,
    place,
    updates,
    events,
    bugs,
    wire: () => Buffer.concat(written).toString(),
    open: async () => (await agent.request("session/new", { cwd: place.path, mcpServers: [] })).sessionId,
    prompt: (sessionId, text) => agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    update: (fits) => {
      const here = updates.find(fits);
      return here ? Promise.resolve(here) : new Promise((resolve) => waiters.push({ fits, resolve }));
    },
    text: () =>
      updates
        .flatMap((update) =>
          update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
        )
        .join(""),
    records: (sessionId) => {
      const path = place.at(".thndrs", "sessions", `${sessionId}.jsonl`);
      if (!existsSync(path)) return [];
      return readFileSync(path, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    },
    leave,
    [Symbol.asyncDispose]: async () => {
      controller.abort("test over");
      await serving;
      connection.close();
      await processes.reapAll();
      await model[Symbol.asyncDispose]();
      place.remove();
      home.remove();
    },
  };
}
