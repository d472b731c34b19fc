/**
 * The Anthropic Messages wire (`POST /messages`): alternating roles, content blocks, cache breakpoints, thinking with
 * signatures. Refuses: HTTP, retries; what differs between Claude generations is in claude.ts.
 */
import { count, field, filled, isObject, type Json, list, object, parseJson, text, wellFormed } from "../base/json.ts";
import type { Message, ToolSpec, Usage } from "../types/message.ts";
import type { ProviderSettings } from "../types/settings.ts";
import type { Assembly } from "./assembly.ts";
import { type CarryItem, makeCarry, piecesOf } from "./carry.ts";
import { claudeOptions, DEFAULT_MAX_OUTPUT } from "./claude.ts";
import { errorDetail, failureOfFrame, notJson } from "./failure.ts";
import { isOwnServer } from "./presets.ts";
import type { ProviderRequest } from "./provider.ts";
import { wantsReasoning } from "./quirks.ts";
import { brokenEnd, stopOf } from "./stop-reasons.ts";
import { joinArguments } from "./tool-calls.ts";
import { known, newer } from "./usage.ts";
import type { Decoder, Wire } from "./wire.ts";
import { argumentsObject, bodyWithList, isBlank, jsonText, literal, MessageCache, resultText } from "./wire-text.ts";

const WIRE = "anthropic";
const CACHE = { type: "ephemeral" } as const;
const CACHE_MARK = `,"cache_control":${JSON.stringify(CACHE)}}`;
/** Breakpoints for messages; system and tools take the other two of the four allowed. */
const MARKED_USER_MESSAGES = 2;

/** The wire for one provider: it remembers the bytes of messages it has written. */
export function anthropic(settings: ProviderSettings): Wire {
  const own = isOwnServer(settings, "anthropic");
  // A Claude behind a gateway refuses it like Anthropic's own server.
  const takesUnsigned = (model: string): boolean => !own && wantsReasoning(model);
  const cache = new MessageCache<Message, readonly string[]>();
  const catalogs = new MessageCache<readonly ToolSpec[], string>();
  return {
    path: "/messages",
    headers: (apiKey) => ({ "anthropic-version": "2023-06-01", ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) }),
    body: ({ request, info }) => messagesBody(request, info.maxOutput, takesUnsigned(request.model), cache, catalogs),
    decoder: ({ request }, into, host) => new MessagesDecoder(request.model, into, host, takesUnsigned(request.model)),
  };
}

function messagesTools(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return "";
  return jsonText(
    tools.map(({ name, description, parameters }, index) => ({
      name,
      description,
      input_schema: parameters,
      ...(index === tools.length - 1 ? { cache_control: CACHE } : {}),
    })),
  );
}

function messagesBody(
  request: ProviderRequest,
  maxOutput: number | undefined,
  thinking: boolean,
  cache: MessageCache<Message, readonly string[]>,
  catalogs: MessageCache<readonly ToolSpec[], string>,
): string {
  const tools = catalogs.get(request.tools, "", () => messagesTools(request.tools));
  const past = tools === "" ? pastTools(request.messages) : [];
  const limit = request.maxOutputTokens ?? Math.min(maxOutput ?? DEFAULT_MAX_OUTPUT.unknown, DEFAULT_MAX_OUTPUT.known);
  const head = {
    model: request.model,
    stream: true,
    ...claudeOptions(request, limit),
    ...(isBlank(request.system) ? {} : { system: [{ type: "text", text: request.system, cache_control: CACHE }] }),
    ...(past.length === 0 ? {} : { tools: past, tool_choice: { type: "none" } }),
  };
  const groups = grouped(request, thinking, cache);
  let marks = MARKED_USER_MESSAGES;
  const items: string[] = [];
  for (const group of groups.toReversed()) {
    const marked = group.role === "user" && marks > 0;
    if (marked) marks -= 1;
    const blocks = marked ? [...group.blocks.slice(0, -1), `${group.blocks.at(-1)?.slice(0, -1)}${CACHE_MARK}`] : group.blocks;
    items.push(`{"role":"${group.role}","content":[${blocks.join(",")}]}`);
  }
  return bodyWithList(head, tools, "messages", items.reverse());
}

/** A history with calls needs tools to be declared, even by a request that may not call any (a summary, say). */
function pastTools(messages: readonly Message[]): readonly object[] {
  const names = new Set(
    messages.flatMap((message) => (message.role === "assistant" ? message.calls.map((call) => call.name) : [])),
  );
  return [...names].map((name) => ({ name, description: "No longer available.", input_schema: { type: "object" } }));
}

type Group = { readonly role: "user" | "assistant"; readonly blocks: string[] };

