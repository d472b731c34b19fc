/**
 * What a server means by a message that is slightly off JSON-RPC: nulls stand for what is absent, and a reply to a request of
 * ours settles it, with its own reason where it is wrong. Without this the client drops such messages and waits out its limit.
 * Refuses: knowing any method.
 */
import { isObject, type Json, valueTooDeep } from "../base/json.ts";

export type JsonRpcMessage = Json & { readonly jsonrpc: "2.0" };

/** The code of errors whose message is the whole sentence: ours, and those a server gave no code of its own. */
export const WHOLE_SENTENCE = Number.MIN_SAFE_INTEGER;

type ReplyError = { readonly code: number; readonly message: string; readonly data?: unknown };

const MAX_WORDS = 2000;
/** Capabilities are flags in objects in an object. */
const HANDSHAKE_DEPTH = 4;

function sentence(message: string): ReplyError {
  return { code: WHOLE_SENTENCE, message };
}

/** A reply that settles a request for a reason of ours; `message` completes "MCP server x: …". */
export function ownReply(id: unknown, message: string): JsonRpcMessage {
  return { jsonrpc: "2.0", id, error: sentence(message) };
}

/** Without its members that are null; the same object when there are none. */
function withoutNulls(value: Json, depth = 1): Json {
  const kept = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (inner === null || inner === undefined) return [];
    return [[key, depth > 1 && isObject(inner) ? withoutNulls(inner, depth - 1) : inner]];
  });
  const same = kept.length === Object.keys(value).length && kept.every(([key, inner]) => inner === value[key]);
  return same ? value : Object.fromEntries(kept);
}

function without(value: Json, key: string): Json {
  const { [key]: _, ...rest } = value;
  return rest;
}

/** `_meta` says nothing that a call depends on: what is none goes. */
function withMeta(value: Json): Json {
  const { _meta: meta } = value;
  if (meta === undefined) return value;
  if (!isObject(meta)) return without(value, "_meta");
  const kept = withoutNulls(meta);
  return kept === meta ? value : { ...value, _meta: kept };
}

function mendHandshake(result: Json): Json {
  const { capabilities, serverInfo } = result;
  const mended = withoutNulls({
    ...result,
    capabilities: isObject(capabilities) ? withoutNulls(capabilities, HANDSHAKE_DEPTH) : (capabilities ?? {}),
    serverInfo: isObject(serverInfo) ? withoutNulls(serverInfo) : serverInfo,
  });
  const same = Object.keys(mended).length === Object.keys(result).length;
  return same && Object.entries(mended).every(([key, inner]) => inner === result[key]) ? result : mended;
}

function mendResult(result: Json): Json {
  const mended = withMeta(result);
  return "capabilities" in result ? mendHandshake(mended) : mended;
}

function words(value: unknown): string {
  const text = typeof value === "string" ? value : valueTooDeep(value) ? "(nested too deep)" : (JSON.stringify(value) ?? "");
  return text.slice(0, MAX_WORDS).toWellFormed();
}

function mendError(error: unknown): ReplyError {
  if (!isObject(error)) return sentence(`it answers with an error: ${words(error)}`);
  const { code, message, data } = error;
  const said = message === undefined || message === null ? words(error) : words(message);
  const number = typeof code === "string" && /^-?\d{1,9}$/.test(code) ? Number(code) : code;
  if (Number.isSafeInteger(number)) {
    const good = number === code && typeof message === "string";
    return good ? (error as unknown as ReplyError) : { code: Number(number), message: said, data };
  }
  return sentence(`it answers with an error: ${said}${code === undefined || code === null ? "" : ` (${words(code)})`}`);
}

const REPLY_MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "result", "error"]);

function mendReply(value: Json): JsonRpcMessage | undefined {
  const { jsonrpc, id, result, error } = value;
  const members = Object.keys(value);
  const isBare = members.every((key) => REPLY_MEMBERS.has(key));
  // Log lines are JSON, too; a reply that does not say so has nothing else in it.
  if (jsonrpc !== "2.0" && !(isBare && ("result" in value || "error" in value))) return undefined;
  if (isObject(result) && !error) {
    const mended = mendResult(result);
    const same = mended === result && isBare && members.length === 3 && jsonrpc === "2.0";
    return same ? (value as JsonRpcMessage) : { jsonrpc: "2.0", id, result: mended };
  }
  if (error !== undefined && error !== null) {
    const mended = mendError(error);
    const same = mended === error && isBare && members.length === 3 && jsonrpc === "2.0";
    return same ? (value as JsonRpcMessage) : { jsonrpc: "2.0", id, error: mended };
  }
  const nothing = result === undefined || result === null;
  return ownReply(id, nothing ? "its answer holds neither a result nor an error" : "the result it answers with is no object");
}

const CALL_MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

/** A request or a notification. */
function mendCall(value: Json): JsonRpcMessage | undefined {
  if (value.jsonrpc !== "2.0") return undefined;
  const params = isObject(value.params) ? withoutNulls(withMeta(value.params)) : value.params;
  const known = Object.keys(value).every((key) => CALL_MEMBERS.has(key));
  if (known && params === value.params && params !== null && value.id !== null) return value as JsonRpcMessage;
  const { id, method } = value;
  return { jsonrpc: "2.0", ...(id !== undefined && id !== null && { id }), method, ...(isObject(params) && { params }) };
}

/** The message as the protocol writes it (the same object when it is one); undefined for anything that is none. */
export function mendMessage(value: unknown): JsonRpcMessage | undefined {
  if (!isObject(value)) return undefined;
  const { id, method } = value;
  if (id !== undefined && id !== null && typeof id !== "string" && typeof id !== "number") return undefined;
  if (typeof method === "string") return mendCall(value);
  return id === undefined ? undefined : mendReply(value);
}
