/** For tests of providers: settings, requests, a fetch that serves exact chunks from memory, and what a stream said. */
import { createProvider, type ProviderOptions } from "../../../src/provider/create.ts";
import type { Fetch } from "../../../src/provider/http.ts";
import type { Provider, ProviderEvent, ProviderFailure, ProviderRequest, StopReason } from "../../../src/provider/provider.ts";
import type { Carry, Message, ToolCall, Usage, WireName } from "../../../src/types/message.ts";
import type { ProviderSettings } from "../../../src/types/settings.ts";
import type { Wire } from "./answer.ts";

export const WIRE_NAMES: Readonly<Record<Wire, WireName>> = {
  chat: "openai-chat",
  responses: "openai-responses",
  anthropic: "anthropic",
};
export const WIRES: readonly Wire[] = ["chat", "responses", "anthropic"];

export function settingsFor(wire: Wire, baseUrl: string, more: Partial<ProviderSettings> = {}): ProviderSettings {
  return { name: "mock", wire: WIRE_NAMES[wire], baseUrl, headers: {}, query: {}, models: [], local: false, ...more };
}

export function testProvider(settings: ProviderSettings, more: Partial<ProviderOptions> = {}): Provider {
  return createProvider(settings, {
    userAgent: "thndrs/test",
    apiKey: "sk-test-0123456789",
    stallTimeoutMs: 20_000,
    retry: { maxTries: 1, capMs: 60_000, maxRetryAfterMs: 300_000 },
    ...more,
  });
}

export function requestOf(messages: readonly Message[], more: Partial<ProviderRequest> = {}): ProviderRequest {
  return { model: "mock", system: "You are a test.", tools: [], messages, sessionId: "session-1", ...more };
}

export const hello: readonly Message[] = [{ role: "user", text: "hello" }];

export type Said = {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  usage: Usage | undefined;
  stop: StopReason | undefined;
  carry: Carry | undefined;
  failure: ProviderFailure | undefined;
  retries: Extract<ProviderEvent, { type: "retrying" }>[];
  /** Stops and failures seen; the contract says one. */
  endings: number;
  events: number;
};

/** Runs a stream to its end; what was said before a retry is void. */
export async function collect(
  provider: Provider,
  request: ProviderRequest = requestOf(hello),
  signal?: AbortSignal,
): Promise<Said> {
  const said: Said = {
    text: "",
    reasoning: "",
    calls: [],
    usage: undefined,
    stop: undefined,
    carry: undefined,
    failure: undefined,
    retries: [],
    endings: 0,
    events: 0,
  };
  for await (const event of provider.stream(request, signal ?? new AbortController().signal)) {
    said.events += 1;
    if (event.type === "text") said.text += event.text;
    else if (event.type === "reasoning") said.reasoning += event.text;
    else if (event.type === "tool_call") said.calls.push(event.call);
    else if (event.type === "usage") said.usage = event.usage;
    else if (event.type === "retrying") {
      said.retries.push(event);
      Object.assign(said, { text: "", reasoning: "", calls: [], usage: undefined });
    } else {
      said.endings += 1;
      if (event.type === "stop") Object.assign(said, { stop: event.reason, carry: event.carry });
      else said.failure = event;
    }
  }
  return said;
}

export type Chunks = "whole" | "one byte" | "seven bytes" | "crlf" | "cr" | "no last line break";
export const CHUNKS: readonly Chunks[] = ["whole", "one byte", "seven bytes", "crlf", "cr", "no last line break"];

/** The bytes of frames in one of the ways a network or server may deliver them. */
export function chunked(frames: readonly string[], how: Chunks): Uint8Array[] {
  let text = frames.join("");
  if (how === "crlf") text = text.replaceAll("\n", "\r\n");
  if (how === "cr") text = text.replaceAll("\n", "\r");
  if (how === "no last line break") text = text.trimEnd();
  const bytes = new TextEncoder().encode(text);
  const size = how === "one byte" || how === "crlf" || how === "cr" ? 1 : how === "seven bytes" ? 7 : Math.max(1, bytes.length);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
  return chunks;
}

export type Served = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks: readonly Uint8Array[];
  /** After the chunks: end cleanly (default), break, or say nothing more. */
  readonly after?: "end" | "break" | "silence";
};

/** A fetch that answers from memory, each call with the next answer (the last one for ever). */
export function memoryFetch(
  ...answers: readonly Served[]
): Fetch & { readonly urls: string[]; readonly bodies: string[]; readonly inits: RequestInit[] } {
  const urls: string[] = [];
  const bodies: string[] = [];
  const inits: RequestInit[] = [];
  const get: Fetch = async (url, init) => {
    const answer = answers[Math.min(bodies.length, answers.length - 1)] ?? { chunks: [] };
    urls.push(url);
    bodies.push(String(init.body));
    inits.push(init);
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = answer.chunks[at];
        at += 1;
        if (chunk !== undefined) controller.enqueue(chunk);
        else if (answer.after === "break") controller.error(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
        else if (answer.after === "silence") return new Promise(() => {});
        else controller.close();
        return undefined;
      },
    });
    return new Response(body, {
      status: answer.status ?? 200,
      headers: answer.headers ?? { "content-type": "text/event-stream" },
    });
  };
  return Object.assign(get, { urls, bodies, inits });
}

export function encode(text: string): Uint8Array[] {
  return [new TextEncoder().encode(text)];
}
