/**
 * One external agent's stdin and stdout as the message stream the ACP library takes. Forgiving where agents are careless:
 * junk lines are skipped and counted (X04), answers nobody asked for are dropped (X01), a line without an end is not kept.
 * Session updates are handed over here, in the order of the pipe: the library only promises to *start* their handlers in
 * order, and an answer could overtake them. Refuses: storing protocol lines, knowing what a message means.
 */
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { createByteLines } from "../base/byte-lines.ts";
import { field, isObject, parseJson } from "../base/json.ts";

/** Longer lines are dropped as junk. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const SAMPLE_CHARS = 120;

export type Junk = { readonly lines: number; readonly sample: string };

export type AgentWire = {
  readonly stream: Stream;
  /** Bytes of the agent's stdout. */
  push(chunk: Uint8Array): void;
  /** Nothing more will come. */
  finish(): void;
  /** What was skipped so far. */
  junk(): Junk;
};

/** A JSON-RPC 2.0 message; undefined for everything else a program may print. */
function messageOf(line: string): AnyMessage | undefined {
  const value = parseJson(line);
  if (!isObject(value) || value.jsonrpc !== "2.0") return undefined;
  const isCall = typeof value.method === "string";
  const isAnswer = "id" in value && ("result" in value || "error" in value);
  return isCall || isAnswer ? (value as unknown as AnyMessage) : undefined;
}

/**
 * @param write takes one line with its newline; rejects when the agent no longer reads
 * @param onUpdate gets the params of each `session/update`
 */
export function createAgentWire(write: (line: string) => Promise<void>, onUpdate: (params: unknown) => void): AgentWire {
  const asked = new Set<unknown>();
  const decoder = new TextDecoder("utf-8");
  const junk = { lines: 0, sample: "" };
  let controller: ReadableStreamDefaultController<AnyMessage> | undefined;
  const skip = (text: string): void => {
    junk.lines += 1;
    if (junk.sample === "") junk.sample = text.trim().slice(0, SAMPLE_CHARS).toWellFormed();
  };
  const receive = (message: AnyMessage): void => {
    if ("method" in message && message.method === "session/update" && !("id" in message)) {
      onUpdate(field(message, "params"));
      return;
    }
    const stray = !("method" in message) && !asked.delete(message.id);
    if (!stray) controller?.enqueue(message);
  };
  const lines = createByteLines({
    most: MAX_LINE_BYTES,
    line(bytes) {
      const line = decoder.decode(bytes);
      const message = messageOf(line);
      if (message) receive(message);
      else if (line.trim() !== "") skip(line);
    },
    tooLong: () => skip("(a line over 32 MiB)"),
  });
  const readable = new ReadableStream<AnyMessage>({
    start(own) {
      controller = own;
    },
    cancel() {
      controller = undefined;
    },
  });
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if ("method" in message && "id" in message) asked.add(message.id);
      return write(`${JSON.stringify(message)}\n`);
    },
  });
  return {
    stream: { readable, writable },
    push: (chunk) => lines.push(chunk),
    finish() {
      lines.finish();
      controller?.close();
      controller = undefined;
    },
    junk: () => junk,
  };
}
