/**
 * The Responses wire (`POST /responses`), stateless: nothing is stored at the provider, reasoning items travel encrypted
 * and come back in the same run. Refuses: HTTP, retries, server-side conversations.
 */
import { count, field, filled, isObject, type Json, list, object, parseJson, text, wellFormed } from "../base/json.ts";
import type { Message, ToolSpec, Usage } from "../types/message.ts";
import type { Assembly } from "./assembly.ts";
import { type CarryItem, makeCarry, piecesOf } from "./carry.ts";
import { errorDetail, failureOfFrame, notJson } from "./failure.ts";
import type { ProviderRequest, StopReason } from "./provider.ts";
import { joinArguments } from "./tool-calls.ts";
import { known } from "./usage.ts";
import type { Decoder, Wire } from "./wire.ts";
import { argumentsObject, bodyWithList, isBlank, jsonText, literal, MessageCache, resultText } from "./wire-text.ts";

const WIRE = "openai-responses";

/** The wire for one provider: it remembers the bytes of messages it has written. */
export function openaiResponses(): Wire {
  const cache = new MessageCache<Message, readonly string[]>();
  const catalogs = new MessageCache<readonly ToolSpec[], string>();
  return {
    path: "/responses",
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    body: ({ request }) => responsesBody(request, cache, catalogs),
    decoder: ({ request }, into, host) => new ResponsesDecoder(request.model, into, host),
  };
}

/** Models that reason; others reject `reasoning` and encrypted content. */
function reasons(model: string): boolean {
  return !/^(?:gpt-3|gpt-4|chatgpt-4|gpt-5-chat)/.test(model.slice(model.lastIndexOf("/") + 1));
}

function responsesTools(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return "";
  return jsonText(
    tools.map(({ name, description, parameters }) => ({ type: "function", name, description, parameters, strict: false })),
  );
}

function responsesBody(
  request: ProviderRequest,
  cache: MessageCache<Message, readonly string[]>,
  catalogs: MessageCache<readonly ToolSpec[], string>,
): string {
  const reasoning = reasons(request.model);
  // Summaries are only for accounts OpenAI has verified, so they are asked for with an effort, never by default.
  const effort = request.reasoningEffort;
  const thinking = effort === undefined ? {} : { reasoning: effort === "none" ? { effort } : { effort, summary: "auto" } };
  const head = {
    model: request.model,
    stream: true,
    store: false,
    ...(isBlank(request.system) ? {} : { instructions: request.system }),
    ...(reasoning ? { ...thinking, include: ["reasoning.encrypted_content"] } : {}),
    ...(request.maxOutputTokens === undefined ? {} : { max_output_tokens: request.maxOutputTokens }),
    prompt_cache_key: request.sessionId,
    ...(request.outputSchema === undefined
      ? {}
      : { text: { format: { type: "json_schema", name: "answer", schema: request.outputSchema, strict: false } } }),
  };
  const items = request.messages.flatMap((message) =>
    cache.get(message, request.model, () => inputItems(message, request.model)),
  );
  return bodyWithList(
    head,
    catalogs.get(request.tools, "", () => responsesTools(request.tools)),
    "input",
    items,
  );
}

function inputItems(message: Message, model: string): readonly string[] {
  if (message.role === "user") return [`{"role":"user","content":${literal(message.text)}}`];
  if (message.role === "tool")
    return [`{"type":"function_call_output","call_id":${literal(message.callId)},"output":${literal(resultText(message.text))}}`];
  return piecesOf(message, WIRE, model).flatMap((piece) => {
    if (piece.kind === "opaque") return [JSON.stringify(wellFormed(piece.value))];
    if (piece.kind === "text") return isBlank(piece.text) ? [] : [`{"role":"assistant","content":${literal(piece.text)}}`];
    const { id, name } = piece.call;
    const args = literal(argumentsObject(piece.call.arguments));
    return [`{"type":"function_call","call_id":${literal(id)},"name":${literal(name)},"arguments":${args}}`];
  });
}

type OpenCall = { id: string; name: string; parts: string[]; whole: string | undefined };

class ResponsesDecoder implements Decoder {
  readonly finishing = false;
  readonly #model: string;
  readonly #into: Assembly;
  readonly #host: string;
  /** Output items in order: what is to be handed out or carried at the end. */
  readonly #order: (OpenCall | { readonly opaque: unknown } | { readonly textEnd: number })[] = [];
  readonly #calls = new Map<string, OpenCall>();
  /** Messages that are complete, by item. */
  readonly #told = new Set<string>();
  #refused = false;
  #summary = "";
  /** Where the text of the part, and of the message, begins that is being told. */
  #partAt = 0;
  #messageAt = 0;
  /** What the last complete message or call said of itself. */
  #status: unknown;

  constructor(model: string, into: Assembly, host: string) {
    this.#model = model;
    this.#into = into;
    this.#host = host;
  }