/** Neighbours of one role become one message; the first message is the user's. */
function grouped(request: ProviderRequest, thinking: boolean, cache: MessageCache<Message, readonly string[]>): readonly Group[] {
  const groups: Group[] = [];
  for (const message of request.messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = cache.get(message, request.model, () => contentBlocks(message, request.model, thinking));
    if (blocks.length === 0) continue;
    const last = groups.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else groups.push({ role, blocks: [...blocks] });
  }
  if (groups[0]?.role === "assistant") groups.unshift({ role: "user", blocks: ['{"type":"text","text":"(continued)"}'] });
  // Newer models take no answer to complete: the last word must be the user's.
  if (groups.at(-1)?.role === "assistant") groups.push({ role: "user", blocks: ['{"type":"text","text":"Continue."}'] });
  return groups;
}

/** `thinking`: reasoning without private state (after a resume) goes back as well, unsigned. */
function contentBlocks(message: Message, model: string, thinking: boolean): readonly string[] {
  if (message.role === "user") return [textBlock(message.text)];
  if (message.role === "tool") {
    const error = message.failed ? ',"is_error":true' : "";
    return [
      `{"type":"tool_result","tool_use_id":${literal(message.callId)},"content":${literal(resultText(message.text))}${error}}`,
    ];
  }
  const pieces = piecesOf(message, WIRE, model);
  const bare = thinking && message.calls.length > 0 && !pieces.some((piece) => piece.kind === "opaque");
  const reasoning = bare && message.reasoning !== undefined ? [thinkingBlock(message.reasoning)] : [];
  const blocks = pieces.flatMap((piece) => {
    if (piece.kind === "opaque") return [JSON.stringify(wellFormed(piece.value))];
    if (piece.kind === "text") return isBlank(piece.text) ? [] : [textBlock(piece.text)];
    const { id, name } = piece.call;
    return [`{"type":"tool_use","id":${literal(id)},"name":${literal(name)},"input":${argumentsObject(piece.call.arguments)}}`];
  });
  return [...reasoning, ...blocks];
}

function thinkingBlock(thinking: string): string {
  return `{"type":"thinking","thinking":${literal(thinking)}}`;
}

function textBlock(content: string): string {
  return `{"type":"text","text":${literal(content)}}`;
}

type Block =
  | { readonly kind: "text"; length: number }
  | { readonly kind: "call"; id: string; name: string; parts: string[]; input: unknown }
  | { readonly kind: "thinking"; parts: string[]; signature: string | undefined }
  | { readonly kind: "opaque"; readonly value: unknown };

/** A piece of text, reasoning or a call's arguments. */
function messagesText(frame: Json, event: string | undefined): string | undefined {
  if (frame.type !== "content_block_delta" || (event !== undefined && event !== frame.type)) return undefined;
  const { type, text: piece, thinking, partial_json: json } = object(frame.delta);
  return text(
    type === "text_delta" ? piece : type === "thinking_delta" ? thinking : type === "input_json_delta" ? json : undefined,
  );
}

class MessagesDecoder implements Decoder {
  readonly textIn = messagesText;
  readonly #model: string;
  readonly #into: Assembly;
  readonly #host: string;
  readonly #takesUnsigned: boolean;
  readonly #blocks: Block[] = [];
  readonly #byIndex = new Map<number, Block>();
  #stop: string | undefined;
  #usage: Readonly<Record<string, unknown>> = {};

  /** `takesUnsigned`: reasoning without a signature may go back to this model. */
  constructor(model: string, into: Assembly, host: string, takesUnsigned: boolean) {
    this.#model = model;
    this.#into = into;
    this.#host = host;
    this.#takesUnsigned = takesUnsigned;
  }

  get finishing(): boolean {
    return this.#stop !== undefined;
  }

  take(event: string | undefined, data: string): void {
    const trimmed = data.trim();
    if (event === "ping" || trimmed === "[DONE]" || (trimmed === "" && event !== "error")) return;
    const frame = parseJson(trimmed);
    if (!isObject(frame)) {
      this.#into.fail(
        event === "error" ? failureOfFrame(this.#host, { message: data, code: "" }, Date.now()) : notJson(this.#host, data),
      );
      return;
    }
    if (event === "error" || frame.type === "error" || (frame.type === undefined && frame.error !== undefined))
      this.#into.fail(failureOfFrame(this.#host, errorDetail(frame), Date.now()));
    else if (!this.whole(frame)) this.#frame(text(frame.type) ?? event ?? "", frame);
  }

  whole(body: Json): boolean {
    if (body.type !== "message" || !Array.isArray(body.content)) return false;
    for (const block of list(body.content)) {
      this.#start(undefined, object(block));
      this.#into.settle();
    }
    this.#stop = filled(body.stop_reason);
    this.#count(body.usage);
    this.#finish();
    return true;
  }

  /** EOF without `message_stop`: complete only if the server said why it stopped. */
  close(): boolean {
    if (this.#stop === undefined) return false;
    this.#finish();
    return true;
  }

  #frame(type: string, frame: Readonly<Record<string, unknown>>): void {
    if (type === "message_start") this.#count(field(frame.message, "usage"));
    else if (type === "content_block_start") this.#start(count(frame.index), object(frame.content_block));
    else if (type === "content_block_delta") this.#delta(count(frame.index), object(frame.delta));
    else if (type === "content_block_stop") this.#into.settle();
    else if (type === "message_delta") {
      this.#stop = filled(field(frame.delta, "stop_reason")) ?? this.#stop;
      this.#count(frame.usage);
    } else if (type === "message_stop") this.#finish();
  }

