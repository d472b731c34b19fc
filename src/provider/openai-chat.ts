/**
 * The Chat Completions wire (`POST /chat/completions`), as OpenAI wrote it and as its many imitators send it.
 * Refuses: HTTP, retries; what differs between providers is data in quirks.ts.
 */
import { count, field, filled, isObject, type Json, list, object, parseJson, text, wellFormed } from "../base/json.ts";
import type { AssistantMessage, Message, ToolSpec, Usage } from "../types/message.ts";
import type { ProviderSettings } from "../types/settings.ts";
import type { Assembly } from "./assembly.ts";
import { nineCharacterId } from "./call-ids.ts";
import { type CarryItem, makeCarry } from "./carry.ts";
import { type ErrorDetail, errorDetail, failure, failureOfFrame, notJson } from "./failure.ts";
import { forGrammar } from "./grammar-schema.ts";
import type { ProviderRequest } from "./provider.ts";
import { type ChatQuirks, chatQuirks } from "./quirks.ts";
import { brokenEnd, stopOf } from "./stop-reasons.ts";
import { CallJoiner } from "./tool-calls.ts";
import { known } from "./usage.ts";
import type { Decoder, Wire } from "./wire.ts";
import { argumentsObject, bodyWithList, isBlank, jsonText, literal, MessageCache, resultText } from "./wire-text.ts";

const WIRE = "openai-chat";

/** The wire for one provider: it remembers the bytes of messages it has written. */
export function openaiChat(settings: ProviderSettings): Wire {
  const cache = new MessageCache<Message, string>();
  const catalogs = new MessageCache<readonly ToolSpec[], string>();
  return {
    path: "/chat/completions",
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    body: ({ request }) => chatBody(request, chatQuirks(settings, request.model), cache, catalogs),
    decoder: ({ request }, into, host) => new ChatDecoder(request.model, into, host),
  };
}

function chatTools(tools: readonly ToolSpec[], form: (schema: Json) => Json): string {
  if (tools.length === 0) return "";
  return jsonText(
    tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters: form(parameters) },
    })),
  );
}

function chatBody(
  request: ProviderRequest,
  quirks: ChatQuirks,
  cache: MessageCache<Message, string>,
  catalogs: MessageCache<readonly ToolSpec[], string>,
): string {
  const form = (schema: Json): Json => (quirks.grammar ? forGrammar(schema) : schema);
  const tools = catalogs.get(request.tools, "", () => chatTools(request.tools, form));
  const schema = quirks.schema === "always" || (quirks.schema === "alone" && tools === "") ? request.outputSchema : undefined;
  const head = {
    model: request.model,
    stream: true,
    ...(quirks.usageOption ? { stream_options: { include_usage: true } } : {}),
    ...(request.reasoningEffort === undefined ? {} : quirks.effort(request.reasoningEffort)),
    ...(request.maxOutputTokens === undefined
      ? {}
      : { [quirks.completionTokens ? "max_completion_tokens" : "max_tokens"]: request.maxOutputTokens }),
    ...(quirks.cacheKey ? { prompt_cache_key: request.sessionId } : {}),
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "answer", schema: form(schema) } } }),
  };
  const items = request.messages.map((message) =>
    cache.get(message, request.model, () => chatMessage(message, request.model, quirks)),
  );
  if (!isBlank(request.system)) items.unshift(`{"role":"system","content":${literal(request.system)}}`);
  return bodyWithList(head, tools, "messages", items);
}

function chatMessage(message: Message, model: string, quirks: ChatQuirks): string {
  if (message.role === "user") return `{"role":"user","content":${literal(message.text)}}`;
  const wireId = (id: string) => literal(quirks.shortIds ? nineCharacterId(id) : id);
  if (message.role === "tool")
    return `{"role":"tool","tool_call_id":${wireId(message.callId)},"content":${literal(resultText(message.text))}}`;
  const state = chatState(message, model);
  const parts = ['"role":"assistant"', `"content":${isBlank(message.text) ? "null" : literal(message.text)}`];
  const reasoning = state.fields ?? (message.calls.length > 0 ? reasoningText(message, quirks) : {});
  for (const [name, value] of Object.entries(reasoning))
    parts.push(`${JSON.stringify(name)}:${JSON.stringify(wellFormed(value))}`);
  if (message.calls.length > 0) {
    const calls = message.calls.map((call, index) => {
      const extra = state.extras.get(call.id) ?? (index === 0 && state.extras.size === 0 ? quirks.foreignCall : undefined);
      const tail = extra === undefined ? "" : `,"extra_content":${JSON.stringify(wellFormed(extra))}`;
      const fn = `{"name":${literal(call.name)},"arguments":${literal(argumentsObject(call.arguments))}}`;
      return `{"id":${wireId(call.id)},"type":"function","function":${fn}${tail}}`;
    });
    parts.push(`"tool_calls":[${calls.join(",")}]`);
  }
  return `{${parts.join(",")}}`;
}