  take(event: string | undefined, data: string): void {
    if (data.trim() === "" ? event !== "error" : data.trim() === "[DONE]") return;
    const frame = parseJson(data);
    if (!isObject(frame)) {
      this.#into.fail(
        event === "error" ? failureOfFrame(this.#host, { message: data, code: "" }, Date.now()) : notJson(this.#host, data),
      );
      return;
    }
    const type = text(frame.type) ?? event ?? "";
    if (this.whole(frame)) return;
    if (type === "error" || (frame.error !== undefined && frame.error !== null && !type.startsWith("response.")))
      this.#into.fail(failureOfFrame(this.#host, errorDetail(frame), Date.now()));
    else this.#event(type, frame);
  }

  /** Some servers do not stream, whatever they are asked. */
  whole(body: Json): boolean {
    if (body.object !== "response" || !Array.isArray(body.output)) return false;
    this.#close("response.completed", body);
    return true;
  }

  /** Only a closing event makes a response whole. */
  close(): boolean {
    return false;
  }

  #event(type: string, frame: Readonly<Record<string, unknown>>): void {
    switch (type) {
      case "response.output_text.delta":
        this.#into.text(text(frame.delta) ?? "");
        break;
      case "response.refusal.delta":
        this.#refused = true;
        this.#into.text(text(frame.delta) ?? "");
        break;
      case "response.output_text.done":
        this.#wholePart(frame.text);
        break;
      case "response.refusal.done":
        this.#refused = true;
        this.#wholePart(frame.refusal);
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#reasoning(type, frame);
        break;
      case "response.output_item.added":
        this.#added(frame);
        break;
      case "response.function_call_arguments.delta":
        this.#callOf(frame)?.parts.push(text(frame.delta) ?? "");
        break;
      case "response.function_call_arguments.done": {
        const call = this.#callOf(frame);
        if (call !== undefined) call.whole = text(frame.arguments) ?? call.whole;
        break;
      }
      case "response.output_item.done":
        this.#done(frame);
        break;
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        this.#close(type, object(frame.response));
        break;
    }
  }

  /** Gateways name every closing event `response.completed`; the status of the response says how it ended. */
  #close(type: string, response: Readonly<Record<string, unknown>>): void {
    const said = filled(response.status);
    const status = said === "failed" || said === "cancelled" || said === "incomplete" ? said : type.slice("response.".length);
    if (status === "failed" || status === "cancelled")
      this.#into.fail(failureOfFrame(this.#host, errorDetail(response), Date.now()));
    else if (status !== "incomplete") this.#finish(response, undefined);
    else {
      const reason = text(field(response.incomplete_details, "reason"));
      this.#finish(response, reason ?? (this.#endsComplete(response) ? undefined : "max_output_tokens"));
    }
  }

  /** Without a reason, what the last item says of itself is the better word. */
  #endsComplete(response: Readonly<Record<string, unknown>>): boolean {
    const last = list(response.output).findLast((item) => isAnswer(field(item, "type")));
    return (field(last, "status") ?? this.#status) === "completed";
  }

  /** A part that is told as a whole: servers may leave out its pieces. */
  #wholePart(whole: unknown): void {
    if (this.#into.textLength === this.#partAt) this.#into.text(text(whole) ?? "");
    this.#partAt = this.#into.textLength;
  }

  #reasoning(type: string, frame: Readonly<Record<string, unknown>>): void {
    // Parts of a summary are paragraphs.
    const part = `${type} ${String(frame.item_id)} ${String(frame.summary_index ?? frame.content_index)}`;
    if (this.#summary !== "" && this.#summary !== part) this.#into.reasoning("\n\n");
    this.#summary = part;
    this.#into.reasoning(text(frame.delta) ?? "");
  }

  #key(frame: Readonly<Record<string, unknown>>, item: unknown): string {
    const index = count(frame.output_index);
    return index === undefined ? (filled(frame.item_id) ?? filled(field(item, "id")) ?? "") : `#${index}`;
  }

  #callOf(frame: Readonly<Record<string, unknown>>): OpenCall | undefined {
    return this.#calls.get(this.#key(frame, undefined));
  }

  #added(frame: Readonly<Record<string, unknown>>): void {
    const item = object(frame.item);
    if (item.type !== "function_call") return;
    const call: OpenCall = { id: filled(item.call_id) ?? "", name: filled(item.name) ?? "", parts: [], whole: undefined };
    this.#calls.set(this.#key(frame, item), call);
    this.#order.push(call);
  }

  #done(frame: Readonly<Record<string, unknown>>): void {
    const item = object(frame.item);
    if (isAnswer(item.type)) this.#status = item.status;
    if (item.type === "reasoning") {
      // Without the encrypted text a stateless server could not read it back.
      if (filled(item.encrypted_content) !== undefined) this.#order.push({ opaque: carried(item) });
    } else if (item.type === "message") this.#message(frame, item);
    else if (item.type === "function_call") {
      let call = this.#calls.get(this.#key(frame, item));
      if (call === undefined) {
        this.#added(frame);
        call = this.#calls.get(this.#key(frame, item));
      }
      if (call === undefined) return;
      call.id = filled(item.call_id) ?? call.id;
      call.name = filled(item.name) ?? call.name;
      call.whole = text(item.arguments) ?? call.whole;
    }
  }

  #message(frame: Readonly<Record<string, unknown>>, item: Readonly<Record<string, unknown>>): void {
    const name = filled(item.id) ?? count(frame.output_index);
    const key = name === undefined ? undefined : `${String(item.id)} ${String(frame.output_index)}`;
    if (this.#into.textLength === this.#messageAt && (key === undefined || !this.#told.has(key))) {
      for (const part of list(item.content)) {
        if (field(part, "type") === "refusal") this.#refused = true;
        this.#into.text(text(field(part, "text")) ?? text(field(part, "refusal")) ?? "");
      }
    }
    this.#into.settle();
    if (key !== undefined && this.#into.textLength > this.#messageAt) this.#told.add(key);
    this.#messageAt = this.#into.textLength;
    this.#partAt = this.#messageAt;
    this.#order.push({ textEnd: this.#messageAt });
  }

  #finish(response: Readonly<Record<string, unknown>>, incomplete: string | undefined): void {
    if (isObject(response.usage)) this.#into.usage(responsesUsage(response.usage));
    this.#adoptOutput(list(response.output));
    const items: CarryItem[] = [];
    let calls = 0;
    let textAt = 0;
    for (const entry of this.#order) {
      if ("opaque" in entry) items.push({ kind: "opaque", value: entry.opaque });
      else if ("textEnd" in entry) {
        items.push({ kind: "text", length: entry.textEnd - textAt });
        textAt = entry.textEnd;
      } else {
        calls += 1;
        items.push({ kind: "call", id: this.#into.call(entry.id, entry.name, entry.whole ?? joinArguments(entry.parts)) });
      }
    }
    this.#into.stop(this.#reason(incomplete, calls), makeCarry(WIRE, this.#model, items));
  }

  /** Servers put what they did not stream into the closing event. It goes where it stands there: reasoning before its call. */
  #adoptOutput(output: readonly unknown[]): void {
    const told: Readonly<Record<string, boolean>> = {
      message: this.#into.textLength > 0,
      function_call: this.#calls.size > 0,
      reasoning: this.#order.some((entry) => "opaque" in entry),
    };
    output.forEach((item, index) => {
      if (told[String(field(item, "type"))] !== false) return;
      const place = this.#placeBefore(output, index + 1);
      const length = this.#order.length;
      this.#done({ item, output_index: index });
      this.#order.splice(place, 0, ...this.#order.splice(length));
    });
  }

  /** Where the first item from there on that has come already is. */
  #placeBefore(output: readonly unknown[], from: number): number {
    for (const [at, item] of output.entries()) {
      if (at < from) continue;
      const messages = output.slice(0, at).filter((one) => field(one, "type") === "message").length;
      const texts = this.#order.flatMap((entry, place) => ("textEnd" in entry ? [place] : []));
      const call = filled(field(item, "call_id"));
      const place =
        field(item, "type") === "message"
          ? texts[messages]
          : this.#order.findIndex((entry) => "parts" in entry && entry.id !== "" && entry.id === call);
      if (place !== undefined && place >= 0) return place;
    }
    return this.#order.length;
  }

  #reason(incomplete: string | undefined, calls: number): StopReason {
    if (incomplete === "content_filter" || this.#refused) return "refusal";
    if (incomplete !== undefined) return "length";
    return calls > 0 ? "tool_calls" : "end";
  }
}

/** What ends a response; reasoning does not. */
function isAnswer(type: unknown): boolean {
  return type === "message" || type === "function_call";
}

/** A reasoning item as it may be sent back: servers refuse members they only send, its status above all. */
function carried(item: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const summary = list(item.summary);
  return {
    type: "reasoning",
    ...(filled(item.id) === undefined ? {} : { id: item.id }),
    summary,
    encrypted_content: item.encrypted_content,
  };
}

function responsesUsage(usage: Readonly<Record<string, unknown>>): Usage {
  return known({
    inputTokens: count(usage.input_tokens),
    outputTokens: count(usage.output_tokens),
    cacheReadTokens: count(field(usage.input_tokens_details, "cached_tokens")),
    cacheWriteTokens: count(field(usage.input_tokens_details, "cache_write_tokens")),
    reasoningTokens: count(field(usage.output_tokens_details, "reasoning_tokens")),
    costUsd: count(usage.cost),
  });
}
