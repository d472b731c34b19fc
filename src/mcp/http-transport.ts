/**
 * The fetch of HTTP servers: the runtime's own, with a bound on what one message may hold. Everything else (sessions, streams,
 * redirects, logins) is the protocol's client's. Refuses: caching, proxies of its own.
 */
import type { FetchLike } from "@modelcontextprotocol/client";
import { PACKED, unpackedBody } from "../base/packed-body.ts";
import { MAX_LINE_BYTES } from "./message-lines.ts";

/** A server's message is larger than anything we take. */
class MessageTooLong extends Error {
  override readonly name = "MessageTooLong";
}

/** Ends a body with an error once a line of it, or all of it where lines mean nothing, is too long. */
function bounded(byLine: boolean): TransformStream<Uint8Array, Uint8Array> {
  let held = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const last = byLine ? chunk.lastIndexOf(10) : -1;
      held = last >= 0 ? chunk.length - last - 1 : held + chunk.length;
      if (held <= MAX_LINE_BYTES) controller.enqueue(chunk);
      else controller.error(new MessageTooLong(`the server's message is longer than ${MAX_LINE_BYTES / 1024 / 1024} MiB`));
    },
  });
}

/** The same, and nothing of it goes on once `life` is over: neither a request nor the body of its answer. */
export function fetchDuring(life: AbortSignal): FetchLike {
  return (url, init) => boundedFetch(url, { ...init, signal: init?.signal ? AbortSignal.any([life, init.signal]) : life });
}

/** Event streams may go on for ever, line by line; every other body is one message. */
const boundedFetch: FetchLike = async (url, init) => {
  const response = await fetch(url, { ...init, ...PACKED });
  const unpacked = unpackedBody(response);
  if (!unpacked) return response;
  const byLine = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  const { status, statusText, headers } = response;
  const body = unpacked.pipeThrough(bounded(byLine));
  const made = new Response(body, { status, statusText, headers });
  // The protocol's client looks at where a redirect led.
  Object.defineProperty(made, "url", { value: response.url });
  Object.defineProperty(made, "redirected", { value: response.redirected });
  return made;
};
