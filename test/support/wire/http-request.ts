/** Reads HTTP/1.1 requests off a socket: head, then a body by content-length or chunks. Refuses: answering. */

export type HttpRequest = {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export class RequestReader {
  #parts: Buffer[] = [];
  #size = 0;
  /** Bytes the request being read needs at least; saves joining a large body for every packet. */
  #need = 0;

  push(data: Buffer): HttpRequest[] {
    this.#parts.push(data);
    this.#size += data.length;
    if (this.#size < this.#need) return [];
    let buffer = Buffer.concat(this.#parts);
    const found: HttpRequest[] = [];
    for (;;) {
      const step = readOne(buffer);
      if (step.request === undefined) {
        this.#need = step.need;
        break;
      }
      found.push(step.request);
      buffer = buffer.subarray(step.need);
    }
    this.#parts = [buffer];
    this.#size = buffer.length;
    return found;
  }
}

type Read = { readonly request?: HttpRequest; readonly need: number };

function readOne(buffer: Buffer): Read {
  const end = buffer.indexOf("\r\n\r\n");
  if (end < 0) return { need: buffer.length + 1 };
  const [first = "", ...lines] = buffer.subarray(0, end).toString("latin1").split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const start = end + 4;
  if (headers["transfer-encoding"] === "chunked") {
    const body = readChunks(buffer, start);
    if (body === undefined) return { need: buffer.length + 1 };
    return { request: { method, path, headers, body: body.text }, need: body.end };
  }
  const need = start + Number(headers["content-length"] ?? "0");
  if (buffer.length < need) return { need };
  return { request: { method, path, headers, body: buffer.subarray(start, need).toString("utf8") }, need };
}

function readChunks(buffer: Buffer, from: number): { readonly text: string; readonly end: number } | undefined {
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const line = buffer.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(buffer.subarray(at, line).toString("latin1"), 16);
    const next = line + 2 + size + 2;
    if (buffer.length < next) return undefined;
    if (size === 0) return { text: Buffer.concat(parts).toString("utf8"), end: next };
    parts.push(buffer.subarray(line + 2, line + 2 + size));
    at = next;
  }
}