/** Reasoning without private state: after a resume, or made by another model. */
function reasoningText(message: AssistantMessage, quirks: ChatQuirks): Readonly<Record<string, string>> {
  if (quirks.reasoning === "demanded") return { reasoning_content: message.reasoning ?? "" };
  return quirks.reasoning === "welcome" && message.reasoning !== undefined ? { reasoning_content: message.reasoning } : {};
}

type ChatState = { readonly fields: Record<string, unknown> | undefined; readonly extras: ReadonlyMap<string, unknown> };

const NO_STATE: ChatState = { fields: undefined, extras: new Map() };

/** Reasoning fields and per-call extras the same model sent with this message. */
function chatState(message: AssistantMessage, model: string): ChatState {
  const carry = message.carry;
  if (carry?.wire !== WIRE || field(carry.items[0], "model") !== model) return NO_STATE;
  const extras = new Map<string, unknown>();
  let fields: Record<string, unknown> | undefined;
  for (const item of carry.items.slice(1)) {
    const value = object(field(item, "value"));
    const id = text(value.call);
    if (id !== undefined) extras.set(id, value.extra);
    else if (typeof value.echo === "string") fields = { ...fields, [value.echo]: message.reasoning ?? "" };
    else if (Array.isArray(value.details)) fields = { ...fields, reasoning_details: value.details };
  }
  return { fields, extras };
}

/** Content or reasoning, where a frame holds one of them and nothing that counts twice when it is said twice. */
function chatText(frame: Json): string | undefined {
  const choice = object(list(frame.choices)[0]);
  const delta = object(choice.delta);
  const said = [delta.content, delta.reasoning_content, delta.reasoning].map(filled).filter((part) => part !== undefined);
  const more = filled(delta.refusal) ?? (isObject(delta.function_call) || undefined) ?? list(delta.reasoning_details)[0];
  const alone = said.length === 1 && more === undefined && list(delta.tool_calls).length === 0 && !Array.isArray(delta.content);
  return alone && !saysError(frame) && !saysError(choice) ? said[0] : undefined;
}

/** Some servers send an empty member with every frame. */
function saysError(part: Json): boolean {
  return part.error !== undefined && part.error !== null && part.error !== false && part.error !== "";
}

class ChatDecoder implements Decoder {
  readonly textIn = chatText;
  readonly #model: string;
  readonly #into: Assembly;
  readonly #host: string;
  readonly #calls = new CallJoiner();
  readonly #details: unknown[] = [];
  #field: string | undefined;
  #finish: string | undefined;
  #refused = false;

  constructor(model: string, into: Assembly, host: string) {
    this.#model = model;
    this.#into = into;
    this.#host = host;
  }

  get finishing(): boolean {
    return this.#finish !== undefined;
  }

  take(event: string | undefined, data: string): void {
    const trimmed = data.trim();
    if (event === "error") {
      this.#fail(errorDetail(parseJson(data)) ?? { message: trimmed, code: "" });
      return;
    }
    if (trimmed === "" || event === "ping") return;
    if (trimmed === "[DONE]") {
      if (!this.#end()) this.#into.fail(failure("truncated", `${this.#host} ended the stream inside a tool call`));
      return;
    }
    const frame = parseJson(trimmed);
    if (!isObject(frame)) {
      const detail = Array.isArray(frame) ? errorDetail(frame) : undefined;
      this.#into.fail(detail ? failureOfFrame(this.#host, detail, Date.now()) : notJson(this.#host, data));
      return;
    }
    const choice = object(list(frame.choices)[0]);
    const wrong = [frame, choice].find(saysError);
    if (wrong !== undefined) this.#fail(errorDetail(wrong));
    else this.#frame(frame, choice);
  }

  #fail(detail: ErrorDetail | undefined): void {
    this.#into.fail(failureOfFrame(this.#host, detail, Date.now()));
  }

