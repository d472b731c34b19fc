/**
 * Bytes of a stdio server's stdout → JSON-RPC messages (M01). Whatever is no message is skipped and counted: banners, other
 * JSON, bad UTF-8, endless lines. At most MAX_LINE_BYTES are held. Refuses: knowing any method.
 */

/** A longer line is dropped as it comes; results of a few megabytes are ordinary. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** Kept of a dropped line's beginning and end: the id of the request it answered is in one of them. */
const EDGE_BYTES = 512;
const SAMPLE_CHARS = 80;
/** How often one line is looked at again for a message behind junk. */
const MAX_RETRIES = 8;

export type JsonRpcMessage = Readonly<Record<string, unknown>> & { readonly jsonrpc: "2.0" };

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

/** A request, a notification or a response, by shape. */
export function isMessage(value: unknown): value is JsonRpcMessage {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { jsonrpc, id, method, result, error } = value as Record<string, unknown>;
  if (jsonrpc !== "2.0") return false;
  if (id !== undefined && id !== null && typeof id !== "string" && typeof id !== "number") return false;
  if (typeof method === "string") return true;
  return id !== undefined && (typeof result === "object" || typeof error === "object");
}

/** Whatever its depth: nothing behind this walks a value without a bound. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The messages of one line: itself, a batch, or what stands behind junk without a newline. */
function messagesOf(line: string): readonly JsonRpcMessage[] {
  const whole = parse(line);
  if (isMessage(whole)) return [whole];
  if (Array.isArray(whole)) return whole.filter(isMessage);
  if (whole !== undefined) return [];
  let at = line.search(/\{\s*"(?:jsonrpc|id|method|result|error)"/);
  for (let tries = 0; at >= 0 && tries < MAX_RETRIES; tries++) {
    const behind = parse(line.slice(at));
    if (isMessage(behind)) return [behind];
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
  const message = `the server's message is longer than ${MAX_LINE_BYTES / 1024 / 1024} MiB`;
  return { jsonrpc: "2.0", id: Number(found[1]), error: { code: -32603, message } };
}

/** `receive` gets each message in order. */
export function createMessageLines(receive: (message: JsonRpcMessage) => void): MessageLines {
  const decoder = new TextDecoder("utf-8");
  let parts: Uint8Array[] = [];
  let size = 0;
  let head: Buffer | undefined;
  let tail = Buffer.alloc(0);
  const junk = { lines: 0, sample: "" };

  const skip = (text: string): void => {
    junk.lines += 1;
    if (junk.sample === "") junk.sample = text.trim().slice(0, SAMPLE_CHARS);
  };
  const keep = (bytes: Uint8Array): void => {
    if (bytes.length === 0) return;
    if (head) {
      tail = Buffer.concat([tail, bytes]).subarray(-EDGE_BYTES);
      return;
    }
    parts.push(bytes);
    size += bytes.length;
    if (size <= MAX_LINE_BYTES) return;
    const whole = Buffer.concat(parts);
    head = Buffer.from(whole.subarray(0, EDGE_BYTES));
    tail = Buffer.from(whole.subarray(-EDGE_BYTES));
    parts = [];
  };
  const endLine = (): void => {
    if (head) {
      const start = head.toString("utf8");
      const answer = refusal(start, tail.toString("utf8"));
      if (answer) receive(answer);
      skip(start);
    } else {
      const [only] = parts;
      const line = decoder.decode(parts.length === 1 && only ? only : Buffer.concat(parts));
      const found = messagesOf(line);
      for (const message of found) receive(message);
      if (found.length === 0 && line.trim() !== "") skip(line);
    }
    parts = [];
    size = 0;
    head = undefined;
  };
  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        keep(chunk.subarray(start, end));
        endLine();
        start = end + 1;
      }
      keep(chunk.subarray(start));
    },
    finish() {
      if (size > 0) endLine();
    },
    junk: () => junk,
  };
}