  #start(index: number | undefined, content: Readonly<Record<string, unknown>>): void {
    const block = this.#open(content);
    if (block === undefined) return;
    this.#blocks.push(block);
    if (index !== undefined) this.#byIndex.set(index, block);
  }

  #open(content: Readonly<Record<string, unknown>>): Block | undefined {
    if (content.type === "text") {
      this.#into.text(text(content.text) ?? "");
      return { kind: "text", length: (text(content.text) ?? "").length };
    }
    if (content.type === "tool_use") {
      this.#into.callLength += 1;
      return { kind: "call", id: filled(content.id) ?? "", name: filled(content.name) ?? "", parts: [], input: content.input };
    }
    if (content.type === "thinking") {
      const thinking = text(content.thinking) ?? "";
      if (thinking !== "") this.#into.reasoning(thinking);
      return { kind: "thinking", parts: [thinking], signature: text(content.signature) };
    }
    return content.type === "redacted_thinking" ? { kind: "opaque", value: content } : undefined;
  }

  #delta(index: number | undefined, delta: Readonly<Record<string, unknown>>): void {
    const block = index === undefined ? this.#blocks.at(-1) : this.#byIndex.get(index);
    if (delta.type === "text_delta") {
      const piece = text(delta.text) ?? "";
      // Text that no block was opened for joins the text it follows.
      const into = block?.kind === "text" ? block : this.#blocks.at(-1);
      if (into?.kind === "text") into.length += piece.length;
      else this.#blocks.push({ kind: "text", length: piece.length });
      this.#into.text(piece);
    } else if (delta.type === "thinking_delta") {
      const piece = text(delta.thinking) ?? "";
      if (block?.kind === "thinking") block.parts.push(piece);
      this.#into.reasoning(piece);
    } else if (delta.type === "signature_delta" && block?.kind === "thinking")
      block.signature = (block.signature ?? "") + (text(delta.signature) ?? "");
    else if (delta.type === "input_json_delta" && block?.kind === "call") {
      const piece = text(delta.partial_json) ?? "";
      block.parts.push(piece);
      this.#into.callLength += piece.length;
    }
  }

  /** Later frames repeat or complete the numbers. */
  #count(usage: unknown): void {
    if (!isObject(usage)) return;
    const cached = (count(usage.cache_read_input_tokens) ?? 0) + (count(usage.cache_creation_input_tokens) ?? 0);
    // Nothing fresh is true where all came from the cache.
    const earlier = usage.input_tokens === 0 && cached > 0 ? { ...this.#usage, input_tokens: 0 } : this.#usage;
    this.#usage = newer(earlier, usage);
    // At once: what a stream that breaks off has used is paid for as well.
    const known = anthropicUsage(this.#usage);
    if (Object.keys(known).length > 0) this.#into.usage(known);
  }

  #finish(): void {
    const broken = brokenEnd(this.#host, this.#stop);
    if (broken) {
      this.#into.fail(broken);
      return;
    }
    const items: CarryItem[] = [];
    let calls = 0;
    for (const block of this.#blocks) {
      if (block.kind === "text") items.push({ kind: "text", length: block.length });
      else if (block.kind === "opaque") items.push({ kind: "opaque", value: block.value });
      else if (block.kind === "thinking") {
        const { signature } = block;
        const thinking = block.parts.join("").toWellFormed();
        // Claude's servers reject an unsigned block, others (DeepSeek) demand it.
        if (signature || (this.#takesUnsigned && thinking !== ""))
          items.push({ kind: "opaque", value: { type: "thinking", thinking, ...(signature && { signature }) } });
      } else {
        calls += 1;
        const streamed = joinArguments(block.parts);
        // Cut before its arguments began, a call has the empty object that every call begins with.
        const input = object(block.input);
        const cut = stopOf(this.#stop, 0).reason === "length" && block === this.#blocks.at(-1) && Object.keys(input).length === 0;
        const args = streamed === "" && isObject(block.input) && !cut ? JSON.stringify(input) : streamed;
        items.push({ kind: "call", id: this.#into.call(block.id, block.name, args) });
      }
    }
    const { reason, unknown } = stopOf(this.#stop, calls);
    this.#into.stop(reason, makeCarry(WIRE, this.#model, items), unknown);
  }
}

/** Anthropic counts cache traffic apart from `input_tokens`; the contract's number includes it. */
function anthropicUsage(usage: Readonly<Record<string, unknown>>): Usage {
  const fresh = count(usage.input_tokens);
  const read = count(usage.cache_read_input_tokens);
  const write = count(usage.cache_creation_input_tokens);
  return known({
    inputTokens: fresh === undefined ? undefined : fresh + (read ?? 0) + (write ?? 0),
    outputTokens: count(usage.output_tokens),
    cacheReadTokens: read,
    cacheWriteTokens: write,
  });
}
