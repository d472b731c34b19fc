/**
 * The fetch and the transport of HTTP servers: the runtime's and the protocol's own, with a bound on what one message may hold,
 * and with every event of a stream mended. For servers that answer a request where it was sent, so is that answer: into a form
 * the protocol's client takes as one. Servers of the older transport answer on their stream, and what a request there meets is
 * left to that client, like everything else (sessions, redirects, logins). Refuses: caching, proxies of its own.
 */
import { type FetchLike, type JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { isObject, type Json, valueTooDeep } from "../base/json.ts";
import { PACKED, unpackedBody } from "../base/packed-body.ts";
import { mendedEvents } from "./mended-events.ts";
import { type JsonRpcMessage, mendMessage, ownReply } from "./mended-messages.ts";
import { MAX_LINE_BYTES, MessageTooLong, parseMessage } from "./message-lines.ts";

/** Ends a body with an error once a line of it, or all of it where lines mean nothing, is too long. */
function bounded(byLine: boolean): TransformStream<Uint8Array, Uint8Array> {
  let held = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const last = byLine ? chunk.lastIndexOf(10) : -1;
      held = last >= 0 ? chunk.length - last - 1 : held + chunk.length;
      if (held <= MAX_LINE_BYTES) controller.enqueue(chunk);
      else controller.error(new MessageTooLong());
    },
  });
}

/** A fetch, bounded, of which nothing goes on once `life` is over: neither a request nor the body of its answer. */
export function fetchDuring(life: AbortSignal): FetchLike {
  return (url, init) => boundedFetch(url, { ...init, signal: init?.signal ? AbortSignal.any([life, init.signal]) : life });
}

/** The same for HttpTransport: what a request is answered with is brought into a form it takes as the answer. */
export function answersDuring(life: AbortSignal): FetchLike {
  const fetchBounded = fetchDuring(life);
  return async (url, init) => {
    const response = await fetchBounded(url, init);
    const asked = requestOf(init?.body);
    return asked ? mendAnswer({ ...asked, inSession: new Headers(init?.headers).has("mcp-session-id") }, response) : response;
  };
}

/** A response with another body, for a client that also looks at where a redirect led. */
function withBody(body: BodyInit | null, response: Response, status = response.status): Response {
  const headers = new Headers(response.headers);
  // Of the body that was read.
  for (const name of ["content-length", "content-encoding", "transfer-encoding"]) headers.delete(name);
  const made = new Response(body, { status, statusText: response.statusText, headers });
  Object.defineProperty(made, "url", { value: response.url });
  Object.defineProperty(made, "redirected", { value: response.redirected });
  return made;
}

const typeOf = (response: Response): string => response.headers.get("content-type") ?? "";

/** Event streams may go on for ever, line by line; every other body is one message. */
const boundedFetch: FetchLike = async (url, init) => {
  const response = await fetch(url, { ...init, ...PACKED });
  const unpacked = unpackedBody(response);
  if (!unpacked) return response;
  const isStream = typeOf(response).startsWith("text/event-stream");
  const body = unpacked.pipeThrough(bounded(isStream));
  return withBody(isStream ? body.pipeThrough(mendedEvents()) : body, response);
};

type Asked = { readonly id: unknown; readonly method: string };

/** The request a body carries; undefined for notifications, answers, and what is not of the protocol (logins). */
function requestOf(body: unknown): Asked | undefined {
  const message = typeof body === "string" && body.startsWith("{") ? parseMessage(body) : undefined;
  if (!isObject(message) || message.jsonrpc !== "2.0" || message.id === undefined) return undefined;
  return typeof message.method === "string" ? { id: message.id, method: message.method } : undefined;
}

/** How a server refuses these tells what kind of server it is; see connection.ts. */
const HANDSHAKES: ReadonlySet<string> = new Set(["initialize", "server/discover"]);
/** Statuses that ask for a login. */
const LOGINS: ReadonlySet<number> = new Set([401, 403]);
/** The codes servers have for a session that is not known (any more), and how they say it. */
const NO_SESSION: ReadonlySet<unknown> = new Set([-32000, -32001]);
const SAYS_NO_SESSION =
  /\bsession\b.{0,80}\b(?:not (?:be )?found|not exist|unknown|expired|invalid|no longer|terminated|closed)\b|\b(?:no|unknown|expired|invalid)\b.{0,20}\bsession\b/is;

const isFor = (asked: Asked, value: unknown): value is Json =>
  isObject(value) && value.id !== undefined && value.id !== null && String(value.id) === String(asked.id);

/** An answer is the answer whatever its status: nothing is lost or asked again because of that. */
async function mendAnswer(asked: Asked & { readonly inSession: boolean }, response: Response): Promise<Response> {
  if (!typeOf(response).startsWith("application/json") || response.status === 202) return response;
  if (response.ok) {
    const text = await response.text();
    return withBody(mendBody(asked, text), response);
  }
  if (HANDSHAKES.has(asked.method) || LOGINS.has(response.status)) return response;
  const text = await response.text();
  const value = parseMessage(text);
  if (!isFor(asked, value) || !value.error || value.method !== undefined) return withBody(text, response);
  return isExpired(asked.inSession, response.status, value.error)
    ? withBody(text, response)
    : withBody(mendBody(asked, text), response, 200);
}

/** Asked again in a new session: the call did not run. */
function isExpired(inSession: boolean, status: number, error: unknown): boolean {
  if (!inSession || status !== 404 || !isObject(error)) return false;
  return NO_SESSION.has(error.code) || (typeof error.message === "string" && SAYS_NO_SESSION.test(error.message));
}

function mendBody(asked: Asked, text: string): string {
  const parsed = parseMessage(text);
  const values = Array.isArray(parsed) ? parsed : [parsed];
  // Only the request was sent: an error that names none is about it.
  const named = values.map((value) =>
    isObject(value) && value.error && (value.id === undefined || value.id === null) ? { ...value, id: asked.id } : value,
  );
  const messages = named.flatMap((value): JsonRpcMessage[] => {
    const message = mendMessage(value);
    return message ? [message] : [];
  });
  const answered = messages.some((message) => message.method === undefined && isFor(asked, message));
  if (answered && messages.length === values.length && messages.every((message, at) => message === values[at])) return text;
  if (!answered) messages.push(ownReply(asked.id, "what it answers with is no answer to what was asked"));
  if (valueTooDeep(messages)) return JSON.stringify(ownReply(asked.id, "its answer is nested too deep to be read"));
  return JSON.stringify(messages.length === 1 ? messages[0] : messages);
}

type Send = StreamableHTTPClientTransport["send"];

/** The protocol's transport, which says so when a stream that belongs to a request ends without an answer. */
export class HttpTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<Send>): Promise<void> {
    if (Array.isArray(message) || !("method" in message) || !("id" in message)) return super.send(message, options);
    const { id } = message;
    // Too late for a request that was answered: then nobody waits for this id.
    const onRequestStreamEnd = (): void =>
      this.onmessage?.(ownReply(id, "its stream of events ended without an answer") as unknown as JSONRPCMessage);
    return super.send(message, { onRequestStreamEnd, ...options } as Parameters<Send>[1]);
  }
}
