/**
 * Bytes of a stdio server's stdout → JSON-RPC messages (M01). Whatever is no message is skipped and counted: banners, other
 * JSON, bad UTF-8, endless lines. At most MAX_LINE_BYTES are held. Refuses: knowing any method.
 */

import { createByteLines } from "../base/byte-lines.ts";
import { type JsonRpcMessage, mendMessage, ownReply } from "./mended-messages.ts";

/** A longer line is dropped as it comes; results of a few megabytes are ordinary. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;
const SAMPLE_CHARS = 80;
/** How often one line is looked at again for a message behind junk. */
const MAX_RETRIES = 8;

export type Junk = {
  /** Lines skipped so far. */
  readonly lines: number;
  /** The beginning of the first one. */
  readonly sample: string;
};

export type MessageLines = {
  push(chunk: Uint8Array): void;
  /** The output has ended; a last line without a newline still counts. */
  finish(): void;
  junk(): Junk;
};

const TOO_LONG = `the server's message is longer than ${MAX_LINE_BYTES / 1024 / 1024} MiB`;

/** A server's message is larger than anything we take. */
export class MessageTooLong extends Error {
  override readonly name = "MessageTooLong";
  constructor() {
    super(TOO_LONG);
  }
}

/** JSON text of whatever depth: nothing behind this walks a value without a bound. Undefined for text that is none. */
export function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The messages of one line: itself, a batch, or what stands behind junk without a newline. */
function messagesOf(line: string): readonly JsonRpcMessage[] {
  const whole = parseMessage(line);
  if (whole !== undefined) return (Array.isArray(whole) ? whole : [whole]).flatMap((value) => mendMessage(value) ?? []);
  let at = line.search(/\{\s*"(?:jsonrpc|id|method|result|error)"/);
  for (let tries = 0; at >= 0 && tries < MAX_RETRIES; tries++) {
    const behind = mendMessage(parseMessage(line.slice(at)));
    if (behind) return [behind];
    const next = line.slice(at + 1).search(/\{\s*"(?:jsonrpc|id|method|result|error)"/);
    at = next < 0 ? -1 : at + 1 + next;
  }
  return [];
}

/** An answer in place of one that was too long to take, so that its caller does not wait for nothing. */
function refusal(head: string, tail: string): JsonRpcMessage | undefined {
  if (!head.trimStart().startsWith("{")) return undefined;
  const found =
    /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d+)/.exec(head) ?? /"id"\s*:\s*(\d+)\s*\}\s*$/.exec(tail);
  if (!found) return undefined;
  return ownReply(Number(found[1]), TOO_LONG);
}

/** `receive` gets each message in order. */
export function createMessageLines(receive: (message: JsonRpcMessage) => void): MessageLines {
  const decoder = new TextDecoder("utf-8");
  const junk = { lines: 0, sample: "" };
  const skip = (text: string): void => {
    junk.lines += 1;
    if (junk.sample === "") junk.sample = text.trim().slice(0, SAMPLE_CHARS);
  };
  const lines = createByteLines({
    most: MAX_LINE_BYTES,
    line(bytes) {
      const line = decoder.decode(bytes);
      const found = messagesOf(line);
      for (const message of found) receive(message);
      if (found.length === 0 && line.trim() !== "") skip(line);
    },
    tooLong(head, tail) {
      const start = head.toString("utf8");
      // The id of the request it answered is in one of its edges.
      const answer = refusal(start, tail.toString("utf8"));
      if (answer) receive(answer);
      skip(start);
    },
  });
  return { push: lines.push, finish: lines.finish, junk: () => junk };
}