  #frame(frame: Json, choice: Json): void {
    this.#delta(object(choice.delta ?? choice.message));
    this.#finish = filled(choice.finish_reason) ?? this.#finish;
    const usage = frame.usage ?? choice.usage ?? field(frame.x_groq, "usage");
    if (isObject(usage)) this.#into.usage(chatUsage(usage));
  }

  whole(body: Json): boolean {
    const choice = list(body.choices)[0];
    if (!isObject(choice)) return false;
    if (saysError(choice)) this.#fail(errorDetail(choice));
    else this.#frame(body, choice);
    return this.#into.ended || this.#end();
  }

  /** EOF without `[DONE]`: complete only if the server said why it stopped, or refused. */
  close(): boolean {
    return (this.#finish !== undefined || this.#refused) && this.#end();
  }

  #delta(delta: Json): void {
    const content = delta.content;
    if (typeof content === "string") this.#into.text(content);
    else for (const part of list(content)) this.#part(part);
    for (const name of ["reasoning_content", "reasoning"] as const) {
      const reasoning = filled(delta[name]);
      // Some gateways send both fields with the same text.
      if (reasoning === undefined || (this.#field !== undefined && this.#field !== name)) continue;
      this.#field = name;
      this.#into.reasoning(reasoning);
    }
    for (const detail of list(delta.reasoning_details)) this.#details.push(detail);
    const refusal = filled(delta.refusal);
    if (refusal !== undefined) {
      this.#into.text(refusal);
      // No reason of the server's: more pieces of it may follow.
      this.#refused = true;
    }
    this.#calls.begin();
    for (const call of list(delta.tool_calls)) this.#call(call);
    if (isObject(delta.function_call)) this.#call({ index: 0, function: delta.function_call });
  }

  /** Content as parts (Mistral): text, or thinking that holds text. */
  #part(part: unknown): void {
    if (field(part, "type") === "thinking") {
      for (const inner of list(field(part, "thinking"))) this.#into.reasoning(text(field(inner, "text")) ?? "");
    } else this.#into.text(text(field(part, "text")) ?? "");
  }

  #call(call: unknown): void {
    const fn = field(call, "function");
    const args = field(fn, "arguments");
    const index = count(field(call, "index"));
    const id = filled(field(call, "id"));
    const name = filled(field(fn, "name"));
    const extra = field(call, "extra_content");
    this.#calls.add({
      arguments: typeof args === "string" ? args : isObject(args) ? JSON.stringify(args) : "",
      ...(index === undefined ? {} : { index }),
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
      ...(extra === undefined ? {} : { extra }),
    });
    this.#into.callLength = this.#calls.length;
  }

  /** False when the response cannot be taken as complete. */
  #end(): boolean {
    const calls = this.#calls.finish();
    if (this.#finish?.toLowerCase() === "error") {
      this.#fail(undefined);
      return true;
    }
    const broken = brokenEnd(this.#host, this.#finish);
    if (broken) {
      this.#into.fail(broken);
      return true;
    }
    if (this.#finish === undefined && calls.some((call) => !isBlank(call.arguments) && !isObject(parseJson(call.arguments))))
      return false;
    const items: CarryItem[] = [];
    if (this.#field !== undefined && this.#into.reasoningLength > 0) items.push({ kind: "opaque", value: { echo: this.#field } });
    if (this.#details.length > 0) items.push({ kind: "opaque", value: { details: joinDetails(this.#details) } });
    for (const call of calls) {
      const id = this.#into.call(call.id, call.name, call.arguments);
      if (call.extra !== undefined) items.push({ kind: "opaque", value: { call: id, extra: call.extra } });
    }
    const { reason, unknown } = stopOf(this.#finish ?? (this.#refused ? "refusal" : undefined), calls.length);
    this.#into.stop(reason, makeCarry(WIRE, this.#model, items), unknown);
    return true;
  }
}

/** Streamed pieces of one detail become one again; servers take back what a whole response would have held. */
function joinDetails(pieces: readonly unknown[]): readonly unknown[] {
  const joined: Record<string, unknown>[] = [];
  for (const piece of pieces) {
    if (!isObject(piece)) continue;
    const last = joined.at(-1);
    if (
      last === undefined ||
      last.type !== piece.type ||
      last.index !== piece.index ||
      (piece.id ?? last.id) !== (last.id ?? piece.id)
    ) {
      joined.push({ ...piece });
      continue;
    }
    for (const [name, value] of Object.entries(piece)) {
      const grows = name === "text" || name === "summary" || name === "data";
      last[name] =
        grows && typeof value === "string" && typeof last[name] === "string" ? last[name] + value : (value ?? last[name]);
    }
  }
  return joined;
}

function chatUsage(usage: Readonly<Record<string, unknown>>): Usage {
  const details = usage.prompt_tokens_details;
  return known({
    inputTokens: count(usage.prompt_tokens),
    outputTokens: count(usage.completion_tokens),
    cacheReadTokens: count(field(details, "cached_tokens")) ?? count(usage.prompt_cache_hit_tokens),
    cacheWriteTokens: count(field(details, "cache_write_tokens")),
    reasoningTokens: count(field(usage.completion_tokens_details, "reasoning_tokens")),
    costUsd: count(usage.cost),
  });
}
