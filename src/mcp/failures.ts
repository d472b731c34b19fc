/** What went wrong between us and a server, in words for a diagnostic or a tool result. Recognised by class and code. */
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { field, filled, parseJson } from "../base/json.ts";
import { networkWords } from "../base/network-words.ts";
import { UnreadableBody } from "../base/packed-body.ts";
import { cutChars, sayDuration } from "../base/text.ts";
import { WHOLE_SENTENCE } from "./mended-messages.ts";
import { StartFailure } from "./stdio-transport.ts";

const MAX_CHARS = 500;

/** The server wants a login; nobody can be asked during a run. */
export class LoginNeeded extends Error {
  override readonly name = "LoginNeeded";
}

/** An answer of another shape than the protocol's; the message completes "MCP server x: …". */
export class OddAnswer extends Error {
  override readonly name = "OddAnswer";
}

/** A call whose server reported progress to the end of what any call may take. */
export class CallTooLong extends SdkError {
  constructor(limitMs: number) {
    super(SdkErrorCode.RequestTimeout, `it was still at work after ${sayDuration(limitMs)} and was told to stop`);
    this.name = "CallTooLong";
  }
}

/** Of a `SdkHttpError`, or of the older transport's error. */
export function httpStatus(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status;
  return error instanceof SseError ? error.code : undefined;
}

export function isTimeout(error: unknown): boolean {
  if (error instanceof DOMException) return error.name === "TimeoutError";
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

export function isClosed(error: unknown): boolean {
  return error instanceof SdkError && [SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected].includes(error.code);
}

function causes(error: unknown): readonly unknown[] {
  const found: unknown[] = [];
  for (let at = error; at !== undefined && at !== null && found.length < 5; at = (at as { cause?: unknown }).cause) {
    found.push(at);
  }
  return found;
}

/** True when the server wants an authorization that is not there or no longer holds. */
export function needsLogin(error: unknown): boolean {
  return causes(error).some(
    (cause) =>
      cause instanceof LoginNeeded ||
      cause instanceof UnauthorizedError ||
      cause instanceof InsufficientScopeError ||
      httpStatus(cause) === 401,
  );
}

function networkReason(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    const reason = cause instanceof Error && "code" in cause ? networkWords(String(cause.code)) : undefined;
    if (reason) return reason;
    if (cause instanceof UnreadableBody) return `it sent an answer that cannot be unpacked (content-encoding: ${cause.encoding})`;
  }
  return undefined;
}

/** The connection broke; anything else is what was said over it. */
function isLostPipe(error: unknown): boolean {
  return (
    isClosed(error) ||
    causes(error).some((cause) => cause instanceof Error && "code" in cause && /^E[A-Z]+$/.test(String(cause.code)))
  );
}

export type FailureFacts = {
  readonly server: string;
  readonly timeoutMs: number;
  /** How the process ended, for a stdio server that did. */
  readonly exit?: string | undefined;
  /** The newest stderr of a stdio server. */
  readonly stderr?: string;
};

function lastWords(stderr: string | undefined): string {
  const line = stderr
    ?.split("\n")
    .map((text) => text.trim())
    .findLast((text) => text !== "");
  return line === undefined ? "" : `; its last words: ${cutChars(line, 200)}`;
}

/** What a refusal says in the form of the protocol's errors. */
function bodyWords(error: unknown): string {
  const body = error instanceof SdkHttpError && typeof error.data.text === "string" ? parseJson(error.data.text) : undefined;
  const message = filled(field(field(body, "error"), "message"));
  return message === undefined ? "" : `: ${message}`;
}

/** One sentence without a full stop; completes "MCP server x: …". */
export function sayFailure(error: unknown, facts: FailureFacts): string {
  const { server, timeoutMs, exit, stderr } = facts;
  if (needsLogin(error)) return `it needs a login: thndrs mcp login ${server}`;
  if (error instanceof StartFailure) return error.message.replace(/\.$/, "");
  if (error instanceof CallTooLong) return error.message;
  // Before the exit: what does not answer in time is ended by us.
  if (isTimeout(error)) return `no answer within ${sayDuration(timeoutMs)}${lastWords(stderr)}`;
  // One that answered and was not understood is ended by us, too: what it said counts.
  if (exit !== undefined && isLostPipe(error)) return `it ${exit}${lastWords(stderr)}`;
  if (isClosed(error)) return `the connection was closed${lastWords(stderr)}`;
  const status = httpStatus(error);
  if (status !== undefined) return cutChars(`it answers with HTTP ${status}${bodyWords(error)}`, MAX_CHARS);
  if (error instanceof ProtocolError && error.code === WHOLE_SENTENCE) return cutChars(error.message, MAX_CHARS);
  if (error instanceof ProtocolError) return cutChars(`it answers with an error: ${error.message} (${error.code})`, MAX_CHARS);
  if (error instanceof OddAnswer) return error.message;
  // Only the handshake is held to a shape; the client's own words are a list of what was expected where.
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return "its answer to the handshake is not what the protocol says";
  const network = networkReason(error);
  if (network) return network;
  return cutChars(error instanceof Error ? error.message : String(error), MAX_CHARS);
}
